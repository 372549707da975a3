/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HMAC, computed by GnuTLS. */
#include "base/crypto/hmac.h"

#include <assert.h>
#include <stdlib.h>

#include <gnutls/crypto.h>

#include "base/compiler.h"

static const gnutls_mac_algorithm_t algorithms[] = {
	[HMAC_SHA1] = GNUTLS_MAC_SHA1,	   [HMAC_SHA224] = GNUTLS_MAC_SHA224,
	[HMAC_SHA256] = GNUTLS_MAC_SHA256, [HMAC_SHA384] = GNUTLS_MAC_SHA384,
	[HMAC_SHA512] = GNUTLS_MAC_SHA512,
};

size_t hmac_bytes(enum hmac_algorithm algorithm)
{
	static const uint8_t bytes[] = { 20, 28, 32, 48, HMAC_MAX_BYTES };
	static_assert(ARRAY_LEN(bytes) == ARRAY_LEN(algorithms), "one for each algorithm");
	assert(algorithm < ARRAY_LEN(bytes));
	return bytes[algorithm];
}

void hmac(enum hmac_algorithm algorithm, struct slice key, struct slice data,
	  uint8_t out[HMAC_MAX_BYTES])
{
	struct hmac one = { 0 };
	hmac_start(&one, algorithm, key);
	hmac_add(&one, data.p, data.n);
	hmac_end(&one, out);
}

void hmac_start(struct hmac *hmac, enum hmac_algorithm algorithm, struct slice key)
{
	gnutls_hmac_hd_t state;
	assert(hmac->state == NULL && algorithm < ARRAY_LEN(algorithms));
	if (gnutls_hmac_init(&state, algorithms[algorithm], key.n != 0 ? key.p : "", key.n) < 0)
		abort(); /* GnuTLS always has these; else out of memory */
	hmac->state = state;
}

void hmac_add(struct hmac *hmac, const void *data, size_t len)
{
	assert(hmac->state != NULL);
	if (len != 0 && gnutls_hmac(hmac->state, data, len) < 0)
		abort();
}

void hmac_end(struct hmac *hmac, uint8_t out[HMAC_MAX_BYTES])
{
	assert(hmac->state != NULL);
	gnutls_hmac_deinit(hmac->state, out);
	hmac->state = NULL;
}

void hmac_drop(struct hmac *hmac)
{
	if (hmac->state != NULL)
		gnutls_hmac_deinit(hmac->state, NULL);
	hmac->state = NULL;
}

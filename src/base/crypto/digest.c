/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Digests of bytes, computed by GnuTLS. */
#include "base/crypto/digest.h"

#include <stdlib.h>

#include <gnutls/crypto.h>

static void digest(gnutls_digest_algorithm_t algorithm, const void *data, size_t len, uint8_t *out)
{
	if (gnutls_hash_fast(algorithm, data, len, out) < 0)
		abort(); /* GnuTLS always has both */
}

void digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_SHA256_BYTES])
{
	digest(GNUTLS_DIG_SHA256, data, len, out);
}

void digest_sha512(const void *data, size_t len, uint8_t out[DIGEST_SHA512_BYTES])
{
	digest(GNUTLS_DIG_SHA512, data, len, out);
}

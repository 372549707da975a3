/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RS256: reading a private key, signing with it. By GnuTLS, which wipes a key's numbers when it
 * is freed. */
#include "base/crypto/rsa.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "base/err.h"
#include "base/mem.h"

struct rsa_key {
	gnutls_privkey_t key;
};

static gnutls_datum_t datum_of(struct slice text)
{
	return (gnutls_datum_t){ .data = (unsigned char *)(uintptr_t)text.p,
				 .size = (unsigned)text.n };
}

static int import_pem(gnutls_privkey_t key, struct slice pem, struct err_text reterr)
{
	gnutls_datum_t text = datum_of(pem);
	int r = gnutls_privkey_import_x509_raw(key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (r == GNUTLS_E_DECRYPTION_FAILED) {
		err_text_set(reterr,
			     "the private key is encrypted: a key without a password is needed");
		return ERR_UNSUPPORTED;
	}
	if (r < 0) {
		err_text_set(reterr, "not a private key in PEM form: %s", gnutls_strerror(r));
		return ERR_PARSE;
	}
	return 0;
}

static int check_key(gnutls_privkey_t key, struct err_text reterr)
{
	unsigned bits = 0;
	int algorithm = gnutls_privkey_get_pk_algorithm(key, &bits);
	if (algorithm != GNUTLS_PK_RSA) {
		const char *name =
			algorithm < 0 ? NULL : gnutls_pk_get_name((gnutls_pk_algorithm_t)algorithm);
		err_text_set(reterr, "the private key is of type %s: an RSA key is needed",
			     name != NULL ? name : "unknown");
		return ERR_UNSUPPORTED;
	}
	if (bits < RSA_KEY_BITS_MIN || bits > RSA_KEY_BITS_MAX) {
		err_text_set(reterr, "the RSA key has %u bits: it must have %d to %d", bits,
			     RSA_KEY_BITS_MIN, RSA_KEY_BITS_MAX);
		return ERR_LIMIT;
	}
	return 0;
}

int rsa_key_new(struct slice pem, struct rsa_key **ret, struct err_text reterr)
{
	if (pem.n > RSA_PEM_MAX_BYTES) {
		err_text_set(reterr, "the private key is longer than %d bytes", RSA_PEM_MAX_BYTES);
		return ERR_LIMIT;
	}
	gnutls_privkey_t key;
	if (gnutls_privkey_init(&key) < 0) {
		err_text_set(reterr, "out of memory");
		return ERR_INTERNAL;
	}
	int r = import_pem(key, pem, reterr);
	if (r == 0)
		r = check_key(key, reterr);
	if (r < 0) {
		gnutls_privkey_deinit(key);
		return r;
	}
	struct rsa_key *made = xcalloc(1, sizeof(*made));
	made->key = key;
	*ret = made;
	return 0;
}

void rsa_key_free(struct rsa_key *key)
{
	if (key == NULL)
		return;
	gnutls_privkey_deinit(key->key);
	free(key);
}

int rsa_sign_sha256(const struct rsa_key *key, struct slice data, struct strbuf *out)
{
	gnutls_datum_t bytes = datum_of(data), signature;
	if (gnutls_privkey_sign_data2(key->key, GNUTLS_SIGN_RSA_SHA256, 0, &bytes, &signature) < 0)
		return ERR_INTERNAL;
	strbuf_add(out, signature.data, signature.size);
	gnutls_free(signature.data);
	return 0;
}

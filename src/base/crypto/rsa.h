/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signing with an RSA private key: RS256 of RFC 7518 (RSASSA-PKCS1-v1_5 with SHA-256), as
 * service accounts of cloud providers sign the tokens that they ask for access with. Any thread,
 * also several with one key. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	RSA_KEY_BITS_MIN = 2048, /* RFC 7518 section 3.3 */
	RSA_KEY_BITS_MAX = 16384,
	RSA_PEM_MAX_BYTES = 64 << 10,
};

struct rsa_key;

/* The first private key of a PEM text, PKCS #1 or PKCS #8, not encrypted. ERR_LIMIT (the text is
 * too long, or the key has too few or too many bits), ERR_PARSE, ERR_UNSUPPORTED (another kind
 * of key), with a reason that shows nothing of the key. */
MUST_CHECK int rsa_key_new(struct slice pem, struct rsa_key **ret, struct err_text reterr);
void rsa_key_free(struct rsa_key *key); /* NULL is fine */

/* Appends the signature of `data`: as many bytes as the key has. ERR_INTERNAL with nothing
 * appended. */
MUST_CHECK int rsa_sign_sha256(const struct rsa_key *key, struct slice data, struct strbuf *out);

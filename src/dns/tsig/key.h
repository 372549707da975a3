/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of TSIG (RFC 8945): a name that both sides know, an algorithm and a shared secret.
 *
 * Algorithms are hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384 and hmac-sha512; hmac-md5 is
 * refused, which RFC 8945 forbids to use. `hmac-sha256-128` means what BIND's tools mean by it:
 * hmac-sha256 whose MAC is cut to 128 bits. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/crypto/hmac.h"
#include "base/err_text.h"
#include "base/secret.h"
#include "base/slice.h"
#include "dns/name.h"

enum {
	DNS_TSIG_SECRET_MAX = 512,    /* bytes; an HMAC gains nothing beyond 128 */
	DNS_TSIG_KEY_TEXT_MAX = 2048, /* of all fields together */
	DNS_TSIG_ALGORITHM_NAME = 13, /* bytes of the longest one on the wire */
	DNS_TSIG_MAC_LEAST = 10,      /* bytes; no MAC may be shorter (RFC 8945 section 5.2.2.1) */
};

struct dns_tsig_algorithm {
	const char *text;
	uint8_t name[DNS_TSIG_ALGORITHM_NAME + 1]; /* wire form, lower case */
	enum hmac_algorithm hmac;
};

struct dns_tsig_key {
	uint8_t name[DNS_NAME_MAX]; /* lower case */
	const struct dns_tsig_algorithm *algorithm;
	uint8_t mac_bytes; /* that we send, and the fewest that we accept */
	struct secret secret;
};

/* A key as configurations have it, in fields. */
struct dns_tsig_fields {
	struct slice algorithm; /* empty: hmac-sha256; letters alike, a final dot may follow */
	struct slice name;	/* a missing final dot is completed */
	struct slice secret;	/* base64 */
};

/* Fills `ret`, which is empty ({ 0 }) or a key that is then replaced. ERR_PARSE (name, base64),
 * ERR_UNSUPPORTED (algorithm), ERR_LIMIT (secret empty or too long), with a reason that shows
 * nothing of the secret, not even if it stands in another field; `ret` is then as it was. */
MUST_CHECK int dns_tsig_key_set(struct dns_tsig_key *ret, const struct dns_tsig_fields *fields,
				struct err_text reterr);
/* The same from `algorithm:name:secret` or `name:secret`, as dig, nsupdate and knsupdate take
 * it. */
MUST_CHECK int dns_tsig_key_parse(struct dns_tsig_key *ret, struct slice text,
				  struct err_text reterr);
/* Makes `out`, which is empty ({ 0 }) or a key that is then replaced, a copy. */
void dns_tsig_key_copy(struct dns_tsig_key *out, const struct dns_tsig_key *key);
/* Wipes the secret. */
void dns_tsig_key_done(struct dns_tsig_key *key);

/* The key's name for messages, in text form with its final dot; "(not shown)" if it may be a secret that
 * was put in its place, or has characters that names of keys do not have. */
void dns_tsig_key_label(const struct dns_tsig_key *key, char out[DNS_NAME_TEXT_MAX]);
/* May this name (wire form) be the base64 or hex form of 16 bytes or more? It then has a single label. */
bool dns_tsig_is_like_secret(const uint8_t *name);

/* Is this the key's algorithm? `name` in wire form, letters alike. */
bool dns_tsig_key_uses(const struct dns_tsig_key *key, const uint8_t *algorithm_name);
/* May an answer or a request of this key carry a MAC of so many bytes at all, whatever our
 * policy is? */
bool dns_tsig_key_allows(const struct dns_tsig_key *key, size_t mac_bytes);

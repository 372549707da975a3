/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a TSIG key from text. */
#include "dns/tsig/key.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"

enum { SECRET_LEAST_CHARACTERS = 22 }; /* base64 of 16 bytes, without its padding */

static const struct dns_tsig_algorithm algorithms[] = {
	{ "hmac-sha1", "\x09hmac-sha1", HMAC_SHA1 },
	{ "hmac-sha224", "\x0bhmac-sha224", HMAC_SHA224 },
	{ "hmac-sha256", "\x0bhmac-sha256", HMAC_SHA256 },
	{ "hmac-sha384", "\x0bhmac-sha384", HMAC_SHA384 },
	{ "hmac-sha512", "\x0bhmac-sha512", HMAC_SHA512 },
};

static const char default_algorithm[] = "hmac-sha256";
static const char hidden_name[] = "(not shown)";

/* Half of the HMAC's bytes, or ten where that is more. */
static size_t least_mac(enum hmac_algorithm algorithm)
{
	return MAX(hmac_bytes(algorithm) / 2, DNS_TSIG_MAC_LEAST);
}

bool dns_tsig_key_allows(const struct dns_tsig_key *key, size_t mac_bytes)
{
	enum hmac_algorithm algorithm = key->algorithm->hmac;
	return mac_bytes >= least_mac(algorithm) && mac_bytes <= hmac_bytes(algorithm);
}

bool dns_tsig_key_uses(const struct dns_tsig_key *key, const uint8_t *algorithm_name)
{
	return dns_name_eq(key->algorithm->name, algorithm_name);
}

static bool is_alphanumeric(uint8_t byte)
{
	return ascii_isalpha((char)byte) || ascii_isdigit((char)byte);
}

bool dns_tsig_is_like_secret(const uint8_t *name)
{
	size_t n = name[0];
	bool is_single = n != 0 && name[1 + n] == 0;
	for (size_t i = 1; i <= n; i++) {
		if (!is_alphanumeric(name[i]) && name[i] != '+' && name[i] != '/' && name[i] != '=')
			return false;
	}
	return is_single && n >= SECRET_LEAST_CHARACTERS;
}

static bool is_plain(const uint8_t *name)
{
	for (; name[0] != 0; name += 1 + name[0]) {
		for (size_t i = 1; i <= name[0]; i++) {
			if (!is_alphanumeric(name[i]) && name[i] != '-' && name[i] != '_')
				return false;
		}
	}
	return true;
}

void dns_tsig_key_label(const struct dns_tsig_key *key, char out[DNS_NAME_TEXT_MAX])
{
	if (is_plain(key->name) && !dns_tsig_is_like_secret(key->name))
		dns_name_to_text(key->name, true, out);
	else
		memcpy(out, hidden_name, sizeof(hidden_name));
}

/* The row whose name `text` is, or begins with: then -BITS follows, which is left in *ret_bits. */
static const struct dns_tsig_algorithm *find_algorithm(struct slice text, struct slice *ret_bits)
{
	for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
		struct slice name = slice_of(algorithms[i].text);
		struct slice head = { text.p, MIN(text.n, name.n) };
		*ret_bits = slice_from(text, name.n);
		if (slice_eq_nocase(head, name) && (ret_bits->n == 0 || ret_bits->p[0] == '-'))
			return &algorithms[i];
	}
	return NULL;
}

/* "-128": so many bits of the MAC are sent. */
static int read_bits(struct dns_tsig_key *key, struct slice bits, struct err_text reterr)
{
	enum hmac_algorithm algorithm = key->algorithm->hmac;
	uint64_t value = hmac_bytes(algorithm) * 8;
	bool number = bits.n == 0 || slice_u64(slice_from(bits, 1), &value) == 0;
	if (!number || value % 8 != 0 || !dns_tsig_key_allows(key, value / 8)) {
		err_text_set(
			reterr, "TSIG algorithm %s can be cut to %zu to %zu bits, a multiple of 8",
			key->algorithm->text, least_mac(algorithm) * 8, hmac_bytes(algorithm) * 8);
		return ERR_UNSUPPORTED;
	}
	key->mac_bytes = (uint8_t)(value / 8);
	return 0;
}

static int read_algorithm(struct dns_tsig_key *key, struct slice text, struct err_text reterr)
{
	struct slice bits;
	if (text.n == 0)
		text = slice_of(default_algorithm);
	if (slice_ends(text, SLICE(".")))
		text.n--;
	key->algorithm = find_algorithm(text, &bits);
	if (key->algorithm != NULL)
		return read_bits(key, bits, reterr);
	err_text_set(reterr, "the TSIG key's algorithm is unknown: use hmac-sha256, or hmac-sha1, "
			     "hmac-sha224, hmac-sha384 or hmac-sha512");
	return ERR_UNSUPPORTED;
}

static int read_name(struct dns_tsig_key *key, struct slice text, struct err_text reterr)
{
	uint8_t name[DNS_NAME_MAX];
	if (text.n == 0) {
		err_text_set(reterr, "the TSIG key has no name");
		return ERR_PARSE;
	}
	if (dns_name_from_text(text, name) < 0) {
		err_text_set(reterr, "the TSIG key's name is not a domain name");
		return ERR_PARSE;
	}
	dns_name_lower(name, key->name);
	return 0;
}

/* Short secrets are accepted: RFC 8945 recommends as many bytes as the HMAC has, but the server
 * decides, and the key is its own. */
static int read_secret(struct dns_tsig_key *key, struct slice text, struct err_text reterr)
{
	char name[DNS_NAME_TEXT_MAX];
	dns_tsig_key_label(key, name);
	int r = secret_base64(text, &key->secret);
	if (r < 0) {
		err_text_set(reterr,
			     "the secret of TSIG key '%s' is not base64 with its padding (%zu "
			     "characters)",
			     name, text.n);
		return r;
	}
	if (key->secret.n == 0 || key->secret.n > DNS_TSIG_SECRET_MAX) {
		err_text_set(reterr,
			     "the secret of TSIG key '%s' has %zu bytes: it must have 1 to %d",
			     name, key->secret.n, DNS_TSIG_SECRET_MAX);
		return ERR_LIMIT;
	}
	return 0;
}

int dns_tsig_key_set(struct dns_tsig_key *ret, const struct dns_tsig_fields *fields,
		     struct err_text reterr)
{
	struct dns_tsig_key key = { 0 };
	struct dns_tsig_fields trimmed = { slice_trim(fields->algorithm), slice_trim(fields->name),
					   slice_trim(fields->secret) };
	if (trimmed.algorithm.n + trimmed.name.n + trimmed.secret.n > DNS_TSIG_KEY_TEXT_MAX) {
		err_text_set(reterr, "the TSIG key is longer than %d characters",
			     DNS_TSIG_KEY_TEXT_MAX);
		return ERR_LIMIT;
	}
	int r = read_algorithm(&key, trimmed.algorithm, reterr);
	if (r == 0)
		r = read_name(&key, trimmed.name, reterr);
	if (r == 0)
		r = read_secret(&key, trimmed.secret, reterr);
	if (r < 0) {
		dns_tsig_key_done(&key);
		return r;
	}
	assert(dns_tsig_key_allows(&key, key.mac_bytes));
	dns_tsig_key_done(ret);
	*ret = key;
	return 0;
}

int dns_tsig_key_parse(struct dns_tsig_key *ret, struct slice text, struct err_text reterr)
{
	struct dns_tsig_fields fields = { 0 };
	struct slice rest = text;
	struct slice first = slice_cut(&rest, ':');
	if (rest.p == NULL) {
		err_text_set(reterr, "a TSIG key is written algorithm:name:secret");
		return ERR_PARSE;
	}
	struct slice second = slice_cut(&rest, ':');
	if (rest.p != NULL)
		fields = (struct dns_tsig_fields){ first, second, rest };
	else
		fields = (struct dns_tsig_fields){ .name = first, .secret = second };
	return dns_tsig_key_set(ret, &fields, reterr);
}

void dns_tsig_key_copy(struct dns_tsig_key *out, const struct dns_tsig_key *key)
{
	struct secret secret = out->secret;
	secret_set(&secret, secret_slice(&key->secret));
	*out = *key;
	out->secret = secret;
}

void dns_tsig_key_done(struct dns_tsig_key *key)
{
	secret_done(&key->secret);
	*key = (struct dns_tsig_key){ 0 };
}

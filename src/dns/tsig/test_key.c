/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys from text: forms, limits, and errors that show no secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/tsig/key.h"

static void accepted(void **state)
{
	static const struct {
		const char *text, *algorithm, *name;
		unsigned mac_bytes;
	} rows[] = {
		{ "hmac-sha256:Key.Example.:c2VjcmV0", "hmac-sha256", "key.example.", 32 },
		{ "key:c2VjcmV0", "hmac-sha256", "key.", 32 },
		{ ":key:c2VjcmV0", "hmac-sha256", "key.", 32 },
		{ "HMAC-SHA512.:key.:c2Vj cmV0", "hmac-sha512", "key.", 64 },
		{ "hmac-sha1:key:c2VjcmV0\n", "hmac-sha1", "key.", 20 },
		{ "hmac-sha224:key:c2VjcmV0", "hmac-sha224", "key.", 28 },
		{ "hmac-sha384:key:c2VjcmV0", "hmac-sha384", "key.", 48 },
		{ "hmac-sha256-128:key:c2VjcmV0", "hmac-sha256", "key.", 16 },
		{ "hmac-sha256-256:key:c2VjcmV0", "hmac-sha256", "key.", 32 },
		{ "hmac-sha1-80:key:c2VjcmV0", "hmac-sha1", "key.", 10 },
		{ "hmac-sha512-256:key:c2VjcmV0", "hmac-sha512", "key.", 32 },
	};
	struct dns_tsig_key key = { 0 };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char why[256] = "", name[DNS_NAME_TEXT_MAX];
		if (dns_tsig_key_parse(&key, slice_of(rows[i].text), ERR_TEXT(why)) < 0)
			fail_msg("%s: %s", rows[i].text, why);
		dns_name_to_text(key.name, false, name);
		assert_string_equal(name, rows[i].name);
		assert_string_equal(key.algorithm->text, rows[i].algorithm);
		assert_int_equal(key.mac_bytes, rows[i].mac_bytes);
		assert_string_equal(key.secret.p, "secret");
	}
	dns_tsig_key_done(&key);
	assert_null(key.secret.p);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *why;
		int code;
	} rows[] = {
		{ "", "a TSIG key is written algorithm:name:secret", ERR_PARSE },
		{ "c2VjcmV0", "a TSIG key is written algorithm:name:secret", ERR_PARSE },
		{ "hmac-md5:key:c2VjcmV0",
		  "the TSIG key's algorithm is unknown: use hmac-sha256, or hmac-sha1, "
		  "hmac-sha224, "
		  "hmac-sha384 or hmac-sha512",
		  ERR_UNSUPPORTED },
		{ "hmac-sha2560:key:c2VjcmV0",
		  "the TSIG key's algorithm is unknown: use hmac-sha256, or hmac-sha1, "
		  "hmac-sha224, hmac-sha384 or "
		  "hmac-sha512",
		  ERR_UNSUPPORTED },
		{ "hmac-sha256-120:key:c2VjcmV0",
		  "TSIG algorithm hmac-sha256 can be cut to 128 to 256 bits, a multiple of 8",
		  ERR_UNSUPPORTED },
		{ "hmac-sha1-81:key:c2VjcmV0",
		  "TSIG algorithm hmac-sha1 can be cut to 80 to 160 bits, a multiple of 8",
		  ERR_UNSUPPORTED },
		{ "hmac-sha1-:key:c2VjcmV0",
		  "TSIG algorithm hmac-sha1 can be cut to 80 to 160 bits, a multiple of 8",
		  ERR_UNSUPPORTED },
		{ "hmac-sha1-18446744073709551616:key:c2VjcmV0",
		  "TSIG algorithm hmac-sha1 can be cut to 80 to 160 bits, a multiple of 8",
		  ERR_UNSUPPORTED },
		{ "hmac-sha256::c2VjcmV0", "the TSIG key has no name", ERR_PARSE },
		{ "hmac-sha256:a..b:c2VjcmV0", "the TSIG key's name is not a domain name",
		  ERR_PARSE },
		{ "hmac-sha256:key:c2VjcmV",
		  "the secret of TSIG key 'key.' is not base64 with its padding (7 characters)",
		  ERR_PARSE },
		{ "hmac-sha256:key:c2Vj:cmV0",
		  "the secret of TSIG key 'key.' is not base64 with its padding (9 characters)",
		  ERR_PARSE },
		{ "hmac-sha256:key:",
		  "the secret of TSIG key 'key.' has 0 bytes: it must have 1 to 512", ERR_LIMIT },
	};
	struct dns_tsig_key key = { 0 };
	(void)state;
	assert_int_equal(dns_tsig_key_parse(&key, SLICE("key:c2VjcmV0"), (struct err_text){ 0 }),
			 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char why[256] = "";
		assert_int_equal(dns_tsig_key_parse(&key, slice_of(rows[i].text), ERR_TEXT(why)),
				 rows[i].code);
		assert_string_equal(why, rows[i].why);
		assert_null(strstr(why, "c2Vj"));
		assert_string_equal(key.secret.p, "secret"); /* what was there stays */
	}
	dns_tsig_key_done(&key);
}

/* The longest secret, one byte more, and more text than any key has. */
static void limits(void **state)
{
	CLEANUP(freep) char *text = xmalloc(DNS_TSIG_KEY_TEXT_MAX + 1);
	struct dns_tsig_key key = { 0 };
	char why[256] = "";
	(void)state;
	memset(text, 'A', DNS_TSIG_KEY_TEXT_MAX + 1);
	memcpy(text + 680, "AAA=", 4); /* 512 bytes */
	struct dns_tsig_fields fields = { .name = SLICE("key"), .secret = { text, 684 } };
	assert_int_equal(dns_tsig_key_set(&key, &fields, ERR_TEXT(why)), 0);
	assert_int_equal(key.secret.n, DNS_TSIG_SECRET_MAX);
	memcpy(text + 680, "AAAA", 4);
	assert_int_equal(dns_tsig_key_set(&key, &fields, ERR_TEXT(why)), ERR_LIMIT);
	assert_string_equal(why,
			    "the secret of TSIG key 'key.' has 513 bytes: it must have 1 to 512");
	fields.secret.n = DNS_TSIG_KEY_TEXT_MAX;
	assert_int_equal(dns_tsig_key_set(&key, &fields, ERR_TEXT(why)), ERR_LIMIT);
	assert_string_equal(why, "the TSIG key is longer than 2048 characters");
	dns_tsig_key_done(&key);
}

/* Names are for messages, unless they may be the secret. */
static void labels(void **state)
{
	static const struct {
		const char *name, *label;
	} rows[] = {
		{ "writer.key.", "writer.key." },
		{ "external-dns-production-key", "external-dns-production-key." },
		{ "k_1", "k_1." },
		{ "abcdefghij0123456789a", "abcdefghij0123456789a." },
		{ "abcdefghij0123456789ab", "(not shown)" },
		{ "abcdefghij0123456789ab.example.com", "abcdefghij0123456789ab.example.com." },
		{ "c2VjcmV0LXdvcmQ=", "(not shown)" },
		{ "a/b.example", "(not shown)" },
		{ "a\\032b", "(not shown)" },
		{ "00112233445566778899aabbccddeeff", "(not shown)" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_tsig_fields fields = { .name = slice_of(rows[i].name),
						  .secret = SLICE("c2VjcmV0") };
		struct dns_tsig_key key = { 0 };
		char why[256] = "", label[DNS_NAME_TEXT_MAX];
		if (dns_tsig_key_set(&key, &fields, ERR_TEXT(why)) < 0)
			fail_msg("%s: %s", rows[i].name, why);
		dns_tsig_key_label(&key, label);
		assert_string_equal(label, rows[i].label);
		dns_tsig_key_done(&key);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
		cmocka_unit_test(limits),
		cmocka_unit_test(labels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

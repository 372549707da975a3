/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of learnt addresses: what is written is read again, at the limits too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/learnt/learnt_record.h"

static const uint8_t example[] = "\0011\024wildcard.example.com\017www.example.com\011192.0.2.1"
				 "\00260\0041060\0041000\013cdn.example\02000000000000000fe";

/* The form that the header documents, byte by byte. */
static void writes_the_documented_form(void **state)
{
	(void)state;
	uint8_t out[DNS_LEARNT_RDATA_MAX];
	struct dns_learnt learnt = { .object = SLICE("wildcard.example.com"),
				     .name = SLICE("www.example.com"),
				     .target = SLICE("cdn.example"),
				     .ip = { 192, 0, 2, 1 },
				     .ip_n = 4,
				     .ttl_s = 60,
				     .expires_s = 1060,
				     .first_s = 1000,
				     .client = 0xfe };
	size_t n = dns_learnt_rdata(&learnt, out);
	assert_int_equal(n, sizeof(example) - 1);
	assert_memory_equal(out, example, n);
}

static void reads_what_it_writes(void **state)
{
	(void)state;
	char longest[DNS_LEARNT_TEXT_MAX];
	uint8_t out[DNS_LEARNT_RDATA_MAX];
	struct slice text = { longest, sizeof(longest) };
	struct dns_learnt got, learnt = { .object = text,
					  .name = text,
					  .target = text,
					  .ip = { 0x20, 1, 0xd, 0xb8, [15] = 0xfe },
					  .ip_n = 16,
					  .ttl_s = UINT32_MAX,
					  .expires_s = INT64_MAX,
					  .first_s = 0,
					  .client = UINT64_C(0x0123456789abcdef) };
	memset(longest, 'a', sizeof(longest));
	size_t n = dns_learnt_rdata(&learnt, out);
	assert_int_equal(dns_learnt_parse(out, n, &got), 0);
	assert_true(slice_eq(got.name, text) && slice_eq(got.object, text));
	assert_true(slice_eq(got.target, text));
	assert_memory_equal(got.ip, learnt.ip, 16);
	assert_int_equal(got.ttl_s, UINT32_MAX);
	assert_int_equal(got.expires_s, INT64_MAX);
	assert_int_equal(got.client, learnt.client);
	/* Older servers send eight strings. */
	size_t eight = n - 17;
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(dns_learnt_parse(out, cut, &got), cut < eight ? ERR_PARSE : 0);
	assert_int_equal(dns_learnt_parse(out, eight, &got), 0);
	assert_int_equal(got.client, 0);
}

static void refuses_other_versions_and_bad_fields(void **state)
{
	(void)state;
	static const struct {
		const char *rdata;
		int error;
	} rows[] = {
		{ "\0012\001o\001n\0071.2.3.4\0011\0012\0013\000", ERR_UNSUPPORTED },
		{ "\0011\000\001n\0071.2.3.4\0011\0012\0013\000", ERR_PARSE },
		{ "\0011\001o\000\0071.2.3.4\0011\0012\0013\000", ERR_PARSE },
		{ "\0011\001o\001n\0071.2.3.x\0011\0012\0013\000", ERR_PARSE },
		{ "\0011\001o\001n\0071.2.3.4\001-\0012\0013\000", ERR_PARSE },
		{ "\0011\001o\001n\0071.2.3.4\0124294967296\0012\0013\000", ERR_PARSE },
		{ "\0011\001o\001n\0071.2.3.4\0011\000\0013\000", ERR_PARSE },
	};
	static const uint8_t good[] = "\0011\001o\001n\0071.2.3.4\0011\0012\0013\000";
	struct dns_learnt got;
	assert_int_equal(dns_learnt_parse(good, sizeof(good) - 1, &got), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const uint8_t *p = (const uint8_t *)rows[i].rdata;
		size_t n = 0;
		for (int s = 0; s < 8; s++)
			n += p[n] + 1U;
		assert_int_equal(dns_learnt_parse(p, n, &got), rows[i].error);
	}
}

static void owners_are_names_of_the_zone(void **state)
{
	(void)state;
	uint8_t one[DNS_NAME_MAX], other[DNS_NAME_MAX], zone[DNS_NAME_MAX];
	assert_int_equal(dns_name_from_text(SLICE(DNS_LEARNT_ZONE), zone), sizeof(dns_learnt_zone));
	assert_memory_equal(zone, dns_learnt_zone, sizeof(dns_learnt_zone));
	size_t n = dns_learnt_owner(SLICE("a"), SLICE("b.example"), one);
	assert_int_equal(dns_name_len(one), n);
	assert_true(dns_name_is_below(one, dns_learnt_zone));
	dns_learnt_owner(SLICE("a"), SLICE("c.example"), other);
	assert_false(dns_name_eq(one, other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_documented_form),
		cmocka_unit_test(reads_what_it_writes),
		cmocka_unit_test(refuses_other_versions_and_bad_fields),
		cmocka_unit_test(owners_are_names_of_the_zone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

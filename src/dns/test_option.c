/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which EDNS options are well formed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/request.h"

static void test_lengths(void **state)
{
	/* Lengths from 0 that are accepted, as bits, for all-zero data. */
	static const struct {
		uint16_t code;
		uint32_t ok;
	} rows[] = {
		{ 1, ~UINT32_C(0) << 18 },    /* LLQ */
		{ 2, 1 << 4 | 1 << 8 },	      /* UPDATE-LEASE */
		{ 3, ~UINT32_C(0) },	      /* NSID */
		{ 8, ~UINT32_C(0) << 4 },     /* ECS, family 0 */
		{ 9, 1 | ~UINT32_C(0) << 4 }, /* EXPIRE */
		{ 10, ~UINT32_C(0) },	      /* COOKIE */
		{ 11, 1 | 1 << 2 },	      /* TCP-KEEPALIVE */
		{ 12, ~UINT32_C(0) },	      /* PADDING */
		{ 15, ~UINT32_C(0) << 2 },    /* EDE */
		{ 18, ~UINT32_C(0) << 1 },    /* REPORT-CHANNEL */
		{ 65001, ~UINT32_C(0) },
	};
	static const uint8_t zeros[32];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (uint16_t n = 0; n < 32; n++) {
			struct dns_option o = { .code = rows[i].code, .len = n, .data = zeros };
			if (dns_option_valid(&o) != (rows[i].ok >> n & 1))
				fail_msg("option %u of %u bytes", rows[i].code, n);
		}
	}
}

static void test_subnet(void **state)
{
	static const struct {
		uint8_t data[8];
		bool ok;
	} rows[] = {
		{ { 0, 0, 0, 0 }, true },	{ { 0, 0, 1, 0 }, false },
		{ { 0, 1, 24, 0, 192 }, true }, { { 0, 1, 32, 32 }, true },
		{ { 0, 1, 33, 0 }, false },	{ { 0, 1, 24, 33 }, false },
		{ { 0, 2, 128, 128 }, true },	{ { 0, 2, 129, 0 }, false },
		{ { 0, 2, 0, 129 }, false },	{ { 0, 3, 0, 0 }, false },
		{ { 1, 1, 0, 0 }, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_option o = { .code = 8, .len = 8, .data = rows[i].data };
		assert_int_equal(dns_option_valid(&o), rows[i].ok);
	}
}

static void test_report_channel_is_a_name(void **state)
{
	static const struct {
		const char *data;
		uint16_t n;
		bool ok;
	} rows[] = {
		{ "\1a\0", 3, true },	{ "\1a", 2, false },	   { "\5a\0", 3, false },
		{ "\300\0", 2, false }, { "\1a\300\0", 4, false }, { "\100a\0", 3, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_option o = { .code = 18,
					.len = rows[i].n,
					.data = (const uint8_t *)rows[i].data };
		if (dns_option_valid(&o) != rows[i].ok)
			fail_msg("row %zu", i);
	}
}

static void test_walk_stops_at_damage(void **state)
{
	static const uint8_t tlv[] = { 0, 3, 0, 1, 'x', 0, 3, 0, 0, 0, 3, 0, 9, 'y' };
	struct dns_option o;
	(void)state;
	for (uint16_t n = 0; n <= sizeof(tlv); n++) {
		struct dns_opt opt = { .options = tlv, .options_len = n };
		size_t pos = 0, found = 0;
		while (dns_option_next(&opt, &pos, &o))
			found++;
		assert_int_equal(found, n >= 9 ? 2 : n >= 5 ? 1 : 0);
		assert_true(pos <= n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_subnet),
		cmocka_unit_test(test_report_channel_is_a_name),
		cmocka_unit_test(test_walk_stops_at_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

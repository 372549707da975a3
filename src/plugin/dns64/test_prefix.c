/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prefixes: the lengths of RFC 6052, its table of mappings, and CoreDNS's
 * four. */
#include "plugin/dns64/prefix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "net/addr.h"

static void lengths(void **state)
{
	(void)state;
	for (int bits = 0; bits <= 128; bits++) {
		char text[40];
		struct dns64_prefix p;
		bool fine = bits == 96 || (bits >= 32 && bits <= 64 && bits % 8 == 0);
		snprintf(text, sizeof(text), "2001:db8::/%d", bits);
		assert_int_equal(dns64_prefix_parse(slice_of(text), &p), fine ? 0 : ERR_RANGE);
	}
}

static void no_prefixes(void **state)
{
	static const struct {
		const char *text;
		int error;
	} rows[] = {
		{ "", ERR_PARSE },
		{ "foobar", ERR_PARSE },
		{ "2001:db8::", ERR_PARSE },
		{ "2001:db8::/129", ERR_PARSE },
		{ "2001:db8::/", ERR_PARSE },
		{ "2001:db8::/x", ERR_PARSE },
		{ "fe80::%1/64", ERR_PARSE },
		{ "/96", ERR_PARSE },
		{ "192.0.2.0/24", ERR_TYPE },
		{ "192.0.2.0/32", ERR_TYPE },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns64_prefix p;
		assert_int_equal(dns64_prefix_parse(slice_of(rows[i].text), &p), rows[i].error);
	}
}

static void mappings(void **state)
{
	static const struct {
		const char *prefix, *v4, *v6;
	} rows[] = {
		/* RFC 6052 section 2.4 */
		{ "2001:db8::/32", "192.0.2.33", "2001:db8:c000:221::" },
		{ "2001:db8:100::/40", "192.0.2.33", "2001:db8:1c0:2:21::" },
		{ "2001:db8:122::/48", "192.0.2.33", "2001:db8:122:c000:2:2100::" },
		{ "2001:db8:122:300::/56", "192.0.2.33", "2001:db8:122:3c0:0:221::" },
		{ "2001:db8:122:344::/64", "192.0.2.33", "2001:db8:122:344:c0:2:2100::" },
		{ "2001:db8:122:344::/96", "192.0.2.33", "2001:db8:122:344::c000:221" },
		{ "64:ff9b::/96", "64.64.64.64", "64:ff9b::4040:4040" },
		{ "64:ff9b::/64", "64.64.64.64", "64:ff9b::40:4040:4000:0" },
		{ "64:ff9b::/56", "64.64.64.64", "64:ff9b:0:40:40:4040::" },
		{ "64::/32", "64.64.64.64", "64:0:4040:4040::" },
		{ "64:ff9b::ffff:ffff/96", "255.255.255.255", "64:ff9b::ffff:ffff" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns64_prefix p;
		union net_addr v4, v6;
		uint8_t got[16];
		size_t n;
		assert_int_equal(dns64_prefix_parse(slice_of(rows[i].prefix), &p), 0);
		assert_int_equal(net_addr_parse_ip(slice_of(rows[i].v4), &v4), 0);
		assert_int_equal(net_addr_parse_ip(slice_of(rows[i].v6), &v6), 0);
		dns64_prefix_map(&p, net_addr_bytes(&v4, &n), got);
		assert_memory_equal(got, net_addr_bytes(&v6, &n), 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(no_prefixes),
		cmocka_unit_test(mappings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

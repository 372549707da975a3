/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of mnemonics: every number both ways, and the fallbacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/types.h"

/* A list that is not sorted would lose rows to the binary search. */
static void test_types_both_ways(void **state)
{
	char buf[DNS_MNEMONIC_MAX];
	unsigned named = 0;
	(void)state;
	for (unsigned t = 0; t <= UINT16_MAX; t++) {
		const char *s = dns_type_str((uint16_t)t, buf);
		assert_int_equal(dns_type_parse(slice_of(s), true), t);
		if (s == buf)
			assert_int_equal(dns_type_parse(slice_of(s), false), ERR_NOTFOUND);
		else
			named++;
	}
	assert_int_equal(named, 88);
}

static void test_classes_and_rcodes_both_ways(void **state)
{
	char buf[DNS_MNEMONIC_MAX];
	unsigned classes = 0;
	unsigned rcodes = 0;
	(void)state;
	for (unsigned n = 0; n <= UINT16_MAX; n++) {
		const char *s = dns_class_str((uint16_t)n, buf);
		assert_int_equal(dns_class_parse(slice_of(s), true), n);
		classes += s != buf;
		s = dns_rcode_str((uint16_t)n, buf);
		assert_int_equal(dns_rcode_parse(slice_of(s)), s != buf ? (int)n : ERR_NOTFOUND);
		rcodes += s != buf;
	}
	assert_int_equal(classes, 6);
	assert_int_equal(rcodes, 20);
}

static void test_well_known(void **state)
{
	char buf[DNS_MNEMONIC_MAX];
	(void)state;
	assert_string_equal(dns_type_str(DNS_TYPE_AAAA, buf), "AAAA");
	assert_string_equal(dns_type_str(DNS_TYPE_HTTPS, buf), "HTTPS");
	assert_string_equal(dns_type_str(23, buf), "NSAP-PTR");
	assert_string_equal(dns_type_str(32768, buf), "TA");
	assert_string_equal(dns_type_str(65534, buf), "TYPE65534");
	assert_string_equal(dns_type_str(11, buf), "TYPE11");
	assert_string_equal(dns_class_str(DNS_CLASS_CH, buf), "CH");
	assert_string_equal(dns_class_str(0, buf), "CLASS0");
	assert_string_equal(dns_rcode_str(16, buf), "BADSIG");
	assert_string_equal(dns_rcode_str(15, buf), "15");
	assert_string_equal(dns_rcode_str(4095, buf), "4095");
	assert_int_equal(dns_rcode_parse(SLICE("NOTIMPL")), 4);
}

static void test_refused(void **state)
{
	static const char *const rows[] = { "",	      "a",	   "AA",     "AAA",   "TYPE",
					    "TYPE-1", "TYPE65536", "TYPE1x", "type1", "ZZZ" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(dns_type_parse(slice_of(rows[i]), true), ERR_NOTFOUND);
	assert_int_equal(dns_class_parse(SLICE("in"), true), ERR_NOTFOUND);
	assert_int_equal(dns_class_parse(SLICE("CLASS1"), false), ERR_NOTFOUND);
	assert_int_equal(dns_class_parse(SLICE("CLASS70000"), true), ERR_NOTFOUND);
	assert_int_equal(dns_rcode_parse(SLICE("noerror")), ERR_NOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types_both_ways),
		cmocka_unit_test(test_classes_and_rcodes_both_ways),
		cmocka_unit_test(test_well_known),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

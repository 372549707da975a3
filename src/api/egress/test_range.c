/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of rules, and the addresses that are never learnt. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/range.h"
#include "base/compiler.h"

static const struct {
	const char *text, *canonical; /* NULL: refused */
	bool has_host_bits;
} ranges[] = {
	{ "10.0.0.0/8", "10.0.0.0/8", false },
	{ "0.0.0.0/0", "0.0.0.0/0", false },
	{ "10.1.2.3/8", "10.0.0.0/8", true },
	{ "192.0.2.255/31", "192.0.2.254/31", true },
	{ "192.0.2.1/32", "192.0.2.1/32", false },
	{ "2001:DB8::/32", "2001:db8::/32", false },
	{ "2001:db8::1/33", "2001:db8::/33", true },
	{ "::/0", "::/0", false },
	{ "", NULL, false },
	{ "/8", NULL, false },
	{ "10.0.0.0", NULL, false },
	{ "10.0.0.0/", NULL, false },
	{ "10.0.0.0/33", NULL, false },
	{ "10.0.0.0/08", NULL, false },
	{ "10.0.0.0/-1", NULL, false },
	{ "10.0.0.0/8/8", NULL, false },
	{ "10.0.0/8", NULL, false },
	{ "010.0.0.0/8", NULL, false },
	{ " 10.0.0.0/8", NULL, false },
	{ "::/129", NULL, false },
	{ "fe80::1%eth0/64", NULL, false },
	{ "::ffff:10.0.0.0/104", NULL, false },
	{ "2001:db8:0000:0000:0000:0000:0000:0000:0000/128", NULL, false },
};

static void range_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		struct egress_range range;
		bool has_host_bits = false;
		char text[EGRESS_RANGE_TEXT_MAX];
		const char *wrong =
			egress_range_parse(slice_of(ranges[i].text), &range, &has_host_bits);
		if ((wrong == NULL) != (ranges[i].canonical != NULL))
			fail_msg("'%s': %s", ranges[i].text, wrong != NULL ? wrong : "accepted");
		if (wrong != NULL)
			continue;
		egress_range_text(&range, text);
		assert_string_equal(text, ranges[i].canonical);
		assert_int_equal(has_host_bits, ranges[i].has_host_bits);
	}
}

static size_t bytes_of(const char *text, uint8_t out[16])
{
	if (inet_pton(AF_INET, text, out) == 1)
		return 4;
	assert_int_equal(inet_pton(AF_INET6, text, out), 1);
	return 16;
}

static void membership(void **state)
{
	struct egress_range range;
	bool bits;
	uint8_t address[16];
	(void)state;
	assert_null(egress_range_parse(SLICE("10.128.0.0/9"), &range, &bits));
	assert_true(egress_range_has(&range, address, bytes_of("10.255.0.1", address)));
	assert_false(egress_range_has(&range, address, bytes_of("10.127.0.1", address)));
	assert_false(egress_range_has(&range, address, bytes_of("a80::", address)));
	assert_null(egress_range_parse(SLICE("::/0"), &range, &bits));
	assert_true(egress_range_has(&range, address, bytes_of("2001:db8::1", address)));
	assert_false(egress_range_has(&range, address, bytes_of("10.0.0.1", address)));
}

/* Whoever owns an allowed name must not open these. */
static void never_learnt(void **state)
{
	static const char *const never[] = {
		"0.0.0.0",	 "0.1.2.3",	     "127.0.0.1",
		"127.9.9.9",	 "169.254.169.254",  "224.0.0.1",
		"239.1.1.1",	 "255.255.255.255",  "::",
		"::1",		 "fe80::1",	     "febf::1",
		"ff02::1",	 "::ffff:127.0.0.1", "64:ff9b::169.254.169.254",
		"2002:7f00:1::1"
	};
	static const char *const fine[] = { "192.0.2.1", "10.0.0.1",	     "240.0.0.1",
					    "126.0.0.1", "2001:db8::1",	     "fec0::1",
					    "fc00::1",	 "::ffff:192.0.2.1", "64:ff9b::192.0.2.1" };
	uint8_t address[16];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(never); i++) {
		if (!egress_range_is_never_learnt(address, bytes_of(never[i], address)))
			fail_msg("%s", never[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		if (egress_range_is_never_learnt(address, bytes_of(fine[i], address)))
			fail_msg("%s", fine[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range_table),
		cmocka_unit_test(membership),
		cmocka_unit_test(never_learnt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

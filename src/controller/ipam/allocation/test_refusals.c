/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When claims that the API refused are tried again. */
#include "controller/ipam/allocation/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock_test.h"
#include "base/compiler.h"

static uint64_t now_ns = NS_PER_S;

static uint64_t fake_now(void)
{
	return now_ns;
}

static const struct clock_source fake_clock = { fake_now, fake_now };

static void pauses_grow(void **state)
{
	static const unsigned seconds[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 };
	struct ipam_refusals *refusals = ipam_refusals_new();
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(seconds); i++) {
		ipam_refusals_note(refusals, "a/one");
		assert_int_equal(ipam_refusals_left_ns(refusals, "a/one"), seconds[i] * NS_PER_S);
		now_ns += seconds[i] * NS_PER_S - 1;
		assert_int_equal(ipam_refusals_left_ns(refusals, "a/one"), 1);
		now_ns++;
		assert_int_equal(ipam_refusals_left_ns(refusals, "a/one"), 0);
		now_ns += NS_PER_S;
		assert_int_equal(ipam_refusals_left_ns(refusals, "a/one"), 0);
		assert_true(ipam_refusals_has(refusals, "a/one"));
	}
	ipam_refusals_free(refusals);
}

static void claims_are_apart(void **state)
{
	struct ipam_refusals *refusals = ipam_refusals_new();
	(void)state;
	assert_false(ipam_refusals_has(refusals, "a/one"));
	assert_int_equal(ipam_refusals_left_ns(refusals, "a/one"), 0);
	ipam_refusals_note(refusals, "a/one");
	ipam_refusals_note(refusals, "a/two");
	ipam_refusals_note(refusals, "a/two");
	assert_int_equal(ipam_refusals_left_ns(refusals, "a/one"), NS_PER_S);
	assert_int_equal(ipam_refusals_left_ns(refusals, "a/two"), 2 * NS_PER_S);
	ipam_refusals_forget(refusals, "a/two");
	ipam_refusals_forget(refusals, "a/three");
	assert_false(ipam_refusals_has(refusals, "a/two"));
	assert_true(ipam_refusals_has(refusals, "a/one"));
	/* From the start again. */
	ipam_refusals_note(refusals, "a/two");
	assert_int_equal(ipam_refusals_left_ns(refusals, "a/two"), NS_PER_S);
	ipam_refusals_free(refusals);
	ipam_refusals_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_grow),
		cmocka_unit_test(claims_are_apart),
	};
	clock_set_source(&fake_clock);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

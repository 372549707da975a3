/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The age of a Lease: counted from when a version was first seen, whatever its own times say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller/shared/lease_age.h"

enum { DURATION = 15, START = 100 };

static uint64_t left_of(struct lease_age *age, const char *version, uint64_t now)
{
	json_t *lease = json_pack("{s:{s:s}, s:{s:s}}", "metadata", "resourceVersion", version,
				  "spec", "renewTime", "2000-01-01T00:00:00.000000Z");
	uint64_t left = lease_age_left_ns(age, lease, DURATION, now);
	json_decref(lease);
	return left;
}

static void renewals_start_again(void **state)
{
	(void)state;
	struct lease_age age = { 0 };
	assert_int_equal(left_of(&age, "1", START), DURATION);
	assert_int_equal(left_of(&age, "1", START + 10), DURATION - 10);
	assert_int_equal(left_of(&age, "2", START + 12), DURATION);
	assert_int_equal(left_of(&age, "2", START + 12 + DURATION - 1), 1);
	assert_int_equal(left_of(&age, "2", START + 12 + DURATION), 0);
	assert_int_equal(left_of(&age, "2", START + 100), 0);
	assert_int_equal(left_of(&age, "3", START + 101), DURATION);
	lease_age_done(&age);
	assert_null(age.version);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(renewals_start_again) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which conditions are problems. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "cmd/objects/condition_meaning.h"

static void a_healthy_pool_has_no_problems(void **state)
{
	static const char *const types[] = { "Overlapping",
					     "OutOfRange",
					     "NameserversCut",
					     "ForeignAddresses",
					     "DefaultNameserversInvalid",
					     "FieldPruned" };
	(void)state;
	assert_int_equal(condition_meaning("Ready", "True"), CONDITION_FINE);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(condition_meaning(types[i], "False"), CONDITION_FINE);
}

static void problems_of_a_pool(void **state)
{
	(void)state;
	assert_int_equal(condition_meaning("Ready", "False"), CONDITION_PROBLEM);
	assert_int_equal(condition_meaning("Overlapping", "True"), CONDITION_PROBLEM);
	assert_int_equal(condition_meaning("OutOfRange", "True"), CONDITION_PROBLEM);
	assert_int_equal(condition_meaning("ForeignAddresses", "True"), CONDITION_PROBLEM);
	assert_int_equal(condition_meaning("DefaultNameserversInvalid", "True"), CONDITION_PROBLEM);
	assert_int_equal(condition_meaning("NameserversCut", "True"), CONDITION_NOTE);
	assert_int_equal(condition_meaning("FieldPruned", "True"), CONDITION_NOTE);
}

static void unknown(void **state)
{
	(void)state;
	assert_int_equal(condition_meaning("Available", "Unknown"), CONDITION_PROBLEM);
	assert_int_equal(condition_meaning("Degraded", "Unknown"), CONDITION_FINE);
	assert_int_equal(condition_meaning("Enforced", "Unknown"), CONDITION_NOTE);
	assert_int_equal(condition_meaning("Resolvable", "Unknown"), CONDITION_NOTE);
	assert_int_equal(condition_meaning("Ready", ""), CONDITION_PROBLEM);
}

static void conditions_of_other_programs(void **state)
{
	(void)state;
	assert_int_equal(condition_meaning("ScalingUp", "False"), CONDITION_IGNORED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_pool_has_no_problems),
		cmocka_unit_test(problems_of_a_pool),
		cmocka_unit_test(unknown),
		cmocka_unit_test(conditions_of_other_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

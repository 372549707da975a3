/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clock: the kernel's clocks move forward, a fake one replaces all three. */
#include "base/clock.h"
#include "base/clock_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t fake_mono(void)
{
	return 42;
}

static uint64_t fake_wall(void)
{
	return 4242;
}

static void kernel_clocks_move_forward(void **state)
{
	(void)state;
	uint64_t a = clock_mono_ns();
	uint64_t b = clock_mono_ns();
	assert_true(a <= b);
	/* Later than 2020. */
	assert_true(clock_wall_ns() > 1577836800 * NS_PER_S);
}

static void fake_replaces_all(void **state)
{
	(void)state;
	static const struct clock_source source = { fake_mono, fake_wall };
	clock_set_source(&source);
	assert_int_equal(clock_mono_ns(), 42);
	assert_int_equal(clock_wall_ns(), 4242);
	clock_set_source(NULL);
	assert_int_not_equal(clock_wall_ns(), 4242);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_clocks_move_forward),
		cmocka_unit_test(fake_replaces_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

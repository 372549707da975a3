/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube/client/write_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"

/* 20 per second, 40 at once. */
static void burst_then_pace(void **state)
{
	(void)state;
	struct kube_write_limit b;
	uint64_t now = 1000 * NS_PER_S;
	kube_write_limit_init(&b);
	kube_write_limit_set(&b, 20, 40);
	for (int i = 0; i < 40; i++)
		assert_int_equal(kube_write_limit_take(&b, false, now), 0);
	for (unsigned i = 1; i <= 20; i++)
		assert_int_equal(kube_write_limit_take(&b, false, now), i * 50 * NS_PER_MS);
	/* Those twenty have been paid for a second later, and no more than that. */
	now += NS_PER_S;
	assert_int_equal(kube_write_limit_take(&b, false, now), 50 * NS_PER_MS);
	/* After a long pause there is one burst again, not two. */
	now += 1000 * NS_PER_S;
	for (int i = 0; i < 40; i++)
		assert_int_equal(kube_write_limit_take(&b, false, now), 0);
	assert_int_equal(kube_write_limit_take(&b, false, now), 50 * NS_PER_MS);
	kube_write_limit_done(&b);
}

/* Those who are patient wait, and leave enough to those who are not. */
static void patient_ones_wait_first(void **state)
{
	(void)state;
	struct kube_write_limit b;
	uint64_t now = 1000 * NS_PER_S;
	kube_write_limit_init(&b);
	kube_write_limit_set(&b, 20, 40);
	for (int i = 0; i < 30; i++)
		assert_int_equal(kube_write_limit_take(&b, true, now), 0);
	assert_int_equal(kube_write_limit_take(&b, true, now), 50 * NS_PER_MS);
	for (int i = 0; i < 9; i++)
		assert_int_equal(kube_write_limit_take(&b, false, now), 0);
	assert_int_equal(kube_write_limit_take(&b, false, now), 50 * NS_PER_MS);
	kube_write_limit_done(&b);
}

static void no_limit(void **state)
{
	(void)state;
	struct kube_write_limit b;
	kube_write_limit_init(&b);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(kube_write_limit_take(&b, false, 5), 0);
	kube_write_limit_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(burst_then_pace),
					    cmocka_unit_test(patient_ones_wait_first),
					    cmocka_unit_test(no_limit) };
	return cmocka_run_group_tests_name("kube/write_limit", tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate of an account: bursts, pauses, halving and growth (DR-P10). */
#include "provider/rate_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"

/* Calls in this many milliseconds, each as early as possible. */
static unsigned count_calls(struct provider_rate *rate, uint64_t *now_ns, unsigned ms)
{
	unsigned n = 0;
	for (unsigned i = 0; i < ms; i++) {
		*now_ns += NS_PER_MS;
		while (provider_rate_wait_ns(rate, *now_ns) == 0) {
			provider_rate_take(rate, *now_ns);
			n++;
		}
	}
	return n;
}

static void burst_then_rate(void **state)
{
	struct provider_rate rate;
	uint64_t now = NS_PER_S;
	(void)state;
	provider_rate_init(&rate, 5, 0, now);
	assert_int_equal(count_calls(&rate, &now, 1), 5);
	assert_in_range(provider_rate_wait_ns(&rate, now), 199 * NS_PER_MS, 201 * NS_PER_MS);
	assert_in_range(count_calls(&rate, &now, 10000), 49, 50);
	provider_rate_init(&rate, 100, 2, now);
	assert_int_equal(count_calls(&rate, &now, 1), 2);
}

static void throttling_halves_and_success_adds(void **state)
{
	struct provider_rate rate;
	uint64_t now = NS_PER_S;
	(void)state;
	provider_rate_init(&rate, 20, 0, now);
	count_calls(&rate, &now, 1);
	provider_rate_throttled(&rate, 3 * NS_PER_S, now);
	provider_rate_throttled(&rate, 0, now); /* was under way, too */
	assert_int_equal((unsigned)rate.per_s, 10);
	assert_int_equal(provider_rate_wait_ns(&rate, now), 3 * NS_PER_S);
	assert_int_equal(count_calls(&rate, &now, 2999), 0);
	assert_int_equal(count_calls(&rate, &now, 50), 1); /* one call shows how it is */
	for (int i = 0; i < 5; i++)
		provider_rate_succeeded(&rate);
	assert_int_equal((unsigned)rate.per_s, 15);
	for (int i = 0; i < 50; i++)
		provider_rate_succeeded(&rate);
	assert_int_equal((unsigned)rate.per_s, 20);
}

static void pauses_double_and_have_a_limit(void **state)
{
	static const unsigned seconds[] = { 1, 2, 4, 8, 16, 30, 30, 30 };
	struct provider_rate rate;
	uint64_t now = NS_PER_S;
	(void)state;
	provider_rate_init(&rate, 5, 0, now);
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		provider_rate_throttled(&rate, 0, now);
		assert_int_equal(provider_rate_wait_ns(&rate, now), seconds[i] * NS_PER_S);
		now += seconds[i] * NS_PER_S;
	}
	assert_true(rate.per_s >= 5.0 / PROVIDER_RATE_FLOOR);
	provider_rate_throttled(&rate, 86400 * NS_PER_S, now);
	assert_int_equal(provider_rate_wait_ns(&rate, now), PROVIDER_RETRY_AFTER_MAX_S * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(burst_then_rate),
		cmocka_unit_test(throttling_halves_and_success_adds),
		cmocka_unit_test(pauses_double_and_have_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for bad changes, over all sets of bad ones of small rows and random ones of large rows: each is found, no good one is
 * taken for bad, and the number of calls is bounded (DR-P4). */
#include "provider/bisect_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/rng_test.h"

static unsigned ceil_log2(size_t n)
{
	unsigned bits = 0;
	while (((size_t)1 << bits) < n)
		bits++;
	return bits;
}

enum { ROW_MAX = 1000 };

static bool has_bad(const bool *bad, size_t from, size_t count)
{
	for (size_t i = from; i < from + count; i++) {
		if (bad[i])
			return true;
	}
	return false;
}

/* The first call, which fails, included. */
static unsigned count_calls(size_t n, const bool *bad, unsigned n_bad)
{
	struct provider_bisect bisect;
	unsigned calls = 1;
	provider_bisect_init(&bisect, n);
	for (;;) {
		if (provider_bisect_found(&bisect)) {
			assert_true(bad[n - bisect.left - 1]);
			n_bad--;
			continue;
		}
		size_t tried = provider_bisect_next(&bisect);
		if (tried == 0)
			break;
		calls++;
		if (has_bad(bad, n - bisect.left, tried))
			provider_bisect_failed(&bisect, tried);
		else
			provider_bisect_succeeded(&bisect, tried);
	}
	assert_int_equal(n_bad, 0);
	return calls;
}

static void check_calls(size_t n, const bool *bad)
{
	unsigned n_bad = 0;
	for (size_t i = 0; i < n; i++)
		n_bad += bad[i];
	unsigned calls = count_calls(n, bad, n_bad);
	assert_in_range(calls, 1, (n_bad == 1 ? 2 : 4) + n_bad * ceil_log2(n));
}

static void finds_all_of_small_rows(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 16; n++) {
		for (uint32_t set = 1; set < UINT32_C(1) << n; set++) {
			bool bad[16];
			for (size_t i = 0; i < n; i++)
				bad[i] = (set >> i & 1) != 0;
			check_calls(n, bad);
		}
	}
}

/* Bad ones alone and side by side. */
static void finds_all_of_large_rows(void **state)
{
	static bool bad[ROW_MAX];
	struct rng rng;
	(void)state;
	rng_init_seed(&rng, 1);
	for (int round = 0; round < 5000; round++) {
		size_t n = 100 + rng_below(&rng, ROW_MAX - 99);
		memset(bad, 0, sizeof(bad));
		for (uint32_t clusters = 1 + rng_below(&rng, 12); clusters != 0; clusters--) {
			size_t at = rng_below(&rng, (uint32_t)n);
			size_t end = at + 1 + (rng_below(&rng, 3) == 0 ? rng_below(&rng, 10) : 0);
			for (; at < end && at < n; at++)
				bad[at] = true;
		}
		check_calls(n, bad);
	}
}

static void all_bad_costs_less_than_two_each(void **state)
{
	bool bad[256];
	(void)state;
	memset(bad, 1, sizeof(bad));
	assert_in_range(count_calls(256, bad, 256), 256, 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_all_of_small_rows),
		cmocka_unit_test(finds_all_of_large_rows),
		cmocka_unit_test(all_bad_costs_less_than_two_each),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

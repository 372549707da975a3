/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for bad changes, over all sets of bad ones of small rows and random ones of large rows: each is found, no good one is
 * taken for bad, and the number of calls is bounded (DR-P4). */
#include "provider/shared/bisect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
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

/* What bisect_priv.h promises, from what n itself says. */
static unsigned most_calls(size_t n, unsigned n_bad)
{
	unsigned log = ceil_log2(n);
	size_t ends = (size_t)1 << log;
	unsigned base = n_bad == 1 || 4 * n <= 3 * ends ? 2 : 8 * n <= 7 * ends ? 3 : 4;
	return base + n_bad * log + (n_bad > BISECT_RUN);
}

static void check_calls(size_t n, const bool *bad)
{
	unsigned n_bad = 0;
	for (size_t i = 0; i < n; i++)
		n_bad += bad[i];
	assert_in_range(count_calls(n, bad, n_bad), 1, most_calls(n, n_bad));
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

/* Up to eight bad ones of up to 500, of which two thirds stand side by side: the exact bound. */
static void holds_the_bound(void **state)
{
	static bool bad[500];
	struct rng rng;
	(void)state;
	rng_init_seed(&rng, 2);
	for (int round = 0; round < 50000; round++) {
		size_t n = 1 + rng_below(&rng, ARRAY_LEN(bad));
		unsigned n_bad = 1 + rng_below(&rng, (uint32_t)MIN(n, (size_t)BISECT_RUN));
		size_t next = rng_below(&rng, (uint32_t)n);
		memset(bad, 0, sizeof(bad));
		for (unsigned i = 0; i < n_bad;) {
			size_t at =
				rng_below(&rng, 3) == 0 ? rng_below(&rng, (uint32_t)n) : next++ % n;
			i += !bad[at];
			bad[at] = true;
		}
		check_calls(n, bad);
	}
}

/* ---- no strategy is better for all rows ---- */

enum { FEW = 4, SETS = 1 << FEW, FEW_LOG = 2, FEW_CALLS = 2 + FEW * FEW_LOG };

/* Of the four changes: those that did not succeed yet, and the sets that failed, a bit for each. */
struct knowledge {
	unsigned unknown, failed;
};

static unsigned count_bits(unsigned set)
{
	unsigned n = 0;
	for (; set != 0; set &= set - 1)
		n++;
	return n;
}

/* The fewest bad ones that explain the failures. */
static unsigned fewest_bad(const struct knowledge *known)
{
	unsigned fewest = FEW;
	for (unsigned bad = 0; bad < SETS; bad++) {
		bool explains = (bad & ~known->unknown) == 0;
		for (unsigned set = 1; set < SETS; set++)
			explains =
				explains && ((known->failed >> set & 1) == 0 || (set & bad) != 0);
		if (explains)
			fewest = MIN(fewest, count_bits(bad));
	}
	return fewest;
}

static struct knowledge after_success(const struct knowledge *known, unsigned tried)
{
	struct knowledge after = { .unknown = known->unknown & ~tried };
	for (unsigned set = 1; set < SETS; set++) {
		if ((known->failed >> set & 1) != 0)
			after.failed |= 1U << (set & ~tried);
	}
	return after;
}

/* The set would fail for certain, or is known to be one bad change. */
static bool is_useless(const struct knowledge *known, unsigned tried)
{
	for (unsigned set = 1; set < SETS; set++) {
		if ((known->failed >> set & 1) != 0 && (set & ~tried) == 0)
			return true;
	}
	return (tried & ~known->unknown) != 0;
}

/* Is there a strategy with at most 2 + k L calls, whatever the bad ones are? Tries all. */
static bool can_hold(struct knowledge known, unsigned calls)
{
	static int8_t memory[SETS][1 << SETS][FEW_CALLS + 1];
	unsigned singles = 0, fewest = fewest_bad(&known);
	for (unsigned i = 0; i < FEW; i++)
		singles |= (known.failed >> (1U << i) & 1) << i;
	if (singles == known.unknown)
		return calls <= 2 + fewest * FEW_LOG;
	if (calls >= 2 + fewest * FEW_LOG)
		return false;
	int8_t *answer = &memory[known.unknown][known.failed][calls];
	for (unsigned tried = 1; *answer == 0 && tried < SETS; tried++) {
		struct knowledge failed = { known.unknown, known.failed | 1U << tried };
		if (!is_useless(&known, tried) &&
		    can_hold(after_success(&known, tried), calls + 1) &&
		    can_hold(failed, calls + 1))
			*answer = 1;
	}
	if (*answer == 0)
		*answer = -1;
	return *answer == 1;
}

static void no_strategy_holds_two_for_four(void **state)
{
	(void)state;
	struct knowledge first = { SETS - 1, 1U << (SETS - 1) };
	assert_false(can_hold(first, 1));
	/* Of three: they can be tried one by one. The fourth has succeeded. */
	struct knowledge three = { 7, 1U << 7 };
	assert_true(can_hold(three, 1));
}

/* ---- none that tries the beginnings of rows is better than the table ---- */

enum { SHORT_ROW = 16, SHORT_CALLS = 4 + SHORT_ROW * 4 };

/* A row, so many of whose first ones have a bad one among them (0: nobody knows), after so many bad ones and calls. */
struct row_state {
	size_t left, suspects;
	unsigned n_bad, calls;
};

/* `base` for more than one bad change, 2 for one; for rows of the length `n`. */
struct row_bound {
	size_t n;
	unsigned base;
	int8_t memory[SHORT_ROW + 1][SHORT_ROW + 1][SHORT_ROW + 1][SHORT_CALLS + 1];
};

static unsigned bound_of(const struct row_bound *bound, unsigned n_bad)
{
	return (n_bad > 1 ? bound->base : 2) + n_bad * ceil_log2(bound->n);
}

static bool can_end(struct row_bound *bound, struct row_state at);

static bool can_try(struct row_bound *bound, struct row_state at)
{
	size_t most = at.suspects != 0 ? at.suspects - 1 : at.left;
	for (size_t tried = 1; tried <= most; tried++) {
		struct row_state good = { at.left - tried,
					  at.suspects != 0 ? at.suspects - tried : 0, at.n_bad,
					  at.calls + 1 };
		struct row_state bad = { at.left, tried, at.n_bad, at.calls + 1 };
		if (can_end(bound, good) && can_end(bound, bad))
			return true;
	}
	return false;
}

static bool can_end(struct row_bound *bound, struct row_state at)
{
	if (at.suspects == 1)
		at = (struct row_state){ at.left - 1, 0, at.n_bad + 1, at.calls };
	if (at.left == 0)
		return at.calls <= bound_of(bound, at.n_bad);
	if (at.calls >= bound_of(bound, at.n_bad + (at.suspects != 0)))
		return false;
	int8_t *answer = &bound->memory[at.left][at.suspects][at.n_bad][at.calls];
	if (*answer == 0)
		*answer = can_try(bound, at) ? 1 : -1;
	return *answer == 1;
}

static bool can_hold_base(size_t n, unsigned base)
{
	static struct row_bound bound;
	memset(&bound, 0, sizeof(bound));
	bound.n = n;
	bound.base = base;
	return can_end(&bound, (struct row_state){ n, n, 0, 1 });
}

/* From five on; two could do with 2, and four with 3. */
static void no_row_search_is_better(void **state)
{
	(void)state;
	for (size_t n = 5; n <= SHORT_ROW; n++) {
		unsigned base = most_calls(n, 2) - 2 * ceil_log2(n);
		assert_true(can_hold_base(n, base));
		assert_true(base == 2 || !can_hold_base(n, base - 1));
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
		cmocka_unit_test(holds_the_bound),
		cmocka_unit_test(no_strategy_holds_two_for_four),
		cmocka_unit_test(no_row_search_is_better),
		cmocka_unit_test(all_bad_costs_less_than_two_each),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flight: groups of equal queries, joined and left in any order, and what a very large one costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/rng_test.h"
#include "plugin/cache/cache_priv.h"
#include "plugin/cache/single_flight.h"

static struct cache_worker *worker_new(void)
{
	return xcalloc(1, sizeof(struct cache_worker));
}

static void worker_free(struct cache_worker *w)
{
	for (size_t i = 0; i < FLIGHT_LISTS; i++)
		assert_null(w->flight[i]);
	flight_done(w);
	free(w);
}

static void joins_and_leaves(void **state)
{
	enum { N = 200, STEPS = 20000, KEYS = 5 };
	static struct flight f[N];
	static const uint64_t hash[KEYS] = { 7, 7 + FLIGHT_LISTS, 8, UINT64_MAX, 0 };
	unsigned asking[KEYS] = { 0 }, waiting[KEYS] = { 0 };
	uint8_t key[N];
	struct cache_worker *w = worker_new();
	struct rng rng;
	(void)state;
	rng_init_seed(&rng, 1);
	for (unsigned step = 0; step < STEPS + N; step++) {
		unsigned i = step < STEPS ? rng_below(&rng, N) : step - STEPS;
		unsigned k = rng_below(&rng, KEYS);
		if (f[i].group != NULL) {
			(*(f[i].asks ? &asking[key[i]] : &waiting[key[i]]))--;
			flight_remove(&f[i]);
			flight_remove(&f[i]); /* twice is once */
		} else if (step < STEPS) {
			bool asks = rng_below(&rng, 2) == 0, ahead = rng_below(&rng, 2) == 0;
			(asks	 ? flight_ask
			 : ahead ? flight_wait_ahead
				 : flight_wait)(w, &f[i], NULL, hash[k]);
			(*(asks ? &asking[k] : &waiting[k]))++;
			key[i] = (uint8_t)k;
		}
		for (k = 0; k < KEYS; k++) {
			unsigned n = 0;
			for (struct flight *at = flight_waiting(w, hash[k]); at != NULL;
			     at = at->next)
				n++;
			assert_int_equal(n, waiting[k]);
			assert_int_equal(flight_waits(w, hash[k]), n != 0);
			assert_int_equal(flight_asking(w, hash[k]), asking[k]);
		}
	}
	worker_free(w);
}

/* Those who waited first are first, but for those who will not ask. */
static void in_order(void **state)
{
	struct flight f[4] = { 0 }, ahead[2] = { 0 };
	struct cache_worker *w = worker_new();
	(void)state;
	flight_wait_ahead(w, &ahead[0], NULL, 1);
	for (int i = 0; i < 4; i++)
		flight_wait(w, &f[i], NULL, 1);
	flight_remove(&f[3]);
	flight_wait(w, &f[3], NULL, 1);
	flight_remove(&f[0]);
	flight_wait_ahead(w, &ahead[1], NULL, 1);
	for (int i = 1; i >= 0; i--) {
		assert_ptr_equal(flight_waiting(w, 1), &ahead[i]);
		flight_remove(&ahead[i]);
	}
	for (int i = 1; i < 4; i++) {
		assert_ptr_equal(flight_waiting(w, 1), &f[i]);
		flight_remove(&f[i]);
	}
	worker_free(w);
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Looking for a leader takes no longer when many wait behind it: a walk over all of them would take
 * minutes here. */
static void a_large_group(void **state)
{
	enum { N = 300000 };
	struct cache_worker *w = worker_new();
	struct flight *f = xcalloc(N, sizeof(*f));
	double start = cpu_seconds();
	(void)state;
	flight_ask(w, &f[0], NULL, 1);
	for (unsigned i = 1; i < N; i++) {
		assert_int_equal(flight_asking(w, 1), 1);
		flight_wait(w, &f[i], NULL, 1);
	}
	for (unsigned i = N; i-- > 0;)
		flight_remove(&f[i]);
	assert_true(cpu_seconds() - start < 5);
	free(f);
	worker_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_and_leaves),
		cmocka_unit_test(in_order),
		cmocka_unit_test(a_large_group),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

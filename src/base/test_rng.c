/* rng: repeatable with a seed, different without, even over its range. */
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The generator's published algorithm from the state 1, 2, 3, 4. */
static void known_sequence(void **state)
{
	(void)state;
	static const uint64_t want[] = { 11520, 0, 1509978240, 1215971899390074240 };
	struct rng r = { { 1, 2, 3, 4 } };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(rng_u64(&r), want[i]);
}

static void seeds(void **state)
{
	(void)state;
	struct rng a, b;
	rng_init_seed(&a, 7);
	rng_init_seed(&b, 7);
	assert_memory_equal(&a, &b, sizeof(a));
	rng_init_seed(&b, 8);
	assert_int_not_equal(rng_u64(&a), rng_u64(&b));
	rng_init(&a);
	rng_init(&b);
	assert_memory_not_equal(&a, &b, sizeof(a));
}

static void below_is_even(void **state)
{
	(void)state;
	enum { N = 7, DRAWS = 70000 };
	unsigned count[N] = { 0 };
	struct rng r;
	rng_init_seed(&r, 1);
	for (int i = 0; i < DRAWS; i++) {
		uint32_t v = rng_below(&r, N);
		assert_true(v < N);
		count[v]++;
	}
	for (int i = 0; i < N; i++)
		assert_in_range(count[i], DRAWS / N - 500, DRAWS / N + 500);
	assert_int_equal(rng_below(&r, 1), 0);
	/* A range that does not divide 2^32: two thirds of the values lie above 2^30. */
	unsigned high = 0;
	for (int i = 0; i < DRAWS; i++)
		high += rng_below(&r, 3U << 30) >= 1U << 30;
	assert_in_range(high, DRAWS * 2 / 3 - 700, DRAWS * 2 / 3 + 700);
}

static void secure_fills(void **state)
{
	(void)state;
	unsigned char a[300] = { 0 }, b[300] = { 0 };
	rng_secure(a, sizeof(a));
	rng_secure(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a + 268, b + 268, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_sequence),
		cmocka_unit_test(seeds),
		cmocka_unit_test(below_is_even),
		cmocka_unit_test(secure_fills),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

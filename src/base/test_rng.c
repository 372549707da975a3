/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rng: repeatable with a seed, different without, even over its range. */
#include "base/rng.h"
#include "base/rng_test.h"

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

/* RFC 8439 section 2.3.2 */
static void chacha_block(void **state)
{
	static const uint8_t want[] = {
		0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3,
		0x20, 0x71, 0xc4, 0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22,
		0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e, 0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa,
		0x09, 0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2, 0xb5, 0x12, 0x9c, 0xd1,
		0xde, 0x16, 0x4e, 0xb9, 0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e,
	};
	static const uint32_t nonce[3] = { 0x09000000, 0x4a000000, 0 };
	uint32_t key[8];
	uint8_t out[64];
	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		key[i] = 0x03020100 + i * 0x04040404;
	rng_chacha20(key, 1, nonce, out);
	assert_memory_equal(out, want, sizeof(want));
}

/* Every refill has another key, and all values come. */
static void strong_numbers(void **state)
{
	static unsigned char seen[65536];
	struct rng_strong r, copy;
	(void)state;
	rng_strong_init(&r);
	copy = r;
	unsigned values = 0;
	for (int i = 0; i < 65536 * 8; i++) {
		uint16_t v = rng_strong_u16(&r);
		values += seen[v] == 0;
		seen[v] = 1;
	}
	assert_in_range(values, 65500, 65536); /* all but 22 in the mean */
	assert_memory_not_equal(r.key, copy.key, sizeof(r.key));
	unsigned char a[1300], b[1300];
	rng_strong_bytes(&copy, a, 7);
	rng_strong_bytes(&copy, a, sizeof(a));
	rng_strong_bytes(&copy, b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a, a + 512, 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_sequence), cmocka_unit_test(seeds),
		cmocka_unit_test(below_is_even),  cmocka_unit_test(secure_fills),
		cmocka_unit_test(chacha_block),	  cmocka_unit_test(strong_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

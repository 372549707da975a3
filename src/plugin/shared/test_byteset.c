/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of byte strings: each once, in order, up to their limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "plugin/shared/byteset.h"

enum { LIMIT = 4096 };

static struct slice number(struct arena *a, unsigned i)
{
	return slice_of(arena_printf(a, "%u", i));
}

static void once_each(void **state)
{
	(void)state;
	static const unsigned sizes[] = { 0, 1, 8, 16, 17, 1000, LIMIT };
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		struct arena a;
		arena_init(&a);
		struct byteset s = { .arena = &a };
		for (unsigned i = 0; i < sizes[k]; i++) {
			assert_true(byteset_add(&s, number(&a, i)));
			assert_false(byteset_add(&s, number(&a, i / 2)));
		}
		assert_int_equal(s.n, sizes[k]);
		for (unsigned i = 0; i < sizes[k]; i++)
			assert_true(slice_eq(s.v[i], number(&a, i)));
		assert_false(s.full);
		arena_done(&a);
	}
}

static void limit(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	struct byteset s = { .arena = &a };
	for (unsigned i = 0; i < LIMIT; i++)
		assert_true(byteset_add(&s, number(&a, i)));
	assert_false(byteset_add(&s, number(&a, LIMIT)));
	assert_true(s.full);
	assert_int_equal(s.n, LIMIT);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_each),
		cmocka_unit_test(limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

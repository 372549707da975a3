/* SPDX-License-Identifier: GPL-3.0-or-later */
/* arena: fixed ones end, growing ones do not, all memory is aligned. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fixed_ends(void **state)
{
	(void)state;
	static char buf[64 + 1];
	struct arena a;
	arena_init_fixed(&a, buf + 1, 64); /* crooked on purpose */
	size_t room = arena_left(&a);
	assert_true(room > 48 && room <= 64);
	char *p = arena_alloc(&a, 3);
	assert_int_equal((uintptr_t)p % ARENA_ALIGN, 0);
	assert_int_equal(arena_left(&a), room - 8);
	assert_null(arena_alloc(&a, 64));
	assert_null(arena_calloc(&a, 64));
	assert_null(arena_memdup(&a, buf, 64));
	assert_null(arena_strndup(&a, buf, 64));
	assert_null(arena_printf(&a, "%064d", 1));
	assert_int_equal(arena_left(&a), room - 8); /* a failure takes nothing */
	arena_reset(&a);
	assert_int_equal(arena_left(&a), room);
	assert_ptr_equal(arena_alloc(&a, 8), p);
	arena_done(&a);
	arena_init_fixed(&a, buf + 1, 3); /* nothing left after alignment */
	assert_null(arena_alloc(&a, 1));
}

static void growing_goes_on(void **state)
{
	(void)state;
	struct arena a;
	char *p[200];
	arena_init(&a);
	for (int i = 0; i < 200; i++) {
		p[i] = arena_alloc(&a, (size_t)i * 10 + 1);
		assert_int_equal((uintptr_t)p[i] % ARENA_ALIGN, 0);
		memset(p[i], i, (size_t)i * 10 + 1);
	}
	for (int i = 0; i < 200; i++)
		assert_int_equal((unsigned char)p[i][i * 10], i);
	char *big = arena_calloc(&a, 1 << 20);
	assert_int_equal(big[(1 << 20) - 1], 0);
	arena_done(&a);
	assert_non_null(arena_alloc(&a, 1)); /* usable again */
	arena_done(&a);
}

/* NULL means that a fixed arena is used up, so no bytes have an address, too. */
static void no_bytes_have_an_address(void **state)
{
	(void)state;
	char *empty = NULL;
	struct arena a;
	arena_init(&a);
	assert_non_null(arena_alloc(&a, 0));
	assert_non_null(arena_calloc(&a, 0));
	assert_non_null(arena_memdup(&a, empty, 0));
	assert_int_equal(arena_left(&a), 0);
	assert_null(a.chunks); /* and cost nothing */
	memset(arena_alloc(&a, 8), 1, 8);
	arena_done(&a);
	assert_non_null(arena_alloc(&a, 0));
	arena_done(&a);
}

static void texts(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a);
	assert_string_equal(arena_strdup(&a, "abc"), "abc");
	assert_string_equal(arena_strndup(&a, "abc", 2), "ab");
	assert_string_equal(arena_strndup(&a, NULL, 0), "");
	assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	assert_memory_equal(arena_memdup(&a, "a\0b", 3), "a\0b", 3);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_ends),
		cmocka_unit_test(growing_goes_on),
		cmocka_unit_test(no_bytes_have_an_address),
		cmocka_unit_test(texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

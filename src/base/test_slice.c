/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slice: comparing, cutting, trimming, numbers. */
#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void compare(void **state)
{
	(void)state;
	struct slice empty = { NULL, 0 };
	assert_true(slice_eq(empty, SLICE("")));
	assert_true(slice_is(SLICE("ab"), "ab"));
	assert_false(slice_is(SLICE("ab"), "abc"));
	assert_false(slice_eq(SLICE("ab"), SLICE("ac")));
	assert_true(slice_eq_nocase(SLICE("aB-9["), SLICE("Ab-9[")));
	assert_false(slice_eq_nocase(SLICE("["), SLICE("{"))); /* letters only */
	assert_false(slice_eq_nocase(SLICE("a"), SLICE("ab")));
	assert_true(slice_starts(SLICE("abc"), SLICE("ab")));
	assert_false(slice_starts(SLICE("a"), SLICE("ab")));
	assert_true(slice_ends(SLICE("abc"), SLICE("bc")));
	assert_true(slice_ends(SLICE("abc"), empty));
	assert_false(slice_ends(SLICE("c"), SLICE("bc")));
	assert_true(slice_cmp(SLICE("a"), SLICE("b")) < 0);
	assert_true(slice_cmp(SLICE("ab"), SLICE("a")) > 0);
	assert_int_equal(slice_cmp(empty, SLICE("")), 0);
	assert_int_equal(slice_of(NULL).n, 0);
}

static void cut(void **state)
{
	(void)state;
	struct slice rest = SLICE("a,,b");
	assert_true(slice_is(slice_cut(&rest, ','), "a"));
	assert_true(slice_is(slice_cut(&rest, ','), ""));
	assert_true(slice_is(slice_cut(&rest, ','), "b"));
	assert_null(rest.p);
	assert_int_equal(rest.n, 0);
	rest = SLICE("a,");
	assert_true(slice_is(slice_cut(&rest, ','), "a"));
	assert_non_null(rest.p); /* an empty last field is to come */
	assert_true(slice_is(slice_trim(SLICE(" \t a b\r\n")), "a b"));
	assert_int_equal(slice_trim(SLICE("  ")).n, 0);
	assert_true(slice_is(slice_from(SLICE("abc"), 1), "bc"));
	assert_int_equal(slice_from(SLICE("abc"), 9).n, 0);
	assert_null(slice_from((struct slice){ NULL, 0 }, 1).p);
	assert_int_equal(slice_find(SLICE("abcb"), 'b'), 1);
	assert_int_equal(slice_find((struct slice){ NULL, 0 }, 'b'), -1);
}

static void numbers(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "1x", "18446744073709551616"
	};
	uint64_t v = 77;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(slice_u64(slice_of(bad[i]), &v), ERR_PARSE);
	assert_int_equal(v, 77);
	assert_int_equal(slice_u64(SLICE("18446744073709551615"), &v), 0);
	assert_true(v == UINT64_MAX);
	unsigned bits = 0;
	assert_int_equal(slice_prefix_length(SLICE("0"), 32, &bits), 0);
	assert_int_equal(slice_prefix_length(SLICE("32"), 32, &bits), 0);
	assert_int_equal(bits, 32);
	assert_int_equal(slice_prefix_length(SLICE("33"), 32, &bits), ERR_PARSE);
	assert_int_equal(slice_prefix_length(SLICE("024"), 32, &bits), ERR_PARSE);
	assert_int_equal(slice_prefix_length(SLICE(""), 32, &bits), ERR_PARSE);
	assert_int_equal(slice_u64(SLICE("007"), &v), 0);
	assert_int_equal(v, 7);
}

static void characters(void **state)
{
	(void)state;
	assert_int_equal(ascii_lower('Z'), 'z');
	assert_int_equal(ascii_lower('['), '[');
	assert_true(ascii_isspace('\v') && !ascii_isspace('\0'));
	assert_true(ascii_isdigit('0') && !ascii_isdigit('/') && !ascii_isdigit(':'));
	assert_true(ascii_isalpha('a') && ascii_isalpha('Z') && !ascii_isalpha('@') &&
		    !ascii_isalpha('{') && !ascii_isalpha('\xe4'));
}

/* All 256 characters, and the -1 of a reader at its end. */
static void hexadecimal_digits(void **state)
{
	static const char digits[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
	unsigned n = 0;
	(void)state;
	for (int i = 0; i < 16; i++) {
		assert_int_equal(ascii_hex_value(digits[i]), i);
		assert_int_equal(ascii_hex_value(upper[i]), i);
	}
	for (int ch = -128; ch < 256; ch++)
		n += ascii_hex_value(ch) >= 0;
	assert_int_equal(n, 22);
	assert_int_equal(ascii_hex_value(-1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compare),
		cmocka_unit_test(cut),
		cmocka_unit_test(numbers),
		cmocka_unit_test(characters),
		cmocka_unit_test(hexadecimal_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* duration: what Go's time package reads and prints. */
#include "base/text/duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/err.h"

static const struct {
	const char *in;
	int64_t ns;
	const char *printed;
} good[] = {
	{ "0", 0, "0s" },
	{ "-0", 0, "0s" },
	{ "+0", 0, "0s" },
	{ "0s", 0, "0s" },
	{ "5s", 5000000000, "5s" },
	{ "+5s", 5000000000, "5s" },
	{ "-5s", -5000000000, "-5s" },
	{ "300ms", 300000000, "300ms" },
	{ "1h30m", 5400000000000, "1h30m0s" },
	{ "1h15m30.918273645s", 4530918273645, "1h15m30.918273645s" },
	{ "-1.5s", -1500000000, "-1.5s" },
	{ "1.s", 1000000000, "1s" },
	{ ".5s", 500000000, "500ms" },
	{ "0.3s", 300000000, "300ms" },
	{ "0.1m", 6000000000, "6s" },
	{ "90s", 90000000000, "1m30s" },
	{ "1500ms", 1500000000, "1.5s" },
	{ "1ns", 1, "1ns" },
	{ "1.1us", 1100, "1.1\xc2\xb5s" },
	{ "2.2\xc2\xb5s", 2200, "2.2\xc2\xb5s" },
	{ "2\xce\xbcs", 2000, "2\xc2\xb5s" },
	{ "1m1m", 120000000000, "2m0s" },
	{ "0.9223372036854775807h", 3320413933267, "55m20.413933267s" },
	{ "9223372036854775807ns", INT64_MAX, "2562047h47m16.854775807s" },
	{ "-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s" },
	{ "0.33333333333333333333h", 1200000000000, "20m0s" },
};

static const struct {
	const char *in;
	int code;
} bad[] = {
	{ "", ERR_PARSE },
	{ "3", ERR_PARSE },
	{ "-", ERR_PARSE },
	{ "s", ERR_PARSE },
	{ ".", ERR_PARSE },
	{ "-.", ERR_PARSE },
	{ ".s", ERR_PARSE },
	{ "+.s", ERR_PARSE },
	{ "1d", ERR_PARSE },
	{ "1s ", ERR_PARSE },
	{ " 1s", ERR_PARSE },
	{ "1S", ERR_PARSE },
	{ "--1s", ERR_PARSE },
	{ "1h5", ERR_PARSE },
	{ "00", ERR_PARSE },
	{ "9223372036854775808ns", ERR_RANGE },
	{ "9223372036854775.808us", ERR_RANGE },
	{ "3000000h", ERR_RANGE },
	{ "99999999999999999999s", ERR_RANGE },
	{ "-9223372036854775809ns", ERR_RANGE },
};

static void reads_and_prints(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		int64_t ns = 1;
		char buf[64];
		print_message("%s\n", good[i].in);
		assert_int_equal(duration_parse(slice_of(good[i].in), &ns), 0);
		assert_int_equal(ns, good[i].ns);
		assert_string_equal(duration_str(ns, buf, sizeof(buf)), good[i].printed);
	}
}

static void refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int64_t ns = 77;
		print_message("%s\n", bad[i].in);
		assert_int_equal(duration_parse(slice_of(bad[i].in), &ns), bad[i].code);
		assert_int_equal(ns, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_prints),
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

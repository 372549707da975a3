/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ages: both sides of each limit between units. */
#include "apiserver/kind/age.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"

enum { M = 60, H = 3600, D = 24 * H };

static void spans(void **state)
{
	static const struct {
		int64_t seconds;
		const char *want;
	} rows[] = {
		{ -2, "<invalid>" },
		{ -1, "0s" },
		{ 0, "0s" },
		{ 119, "119s" },
		{ 120, "2m" },
		{ 123, "2m3s" },
		{ 10 * M - 1, "9m59s" },
		{ 10 * M + 5, "10m" },
		{ 3 * H - 1, "179m" },
		{ 3 * H, "3h" },
		{ 3 * H + M, "3h1m" },
		{ 8 * H - 1, "7h59m" },
		{ 8 * H + M, "8h" },
		{ 2 * D - 1, "47h" },
		{ 2 * D, "2d" },
		{ 2 * D + H, "2d1h" },
		{ 8 * D - 1, "7d23h" },
		{ 8 * D + H, "8d" },
		{ 2 * 365 * D - 1, "729d" },
		{ 2 * 365 * D, "2y" },
		{ 2 * 365 * D + D, "2y1d" },
		{ INT64_C(8) * 365 * D - 1, "7y364d" },
		{ INT64_C(8) * 365 * D + D, "8y" },
		{ INT64_C(100) * 365 * D, "100y" },
	};
	static const int64_t then_s = 946684800; /* 2000-01-01 */
	char out[APISERVER_AGE_MAX];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(apiserver_age("2000-01-01T00:00:00Z",
						  (uint64_t)(then_s + rows[i].seconds), out),
				    rows[i].want);
}

static void ages(void **state)
{
	char out[APISERVER_AGE_MAX];
	(void)state;
	assert_string_equal(apiserver_age(NULL, 5, out), "<unknown>");
	assert_string_equal(apiserver_age("", 5, out), "<unknown>");
	assert_string_equal(apiserver_age("yesterday", 5, out), "<invalid>");
	assert_string_equal(apiserver_age("1970-01-01T00:00:10Z", 15, out), "5s");
	assert_string_equal(apiserver_age("1970-01-01T00:00:10.5Z", 15, out), "5s");
	assert_string_equal(apiserver_age("2026-01-01T00:00:10Z", 15, out), "<invalid>");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(spans), cmocka_unit_test(ages) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

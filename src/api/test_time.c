/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times there and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"

static void written(void **state)
{
	char out[API_TIME_TEXT_MAX];
	uint64_t t = UINT64_C(1794821400) * NS_PER_S + 123456789;
	(void)state;
	assert_string_equal(api_time_format(t, out), "2026-11-16T09:30:00Z");
	assert_string_equal(api_micro_time_format(t, out), "2026-11-16T09:30:00.123456Z");
	assert_string_equal(api_micro_time_format(0, out), "1970-01-01T00:00:00.000000Z");
}

static void read_back(void **state)
{
	static const struct {
		const char *s;
		int code;
		uint64_t ns;
	} rows[] = {
		{ "1970-01-01T00:00:01Z", 0, NS_PER_S },
		{ "1970-01-01T00:00:01.5Z", 0, NS_PER_S * 3 / 2 },
		{ "1970-01-01t00:00:01.0000000019z", 0, NS_PER_S + 1 },
		{ "1970-01-01T02:00:00+02:00", 0, 0 },
		{ "1970-01-01T00:00:00-00:01", 0, 60 * NS_PER_S },
		{ "2024-02-29T00:00:00Z", 0, UINT64_C(1709164800) * NS_PER_S },
		{ "2023-02-29T00:00:00Z", ERR_PARSE, 0 },
		{ "1969-12-31T23:59:59Z", ERR_RANGE, 0 },
		{ "1970-01-01T01:00:00+02:00", ERR_RANGE, 0 },
		{ "", ERR_PARSE, 0 },
		{ "1970-01-01", ERR_PARSE, 0 },
		{ "1970-01-01T00:00:00", ERR_PARSE, 0 },
		{ "1970-01-01T00:00:00.Z", ERR_PARSE, 0 },
		{ "1970-13-01T00:00:00Z", ERR_PARSE, 0 },
		{ "1970-01-01T24:00:00Z", ERR_PARSE, 0 },
		{ "1970-01-01T00:00:00+2:00", ERR_PARSE, 0 },
		{ "1970-01-01T00:00:00Zx", ERR_PARSE, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 0;
		int r = api_time_parse(rows[i].s, &ns);
		if (r != rows[i].code || ns != rows[i].ns)
			fail_msg("%s: %d %llu", rows[i].s, r, (unsigned long long)ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(written),
					    cmocka_unit_test(read_back) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

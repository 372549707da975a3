/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Retry-After: seconds, the three forms of dates, and what is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "http/client/retry_after_priv.h"

enum { NOW_S = 784111777 }; /* Sun, 06 Nov 1994 08:49:37 GMT */

static void forms(void **state)
{
	static const struct {
		const char *text;
		long seconds; /* -1: refused */
	} rows[] = {
		{ "0", 0 },
		{ "120", 120 },
		{ "99999999999999", HTTP_RETRY_AFTER_MAX_S },
		{ "Sun, 06 Nov 1994 08:49:37 GMT", 0 },
		{ "Sun, 06 Nov 1994 08:50:37 GMT", 60 },
		{ "Sunday, 06-Nov-94 08:49:47 GMT", 10 },
		{ "Sun Nov  6 08:49:38 1994", 1 },
		{ "Mon Nov 14 08:49:37 1994", 691200 },
		{ "Sun, 06 Nov 1994 08:49:00 GMT", 0 },	  /* has passed */
		{ "Friday, 31-Dec-60 08:49:47 GMT", -1 }, /* 1960: more than 50 years ahead */
		{ "Fri, 31 Dec 9999 23:59:59 GMT", HTTP_RETRY_AFTER_MAX_S },
		{ "", -1 },
		{ "-1", -1 },
		{ "1.5", -1 },
		{ "120 s", -1 },
		{ "soon", -1 },
		{ "20261231", HTTP_RETRY_AFTER_MAX_S }, /* seconds, not a date */
		{ "Sun, 06 Nov 1994 08:49:37", -1 },
		{ "Sun, 06 Nov 1994 08:49:37 CET", -1 },
		{ "Sun, 06 Nov 1994 24:49:37 GMT", -1 },
		{ "Sun, 06 Foo 1994 08:49:37 GMT", -1 },
		{ "Sun, 00 Nov 1994 08:49:37 GMT", -1 },
		{ ", 06 Nov 1994 08:49:37 GMT", -1 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned seconds = 4711;
		int r = http_retry_after_parse(slice_of(rows[i].text), NOW_S, &seconds);
		if (rows[i].seconds < 0 ? r != ERR_PARSE || seconds != 4711
					: r != 0 || seconds != (unsigned long)rows[i].seconds)
			fail_msg("'%s': %d, %u s", rows[i].text, r, seconds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(forms) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

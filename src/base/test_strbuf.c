/* SPDX-License-Identifier: GPL-3.0-or-later */
/* strbuf: grows, stays terminated, escapes as JSON and as Go. */
#include "base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void grows(void **state)
{
	(void)state;
	struct strbuf b = STRBUF_INIT;
	assert_string_equal(b.s, "");
	strbuf_reset(&b);
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&b, "%d,", i);
	strbuf_addc(&b, 'x');
	strbuf_adds(&b, "yz");
	strbuf_add_slice(&b, (struct slice){ NULL, 0 });
	assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4 + 3);
	assert_int_equal(strlen(b.s), b.n);
	assert_string_equal(b.s + b.n - 8, ",999,xyz");
	strbuf_reset(&b);
	assert_string_equal(b.s, "");
	strbuf_adds(&b, "again");
	char *s = strbuf_take(&b);
	assert_string_equal(s, "again");
	free(s);
	s = strbuf_take(&b); /* of an empty one too */
	assert_string_equal(s, "");
	free(s);
	strbuf_done(&b);
}

static void escapes(void **state)
{
	(void)state;
	static const struct {
		struct slice in;
		const char *json, *go;
	} rows[] = {
		{ { "", 0 }, "\"\"", "\"\"" },
		{ { "a\"\\b", 4 }, "\"a\\\"\\\\b\"", "\"a\\\"\\\\b\"" },
		{ { "\n\r\t", 3 }, "\"\\n\\r\\t\"", "\"\\n\\r\\t\"" },
		{ { "\x01\0", 2 }, "\"\\u0001\\u0000\"", "\"\\x01\\x00\"" },
		{ { "\xc3\xa9", 2 }, "\"\xc3\xa9\"", "\"\xc3\xa9\"" },
		{ { "\xc2\x80\xc2\x9f\xc2\xa1", 6 },
		  "\"\xc2\x80\xc2\x9f\xc2\xa1\"",
		  "\"\\u0080\\u009f\xc2\xa1\"" },
		{ { "\xff"
		    "a",
		    2 },
		  "\"\xef\xbf\xbd"
		  "a\"",
		  "\"\\xffa\"" },
		{ { "\xc3", 1 }, "\"\xef\xbf\xbd\"", "\"\\xc3\"" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = STRBUF_INIT;
		strbuf_add_json(&b, rows[i].in);
		assert_string_equal(b.s, rows[i].json);
		strbuf_reset(&b);
		strbuf_add_quoted(&b, rows[i].in);
		assert_string_equal(b.s, rows[i].go);
		strbuf_done(&b);
	}
}

static void url(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_add_url(&b, SLICE("a-Z_0.~ /%=\xc3\xa4\0!"));
	assert_string_equal(b.s, "a-Z_0.~%20%2F%25%3D%C3%A4%00%21");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(escapes),
		cmocka_unit_test(url),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

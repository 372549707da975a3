/* SPDX-License-Identifier: GPL-3.0-or-later */
/* utf8: every code point there and back, malformed sequences refused. */
#include "base/text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void there_and_back(void **state)
{
	(void)state;
	for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
		char buf[4];
		uint32_t got = 1;
		if (cp == 0xd800)
			cp = 0xe000;
		size_t n = utf8_encode(cp, buf);
		if (n != (cp < 0x80	 ? 1U
			  : cp < 0x800	 ? 2U
			  : cp < 0x10000 ? 3U
					 : 4U) ||
		    utf8_decode((struct slice){ buf, n }, &got) != n || got != cp)
			fail_msg("U+%04X", cp);
		/* Cut short it is nothing. */
		assert_int_equal(utf8_decode((struct slice){ buf, n - 1 }, &got), 0);
	}
}

static void malformed(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc3(",
		"\xe0\x80\x80",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x80\x80\x80",
		"\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xff",
	};
	uint32_t cp = 77;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(utf8_decode(slice_of(bad[i]), &cp), 0);
	assert_int_equal(utf8_decode((struct slice){ NULL, 0 }, &cp), 0);
	assert_int_equal(cp, 77);
	assert_int_equal(utf8_decode(SLICE("ab"), &cp), 1);
}

static void invalid_becomes_the_replacement(void **state)
{
	(void)state;
	static const uint32_t bad[] = { 0xd800, 0xdfff, 0x110000, UINT32_MAX };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char buf[4];
		assert_int_equal(utf8_encode(bad[i], buf), 3);
		assert_memory_equal(buf, "\xef\xbf\xbd", 3);
	}
}

static void length_counts_characters(void **state)
{
	(void)state;
	assert_int_equal(utf8_length(SLICE("")), 0);
	assert_int_equal(utf8_length(SLICE("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
	assert_int_equal(utf8_length(SLICE("a\xff\xc3")), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(malformed),
		cmocka_unit_test(invalid_becomes_the_replacement),
		cmocka_unit_test(length_counts_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a zone may hold and a terminal must not get. */
#include "cmd/objects/value_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"

static void table(void **state)
{
	static const struct {
		const char *value, *expected;
	} rows[] = {
		{ "", "" },
		{ "v=spf1 -all", "v=spf1 -all" },
		{ "a\nshop/x: adopted", "a\\010shop/x: adopted" },
		{ "\033[2J\r\t\177", "\\027[2J\\013\\009\\127" },
		{ "say \"no\\\"", "say \\034no\\092\\034" },
		{ "\xc3\xa9\xff", "\\195\\169\\255" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		value_text_add(&out, slice_of(rows[i].value));
		assert_string_equal(out.s, rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(table) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

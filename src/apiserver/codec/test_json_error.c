/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's messages for texts that are not JSON. */
#include "apiserver/codec/json_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/compiler.h"

static void words(void **state)
{
	static const struct {
		const char *text, *want; /* "" for none */
	} rows[] = {
		{ "{}", "" },
		{ " [1, -0.5e+3, \"a\\u00e9\\n\", true, false, null, {\"a\":{}}] ", "" },
		{ "", "unexpected end of JSON input" },
		{ "{", "unexpected end of JSON input" },
		{ "{\"a\"", "unexpected end of JSON input" },
		{ "{\"a\":1,", "unexpected end of JSON input" },
		{ "[1", "unexpected end of JSON input" },
		{ "\"a", "unexpected end of JSON input" },
		{ "{} x", "invalid character 'x' after top-level value" },
		{ "{,}", "invalid character ',' looking for beginning of object key string" },
		{ "{\"a\":1,}",
		  "invalid character '}' looking for beginning of object key string" },
		{ "{\"a\" 1}", "invalid character '1' after object key" },
		{ "{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair" },
		{ "[1 2]", "invalid character '2' after array element" },
		{ "[1,]", "invalid character ']' looking for beginning of value" },
		{ "not", "invalid character 'o' in literal null (expecting 'u')" },
		{ "tru", "invalid character ' ' in literal true (expecting 'e')" },
		{ "-", "invalid character ' ' in numeric literal" },
		{ "1.", "invalid character ' ' after decimal point in numeric literal" },
		{ "1e", "invalid character ' ' in exponent of numeric literal" },
		{ "tru ", "invalid character ' ' in literal true (expecting 'e')" },
		{ "-x", "invalid character 'x' in numeric literal" },
		{ "1.x", "invalid character 'x' after decimal point in numeric literal" },
		{ "1ex", "invalid character 'x' in exponent of numeric literal" },
		{ "01", "invalid character '1' after top-level value" },
		{ "\"\\x\"", "invalid character 'x' in string escape code" },
		{ "\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape" },
		{ "\"a\nb\"", "invalid character '\\n' in string literal" },
		{ "\x9e", "invalid character '\\u009e' looking for beginning of value" },
		{ "\xc3\xa9", "invalid character '\xc3\x83' looking for beginning of value" },
		{ "'", "invalid character '\\'' looking for beginning of value" },
		{ "\x01", "invalid character '\\x01' looking for beginning of value" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		bool bad = apiserver_json_error(slice_of(rows[i].text), &out);
		assert_int_equal(bad, rows[i].want[0] != '\0');
		assert_string_equal(out.s, rows[i].want);
	}
}

static void nest(struct strbuf *out, int depth)
{
	strbuf_reset(out);
	for (int i = 0; i < depth; i++)
		strbuf_adds(out, i % 2 == 0 ? "[" : "{\"a\":");
	strbuf_addc(out, '1');
	for (int i = depth; i-- > 0;)
		strbuf_addc(out, i % 2 == 0 ? ']' : '}');
}

/* The limit is that of the parser behind it. */
static void deep(void **state)
{
	CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	(void)state;
	nest(&in, APISERVER_JSON_DEPTH_MAX);
	assert_false(apiserver_json_error(strbuf_slice(&in), &out));
	json_t *v = json_loadb(in.s, in.n, JSON_DECODE_ANY, NULL);
	assert_non_null(v);
	json_decref(v);
	nest(&in, APISERVER_JSON_DEPTH_MAX + 1);
	assert_true(apiserver_json_error(strbuf_slice(&in), &out));
	assert_string_equal(out.s, "invalid character '{' exceeded max depth");
	assert_null(json_loadb(in.s, in.n, JSON_DECODE_ANY, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(deep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

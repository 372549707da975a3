/* Go's words for what is no JSON. */
#include "apiserver/jsonerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

static void deep(void **state)
{
	CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	(void)state;
	for (int i = 0; i < 100000; i++)
		strbuf_adds(&in, i % 2 == 0 ? "[" : "{\"a\":");
	assert_true(apiserver_json_error(strbuf_slice(&in), &out));
	assert_string_equal(out.s, "unexpected end of JSON input");
	strbuf_addc(&in, '1');
	for (int i = 0; i < 100000; i++)
		strbuf_adds(&in, i % 2 == 0 ? "}" : "]");
	assert_false(apiserver_json_error(strbuf_slice(&in), &out));
}

static void kinds(void **state)
{
	(void)state;
	assert_string_equal(apiserver_json_kind(SLICE(" [")), "array");
	assert_string_equal(apiserver_json_kind(SLICE("\"")), "string");
	assert_string_equal(apiserver_json_kind(SLICE("{")), "object");
	assert_string_equal(apiserver_json_kind(SLICE("true")), "bool");
	assert_string_equal(apiserver_json_kind(SLICE("7")), "number");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(deep),
		cmocka_unit_test(kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

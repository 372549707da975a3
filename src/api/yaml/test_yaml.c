/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML as kubectl reads it, its limits, where fields stand, and that what is written reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/yaml/yaml.h"
#include "base/err.h"
#include "base/mem.h"

static const struct {
	const char *yaml, *json;
} values[] = {
	{ "\xef\xbb\xbf"
	  "a: 1\nb: 2\n",
	  "{\"a\":1,\"b\":2}" },
	{ "a: 1\nb: two\n", "{\"a\":1,\"b\":\"two\"}" },
	{ "{\"a\": [1, 2.5, null, true]}", "{\"a\":[1,2.5,null,true]}" },
	{ "a: [yes, No, on, OFF, y, N, true, False]",
	  "{\"a\":[true,false,true,false,true,false,true,false]}" },
	{ "a: ['yes', \"no\", !!str on]", "{\"a\":[\"yes\",\"no\",\"on\"]}" },
	{ "a: [~, null, Null, '']\nb:", "{\"a\":[null,null,null,\"\"],\"b\":null}" },
	{ "a: [010, 0x1F, 0b101, 0o17, -0x10, +7, 1_000, 0]", "{\"a\":[8,31,5,15,-16,7,1000,0]}" },
	{ "a: [08, 1.2.3.4, 0x, 1-2, 12:30:45, '1', 2024-01-01, -, _1]",
	  "{\"a\":[8.0,\"1.2.3.4\",\"0x\",\"1-2\",\"12:30:45\",\"1\",\"2024-01-01\",\"-\",\"_1\"]"
	  "}" },
	{ "a: [1e3, .5, 6., -1.5E-2, 1e]", "{\"a\":[1000.0,0.5,6.0,-0.015,\"1e\"]}" },
	{ "a: 9223372036854775807\nb: -9223372036854775808",
	  "{\"a\":9223372036854775807,\"b\":-9223372036854775808}" },
	{ "a: 9223372036854775808", "{\"a\":9.2233720368547758e18}" },
	{ "1: a\ntrue: b\n0x10: c\n~: d\n1.5: e",
	  "{\"1\":\"a\",\"true\":\"b\",\"16\":\"c\",\"null\":\"d\","
	  "\"1.5\":\"e\"}" },
	{ "a: &x {k: 1}\nb: *x\nc: {<<: *x, k: 2, l: 3}\nd:\n  <<: [*x, {m: 4, k: 9}]",
	  "{\"a\":{\"k\":1},\"b\":{\"k\":1},\"c\":{\"k\":2,\"l\":3},\"d\":{\"k\":1,\"m\":4}}" },
	{ "a: |\n  one\n  two\nb: >\n  one\n  two\nc: |-\n  x\n",
	  "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\\n\",\"c\":\"x\"}" },
	{ "- a\n-\n  - b\n", "[\"a\",[\"b\"]]" },
	{ "just text", "\"just text\"" },
	{ "a: \"\\u00e9\\t\"", "{\"a\":\"\xc3\xa9\\t\"}" },
};

static void values_are_kubectls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		struct srcerr err = { 0 };
		json_t *v = NULL;
		if (api_yaml_parse_one("f", slice_of(values[i].yaml), &v, &err) < 0)
			fail_msg("%s: %s", values[i].yaml, err.text);
		json_t *want = json_loads(values[i].json, JSON_DECODE_ANY, NULL);
		assert_non_null(want);
		CLEANUP(freep) char *got = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
		if (!json_equal(v, want))
			fail_msg("%s\n gave %s\n want %s", values[i].yaml, got, values[i].json);
		json_decref(v);
		json_decref(want);
	}
}

static const struct {
	const char *yaml;
	int code;
	unsigned line, col;
	const char *text;
} errors[] = {
	{ "a: 1\na: 2\n", ERR_PARSE, 2, 1, "duplicate key 'a'" },
	{ "a:\n  - b\n c: d\n", ERR_PARSE, 3, 2, "did not find expected" },
	{ "a: .inf", ERR_PARSE, 1, 4, "cannot be written in JSON" },
	{ "a: 1e999", ERR_PARSE, 1, 4, "cannot be written in JSON" },
	{ "{a: *nobody}", ERR_PARSE, 1, 5, "unknown anchor 'nobody'" },
	{ "a: &x [*x]", ERR_PARSE, 1, 8, "unknown anchor 'x'" },
	{ "? [a]\n: b", ERR_PARSE, 1, 3, "a key must be a scalar" },
	{ "<<: 1\na: 2", ERR_PARSE, 1, 5, "a merge key needs a mapping" },
	{ "a: \"\\0\"", ERR_PARSE, 1, 4, "NUL" },
	{ "a: \"\xff\"", ERR_PARSE, 1, 5, "UTF-8" },
	{ "a: 1\nb: \xc3\xa9\nc: \xc3\xa9\xc3\n", ERR_PARSE, 3, 6, "UTF-8" },
	{ "", ERR_PARSE, 1, 1, "no document" },
	{ "a: 1\n---\nb: 2\n", ERR_PARSE, 1, 1, "more than one document" },
	{ "%YAML 1.9\n---\na: 1", ERR_PARSE, 1, 1, "incompatible YAML" },
};

static void errors_have_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct srcerr err = { 0 };
		json_t *v = NULL;
		assert_int_equal(api_yaml_parse_one("f", slice_of(errors[i].yaml), &v, &err),
				 errors[i].code);
		assert_null(v);
		if (err.pos.line != errors[i].line ||
		    (errors[i].col != 0 && err.pos.col != errors[i].col) ||
		    strstr(err.text, errors[i].text) == NULL)
			fail_msg("%s: %u:%u %s", errors[i].yaml, err.pos.line, err.pos.col,
				 err.text);
	}
}

static void documents(void **state)
{
	struct api_docs d = { 0 };
	struct srcerr err = { 0 };
	(void)state;
	struct slice text = SLICE("# nothing\n---\na: 1\n---\n---\n- 2\n...\n---\n~\n");
	assert_int_equal(api_yaml_parse("f", text, &d, &err), 0);
	assert_int_equal(d.n, 2);
	assert_int_equal(json_integer_value(json_object_get(d.v[0], "a")), 1);
	assert_int_equal(d.index[0], 0);
	assert_int_equal(d.index[1], 2);
	assert_int_equal(json_integer_value(json_array_get(d.v[1], 0)), 2);
	api_docs_done(&d);
	assert_int_equal(api_yaml_parse("f", SLICE(""), &d, &err), 0);
	assert_int_equal(d.n, 0);
}

/* Nested deeply, or grown large by aliases of aliases: refused with bounded memory. */
static void limits(void **state)
{
	struct api_docs d = { 0 };
	struct srcerr err = { 0 };
	CLEANUP(strbuf_done) struct strbuf deep = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf laughs = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf docs = STRBUF_INIT;
	(void)state;
	for (int i = 0; i < API_YAML_DEPTH_MAX; i++)
		strbuf_addc(&deep, '[');
	for (int i = 0; i < API_YAML_DEPTH_MAX; i++)
		strbuf_addc(&deep, ']');
	assert_int_equal(api_yaml_parse("f", strbuf_slice(&deep), &d, &err), 0);
	api_docs_done(&d);
	strbuf_reset(&deep);
	for (int i = 0; i <= API_YAML_DEPTH_MAX; i++)
		strbuf_addc(&deep, '[');
	assert_int_equal(api_yaml_parse("f", strbuf_slice(&deep), &d, &err), ERR_LIMIT);
	assert_int_equal(err.pos.col, API_YAML_DEPTH_MAX + 1);

	strbuf_adds(&laughs, "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 10; i++) {
		strbuf_addf(&laughs, "l%d: &l%d [", i, i);
		for (int k = 0; k < 10; k++)
			strbuf_addf(&laughs, "%s*l%d", k != 0 ? ", " : "", i - 1);
		strbuf_adds(&laughs, "]\n");
	}
	assert_int_equal(api_yaml_parse("f", strbuf_slice(&laughs), &d, &err), ERR_LIMIT);
	assert_non_null(strstr(err.text, "too large"));

	for (int i = 0; i <= API_YAML_DOCS_MAX; i++)
		strbuf_adds(&docs, "---\na\n");
	assert_int_equal(api_yaml_parse("f", strbuf_slice(&docs), &d, &err), ERR_LIMIT);
	assert_string_equal(err.text, "more than 10000 documents: split the file");
	assert_int_equal(err.pos.line, 2 * API_YAML_DOCS_MAX + 1);
	struct slice huge = { "x", API_YAML_BYTES_MAX + 1U };
	assert_int_equal(api_yaml_parse("f", huge, &d, &err), ERR_LIMIT);
	assert_int_equal(d.n, 0);
}

static void places_of_fields(void **state)
{
	static const char text[] = "kind: A\n"	       /* 1 */
				   "---\n"	       /* 2 */
				   "kind: B\n"	       /* 3 */
				   "spec:\n"	       /* 4 */
				   "  zones: [a, b]\n" /* 5 */
				   "  templates:\n"    /* 6 */
				   "  - name: x\n"     /* 7 */
				   "  - zone: z\n"     /* 8 */
				   "    name: y\n";    /* 9 */
	static const struct {
		const char *path;
		unsigned line, col;
	} rows[] = {
		{ "", 3, 1 },
		{ "kind", 3, 1 },
		{ "spec", 4, 1 },
		{ "spec.zones[1]", 5, 14 },
		{ "spec.templates", 6, 3 },
		{ "spec.templates[0]", 7, 5 },
		{ "spec.templates[1].name", 9, 5 },
		{ "spec.templates[1].missing", 8, 5 },
		{ "spec.templates[7]", 6, 3 },
		{ "spec.templatesAndMore", 4, 1 },
		{ "status.x", 3, 1 },
	};
	struct srcpos p;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(api_yaml_locate("f", slice_of(text), 1, rows[i].path, &p));
		if (p.line != rows[i].line || p.col != rows[i].col)
			fail_msg("%s: %u:%u", rows[i].path, p.line, p.col);
	}
	assert_true(api_yaml_locate("f", slice_of(text), 0, "kind", &p));
	assert_int_equal(p.line, 1);
	assert_false(api_yaml_locate("f", slice_of(text), 2, "kind", &p));
	assert_false(api_yaml_locate("f", SLICE("{{{"), 0, "kind", &p) && p.line != 1);
}

static void written_reads_back(void **state)
{
	static const char *const trees[] = {
		"{\"a\":1,\"b\":[],\"c\":{},\"d\":[1,[2,[3]],{\"x\":[{\"y\":null}]}]}",
		"{\"s\":[\"yes\",\"010\",\"1.5\",\"~\",\"\",\"- a\",\"a: b\",\"a #b\"]}",
		"{\"s\":[\"#\",\"*x\",\" a\",\"a \",\"a:\",\"null\",\"é\",\"\\u0001\"]}",
		"{\"s\":[\"|\",\"1:2\",\"x-y\",\"=\"]}",
		"{\"t\":\"one\\ntwo\\n\",\"u\":\"one\\ntwo\",\"v\":\"one\\n\\n\"}",
		"{\"w\":\" x\\ny\",\"x\":\"\\n\",\"y\":\"a \\nb\",\"z\":\"a\\n\\nb\\n\"}",
		"[[\"a\",\"b\"],[],[[\"x\\ny\"]],{\"k\":\"x\\ny\"}]",
		"{\"true\":true,\"1\":2.5,\"a b\":9223372036854775807,\"\":-0.1}",
		"\"plain\"",
		/* the whole document is a string: no line of it is indented */
		"\"1 & [1\\nt u\"",
		"\"a\\n...\\nb\\n\"",
		"\"...\"",
		"\"... a\"",
		/* characters that a YAML text may not hold, and line breaks of YAML 1.1 */
		"{\"s\":[\"\\u007f\",\"\\u0080\",\"a\\u0085b\",\"a\\u2028b\",\"a\\u2029b\"]}",
		"{\"s\":[\"\\ufeff\",\"a\\ufffe\",\"\\uffff\",\"\\ud83d\\ude00\"],\"\\u2028\":1}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct srcerr err = { 0 };
		json_t *v = json_loads(trees[i], JSON_DECODE_ANY, NULL), *back = NULL;
		assert_non_null(v);
		api_yaml_write(&out, v);
		if (api_yaml_parse_one("f", strbuf_slice(&out), &back, &err) < 0 ||
		    !json_equal(v, back))
			fail_msg("%s\n%s\n%s", trees[i], out.s, err.text);
		json_decref(v);
		json_decref(back);
	}
}

static void written_as_kubectl_does(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	json_t *v = json_loads("{\"kind\":\"X\",\"spec\":{\"l\":[{\"a\":1,\"b\":\"no\"},\"c\"],"
			       "\"t\":\"x\\ny\\n\"}}",
			       0, NULL);
	(void)state;
	api_yaml_write(&out, v);
	assert_string_equal(out.s, "kind: X\nspec:\n  l:\n  - a: 1\n    b: \"no\"\n  - c\n"
				   "  t: |\n    x\n    y\n");
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_kubectls),
		cmocka_unit_test(errors_have_their_place),
		cmocka_unit_test(documents),
		cmocka_unit_test(limits),
		cmocka_unit_test(places_of_fields),
		cmocka_unit_test(written_reads_back),
		cmocka_unit_test(written_as_kubectl_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

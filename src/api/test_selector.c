/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selectors: what they select, what is refused, and the error messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/selector.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/strbuf.h"

static json_t *load(const char *s)
{
	json_t *v = json_loads(s, JSON_DECODE_ANY, NULL);
	if (v == NULL)
		fail_msg("%s", s);
	return v;
}

static const struct {
	const char *text, *labels;
	bool match;
} labels[] = {
	{ "", "{}", true },
	{ "a=b", "{\"a\":\"b\"}", true },
	{ "a==b", "{\"a\":\"c\"}", false },
	{ "a=b,c=d", "{\"a\":\"b\",\"c\":\"d\"}", true },
	{ "a=b,c=d", "{\"a\":\"b\"}", false },
	{ "a!=b", "{}", true },
	{ "a!=b", "{\"a\":\"b\"}", false },
	{ "a", "{\"a\":\"\"}", true },
	{ "a", "{}", false },
	{ "!a", "{}", true },
	{ " ! a ", "{\"a\":\"x\"}", false },
	{ "a in (x, y)", "{\"a\":\"y\"}", true },
	{ "a in (x,y)", "{}", false },
	{ "a notin (x,y)", "{}", true },
	{ "a notin (x,y)", "{\"a\":\"x\"}", false },
	{ "a in ()", "{\"a\":\"\"}", true },
	{ "a in (x,)", "{\"a\":\"\"}", true },
	{ "a=", "{\"a\":\"\"}", true },
	{ "a=,b=c", "{\"a\":\"\",\"b\":\"c\"}", true },
	{ "n>5", "{\"n\":\"6\"}", true },
	{ "n>5", "{\"n\":\"5\"}", false },
	{ "n<-1", "{\"n\":\"-2\"}", true },
	{ "n<5", "{\"n\":\"x\"}", false },
	{ "n<5", "{}", false },
	{ "example.org/app=x.y_z-1", "{\"example.org/app\":\"x.y_z-1\"}", true },
	{ "in in (in)", "{\"in\":\"in\"}", true },
};

static void label_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		struct arena a;
		struct api_selector s;
		char err[256] = "";
		json_t *l = load(labels[i].labels);
		arena_init(&a);
		if (api_label_selector_parse(slice_of(labels[i].text), &a, &s, ERR_TEXT(err)) < 0)
			fail_msg("%s: %s", labels[i].text, err);
		if (api_label_selector_match(&s, l) != labels[i].match)
			fail_msg("%s on %s", labels[i].text, labels[i].labels);
		arena_done(&a);
		json_decref(l);
	}
}

static void label_errors(void **state)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{ "=a", "key expected, found '='" },
		{ "a=b c", "',' expected, found 'c'" },
		{ "a=b,", "key expected, found the end" },
		{ ",a", "key expected, found ','" },
		{ "a in x", "'(' expected, found 'x'" },
		{ "a in (x", "',' or ')' expected, found the end" },
		{ "a in (x y)", "found 'y'" },
		{ "a ~ b", "one of = == != in notin < > expected, found '~'" },
		{ "a>b", "whole number expected, found 'b'" },
		{ "a=-b", "found '-b'" },
		{ "-a=b", "found '-a'" },
		{ "a/b/c=d", "found 'a/b/c'" },
		{ "!a=b", "',' expected, found '='" },
		{ "a=b=c", "',' expected" },
	};
	struct api_selector s;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a;
		char err[256] = "";
		arena_init(&a);
		assert_int_equal(
			api_label_selector_parse(slice_of(rows[i].text), &a, &s, ERR_TEXT(err)),
			ERR_PARSE);
		if (strstr(err, rows[i].part) == NULL)
			fail_msg("%s: %s", rows[i].text, err);
		arena_done(&a);
	}
}

/* Whether the text, after the prefix, is a selector of labels. */
static bool is_selector(const char *prefix, struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct api_selector s;
	struct arena a;
	char err[256];
	strbuf_adds(&b, prefix);
	strbuf_add(&b, text.p, text.n);
	arena_init(&a);
	int r = api_label_selector_parse(strbuf_slice(&b), &a, &s, ERR_TEXT(err));
	arena_done(&a);
	return r == 0;
}

static void keys_and_values(void **state)
{
	char k[80];
	(void)state;
	memset(k, 'a', sizeof(k));
	assert_true(is_selector("", (struct slice){ k, 63 }));
	assert_false(is_selector("", (struct slice){ k, 64 }));
	assert_true(is_selector("", SLICE("a.b/C_d.e")));
	assert_false(is_selector("", SLICE("/a")));
	assert_false(is_selector("", SLICE("a/")));
	assert_false(is_selector("", SLICE("A.b/c")));
	assert_true(is_selector("k=", SLICE("")));
	assert_false(is_selector("k=", SLICE("a_")));
	assert_true(is_selector("k=", (struct slice){ k, 63 }));
	assert_false(is_selector("k=", (struct slice){ k, 64 }));
	assert_false(is_selector("", SLICE("a\0b"))); /* %00 of a URL */
	assert_false(is_selector("k=", SLICE("a\0b")));
}

static void field_table(void **state)
{
	static const struct {
		const char *text;
		int match; /* -1: an error */
	} rows[] = {
		{ "", 1 },
		{ "metadata.name=x", 1 },
		{ "metadata.name==x,status.phase!=Running", 1 },
		{ "metadata.name!=x", 0 },
		{ "status.phase=", 1 },
		{ "spec.n=5", 1 },
		{ "spec.b=true", 1 },
		{ "spec.t=a\\,b\\=c\\\\", 1 },
		{ ",metadata.name=x,", 1 },
		{ "metadata.name", -1 },
		{ "metadata.name=a\\b", -1 },
		{ "metadata.name!x", -1 },
	};
	json_t *o = load("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"n\":5,\"b\":true,\"t\":"
			 "\"a,b=c\\\\\"}}");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a;
		struct api_selector s = { 0 };
		char err[256] = "";
		arena_init(&a);
		int r = api_field_selector_parse(slice_of(rows[i].text), &a, &s, ERR_TEXT(err));
		int got = r < 0 ? -1 : api_field_selector_match(&s, o);
		if (got != rows[i].match)
			fail_msg("%s: %d %s", rows[i].text, got, err);
		arena_done(&a);
	}
	json_decref(o);
}

static void limits(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct api_selector s;
	struct arena a;
	char err[128];
	(void)state;
	arena_init(&a);
	for (int i = 0; i < API_SELECTOR_TERMS_MAX; i++)
		strbuf_addf(&b, "%sa=b", i != 0 ? "," : "");
	assert_int_equal(api_label_selector_parse(strbuf_slice(&b), &a, &s, ERR_TEXT(err)), 0);
	assert_int_equal(api_field_selector_parse(strbuf_slice(&b), &a, &s, ERR_TEXT(err)), 0);
	strbuf_adds(&b, ",c=d");
	assert_int_equal(api_label_selector_parse(strbuf_slice(&b), &a, &s, ERR_TEXT(err)),
			 ERR_LIMIT);
	assert_int_equal(api_field_selector_parse(strbuf_slice(&b), &a, &s, ERR_TEXT(err)),
			 ERR_LIMIT);
	while (b.n <= API_SELECTOR_BYTES_MAX)
		strbuf_adds(&b, "                ");
	assert_int_equal(api_label_selector_parse(strbuf_slice(&b), &a, &s, ERR_TEXT(err)),
			 ERR_LIMIT);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_table),	   cmocka_unit_test(label_errors),
		cmocka_unit_test(keys_and_values), cmocka_unit_test(field_table),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

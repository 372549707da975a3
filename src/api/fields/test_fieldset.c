/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of fields: FieldsV1 read and written, texts of paths, operations, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/fields/fieldset.h"
#include "base/err.h"
#include "base/mem.h"

static struct fieldset *set_of(const char *text)
{
	struct fieldset *s = NULL;
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);
	if (v == NULL || fieldset_parse(v, &s) < 0)
		fail_msg("%s", text);
	json_decref(v);
	return s;
}

static void expect_set(const struct fieldset *s, const char *want)
{
	json_t *v = fieldset_write(s);
	CLEANUP(freep) char *got = json_dumps(v, JSON_COMPACT);
	json_decref(v);
	assert_string_equal(got, want);
}

static bool is_written(const struct fieldset *fieldset, const char *text)
{
	json_t *v = json_loads(text, 0, NULL);
	bool same = fieldset_is_written(fieldset, v);
	assert_non_null(v);
	json_decref(v);
	return same;
}

/* Written in order, whatever order it was read in; what is not known here is left out. */
static void canonical(void **state)
{
	static const char *const rows[][2] = {
		{ "{}", "{}" },
		{ "{\"f:b\":{},\"f:a\":{}}", "{\"f:a\":{},\"f:b\":{}}" },
		{ "{\"f:a\":{\"f:x\":{},\".\":{}}}", "{\"f:a\":{\".\":{},\"f:x\":{}}}" },
		{ "{\"f:a\":{\".\":{}}}", "{\"f:a\":{}}" },
		{ "{\"v:10\":{},\"v:9\":{},\"v:\\\"a\\\"\":{},\"v:1.5\":{},\"v:true\":{},\"v:"
		  "null\":{}}",
		  "{\"v:1.5\":{},\"v:9\":{},\"v:10\":{},\"v:\\\"a\\\"\":{},\"v:true\":{},\"v:"
		  "null\":{}}" },
		{ "{\"i:2\":{},\"v:1\":{},\"k:{\\\"b\\\":1,\\\"a\\\":\\\"x\\\"}\":{},\"f:z\":{}}",
		  "{\"f:z\":{},\"k:{\\\"a\\\":\\\"x\\\",\\\"b\\\":1}\":{},\"v:1\":{},\"i:2\":{}}" },
		{ "{\"v:\\\"\\\"\":{},\"v: \\\"b\\\" "
		  "\":{},\"v:\\\"a~\\\\u00e4\\\"\":{},\"v:\\\"a~\\\"\":{}}",
		  "{\"v:\\\"\\\"\":{},\"v:\\\"a~\\\"\":{},\"v:\\\"a~\xc3\xa4\\\"\":{},\"v:"
		  "\\\"b\\\"\":{}}" },
		{ "{\"q:new\":{\"f:x\":{}},\"f:a\":{}}", "{\"f:a\":{}}" },
		{ "{\"f:a\":{\"q:new\":{}}}", "{\"f:a\":{}}" },
		{ "{\"v:\\\"a<b>&c\\\"\":{}}",
		  "{\"v:\\\"a\\\\u003cb\\\\u003e\\\\u0026c\\\"\":{}}" },
		{ "{\"v:1e22\":{},\"v:1000000\":{},\"v:-0.25\":{}}",
		  "{\"v:-0.25\":{},\"v:1000000\":{},\"v:1e+22\":{}}" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(fieldset_unrefp) struct fieldset *s = set_of(rows[i][0]);
		CLEANUP(fieldset_unrefp) struct fieldset *again = set_of(rows[i][1]);
		expect_set(s, rows[i][1]);
		expect_set(again, rows[i][1]);
		assert_int_equal(is_written(s, rows[i][0]), strcmp(rows[i][0], rows[i][1]) == 0);
		assert_true(is_written(s, rows[i][1]));
		assert_false(is_written(s, "{\"f:other\":{}}"));
		assert_false(is_written(s, "[]"));
	}
}

static void append_name(struct fieldset *fieldset, const char *name, bool member,
			struct fieldset *sub)
{
	struct fieldset_el *element = fieldset_el_name(name);
	fieldset_append(fieldset, element, member, sub);
	fieldset_el_unref(element);
}

/* Levels that are built one after the other, with elements in any order. */
static void appended(void **state)
{
	CLEANUP(fieldset_unrefp) struct fieldset *s = fieldset_new();
	(void)state;
	fieldset_sort(s);
	expect_set(s, "{}");
	append_name(s, "c", true, NULL);
	append_name(s, "d", false, set_of("{\"f:x\":{}}"));
	append_name(s, "a", true, set_of("{\"f:y\":{}}"));
	append_name(s, "e", false, NULL);
	append_name(s, "b", true, fieldset_new());
	fieldset_sort(s);
	expect_set(s, "{\"f:a\":{\".\":{},\"f:y\":{}},\"f:b\":{},\"f:c\":{},\"f:d\":{\"f:x\":{}}}");
	assert_null(s->v[1].sub);
}

static void refused(void **state)
{
	static const char *const rows[] = {
		"[]",
		"5",
		"{\"a\":{}}",
		"{\"f\":{}}",
		"{\"fx:\":{}}",
		"{\"f:a\":5}",
		"{\"v:{\":{}}",
		"{\"v:1 2\":{}}",
		"{\"v:\\\"\":{}}",
		"{\"v:\\\"a\\\"b\\\"\":{}}",
		"{\"v:\\\"a\\tb\\\"\":{}}",
		"{\"v:\":{}}",
		"{\"k:[]\":{}}",
		"{\"k:{\\\"a\\\":1}x\":{}}",
		"{\"i:x\":{}}",
		"{\"i:\":{}}",
		"{\"i:1x\":{}}",
		"{\"i:99999999999999999999\":{}}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fieldset *s = NULL;
		json_t *v = json_loads(rows[i], JSON_DECODE_ANY, NULL);
		assert_non_null(v);
		if (fieldset_parse(v, &s) != ERR_PARSE)
			fail_msg("%s", rows[i]);
		json_decref(v);
	}
}

static void add_path(void *ctx, struct fieldset_el *const *path, size_t n)
{
	fieldset_path_text(ctx, path, n);
	strbuf_addc(ctx, ' ');
}

/* As conflicts show them: a level's members before what is below them. */
static void paths(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	CLEANUP(fieldset_unrefp)
	struct fieldset *s = set_of(
		"{\"f:spec\":{\"f:ports\":{\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":"
		"{\".\":{},\"f:name\":{}}},\"f:a\":{\".\":{},\"f:b.c\":{}}},\"f:set\":{\"v:"
		"\\\"x\\\"\":{},"
		"\"v:1.5\":{},\"v:false\":{},\"v:[1,\\\"a\\\"]\":{},\"v:null\":{},\"i:3\":{},\"k:{}"
		"\":{}}}");
	(void)state;
	fieldset_each(s, add_path, &b);
	assert_string_equal(b.s, ".set[] .set[=1.5] .set[=\"x\"] .set[=false] .set[=[1,\"a\"]] "
				 ".set[=null] .set[3] .spec.a .spec.a.b.c "
				 ".spec.ports[port=80,protocol=\"TCP\"] "
				 ".spec.ports[port=80,protocol=\"TCP\"].name ");
}

static void operations(void **state)
{
	static const struct {
		struct fieldset *(*op)(struct fieldset *, struct fieldset *);
		const char *a, *b, *want;
	} rows[] = {
		{ fieldset_union, "{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{},\"f:b\":{}}",
		  "{\"f:a\":{\".\":{},\"f:x\":{}},\"f:b\":{}}" },
		{ fieldset_union, "{}", "{\"f:b\":{}}", "{\"f:b\":{}}" },
		{ fieldset_union, "{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{\"f:y\":{}}}",
		  "{\"f:a\":{\"f:x\":{},\"f:y\":{}}}" },
		{ fieldset_intersection, "{\"f:a\":{\".\":{},\"f:x\":{}},\"f:c\":{}}",
		  "{\"f:a\":{\"f:x\":{},\"f:y\":{}},\"f:b\":{}}", "{\"f:a\":{\"f:x\":{}}}" },
		{ fieldset_intersection, "{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{\"f:y\":{}}}", "{}" },
		{ fieldset_difference, "{\"f:a\":{\".\":{},\"f:x\":{}},\"f:c\":{}}",
		  "{\"f:a\":{},\"f:c\":{\"f:d\":{}}}", "{\"f:a\":{\"f:x\":{}},\"f:c\":{}}" },
		{ fieldset_difference, "{\"f:a\":{\"f:x\":{}}}", "{\"f:a\":{\"f:x\":{}}}", "{}" },
		{ fieldset_without,
		  "{\"f:a\":{\".\":{},\"f:x\":{}},\"f:c\":{\"f:d\":{},\"f:e\":{}}}",
		  "{\"f:a\":{},\"f:c\":{\"f:d\":{}}}", "{\"f:c\":{\"f:e\":{}}}" },
		{ fieldset_without, "{\"f:a\":{\"f:x\":{}}}", "{\"f:b\":{}}",
		  "{\"f:a\":{\"f:x\":{}}}" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(fieldset_unrefp) struct fieldset *a = set_of(rows[i].a);
		CLEANUP(fieldset_unrefp) struct fieldset *b = set_of(rows[i].b);
		CLEANUP(fieldset_unrefp) struct fieldset *got = rows[i].op(a, b);
		expect_set(got, rows[i].want);
		assert_int_equal(fieldset_empty(got), strcmp(rows[i].want, "{}") == 0);
	}
}

static void membership(void **state)
{
	CLEANUP(fieldset_unrefp) struct fieldset *s = set_of("{\"f:a\":{\"f:x\":{}}}");
	struct fieldset_el *path[] = { fieldset_el_name("a"), fieldset_el_name("x"),
				       fieldset_el_name("y") };
	(void)state;
	const struct fieldset_node *a = fieldset_find(s, path[0]);
	assert_true(a != NULL && !a->member);
	const struct fieldset_node *x = fieldset_find(a->sub, path[1]);
	assert_true(x != NULL && x->member && x->sub == NULL);
	assert_null(fieldset_find(a->sub, path[2]));
	assert_null(fieldset_find(x->sub, path[2]));
	fieldset_insert(s, path, 0);
	expect_set(s, "{\"f:a\":{\"f:x\":{}}}");
	for (size_t i = 0; i < ARRAY_LEN(path); i++)
		fieldset_el_unref(path[i]);
}

static void limits(void **state)
{
	json_t *deep = json_object(), *wide = json_object();
	struct fieldset *s = NULL;
	(void)state;
	for (int i = 0; i < FIELDSET_DEPTH_MAX; i++)
		deep = json_pack("{so}", "f:a", deep);
	assert_int_equal(fieldset_parse(deep, &s), 0);
	fieldset_unref(s);
	deep = json_pack("{so}", "f:a", deep);
	assert_int_equal(fieldset_parse(deep, &s), ERR_LIMIT);
	json_decref(deep);
	for (int i = 0; i < FIELDSET_FIELDS_MAX; i++) {
		char key[24];
		snprintf(key, sizeof(key), "i:%d", i);
		json_object_set_new(wide, key, json_object());
	}
	assert_int_equal(fieldset_parse(wide, &s), 0);
	assert_int_equal(s->n, FIELDSET_FIELDS_MAX);
	fieldset_unref(s);
	json_object_set_new(wide, "f:more", json_object());
	assert_int_equal(fieldset_parse(wide, &s), ERR_LIMIT);
	json_decref(wide);
	char *text = xcalloc(1, FIELDSET_KEY_MAX_BYTES + 2);
	struct fieldset_el *e = NULL;
	memset(text, 'x', FIELDSET_KEY_MAX_BYTES + 1);
	text[0] = 'f';
	text[1] = ':';
	assert_int_equal(fieldset_el_parse(text, &e), ERR_PARSE);
	text[FIELDSET_KEY_MAX_BYTES] = '\0';
	assert_int_equal(fieldset_el_parse(text, &e), 0);
	fieldset_el_unref(e);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended),   cmocka_unit_test(canonical),
		cmocka_unit_test(refused),    cmocka_unit_test(paths),
		cmocka_unit_test(operations), cmocka_unit_test(membership),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: tables of objects with what a real API server said of them (tests/kube/oracle.py). */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>

#include <cmocka.h>

#include "api/schema/schema.h"
#include "api/tree.h"
#include "base/err_text.h"
#include "base/map.h"
#include "base/mem.h"

struct test_table {
	json_t *file;
	const char *group;
	struct map schemas; /* kind -> struct api_schema * */
};

static inline void test_table_load(struct test_table *t, const char *path)
{
	json_error_t e;
	const char *kind;
	json_t *schema;
	t->file = json_load_file(path, 0, &e);
	if (t->file == NULL)
		fail_msg("%s:%d: %s", path, e.line, e.text);
	t->group = json_string_value(json_object_get(t->file, "group"));
	map_init(&t->schemas);
	json_object_foreach (json_object_get(t->file, "schemas"), kind, schema) {
		char err[512] = "";
		struct api_schema *s = NULL;
		if (api_schema_new(schema, &s, ERR_TEXT(err)) < 0)
			fail_msg("%s: %s", kind, err);
		map_set(&t->schemas, slice_of(kind), s);
	}
}

static inline void test_table_done(struct test_table *t)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&t->schemas, &pos)) != NULL;)
		api_schema_free(e->value);
	map_done(&t->schemas);
	json_decref(t->file);
}

/* A row's own group, else the table's. */
static inline const char *test_group(const struct test_table *t, const json_t *row)
{
	const char *own = json_string_value(json_object_get(row, "group"));
	return own != NULL ? own : t->group;
}

/* The object of a row, around its spec. */
static inline json_t *test_object(const struct test_table *t, const json_t *row, const char *part)
{
	json_t *o = json_pack("{ss+,ss,s{ss}}", "apiVersion", test_group(t, row), "/v1", "kind",
			      json_string_value(json_object_get(row, "kind")), "metadata", "name",
			      json_string_value(json_object_get(row, "name")));
	json_t *spec = json_object_get(row, part);
	if (!json_is_null(spec))
		json_object_set_new(o, "spec", json_deep_copy(spec));
	return o;
}

static inline int test_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One line per error, sorted. */
static inline char *test_lines(const json_t *list, bool causes)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	size_t n = json_array_size(list);
	char **line = xcalloc(n + 1, sizeof(*line));
	for (size_t i = 0; i < n; i++) {
		const json_t *e = json_array_get(list, i);
		const json_t *f = causes ? json_object_get(e, "field") : json_array_get(e, 0);
		const json_t *r = causes ? json_object_get(e, "reason") : json_array_get(e, 1);
		const json_t *m = causes ? json_object_get(e, "message") : json_array_get(e, 2);
		line[i] = xasprintf("%s: %s: %s", json_string_value(f), json_string_value(r),
				    json_string_value(m));
	}
	qsort(line, n, sizeof(*line), test_by_text);
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(&out, "%s\n", line[i]);
		free(line[i]);
	}
	free(line);
	return strbuf_take(&out);
}

static inline bool test_same_errors(const struct test_table *t, const json_t *row,
				    const struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT, text = STRBUF_INIT;
	json_t *causes = api_errors_causes(errs);
	CLEANUP(freep) char *got = test_lines(causes, true);
	CLEANUP(freep) char *want = test_lines(json_object_get(row, "errors"), false);
	const char *message = json_string_value(json_object_get(row, "message"));
	json_decref(causes);
	strbuf_addf(&kind, "%s.%s", json_string_value(json_object_get(row, "kind")),
		    test_group(t, row));
	api_errors_text(errs, kind.s, json_string_value(json_object_get(row, "name")), &text);
	bool same = strcmp(got, want) == 0 && (message == NULL || strcmp(message, text.s) == 0);
	if (!same)
		print_error("--- server\n%s%s\n--- ours\n%s%s\n", want,
			    message != NULL ? message : "", got, text.s);
	return same;
}

/* Numbers by value: the server writes 1.0 as 1. */
static inline bool test_same(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *v;
	size_t i;
	if (json_is_number(a) && json_is_number(b))
		return json_number_value(a) == json_number_value(b);
	if (json_typeof(a) != json_typeof(b) || json_object_size(a) != json_object_size(b) ||
	    json_array_size(a) != json_array_size(b))
		return false;
	json_object_foreach (api_tree(a), key, v) {
		const json_t *w = json_object_get(b, key);
		if (w == NULL || !test_same(v, w))
			return false;
	}
	json_array_foreach (a, i, v) {
		if (!test_same(v, json_array_get(b, i)))
			return false;
	}
	return json_is_object(a) || json_is_array(a) || json_equal(a, b) != 0;
}

static inline bool test_same_stored(const json_t *row, const json_t *o)
{
	const char *part = json_object_get(row, "status") != NULL ? "status" : "spec";
	const json_t *want = json_object_get(row, "stored"), *got = json_object_get(o, part);
	if (json_is_null(want) || got == NULL ? json_is_null(want) && got == NULL
					      : test_same(want, got))
		return true;
	CLEANUP(freep) char *a = json_dumps(want, JSON_ENCODE_ANY | JSON_SORT_KEYS);
	CLEANUP(freep) char *b = json_dumps(got, JSON_ENCODE_ANY | JSON_SORT_KEYS);
	print_error("--- server\n%s\n--- ours\n%s\n", a, b);
	return false;
}

static inline bool test_row(const struct test_table *t, const json_t *row)
{
	struct api_errors errs = { 0 };
	const char *key = json_string_value(json_object_get(row, "schema"));
	if (key == NULL)
		key = json_string_value(json_object_get(row, "kind"));
	const struct api_schema *s = map_get(&t->schemas, slice_of(key));
	json_t *o = test_object(t, row, "object"), *old = NULL;
	json_t *status = json_object_get(row, "status");
	if (json_object_get(row, "old") != NULL) {
		old = test_object(t, row, "old");
		api_schema_prepare(s, old);
	}
	if (status != NULL) {
		old = json_deep_copy(o);
		if (json_object_get(row, "old_status") != NULL)
			json_object_set(old, "status", json_object_get(row, "old_status"));
		api_schema_prepare(s, old);
		json_object_set_new(o, "status", json_deep_copy(status));
	}
	api_schema_prepare(s, o);
	if (status != NULL)
		api_schema_validate_status(s, o, old, &errs);
	else
		api_schema_validate(s, o, old, &errs);
	bool same = test_same_errors(t, row, &errs);
	if (same && errs.n == 0)
		same = test_same_stored(row, o);
	api_errors_done(&errs);
	json_decref(o);
	json_decref(old);
	return same;
}

/* Every row gives what the server gave. */
static inline void test_table_rows(const struct test_table *t, size_t at_least)
{
	size_t i, bad = 0;
	json_t *row;
	const json_t *rows = json_object_get(t->file, "rows");
	json_array_foreach (rows, i, row) {
		if (test_row(t, row))
			continue;
		CLEANUP(freep) char *text = json_dumps(row, 0);
		print_error("=== %s\n", text);
		bad++;
	}
	if (bad != 0)
		fail_msg("%zu rows of %zu differ", bad, json_array_size(rows));
	assert_true(json_array_size(rows) >= at_least);
}

static inline void test_schema_table(const char *path, size_t at_least)
{
	struct test_table t;
	test_table_load(&t, path);
	test_table_rows(&t, at_least);
	test_table_done(&t);
}

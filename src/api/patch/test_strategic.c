/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategic merge patches against what a real API server made of them (test_strategic.json, which
 * tests/kube/test_strategic.py records and compares), and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/patch/patch.h"
#include "api/patch/strategic.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

/* What a server adds to what a patch brings. */
static const char *const defaults[] = {
	"protocol",	   "resources",	  "terminationMessagePath", "terminationMessagePolicy",
	"imagePullPolicy", "defaultMode", "lastHeartbeatTime",	    "lastTransitionTime",
	"lastProbeTime",   "allocatable"
};

static bool defaulted(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
		if (strcmp(defaults[i], key) == 0)
			return true;
	}
	return false;
}

static bool nothing(const json_t *v)
{
	return v == NULL || json_is_null(v) ||
	       ((json_is_object(v) || json_is_array(v)) && json_object_size(v) == 0 &&
		json_array_size(v) == 0);
}

/* The same but for what is empty, which Go's types leave out, and defaults. */
static bool same(const json_t *want, const json_t *got)
{
	const char *k;
	json_t *v;
	size_t i;
	if (nothing(want) && nothing(got))
		return true;
	if (json_is_object(want) && json_is_object(got)) {
		json_object_foreach (api_tree(want), k, v) {
			const json_t *w = json_object_get(got, k);
			if (!same(v, w) && !(w == NULL && defaulted(k)))
				return false;
		}
		json_object_foreach (api_tree(got), k, v) {
			if (json_object_get(want, k) == NULL && !nothing(v))
				return false;
		}
		return true;
	}
	if (json_is_array(want) && json_array_size(want) == json_array_size(got)) {
		json_array_foreach (want, i, v) {
			if (!same(v, json_array_get(got, i)))
				return false;
		}
		return true;
	}
	return json_equal(want, got) != 0;
}

/* The other half of the object stays. */
static void keep_half(const json_t *row, const json_t *target, json_t *o)
{
	const char *half = json_object_get(row, "sub") != NULL ? "spec" : "status";
	json_t *old = json_object_get(target, half);
	if (old != NULL)
		json_object_set(o, half, old);
	else
		json_object_del(o, half);
}

static const struct {
	int code, err;
} codes[] = { { 400, ERR_PARSE }, { 422, ERR_UNSUPPORTED }, { 500, ERR_TYPE } };

static int expected(const json_t *row)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		if (codes[i].code == json_integer_value(json_object_get(row, "code")))
			return codes[i].err;
	}
	return 0;
}

static bool same_row(const json_t *schema, const json_t *target, const json_t *row)
{
	char err[2048] = "";
	json_t *got = NULL;
	const json_t *patch = json_object_get(row, "patch");
	json_t *before = json_pack("[o,o]", json_deep_copy(target), json_deep_copy(patch));
	const char *message = json_string_value(json_object_get(row, "message"));
	int r = api_strategic_apply(schema, target, patch, &got, ERR_TEXT(err));
	bool ok = r == expected(row) && json_equal(json_array_get(before, 0), target) &&
		  json_equal(json_array_get(before, 1), patch);
	if (r == 0) {
		keep_half(row, target, got);
		ok = ok && same(json_object_get(row, "result"), got);
	} else {
		ok = ok && message != NULL && strcmp(message, err) == 0;
	}
	if (!ok) {
		CLEANUP(freep) char *p = json_dumps(patch, 0);
		CLEANUP(freep) char *a = json_dumps(json_object_get(row, "result"), JSON_SORT_KEYS);
		CLEANUP(freep) char *b = json_dumps(got, JSON_SORT_KEYS);
		fprintf(stderr, "%s\n--- server %s\n%s\n--- ours %d %s\n%s\n", p,
			message != NULL ? message : "", a, r, err, b);
	}
	json_decref(before);
	json_decref(got);
	return ok;
}

static void recorded_patches(void **state)
{
	size_t i, wrong = 0;
	json_t *row;
	json_error_t e;
	json_t *table = json_load_file(SOURCE_DIR "/test_strategic.json", 0, &e);
	(void)state;
	if (table == NULL)
		fail_msg("%d: %s", e.line, e.text);
	const json_t *rows = json_object_get(table, "rows");
	json_array_foreach (rows, i, row) {
		const json_t *target =
			json_object_get(json_object_get(table, "objects"),
					json_string_value(json_object_get(row, "object")));
		const json_t *kind =
			json_object_get(json_object_get(table, "kinds"), api_kind(target));
		wrong += !same_row(json_object_get(kind, "schema"), target, row);
	}
	size_t n = json_array_size(rows);
	json_decref(table);
	if (wrong > 0)
		fail_msg("%zu of %zu", wrong, n);
	assert_true(n >= 60);
}

static void limits(void **state)
{
	char err[128];
	json_t *patch = json_string("x"), *got = NULL;
	json_t *schema = json_object();
	(void)state;
	for (int i = 0; i <= API_PATCH_DEPTH_MAX; i++)
		patch = json_pack("{so}", "a", patch);
	assert_int_equal(api_strategic_apply(schema, patch, patch, &got, ERR_TEXT(err)), 0);
	json_decref(got);
	patch = json_pack("{so}", "a", patch);
	assert_int_equal(api_strategic_apply(schema, patch, patch, &got, ERR_TEXT(err)), ERR_LIMIT);
	assert_string_equal(err, "the patch is nested deeper than 128");
	json_decref(patch);
	patch = json_array();
	assert_int_equal(api_strategic_apply(schema, NULL, patch, &got, ERR_TEXT(err)), ERR_PARSE);
	json_decref(patch);
	json_decref(schema);
}

/* Nothing there yet, and nothing known of it. */
static void without_schema(void **state)
{
	char err[128];
	json_t *got = NULL;
	json_t *patch = json_loads(
		"{\"a\":{\"b\":null,\"c\":[1]},\"metadata\":{\"finalizers\":[\"x\"]}}", 0, NULL);
	json_t *want =
		json_loads("{\"a\":{\"c\":[1]},\"metadata\":{\"finalizers\":[\"x\"]}}", 0, NULL);
	(void)state;
	assert_int_equal(api_strategic_apply(NULL, NULL, patch, &got, ERR_TEXT(err)), 0);
	assert_true(json_equal(got, want));
	json_decref(got);
	json_decref(want);
	json_decref(patch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_patches),
		cmocka_unit_test(limits),
		cmocka_unit_test(without_schema),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RFC 7386's own table, and that a difference applied gives the other tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/patch/patch.h"
#include "base/mem.h"
#include "base/strbuf.h"

static json_t *load(const char *s)
{
	json_t *v = json_loads(s, JSON_DECODE_ANY, NULL);
	if (v == NULL)
		fail_msg("%s", s);
	return v;
}

static const struct {
	const char *target, *patch, *result;
} rows[] = {
	{ "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
	{ "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
	{ "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
	{ "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
	{ "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
	{ "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
	{ "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
	{ "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
	{ "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
	{ "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]" },
	{ "{\"a\":\"foo\"}", "null", "null" },
	{ "{\"a\":\"foo\"}", "\"bar\"", "\"bar\"" },
	{ "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
	{ "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
	{ "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },
};

static void rfc_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *t = load(rows[i].target), *p = load(rows[i].patch);
		json_t *want = load(rows[i].result), *before = json_deep_copy(t);
		json_t *got = api_merge_apply(t, p);
		assert_true(json_equal(got, want));
		assert_true(json_equal(t, before)); /* untouched */
		json_decref(t);
		json_decref(p);
		json_decref(want);
		json_decref(before);
		json_decref(got);
	}
	json_t *p = load("{\"a\":1}");
	json_t *got = api_merge_apply(NULL, p);
	assert_true(json_equal(got, p));
	json_decref(p);
	json_decref(got);
}

static void difference(void **state)
{
	static const char *const trees[] = {
		"{}",
		"{\"a\":1}",
		"{\"a\":{\"b\":[1,2],\"c\":{\"d\":1}},\"e\":\"x\"}",
		"{\"a\":{\"b\":[1],\"c\":{}},\"f\":true}",
		"{\"a\":[{}]}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		for (size_t k = 0; k < ARRAY_LEN(trees); k++) {
			json_t *from = load(trees[i]), *to = load(trees[k]);
			json_t *d = api_merge_diff(from, to);
			json_t *got = api_merge_apply(from, d);
			assert_true(json_equal(got, to));
			assert_int_equal(json_object_size(d) == 0, i == k);
			json_decref(from);
			json_decref(to);
			json_decref(d);
			json_decref(got);
		}
	}
}

static void too_deep(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	(void)state;
	for (int i = 0; i < API_PATCH_DEPTH_MAX + 2; i++)
		strbuf_adds(&b, "{\"a\":");
	strbuf_adds(&b, "1");
	for (int i = 0; i < API_PATCH_DEPTH_MAX + 2; i++)
		strbuf_addc(&b, '}');
	json_t *p = load(b.s);
	assert_null(api_merge_apply(NULL, p));
	json_decref(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc_table),
		cmocka_unit_test(difference),
		cmocka_unit_test(too_deep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cases of RFC 6902's appendix and what must be refused; a refused patch changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/patch/patch.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

static json_t *load(const char *s)
{
	json_t *v = json_loads(s, JSON_DECODE_ANY, NULL);
	if (v == NULL)
		fail_msg("%s", s);
	return v;
}

static const struct {
	const char *target, *ops;
	int code;
	const char *result; /* or a part of the error */
} rows[] = {
	/* clang-format off */
	{ "{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]", 0, "{\"baz\":\"qux\",\"foo\":\"bar\"}" },
	{ "{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]", 0, "{\"foo\":[\"bar\",\"qux\",\"baz\"]}" },
	{ "{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]", 0, "{\"foo\":\"bar\"}" },
	{ "{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]", 0, "{\"foo\":[\"bar\",\"baz\"]}" },
	{ "{\"baz\":\"qux\"}", "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]", 0, "{\"baz\":\"boo\"}" },
	{ "{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
	  "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]", 0,
	  "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}" },
	{ "{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}", "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]", 0,
	  "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}" },
	{ "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]", 0,
	  "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}" },
	{ "{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]", ERR_CONFIG, "operation 0 (test /baz): the test failed" },
	{ "{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]", 0, "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}" },
	{ "{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]", ERR_NOTFOUND, "no such path" },
	{ "{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]", 0, "{\"/\":9,\"~1\":10}" },
	{ "{\"/\":9}", "[{\"op\":\"replace\",\"path\":\"/~1\",\"value\":1}]", 0, "{\"/\":1}" },
	{ "{\"foo\":[\"bar\"]}", "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\"]}]", 0, "{\"foo\":[\"bar\",[\"abc\"]]}" },
	{ "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[1]}]", 0, "[1]" },
	{ "{\"a\":{\"b\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"},{\"op\":\"replace\",\"path\":\"/c/b\",\"value\":2}]", 0,
	  "{\"a\":{\"b\":1},\"c\":{\"b\":2}}" },
	{ "{}", "[{\"op\":\"test\",\"path\":\"/x\",\"value\":null}]", 0, "{}" },
	{ "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", ERR_NOTFOUND, "operation 0" },
	{ "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},{\"op\":\"replace\",\"path\":\"/c/d\",\"value\":1}]", ERR_NOTFOUND, "operation 1 (replace /c/d)" },
	{ "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":2}]", 0, "{\"a\":1,\"b\":2}" },
	{ "{\"a\":[1]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":2}]", ERR_NOTFOUND, "" },
	{ "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/b\",\"path\":\"/c\"}]", 0, "{\"a\":1,\"c\":null}" },
	{ "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/c\"}]", ERR_NOTFOUND, "" },
	{ "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":1}]", ERR_NOTFOUND, "" },
	{ "{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/1\"}]", ERR_NOTFOUND, "" },
	{ "{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/00\"}]", ERR_NOTFOUND, "" },
	{ "{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"\"}]", ERR_NOTFOUND, "" },
	{ "{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/c\"}]", ERR_PARSE, "" },
	{ "{}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]", ERR_PARSE, "" },
	{ "{}", "[{\"op\":\"add\",\"path\":\"/~2\",\"value\":1}]", ERR_PARSE, "" },
	{ "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", 0, "{\"a\":null}" },
	{ "{}", "[{\"op\":\"copy\",\"path\":\"/a\"}]", ERR_PARSE, "not an operation" },
	{ "{}", "[{\"op\":\"merge\",\"path\":\"/a\"}]", ERR_PARSE, "" },
	{ "{}", "[1]", ERR_PARSE, "operation 0 (? ?)" },
	{ "{}", "{}", ERR_PARSE, "list of operations" },
	/* managedFields are shared with the target until an operation works in them. */
	{ "{\"metadata\":{\"managedFields\":[{\"a\":1}]}}", "[{\"op\":\"replace\",\"path\":\"/metadata/managedFields/0/a\",\"value\":2}]", 0,
	  "{\"metadata\":{\"managedFields\":[{\"a\":2}]}}" },
	{ "{\"metadata\":{\"managedFields\":[{\"a\":1}]}}",
	  "[{\"op\":\"move\",\"from\":\"/metadata\",\"path\":\"/x\"},{\"op\":\"remove\",\"path\":\"/x/managedFields/0/a\"}]", 0,
	  "{\"x\":{\"managedFields\":[{}]}}" },
	{ "{\"metadata\":{\"managedFields\":[1]}}",
	  "[{\"op\":\"move\",\"from\":\"/metadata/managedFields\",\"path\":\"/x\"},{\"op\":\"add\",\"path\":\"/x/-\",\"value\":2}]", 0,
	  "{\"metadata\":{},\"x\":[1,2]}" },
	{ "{\"metadata\":{\"managedFields\":[1]}}",
	  "[{\"op\":\"copy\",\"from\":\"/metadata\",\"path\":\"/x\"},{\"op\":\"add\",\"path\":\"/metadata/name\",\"value\":2}]", 0,
	  "{\"metadata\":{\"managedFields\":[1],\"name\":2},\"x\":{\"managedFields\":[1]}}" },
	/* clang-format on */
};

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char err[256] = "";
		json_t *t = load(rows[i].target), *ops = load(rows[i].ops), *got = NULL;
		json_t *before = json_deep_copy(t);
		int r = api_json_patch(t, ops, &got, ERR_TEXT(err));
		if (r != rows[i].code)
			fail_msg("%s: %d %s", rows[i].ops, r, err);
		if (r == 0) {
			json_t *want = load(rows[i].result);
			assert_true(json_equal(got, want));
			json_decref(want);
		} else {
			assert_null(got);
			if (strstr(err, rows[i].result) == NULL)
				fail_msg("%s: %s", rows[i].ops, err);
		}
		assert_true(json_equal(t, before));
		json_decref(t);
		json_decref(before);
		json_decref(ops);
		json_decref(got);
	}
}

static void limit(void **state)
{
	json_t *ops = json_array(), *t = json_object(), *got = NULL;
	char err[128];
	(void)state;
	for (int i = 0; i <= API_PATCH_OPS_MAX; i++)
		json_array_append_new(ops,
				      json_pack("{sssss[]}", "op", "add", "path", "/a", "value"));
	assert_int_equal(api_json_patch(t, ops, &got, ERR_TEXT(err)), ERR_LIMIT);
	json_array_remove(ops, 0);
	assert_int_equal(api_json_patch(t, ops, &got, ERR_TEXT(err)), 0);
	json_decref(got);
	json_decref(ops);
	json_decref(t);
}

/* Each copy of the whole into itself doubles it. */
static void copies_of_all(void **state)
{
	json_t *ops = json_array(), *t = json_pack("{si}", "x", 1), *got = NULL;
	char err[128] = "", path[16];
	(void)state;
	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/a%d", i);
		json_array_append_new(
			ops, json_pack("{ssssss}", "op", "copy", "from", "", "path", path));
	}
	assert_int_equal(api_json_patch(t, ops, &got, ERR_TEXT(err)), ERR_LIMIT);
	assert_non_null(strstr(err, "copies exceed"));
	json_decref(ops);
	json_decref(t);
}

/* To move costs nothing, however large it is and however often. */
static void moves_of_much(void **state)
{
	json_t *ops = json_array(), *much = json_array(), *got = NULL;
	char err[128];
	(void)state;
	for (int i = 0; i < 100000; i++)
		json_array_append_new(much, json_integer(i));
	json_t *t = json_pack("{so}", "a", much);
	for (int i = 0; i < API_PATCH_OPS_MAX; i++)
		json_array_append_new(ops, json_pack("{ssssss}", "op", "move", "from",
						     i % 2 == 0 ? "/a" : "/b", "path",
						     i % 2 == 0 ? "/b" : "/a"));
	uint64_t start = clock_mono_ns();
	assert_int_equal(api_json_patch(t, ops, &got, ERR_TEXT(err)), 0);
	assert_true(clock_mono_ns() - start < 5 * NS_PER_S); /* copied it took a minute */
	assert_true(json_equal(got, t));
	json_decref(got);
	json_decref(ops);
	json_decref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(table), cmocka_unit_test(limit),
					    cmocka_unit_test(copies_of_all),
					    cmocka_unit_test(moves_of_much) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

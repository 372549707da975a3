/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of trees: equal, in the same order, and independent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/tree_copy.h"
#include "base/compiler.h"
#include "base/mem.h"

static void as_jansson_does(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"\"a\\u0000b\"",
		"\"\"",
		"-7",
		"9223372036854775807",
		"0.1",
		"true",
		"false",
		"null",
		"{\"z\":1,\"a\":[1,[],{},[{\"b\":null}]],\"m\":{\"\":\"\"}}",
		"{\"\xc3\xa4\":\"\xc3\xa4\"}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		json_t *tree = json_loads(texts[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(tree);
		json_t *want = json_deep_copy(tree), *got = api_tree_copy(tree);
		CLEANUP(freep) char *left = json_dumps(want, JSON_ENCODE_ANY);
		CLEANUP(freep) char *right = json_dumps(got, JSON_ENCODE_ANY);
		assert_string_equal(left, right);
		assert_true(json_equal(want, got));
		json_decref(tree);
		json_decref(want);
		json_decref(got);
	}
	assert_null(api_tree_copy(NULL));
}

static void shares_nothing(void **state)
{
	(void)state;
	json_t *tree = json_pack("{s:{s:[s, i]}}", "a", "b", "x", 1);
	json_t *copy = api_tree_copy(tree);
	json_t *list = json_object_get(json_object_get(copy, "a"), "b");
	json_string_set(json_array_get(list, 0), "y");
	json_integer_set(json_array_get(list, 1), 2);
	json_array_append_new(list, json_null());
	CLEANUP(freep) char *text = json_dumps(tree, JSON_COMPACT);
	assert_string_equal(text, "{\"a\":{\"b\":[\"x\",1]}}");
	json_decref(tree);
	json_decref(copy);
}

/* Those of another object, such as a patch, are copied. */
static void shares_managed_fields_of_one(void **state)
{
	(void)state;
	json_t *from = json_pack("{s:{s:s, s:[i]}, s:[i]}", "metadata", "name", "a",
				 "managedFields", 1, "spec", 2);
	json_t *other = json_deep_copy(from), *managed[2];
	json_t *shared = api_tree_copy_object(from, from), *own = api_tree_copy_object(other, from);
	managed[0] = json_object_get(json_object_get(from, "metadata"), "managedFields");
	managed[1] = json_object_get(json_object_get(other, "metadata"), "managedFields");
	assert_true(json_equal(shared, from) && json_equal(own, from));
	assert_ptr_equal(json_object_get(json_object_get(shared, "metadata"), "managedFields"),
			 managed[0]);
	assert_ptr_not_equal(json_object_get(shared, "metadata"),
			     json_object_get(from, "metadata"));
	assert_ptr_not_equal(json_object_get(shared, "spec"), json_object_get(from, "spec"));
	assert_ptr_not_equal(json_object_get(json_object_get(own, "metadata"), "managedFields"),
			     managed[1]);
	json_decref(shared);
	json_decref(own);
	json_decref(other);
	json_decref(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_jansson_does),
		cmocka_unit_test(shares_nothing),
		cmocka_unit_test(shares_managed_fields_of_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

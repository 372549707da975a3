/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes of schemas: what is read from them, many of them, by several threads at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/openapi_node.h"

enum { MANY = 2000, THREADS = 4 };

static json_t *schemas; /* stays */

static void reads_all_members(void **state)
{
	(void)state;
	const json_t *schema = json_array_get(schemas, 0);
	for (int i = 0; i < 2; i++) {
		const struct api_openapi_node *node = api_openapi_node(schema);
		assert_string_equal(node->type, "object");
		assert_string_equal(node->format, "int32");
		assert_string_equal(node->go_type, "v1.Time");
		assert_string_equal(node->go_keep, "always");
		assert_true(node->preserve);
		assert_int_equal(node->type_id, API_OPENAPI_OBJECT);
		assert_true(node->go_decodes);
		assert_non_null(api_openapi_property(node, "p", 1));
		assert_ptr_equal(api_openapi_property(node, "p", 1),
				 json_object_get(node->properties, "p"));
		assert_null(api_openapi_property(node, "q", 1));
		assert_ptr_equal(node->properties, json_object_get(schema, "properties"));
		assert_ptr_equal(node->items, json_object_get(schema, "items"));
		assert_ptr_equal(node->additional_properties,
				 json_object_get(schema, "additionalProperties"));
	}
}

static void reads_what_has_nothing(void **state)
{
	(void)state;
	const json_t *empty[] = { NULL, json_array_get(schemas, 1), json_array_get(schemas, 2) };
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		const struct api_openapi_node *node = api_openapi_node(empty[i]);
		assert_string_equal(node->type, "");
		assert_string_equal(node->format, "");
		assert_string_equal(node->go_type, "");
		assert_string_equal(node->go_keep, "");
		assert_false(node->preserve);
		assert_int_equal(node->type_id, API_OPENAPI_OTHER);
		assert_false(node->go_decodes);
		assert_null(api_openapi_property(node, "", 0));
		assert_null(node->properties);
		assert_null(node->items);
		assert_null(node->additional_properties);
	}
}

static void *read_many(void *arg)
{
	size_t *wrong = arg;
	for (size_t i = 0; i < 3 * MANY; i++) {
		const json_t *schema = json_array_get(schemas, 3 + i % MANY);
		const char *type = json_string_value(json_object_get(schema, "type"));
		*wrong += api_openapi_node(schema)->type != type;
	}
	return NULL;
}

static void tells_many_apart(void **state)
{
	pthread_t thread[THREADS];
	size_t wrong[THREADS] = { 0 };
	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, read_many, &wrong[i]), 0);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(wrong[i], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_members),
		cmocka_unit_test(reads_what_has_nothing),
		cmocka_unit_test(tells_many_apart),
	};
	schemas = json_pack("[{s:s,s:s,s:{s:s,s:s},s:b,s:{s:{}},s:{},s:{}},{},b]", "type", "object",
			    "format", "int32", "x-go", "type", "v1.Time", "keep", "always",
			    "x-kubernetes-preserve-unknown-fields", 1, "properties", "p", "items",
			    "additionalProperties", 1);
	for (int i = 0; i < MANY; i++)
		json_array_append_new(schemas, json_pack("{s:s}", "type", "string"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

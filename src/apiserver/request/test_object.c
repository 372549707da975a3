/* SPDX-License-Identifier: GPL-3.0-or-later */
/* managedFields in the texts of objects: where they are, and objects without them. */
#include "apiserver/request/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/apply/managed.h"
#include "api/json_text.h"

#define HEAD "{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"resourceVersion\":\"7\""

static const struct {
	const char *text, *part;
} texts[] = {
	{ HEAD ",\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\"}]},\"spec\":{}}",
	  ",\"managedFields\":[{\"manager\":\"m\"}]" },
	{ HEAD ",\"managedFields\":[{\"fieldsV1\":{\"k:{\\\"a\\\":\\\"]}\\\"}\":{}}}],"
	       "\"name\":\"a\"}}",
	  ",\"managedFields\":[{\"fieldsV1\":{\"k:{\\\"a\\\":\\\"]}\\\"}\":{}}}]" },
	{ HEAD ",\"managedFields\":[]}}", ",\"managedFields\":[]" },
	{ HEAD ",\"managedFields\":null}}", ",\"managedFields\":null" },
	/* None of the metadata. */
	{ HEAD ",\"name\":\"managedFields\"}}", "" },
	{ HEAD ",\"name\":\"a\"},\"spec\":{\"x\":1,\"managedFields\":[1]}}", "" },
	{ HEAD ",\"name\":\"a\"},\"managedFields\":[1]}", "" },
	{ HEAD ",\"annotations\":{\"a\":\"b\",\"managedFields\":\"c\"}}}", "" },
	{ HEAD ",\"annotations\":{\"a\":\",\\\"managedFields\\\":[]\"}}}", "" },
	/* Not as this program stores objects. */
	{ "{\"metadata\":{\"managedFields\":[1],\"resourceVersion\":\"7\"}}", "" },
	{ "{\"metadata\":{\"resourceVersion\":\"7\", \"managedFields\":[1]}}", "" },
	{ "{\"metadata\":[1,\"managedFields\",[]]}", "" },
	{ HEAD ",\"managedFields\":[1", "" },
	{ "", "" },
};

static void finds_managed_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct slice text = slice_of(texts[i].text);
		struct slice part = apiserver_object_find_managed(text);
		if (!slice_is(part, texts[i].part))
			fail_msg("%s: '%.*s'", texts[i].text, (int)part.n, part.p);
	}
}

/* What is left is the object without the member, whatever was there. */
static void adds_the_rest(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;
		struct slice text = slice_of(texts[i].text);
		struct slice part = apiserver_object_find_managed(text);
		json_t *object = api_json_load(text, 0, NULL);
		apiserver_object_add_without(&rest, text, part);
		assert_int_equal(rest.n, text.n - part.n);
		if (object != NULL && part.n > 0) {
			json_t *without = api_managed_strip(object);
			json_t *read = api_json_load(strbuf_slice(&rest), 0, NULL);
			assert_true(json_equal(without, read));
			assert_null(json_object_get(json_object_get(read, "metadata"),
						    "managedFields"));
			assert_non_null(json_object_get(json_object_get(object, "metadata"),
							"managedFields"));
			json_decref(without);
			json_decref(read);
		}
		json_decref(object);
	}
}

/* The same place is known when a text is made. */
static void text_knows_its_managed_fields(void **state)
{
	static const char *const objects[] = {
		"{\"metadata\":{\"managedFields\":[{\"manager\":\"m\"}],\"labels\":{}}}",
		"{\"metadata\":{\"managedFields\":[],\"resourceVersion\":\"7\"}}",
		"{\"metadata\":{\"name\":\"a\"}}",
		"{\"data\":{}}",
	};
	const struct apiserver_resource *resource = apiserver_resource_find("", "v1", "configmaps");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		struct apiserver_object_text text;
		json_t *object = api_json_load(slice_of(objects[i]), 0, NULL);
		apiserver_object_text_make(&text, resource, object);
		struct slice known = apiserver_object_text_managed(&text);
		struct slice found = apiserver_object_find_managed(strbuf_slice(&text.buf));
		assert_true(slice_eq(known, found));
		assert_int_equal(known.n > 0, strstr(objects[i], "\"managedFields\":[") != NULL);
		apiserver_object_text_done(&text);
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_managed_fields),
		cmocka_unit_test(adds_the_rest),
		cmocka_unit_test(text_knows_its_managed_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schemas against what a real API server said of the same objects (test_schema.json, which
 * tests/kube/test_schema.py records and compares), and what is refused when they are read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/schema/schema.h"
#include "api/schema/test_schema.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

static void recorded_answers(void **state)
{
	(void)state;
	test_schema_table(SOURCE_DIR "/test_schema.json", 300);
}

static json_t *json_of(const char *text)
{
	json_error_t e;
	json_t *v = json_loads(text, JSON_DECODE_ANY, &e);
	if (v == NULL)
		fail_msg("%s: %s", text, e.text);
	return v;
}

static void refused(void **state)
{
	static const struct {
		const char *schema, *err;
		int code;
	} rows[] = {
		{ "5", "a schema must be an object", ERR_PARSE },
		{ "{\"uniqueItems\":true}", "keyword 'uniqueItems' is not supported",
		  ERR_UNSUPPORTED },
		{ "{\"$ref\":\"x\"}", "keyword '$ref' is not supported", ERR_UNSUPPORTED },
		{ "{\"properties\":{\"a\":{\"items\":{\"maxLength\":-1}}}}",
		  "properties[a].items: 'maxLength' must be a whole number, not negative",
		  ERR_PARSE },
		{ "{\"anyOf\":[{},{\"required\":[1]}]}",
		  "anyOf[1]: 'required' must be a list of strings", ERR_PARSE },
		{ "{\"type\":\"text\"}", "'type' must be one of the values that are supported",
		  ERR_PARSE },
		{ "{\"nullable\":1}", "'nullable' must be true or false", ERR_PARSE },
		{ "{\"minimum\":\"1\"}", "'minimum' must be a number", ERR_PARSE },
		{ "{\"multipleOf\":0}", "'multipleOf' must be greater than 0", ERR_PARSE },
		{ "{\"enum\":[]}", "'enum' must be a list that is not empty", ERR_PARSE },
		{ "{\"properties\":[]}", "'properties' must be an object of schemas", ERR_PARSE },
		{ "{\"allOf\":{}}", "'allOf' must be a list of schemas", ERR_PARSE },
		{ "{\"pattern\":5}", "'pattern' must be a string", ERR_PARSE },
		{ "{\"format\":5}", "'format' must be a string", ERR_PARSE },
		{ "{\"type\":\"string\",\"format\":\"email\"}", "format 'email' is not supported",
		  ERR_UNSUPPORTED },
		{ "{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\"}",
		  "a list of type map needs x-kubernetes-list-map-keys", ERR_PARSE },
		{ "{\"additionalProperties\":false}",
		  "additionalProperties: a schema must be an object", ERR_PARSE },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char err[512] = "";
		struct api_schema *s = NULL;
		json_t *v = json_of(rows[i].schema);
		assert_int_equal(api_schema_new(v, &s, ERR_TEXT(err)), rows[i].code);
		assert_string_equal(err, rows[i].err);
		json_decref(v);
	}
	char err[512];
	struct api_schema *s = NULL;
	json_t *v = json_of("{\"pattern\":\"(\"}");
	assert_true(api_schema_new(v, &s, ERR_TEXT(err)) < 0);
	assert_non_null(strstr(err, "'pattern': "));
	json_decref(v);
	assert_int_equal(api_schema_new(NULL, &s, ERR_TEXT(err)),
			 ERR_PARSE); /* a CRD without one */
}

/* A schema as deep, or with as many nodes, as may be, and one more. */
static json_t *deep(unsigned n)
{
	json_t *v = json_object();
	for (unsigned i = 1; i < n; i++)
		v = json_pack("{so}", "items", v);
	return v;
}

static json_t *wide(unsigned n)
{
	json_t *props = json_object();
	for (unsigned i = 1; i < n; i++) {
		char key[16];
		snprintf(key, sizeof(key), "k%u", i);
		json_object_set_new(props, key, json_object());
	}
	return json_pack("{so}", "properties", props);
}

static void limits(void **state)
{
	const struct {
		json_t *schema;
		int code;
	} rows[] = {
		{ deep(API_SCHEMA_DEPTH_MAX), 0 },
		{ deep(API_SCHEMA_DEPTH_MAX + 1), ERR_LIMIT },
		{ wide(API_SCHEMA_NODES_MAX), 0 },
		{ wide(API_SCHEMA_NODES_MAX + 1), ERR_LIMIT },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char err[512];
		struct api_schema *s = NULL;
		assert_int_equal(api_schema_new(rows[i].schema, &s, ERR_TEXT(err)), rows[i].code);
		api_schema_free(s);
		json_decref(rows[i].schema);
	}
}

/* However many errors there are, the report is bounded. */
static void many_errors(void **state)
{
	struct api_errors errs = { 0 };
	struct api_schema *s = NULL;
	char err[512];
	json_t *v = json_of("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
	json_t *list = json_array();
	(void)state;
	assert_int_equal(api_schema_new(v, &s, ERR_TEXT(err)), 0);
	for (int i = 0; i < 2 * API_ERRORS_MAX; i++)
		json_array_append_new(list, json_integer(i));
	api_schema_validate(s, list, NULL, &errs);
	assert_int_equal(errs.n, API_ERRORS_MAX);
	assert_string_equal(errs.v[1].field, "[1]");
	api_errors_done(&errs);
	api_schema_free(s);
	json_decref(list);
	json_decref(v);
}

/* Values that an update leaves alone are not walked, but count where alternatives are compared. */
static void unchanged_values_count(void **state)
{
	struct api_errors errs = { 0 };
	struct api_schema *s = NULL;
	char err[512];
	json_t *v = json_of("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\","
			    "\"maxLength\":1},\"b\":{\"type\":\"integer\"}},"
			    "\"anyOf\":[{\"required\":[\"y\"]},"
			    "{\"properties\":{\"a\":{\"maxLength\":9}},\"required\":[\"x\"]}]}");
	json_t *old = json_of("{\"a\":\"too long\",\"b\":1}");
	json_t *now = json_of("{\"a\":\"too long\",\"b\":2}");
	(void)state;
	assert_int_equal(api_schema_new(v, &s, ERR_TEXT(err)), 0);
	api_schema_validate(s, now, old, &errs);
	assert_int_equal(errs.n, 2);
	assert_non_null(strstr(errs.v[0].body, "(anyOf)"));
	assert_string_equal(errs.v[1].field, "x");
	api_errors_done(&errs);
	api_schema_free(s);
	json_decref(v);
	json_decref(old);
	json_decref(now);
}

static void texts(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct api_errors errs = { 0 };
	(void)state;
	api_errors_text(&errs, "DNS.operator.openshift.io", "x", &b);
	assert_string_equal(b.s, "DNS.operator.openshift.io \"x\" is invalid");
	api_errors_add(&errs, API_FIELD_REQUIRED, "spec.a", NULL, "");
	api_errors_add(&errs, API_FIELD_REQUIRED, "spec.a", NULL, "");
	strbuf_reset(&b);
	api_errors_text(&errs, "DNS.operator.openshift.io", "x", &b);
	assert_string_equal(b.s,
			    "DNS.operator.openshift.io \"x\" is invalid: spec.a: Required value");
	api_errors_add(&errs, API_FIELD_FORBIDDEN, "", NULL, "no");
	strbuf_reset(&b);
	api_errors_text(&errs, "DNS.operator.openshift.io", "x", &b);
	assert_string_equal(b.s, "DNS.operator.openshift.io \"x\" is invalid: "
				 "[spec.a: Required value, <nil>: Forbidden: no]");
	api_errors_done(&errs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_answers),
		cmocka_unit_test(refused),
		cmocka_unit_test(limits),
		cmocka_unit_test(many_errors),
		cmocka_unit_test(unchanged_values_count),
		cmocka_unit_test(texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

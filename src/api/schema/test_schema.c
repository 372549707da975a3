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

/* JSON is easier to read in C with single quotes. */
static char *double_quotes(const char *text)
{
	char *copy = xstrdup(text);
	for (char *p = copy; (p = strchr(p, '\'')) != NULL;)
		*p = '"';
	return copy;
}

static char *replaced(const char *text, const char *word, const char *by)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	for (const char *at; (at = strstr(text, word)) != NULL; text = at + strlen(word)) {
		strbuf_add(&out, text, (size_t)(at - text));
		strbuf_adds(&out, by);
	}
	strbuf_adds(&out, text);
	return strbuf_take(&out);
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

static struct api_schema *schema_of(const char *text)
{
	struct api_schema *schema = NULL;
	char err[512] = "";
	json_t *openapi = json_of(text);
	if (api_schema_new(openapi, &schema, ERR_TEXT(err)) < 0)
		fail_msg("%s: %s", text, err);
	json_decref(openapi);
	return schema;
}

static void assert_json(const json_t *got, const char *want)
{
	CLEANUP(freep) char *text = json_dumps(got, JSON_COMPACT);
	assert_string_equal(text, want);
}

/* Which parts of an object are visited depends on where the schema has defaults and fields. */
static void prepared(void **state)
{
	static const char schema[] =
		"{'properties':{"
		"'metadata':{'properties':{'name':{},'labels':{'nullable':true}}},"
		"'plain':{'properties':{'a':{},'list':{'items':{'properties':{'b':{}}}}}},"
		"'deep':{'properties':{'list':{'items':{'additionalProperties':"
		"{'properties':{'x':{'default':1},'y':{}}}}}}},"
		"'made':{'properties':{'in':{'default':{'z':null,'other':2},"
		"'properties':{'z':{'default':3},'w':{'default':4}}}}},"
		"'kept':{'x-kubernetes-preserve-unknown-fields':true,'items':{'items':"
		"{'properties':{'p':{'properties':{'q':{}}}}}}},"
		"'loose':{'x-kubernetes-preserve-unknown-fields':true},"
		"'bare':{},"
		"'inner':{'x-kubernetes-embedded-resource':true,'properties':{'spec':{}}}}}";
	static const struct {
		const char *object, *prepared, *applied;
	} rows[] = {
		/* Without defaults: only unknown fields and nulls go. */
		{ "{'plain':{'a':null,'c':1,'list':[{'b':1,'c':2},{'b':null},null]}}",
		  "{'plain':{'list':[{'b':1},{},null]}}",
		  "{'plain':{'a':null,'list':[{'b':1},{'b':null},null]}}" },
		/* A default deep down, below items and additional properties. */
		{ "{'deep':{'list':[{'k':{}},{'k':{'x':null,'y':null}},{'k':{'x':5,'u':1}}]}}",
		  "{'deep':{'list':[{'k':{'x':1}},{'k':{'x':1}},{'k':{'x':5}}]}}",
		  "{'deep':{'list':[{'k':{'x':1}},{'k':{'x':1,'y':null}},{'k':{'x':5}}]}}" },
		/* A default gets the defaults inside it, but is not pruned. */
		{ "{'made':{}}", "{'made':{'in':{'z':3,'other':2,'w':4}}}",
		  "{'made':{'in':{'z':3,'other':2,'w':4}}}" },
		{ "{'made':{'in':{'other':2}}}", "{'made':{'in':{'z':3,'w':4}}}",
		  "{'made':{'in':{'z':3,'w':4}}}" },
		/* Metadata keeps unknown fields, but no nulls that the schema forbids. */
		{ "{'metadata':{'name':null,'labels':null,'u':null},'kind':'K','u':1}",
		  "{'metadata':{'labels':null,'u':null},'kind':'K'}",
		  "{'metadata':{'name':null,'labels':null,'u':null},'kind':'K'}" },
		/* A list that is kept: its items are pruned below what is described. */
		{ "{'kept':[[{'u':1,'p':{'q':1,'u':2}}],{'u':3}]}",
		  "{'kept':[[{'u':1,'p':{'q':1}}],{'u':3}]}",
		  "{'kept':[[{'u':1,'p':{'q':1}}],{'u':3}]}" },
		{ "{'loose':{'u':{'v':null}},'bare':{'u':1},'inner':null}",
		  "{'loose':{'u':{'v':null}},'bare':{}}",
		  "{'loose':{'u':{'v':null}},'bare':{},'inner':null}" },
		{ "{'bare':[{'u':1},[{'u':2}]],'inner':{'kind':'K','metadata':{'u':1},'u':2}}",
		  "{'bare':[{},[{}]],'inner':{'kind':'K','metadata':{'u':1}}}",
		  "{'bare':[{},[{}]],'inner':{'kind':'K','metadata':{'u':1}}}" },
	};
	(void)state;
	CLEANUP(freep) char *quoted = double_quotes(schema);
	struct api_schema *s = schema_of(quoted);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *object = double_quotes(rows[i].object);
		CLEANUP(freep) char *want = double_quotes(rows[i].prepared);
		CLEANUP(freep) char *want_applied = double_quotes(rows[i].applied);
		json_t *o = json_of(object), *applied = json_of(object);
		api_schema_prepare(s, o);
		assert_json(o, want);
		api_schema_prepare_applied(s, applied);
		assert_json(applied, want_applied);
		json_decref(o);
		json_decref(applied);
	}
	api_schema_free(s);
}

/* One line per error, in order. */
static char *error_lines(struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	for (size_t i = 0; i < errs->n; i++)
		strbuf_addf(&out, "%s: %s\n", errs->v[i].field, errs->v[i].body);
	api_errors_done(errs);
	return strbuf_take(&out);
}

/* Errors keep their order: duplicates and rules as the object has its members, in however many of its
 * members they are; properties and required ones as the schema has them. */
static void order_of_errors(void **state)
{
	static const char item[] =
		"{'type':'array','x-kubernetes-list-type':'set','items':{'type':'integer'},"
		"'x-kubernetes-validations':[{'rule':'size(self) < 2','message':'too many'}]}";
	static const struct {
		const char *schema, *object, *old, *errors;
	} rows[] = {
		/* One member with lists and rules, below one that has others. */
		{ "{'type':'object','properties':{'o':{'type':'object','properties':"
		  "{'n':{'type':'string'},'a':ITEM}}}}",
		  "{'o':{'n':'x','a':[1,1]}}", NULL,
		  "o.a[1]: Duplicate value: 1\no.a: Invalid value: too many\n" },
		{ "{'type':'object','properties':{'a':ITEM,'b':ITEM}}", "{'b':[1,1],'a':[2,2]}",
		  NULL,
		  "b[1]: Duplicate value: 1\na[1]: Duplicate value: 2\n"
		  "b: Invalid value: too many\na: Invalid value: too many\n" },
		{ "{'type':'object','additionalProperties':ITEM}", "{'b':[1,1],'a':[2,2]}", NULL,
		  "[b][1]: Duplicate value: 1\n[a][1]: Duplicate value: 2\n"
		  "[b]: Invalid value: too many\n[a]: Invalid value: too many\n" },
		/* What was wrong before is not an error of an update, wherever it was. */
		{ "{'type':'object','properties':{'a':ITEM,'b':ITEM}}", "{'b':[1,1],'a':[]}",
		  "{'a':[2,2]}", "b: Invalid value: too many\n" },
		{ "{'type':'object','properties':{'a':ITEM,'b':ITEM}}", "{'b':[1,1],'a':[]}",
		  "{'a':[2]}", "b[1]: Duplicate value: 1\nb: Invalid value: too many\n" },
		{ "{'type':'object','required':['z','b','a','b'],'properties':{'b':"
		  "{'type':'string'},'l':{'items':{'properties':{'s':{'maxLength':2}}}}}}",
		  "{'l':[{},{'s':'abc'},{'s':'\u00e4\u00e4'}]}", NULL,
		  "l[1].s: Too long: may not be more than 2 bytes\nz: Required value\n"
		  "b: Required value\na: Required value\n" },
		{ "{'type':'object','required':['b','b','a'],'properties':{'a':{},'b':{}}}",
		  "{'b':1}", NULL, "a: Required value\n" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct api_errors errs = { 0 };
		CLEANUP(freep) char *text = replaced(rows[i].schema, "ITEM", item);
		CLEANUP(freep) char *schema = double_quotes(text);
		CLEANUP(freep) char *object = double_quotes(rows[i].object);
		CLEANUP(freep) char *old = double_quotes(rows[i].old != NULL ? rows[i].old : "{}");
		struct api_schema *s = schema_of(schema);
		json_t *o = json_of(object), *was = json_of(old);
		api_schema_validate(s, o, rows[i].old != NULL ? was : NULL, &errs);
		CLEANUP(freep) char *got = error_lines(&errs);
		assert_string_equal(got, rows[i].errors);
		json_decref(o);
		json_decref(was);
		api_schema_free(s);
	}
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
		cmocka_unit_test(prepared),
		cmocka_unit_test(order_of_errors),
		cmocka_unit_test(texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

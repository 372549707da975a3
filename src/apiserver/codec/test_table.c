/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables: the texts that kube-apiserver 1.37 wrote for such objects, without column
 * descriptions. */
#include "apiserver/codec/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

/* 2026-11-15T13:18:18Z */
enum { CREATED_S = 1794748698 };

static json_t *cells(const json_t *o, uint64_t now_s)
{
	assert_int_equal(now_s, CREATED_S + 6);
	return json_pack("[n,i,s]", (int)json_object_size(json_object_get(o, "data")), "<now>");
}

static const struct apiserver_strategy plain = { .kind = "X" };
static const struct apiserver_strategy special = { .kind = "X", .cells = cells };

static const struct apiserver_column columns[] = {
	{ "Name", "string", "name", "The name.", 0, ".metadata.name" },
	{ "Text", "string", "", "A \"text\".", 0, ".spec.v" },
	{ "Integer", "integer", "", "", 1, ".spec.v" },
	{ "Number", "number", "", "", 0, ".spec.v" },
	{ "Boolean", "boolean", "", "", 0, ".spec.v" },
	{ "Age", "date", "", "", 0, ".metadata.creationTimestamp" },
};
static const struct apiserver_column own_columns[] = {
	{ "Name", "string", "name", "n", 0, ".metadata.name" },
	{ "Data", "string", "", "d", 0, NULL },
	{ "Age", "string", "", "a", 0, NULL },
};

static const struct apiserver_resource resource = { .columns = columns,
						    .n_columns = ARRAY_LEN(columns),
						    .strategy = &plain };
static const struct apiserver_resource own_resource = { .columns = own_columns,
							.n_columns = ARRAY_LEN(own_columns),
							.strategy = &special };

static struct apiserver_table table(const struct apiserver_resource *r,
				    enum apiserver_include include)
{
	return (struct apiserver_table){
		.resource = r, .meta_version = "v1", .include = include, .now_s = CREATED_S + 6
	};
}

#define META                                           \
	"{\"name\":\"p\",\"resourceVersion\":\"261\"," \
	"\"creationTimestamp\":\"2026-11-15T13:18:18Z\"}"

static void values_by_type(void **state)
{
	static const struct {
		const char *value, *cells;
	} rows[] = {
		{ "\"t\"", "\"p\",\"t\",null,null,null,\"6s\"" },
		{ "[\"10.0.0.1\",\"x\"]",
		  "\"p\",\"[\\\"10.0.0.1\\\",\\\"x\\\"]\",null,null,null,\"6s\"" },
		{ "7", "\"p\",\"7\",7,7,null,\"6s\"" },
		{ "7.5", "\"p\",\"7.5\",7,7.5,null,\"6s\"" },
		{ "1e22", "\"p\",\"1e+22\",null,1e22,null,\"6s\"" },
		{ "true", "\"p\",\"true\",null,null,true,\"6s\"" },
		{ "null", "\"p\",null,null,null,null,\"6s\"" },
	};
	struct apiserver_table t = table(&resource, APISERVER_INCLUDE_NONE);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		CLEANUP(freep)
		char *text =
			xasprintf("{\"metadata\":" META ",\"spec\":{\"v\":%s}}", rows[i].value);
		CLEANUP(freep)
		char *want = xasprintf("{\"cells\":[%s],\"object\":null}", rows[i].cells);
		json_t *o = json_loads(text, 0, NULL);
		apiserver_table_row(&out, &t, o);
		assert_string_equal(out.s, want);
		json_decref(o);
	}
}

#define TABLE(version, columns_, rows_)                                                 \
	"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/" version                     \
	"\",\"metadata\":{\"resourceVersion\":\"261\"},\"columnDefinitions\":" columns_ \
	",\"rows\":[" rows_ "]}"
#define OWN_COLUMNS                                                                               \
	"[{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\",\"description\":\"n\","      \
	"\"priority\":0},{\"name\":\"Data\",\"type\":\"string\",\"format\":\"\",\"description\":" \
	"\"d\",\"priority\":0},{\"name\":\"Age\",\"type\":\"string\",\"format\":\"\","            \
	"\"description\":\"a\",\"priority\":0}]"
#define PARTIAL(version)                                                            \
	"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/" version \
	"\",\"metadata\":" META "}"
#define OBJECT "{\"kind\":\"ConfigMap\",\"metadata\":" META ",\"data\":{\"x\":\"y\"}}"

static void one_object(void **state)
{
	static const struct {
		enum apiserver_include include;
		bool columns;
		const char *version, *want;
	} rows[] = {
		{ APISERVER_INCLUDE_METADATA, true, "v1",
		  TABLE("v1", OWN_COLUMNS,
			"{\"cells\":[\"p\",1,\"<now>\"],\"object\":" PARTIAL("v1") "}") },
		{ APISERVER_INCLUDE_METADATA, false, "v1beta1",
		  TABLE("v1beta1", "null",
			"{\"cells\":[\"p\",1,\"<now>\"],\"object\":" PARTIAL("v1beta1") "}") },
		{ APISERVER_INCLUDE_OBJECT, false, "v1",
		  TABLE("v1", "null", "{\"cells\":[\"p\",1,\"<now>\"],\"object\":" OBJECT "}") },
	};
	json_t *o = json_loads(OBJECT, 0, NULL);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		struct apiserver_table t = table(&own_resource, rows[i].include);
		t.meta_version = rows[i].version;
		apiserver_table_object(&out, &t, o, rows[i].columns);
		assert_string_equal(out.s, rows[i].want);
	}
	json_decref(o);
}

static void a_list(void **state)
{
	struct apiserver_table t = table(&own_resource, APISERVER_INCLUDE_NONE);
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	json_t *o = json_loads(OBJECT, 0, NULL);
	json_t *meta = json_pack("{ss}", "resourceVersion", "261");
	(void)state;
	apiserver_table_begin(&out, &t, meta, true);
	apiserver_table_row(&out, &t, o);
	apiserver_table_row(&out, &t, o);
	strbuf_adds(&out, "]}");
#define ROW "{\"cells\":[\"p\",1,\"<now>\"],\"object\":null}"
	assert_string_equal(out.s, TABLE("v1", OWN_COLUMNS, ROW "," ROW));
	strbuf_reset(&out);
	apiserver_table_begin(&out, &t, NULL, false);
	strbuf_adds(&out, "]}");
	assert_string_equal(out.s, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\","
				   "\"metadata\":{},\"columnDefinitions\":null,\"rows\":[]}");
	json_decref(meta);
	json_decref(o);
}

/* A bookmark's object has no name. */
static void an_empty_object(void **state)
{
	struct apiserver_table t = table(&resource, APISERVER_INCLUDE_METADATA);
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	json_t *o = json_object();
	(void)state;
	apiserver_table_row(&out, &t, o);
	assert_string_equal(out.s,
			    "{\"cells\":[\"\",null,null,null,null,null],\"object\":{\"kind\":"
			    "\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
			    "\"metadata\":{}}}");
	json_decref(o);
}

static void include_object(void **state)
{
	enum apiserver_include i;
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	(void)state;
	assert_int_equal(apiserver_table_include(NULL, &i, &err), 0);
	assert_int_equal(i, APISERVER_INCLUDE_METADATA);
	assert_int_equal(apiserver_table_include("None", &i, &err), 0);
	assert_int_equal(i, APISERVER_INCLUDE_NONE);
	assert_int_equal(apiserver_table_include("Object", &i, &err), 0);
	assert_int_equal(i, APISERVER_INCLUDE_OBJECT);
	assert_int_equal(apiserver_table_include("Foo", &i, &err), ERR_PARSE);
	assert_string_equal(err.s,
			    "Unable to convert to Table as requested: includeObject: Invalid "
			    "value: \"Foo\": must be 'Metadata', 'Object', 'None', or empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_by_type), cmocka_unit_test(one_object),
		cmocka_unit_test(a_list),	  cmocka_unit_test(an_empty_object),
		cmocka_unit_test(include_object),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

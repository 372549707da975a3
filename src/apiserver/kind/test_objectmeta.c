/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of metadata and their order, in new objects and in updates. */
#include "apiserver/kind/objectmeta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/fielderr.h"
#include "apiserver/kind/resource.h"
#include "base/compiler.h"

enum { SHOWN_MAX = 56 }; /* of an error, in characters */

struct row {
	const char *plural, *object, *old; /* of v1; `old` NULL: a new object */
	const char *want;
};

static void check_row(const struct row *row)
{
	const struct apiserver_resource *resource = apiserver_resource_find("", "v1", row->plural);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct api_errors errors = { 0 };
	json_t *object = json_loads(row->object, 0, NULL);
	json_t *old = row->old != NULL ? json_loads(row->old, 0, NULL) : NULL;
	assert_non_null(object);
	assert_int_equal(old != NULL, row->old != NULL);
	apiserver_objectmeta_validate(resource, object, old, &errors);
	for (size_t i = 0; i < errors.n; i++)
		strbuf_addf(&text, "%s: %.*s\n", errors.v[i].field, SHOWN_MAX, errors.v[i].body);
	assert_string_equal(text.s, row->want);
	api_errors_done(&errors);
	json_decref(object);
	json_decref(old);
}

static void new_objects(void **state)
{
	static const struct row rows[] = {
		{ "configmaps", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}", NULL, "" },
		{ "configmaps", "{}", NULL,
		  "metadata.name: Required value: name or generateName is required\n"
		  "metadata.namespace: Required value\n" },
		{ "configmaps", "{\"metadata\":[]}", NULL,
		  "metadata.name: Required value: name or generateName is required\n"
		  "metadata.namespace: Required value\n" },
		{ "namespaces",
		  "{\"metadata\":{\"generateName\":\"A-\",\"name\":\"a.b\",\"namespace\":\"x\","
		  "\"generation\":-1,\"labels\":{\"a b\":\"c d\"},\"annotations\":{\"a b\":\"\"},"
		  "\"finalizers\":[\"orphan\",\"x\",\"foregroundDeletion\"],"
		  "\"managedFields\":[{\"operation\":\"Apply\"},{\"operation\":\"Update\","
		  "\"fieldsType\":\"FieldsV1\"},{\"fieldsType\":\"x\"},{\"operation\":\"Other\"},"
		  "1]}}",
		  NULL,
		  "metadata.name: Invalid value: \"a.b\": must not contain dots\n"
		  "metadata.namespace: Forbidden: not allowed on this type\n"
		  "metadata.generation: Invalid value: -1: must be greater than or equal to 0\n"
		  "metadata.labels: Invalid value: \"a b\": name part must consist of alphanum\n"
		  "metadata.labels: Invalid value: \"c d\": a valid label must be an empty str\n"
		  "metadata.annotations: Invalid value: \"a b\": name part must consist of "
		  "alphanum\n"
		  "metadata.finalizers: Invalid value: [\"orphan\",\"x\",\"foregroundDeletion\"]: "
		  "fina\n"
		  "metadata.managedFields[2].operation: Required value: must not be empty\n"
		  "metadata.managedFields[2].fieldsType: Invalid value: \"x\": must be `FieldsV1`\n"
		  "metadata.managedFields[3].operation: Unsupported value: \"Other\": supported "
		  "values: \"Apply\", \"\n"
		  "metadata.managedFields[4].operation: Required value: must not be empty\n"
		  "metadata.finalizers[1]: Invalid value: \"x\": name is neither a standard "
		  "finalizer\n" },
		{ "secrets",
		  "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":["
		  "{\"apiVersion\":\"a/b/c\",\"kind\":\"K\",\"name\":\"n\",\"uid\":\"1\","
		  "\"controller\":true},{\"controller\":true},{\"apiVersion\":\"v1\","
		  "\"kind\":\"Event\",\"name\":\"n\",\"uid\":\"2\",\"controller\":true}]}}",
		  NULL,
		  "metadata.namespace: Required value\n"
		  "metadata.ownerReferences[0].apiVersion: Invalid value: \"a/b/c\": must be "
		  "<group>/<version> or <ve\n"
		  "metadata.ownerReferences[1].apiVersion: Required value: must not be empty\n"
		  "metadata.ownerReferences[1].kind: Required value: must not be empty\n"
		  "metadata.ownerReferences[1].name: Required value: must not be empty\n"
		  "metadata.ownerReferences[1].uid: Required value: must not be empty\n"
		  "metadata.ownerReferences: Invalid value: "
		  "[{\"apiVersion\":\"a/b/c\",\"kind\":\"K\",\"name\":\n"
		  "metadata.ownerReferences[2]: Invalid value: "
		  "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\n"
		  "metadata.ownerReferences: Invalid value: "
		  "[{\"apiVersion\":\"a/b/c\",\"kind\":\"K\",\"name\":\n" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

static void updates(void **state)
{
	static const struct row rows[] = {
		{ "configmaps", "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}",
		  "{\"metadata\":{\"name\":\"a\",\"generation\":0}}", "" },
		{ "configmaps",
		  "{\"metadata\":{\"name\":\"b\",\"namespace\":\"c\",\"uid\":\"2\","
		  "\"deletionTimestamp\":\"t\",\"generation\":-1,"
		  "\"finalizers\":[\"x\",\"a.b/c\",\"y\"],\"labels\":{\"a\":\"-\"}}}",
		  "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"1\","
		  "\"creationTimestamp\":\"u\",\"deletionTimestamp\":\"t\","
		  "\"deletionGracePeriodSeconds\":0,\"generation\":3,"
		  "\"finalizers\":[\"a.b/c\"]}}",
		  "metadata.generation: Invalid value: -1: must be greater than or equal to 0\n"
		  "metadata.labels: Invalid value: \"-\": a valid label must be an empty strin\n"
		  "metadata.finalizers: Forbidden: no new finalizers can be added if the object \n"
		  "metadata.resourceVersion: Invalid value: \"\": must be specified for an update\n"
		  "metadata.generation: Invalid value: -1: must be greater than or equal to 0\n"
		  "metadata.generation: Invalid value: -1: must not be decremented\n"
		  "metadata.name: Invalid value: \"b\": field is immutable\n"
		  "metadata.namespace: Invalid value: \"c\": field is immutable\n"
		  "metadata.uid: Invalid value: \"2\": field is immutable\n"
		  "metadata.creationTimestamp: Invalid value: null: field is immutable\n"
		  "metadata.deletionGracePeriodSeconds: Invalid value: null: field is immutable\n"
		  "metadata.labels: Invalid value: \"-\": a valid label must be an empty strin\n"
		  "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard "
		  "finalizer\n"
		  "metadata.finalizers[2]: Invalid value: \"y\": name is neither a standard "
		  "finalizer\n" },
		{ "configmaps", "{}", "{\"metadata\":{\"deletionTimestamp\":\"t\"}}",
		  "metadata.resourceVersion: Invalid value: \"\": must be specified for an update\n"
		  "metadata.deletionTimestamp: Invalid value: null: field is immutable\n" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_objects),
		cmocka_unit_test(updates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

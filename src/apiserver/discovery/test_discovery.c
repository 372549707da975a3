/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Discovery documents of the real table of resources, in the form of kube-apiserver 1.37's. */
#include "apiserver/discovery/discovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/tree.h"
#include "apiserver/discovery/catalogue.h"
#include "apiserver/discovery/catalogue_test.h"
#include "apiserver/request/answer.h"
#include "base/mem.h"

static struct apiserver_discovery *d;

static int start(void **state)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	d = apiserver_discovery_new(rows, n, "0.1.0", "127.0.0.1:6443", "ipam,poddns");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	apiserver_discovery_free(d);
	return 0;
}

static struct apiserver_answer ask(const char *path, const char *accept, const char *etag)
{
	struct apiserver_answer a;
	struct apiserver_call c = {
		.method = HTTP_GET, .path = path, .accept = accept, .if_none_match = etag
	};
	if (!apiserver_discovery_serve(d, &c, &a))
		fail_msg("%s is not served", path);
	return a;
}

static json_t *get(const char *path)
{
	struct apiserver_answer a = ask(path, "application/json", "");
	json_t *o = json_loads(a.body.s, 0, NULL);
	if (a.status != 200 || o == NULL)
		fail_msg("%s: %u %s", path, a.status, a.body.s);
	strbuf_done(&a.body);
	return o;
}

static void check(const char *path, const char *want)
{
	json_t *got = get(path), *expected = json_loads(want, 0, NULL);
	CLEANUP(freep) char *text = json_dumps(got, JSON_COMPACT);
	assert_non_null(expected);
	if (!json_equal(got, expected))
		fail_msg("%s: %s", path, text);
	json_decref(got);
	json_decref(expected);
}

static void legacy_documents(void **state)
{
	(void)state;
	check("/api", "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
		      "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\","
		      "\"serverAddress\":\"127.0.0.1:6443\"}]}");
	check("/apis/coordination.k8s.io",
	      "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"coordination.k8s.io\","
	      "\"versions\":[{\"groupVersion\":\"coordination.k8s.io/v1\",\"version\":\"v1\"}],"
	      "\"preferredVersion\":{\"groupVersion\":\"coordination.k8s.io/v1\","
	      "\"version\":\"v1\"}}");
	check("/apis/coordination.k8s.io/v1/",
	      "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":"
	      "\"coordination.k8s.io/v1\",\"resources\":[{\"name\":\"leases\",\"singularName\":"
	      "\"lease\",\"namespaced\":true,\"kind\":\"Lease\",\"verbs\":[\"create\",\"delete\","
	      "\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]}]}");
	json_t *o = get("/version");
	assert_string_equal(json_string_value(json_object_get(o, "gitVersion")),
			    "v1.37.0+fairlead.0.1.0");
	assert_string_equal(json_string_value(json_object_get(o, "fairleadControllers")),
			    "ipam,poddns");
	json_decref(o);
	o = get("/");
	assert_true(json_array_size(json_object_get(o, "paths")) > 20);
	json_decref(o);
}

static const json_t *by_name(const json_t *list, const char *name)
{
	size_t i;
	json_t *o;
	json_array_foreach (api_tree(list), i, o) {
		if (strcmp(json_string_value(json_object_get(o, "name")), name) == 0)
			return o;
	}
	fail_msg("%s is not listed", name);
	return NULL;
}

static void core_and_custom_kinds(void **state)
{
	(void)state;
	json_t *o = get("/api/v1");
	assert_null(json_object_get(o, "apiVersion")); /* as the real one has none */
	const json_t *list = json_object_get(o, "resources");
	const json_t *pods = by_name(list, "pods");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(pods, "shortNames"), 0)), "po");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(pods, "categories"), 0)), "all");
	const json_t *sub = by_name(list, "pods/status");
	assert_string_equal(json_string_value(json_object_get(sub, "singularName")), "");
	assert_int_equal(json_array_size(json_object_get(sub, "verbs")), 3);
	assert_true(json_is_false(json_object_get(by_name(list, "namespaces"), "namespaced")));
	json_decref(o);

	o = get("/apis/operator.openshift.io/v1");
	CLEANUP(freep)
	char *verbs = json_dumps(
		json_object_get(by_name(json_object_get(o, "resources"), "dnses"), "verbs"),
		JSON_COMPACT);
	assert_string_equal(verbs, "[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\","
				   "\"create\",\"update\",\"watch\"]");
	json_decref(o);

	o = get("/apis");
	list = json_object_get(o, "groups");
	const json_t *ipam = by_name(list, "ipam.cluster.x-k8s.io");
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(ipam, "preferredVersion"), "version")),
			    "v1beta2");
	/* Every group and version that it names is served. */
	size_t i, k;
	json_t *group, *version;
	json_array_foreach (api_tree(list), i, group) {
		json_array_foreach (json_object_get(group, "versions"), k, version) {
			CLEANUP(freep)
			char *path = xasprintf("/apis/%s", json_string_value(json_object_get(
								   version, "groupVersion")));
			json_t *rows = get(path);
			assert_true(json_array_size(json_object_get(rows, "resources")) > 0);
			json_decref(rows);
		}
	}
	json_decref(o);
}

static void versions_in_order(void **state)
{
	static const char *const order[] = { "v2",	 "v1",	     "v11beta2", "v10beta3",
					     "v3beta1",	 "v1beta10", "v1beta2",	 "v12alpha1",
					     "v1alpha1", "foo1",     "foo10",	 "v1beta" };
	(void)state;
	for (size_t i = 0; i + 1 < ARRAY_LEN(order); i++) {
		assert_true(apiserver_version_cmp(order[i], order[i + 1]) < 0);
		assert_true(apiserver_version_cmp(order[i + 1], order[i]) > 0);
		assert_int_equal(apiserver_version_cmp(order[i], order[i]), 0);
	}
}

static void refusals(void **state)
{
	static const struct {
		const char *path, *accept;
		enum http_method method;
		unsigned status;
		const char *part;
	} rows[] = {
		{ "/apis/nope", "", HTTP_GET, 404, "404 page not found\n" },
		{ "/apis/nope/v1", "", HTTP_GET, 404, "404 page not found\n" },
		{ "/apis/coordination.k8s.io/v9", "", HTTP_GET, 404,
		  "\"message\":\"the server could not find the requested resource\"" },
		{ "/api/v2", "", HTTP_GET, 404,
		  "\"reason\":\"NotFound\",\"details\":{},\"code\":404" },
		{ "/openapi/v3/apis/nope/v1", "", HTTP_GET, 404, "404" },
		{ "/api", "text/plain", HTTP_GET, 406, "\"reason\":\"NotAcceptable\"" },
		{ "/openapi/v2", "application/json", HTTP_GET, 406, "NotAcceptable" },
		{ "/api", "", HTTP_POST, 405, "\"reason\":\"MethodNotAllowed\"" },
		{ "/version", "", HTTP_DELETE, 405, "does not allow this method" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct apiserver_answer a;
		struct apiserver_call c = { .method = rows[i].method,
					    .path = rows[i].path,
					    .accept = rows[i].accept,
					    .if_none_match = "" };
		assert_true(apiserver_discovery_serve(d, &c, &a));
		if (a.status != rows[i].status || strstr(a.body.s, rows[i].part) == NULL)
			fail_msg("%s: %u %s", rows[i].path, a.status, a.body.s);
		assert_string_equal(a.etag, "");
		strbuf_done(&a.body);
	}
	static const char *const others[] = { "/api/v1/pods", "/apis/a/b/c", "/healthz", "/apix",
					      "" };
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct apiserver_answer a;
		struct apiserver_call c = { .method = HTTP_GET, .path = others[i] };
		assert_false(apiserver_discovery_serve(d, &c, &a));
	}
}

static void entity_tags(void **state)
{
	static const char *const paths[] = { "/api", "/apis", "/api/v1", "/openapi/v2",
					     "/openapi/v3/api/v1" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct apiserver_answer a = ask(paths[i], "*/*", "\"other\"");
		assert_int_equal(a.status, 200);
		assert_true(strlen(a.etag) > 20);
		struct apiserver_answer b = ask(paths[i], "*/*", a.etag);
		assert_int_equal(b.status, 304);
		assert_int_equal(b.body.n, 0);
		assert_string_equal(a.etag, b.etag);
		strbuf_done(&a.body);
		strbuf_done(&b.body);
	}
	struct apiserver_answer yaml = ask("/api", "application/yaml", "");
	assert_string_equal(yaml.content_type, "application/yaml");
	assert_non_null(strstr(yaml.body.s, "kind: APIVersions\n"));
	strbuf_done(&yaml.body);
}

/* Every reference leads somewhere, and nothing of our own is left. */
static void check_schemas(const json_t *v, const json_t *schemas)
{
	const char *key;
	json_t *child;
	size_t i;
	json_object_foreach (api_tree(v), key, child) {
		assert_string_not_equal(key, "x-go");
		if (strcmp(key, "$ref") == 0) {
			const char *name = json_string_value(child);
			assert_memory_equal(name, "#/components/schemas/", 21);
			if (json_object_get(schemas, name + 21) == NULL)
				fail_msg("%s leads nowhere", name);
		}
		check_schemas(child, schemas);
	}
	json_array_foreach (api_tree(v), i, child)
		check_schemas(child, schemas);
}

static bool has_parameter(const json_t *list, const char *name)
{
	size_t i;
	json_t *p;
	json_array_foreach (api_tree(list), i, p) {
		if (strcmp(json_string_value(json_object_get(p, "name")), name) == 0)
			return true;
	}
	return false;
}

static void openapi_v3(void **state)
{
	json_t *index = get("/openapi/v3"), *entry;
	const char *key;
	size_t n = 0, bytes = 0;
	(void)state;
	json_object_foreach (json_object_get(index, "paths"), key, entry) {
		const char *url = json_string_value(json_object_get(entry, "serverRelativeURL"));
		CLEANUP(freep) char *path = xstrndup(url, strcspn(url, "?"));
		struct apiserver_answer a = ask(path, "application/json", "");
		/* The hash in the index is the document's. */
		assert_int_equal(strncmp(strstr(url, "?hash=") + 6, a.etag + 1, 32), 0);
		bytes += a.body.n;
		json_t *doc = json_loads(a.body.s, 0, NULL);
		const json_t *schemas =
			json_object_get(json_object_get(doc, "components"), "schemas");
		check_schemas(doc, schemas);
		assert_non_null(json_object_get(schemas,
						"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
		json_decref(doc);
		strbuf_done(&a.body);
		n++;
	}
	print_message("%zu documents of %zu bytes\n", n, bytes);
	json_decref(index);
	json_t *doc = get("/openapi/v3/api/v1");
	const json_t *patch =
		json_object_get(json_object_get(json_object_get(doc, "paths"),
						"/api/v1/namespaces/{namespace}/services/{name}"),
				"patch");
	static const char *const wanted[] = { "dryRun", "fieldManager", "fieldValidation",
					      "force" };
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		assert_true(has_parameter(json_object_get(patch, "parameters"), wanted[i]));
	const json_t *gvk = json_object_get(patch, "x-kubernetes-group-version-kind");
	assert_string_equal(json_string_value(json_object_get(gvk, "kind")), "Service");
	const json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
	assert_non_null(json_object_get(schemas, "io.k8s.api.core.v1.ServiceSpec"));
	static const char *const shared[] = {
		"io.k8s.apimachinery.pkg.util.intstr.IntOrString",
		"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
	};
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		assert_non_null(json_object_get(schemas, shared[i]));
	assert_non_null(json_object_get(json_object_get(schemas, "io.k8s.api.core.v1.Service"),
					"x-kubernetes-group-version-kind"));
	json_decref(doc);
	doc = get("/openapi/v3/apis/ipam.cluster.x-k8s.io/v1beta2");
	schemas = json_object_get(json_object_get(doc, "components"), "schemas");
	assert_non_null(json_object_get(schemas, "io.x-k8s.cluster.ipam.v1beta2.IPAddressClaim"));
	json_decref(doc);
}

/* Protobuf: the field's bytes, and past it; false at the end. */
static bool next_field(struct slice *s, unsigned *ret_number, struct slice *ret)
{
	uint64_t v[2] = { 0, 0 };
	if (s->n == 0)
		return false;
	for (int i = 0; i < 2; i++) {
		int shift = 0;
		do {
			assert_true(s->n > 0);
			v[i] |= (uint64_t)(s->p[0] & 0x7f) << shift;
			shift += 7;
			*s = slice_from(*s, 1);
		} while ((s->p[-1] & 0x80) != 0);
	}
	assert_int_equal(v[0] & 7, 2); /* all are of a length */
	assert_true(v[1] <= s->n);
	*ret_number = (unsigned)(v[0] >> 3);
	*ret = (struct slice){ s->p, v[1] };
	*s = slice_from(*s, v[1]);
	return true;
}

static struct slice field(struct slice s, unsigned number)
{
	unsigned at;
	struct slice v;
	while (next_field(&s, &at, &v)) {
		if (at == number)
			return v;
	}
	return (struct slice){ NULL, 0 };
}

static void openapi_v2(void **state)
{
	struct apiserver_answer a = ask(
		"/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "");
	(void)state;
	assert_string_equal(a.content_type,
			    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
	struct slice doc = strbuf_slice(&a.body);
	assert_true(slice_is(field(doc, 1), "2.0"));
	assert_null(field(doc, 9).p); /* no definitions */
	struct slice paths = field(doc, 8), path;
	unsigned number;
	size_t n = 0, leases = 0;
	while (next_field(&paths, &number, &path)) {
		assert_int_equal(number, 2);
		n++;
		struct slice patch = field(field(path, 2), 8);
		struct slice query = field(field(field(field(patch, 8), 1), 2), 3);
		assert_true(slice_is(field(query, 4), "dryRun"));
		struct slice extension = field(patch, 13);
		assert_true(slice_is(field(extension, 1), "x-kubernetes-group-version-kind"));
		leases += slice_is(field(field(extension, 2), 2),
				   "{\"group\":\"coordination.k8s.io\",\"kind\":\"Lease\","
				   "\"version\":\"v1\"}");
	}
	assert_true(n > 20);
	assert_int_equal(leases, 1);
	strbuf_done(&a.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(legacy_documents),  cmocka_unit_test(core_and_custom_kinds),
		cmocka_unit_test(versions_in_order), cmocka_unit_test(refusals),
		cmocka_unit_test(entity_tags),	     cmocka_unit_test(openapi_v3),
		cmocka_unit_test(openapi_v2),
	};
	return cmocka_run_group_tests(tests, start, stop);
}

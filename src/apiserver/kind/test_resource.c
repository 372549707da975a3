/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of resources: it is complete, it agrees with api_kinds, and its cost in time and memory. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/meta.h"
#include "apiserver/kind/crd.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/write_steps.h"
#include "base/clock.h"
#include "base/mem.h"

/* Kinds that this server does not have: defined by other products, or meaningless on one machine. */
static bool is_elsewhere(const struct api_kind *k)
{
	static const char *const groups[] = { "monitoring.coreos.com", "multicluster.x-k8s.io",
					      "rbac.authorization.k8s.io" };
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		if (strcmp(k->group, groups[i]) == 0)
			return true;
	}
	return strcmp(k->kind, "NetworkPolicy") == 0;
}

static void every_kind(void **state)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	for (size_t i = 0; i < api_n_kinds; i++) {
		const struct api_kind *k = &api_kinds[i];
		const struct apiserver_resource *r =
			apiserver_resource_find(k->group, k->version, k->plural);
		if ((r == NULL) != is_elsewhere(k))
			fail_msg("%s is %sserved", k->kind, r == NULL ? "not " : "");
		if (r == NULL)
			continue;
		assert_ptr_equal(r->kind, k);
		assert_int_equal(r->built_in, !k->ours);
		assert_int_equal(r->status, k->status);
		assert_non_null(r->strategy);
		assert_int_equal(r->strategy->cells != NULL || r->strategy->review != NULL,
				 r->built_in);
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *doc = rows[i]->description;
		const char *scope = api_get_string(doc, "spec.scope");
		assert_string_equal(api_get_string(doc, "spec.names.plural"),
				    rows[i]->kind->plural);
		assert_string_equal(api_get_string(doc, "spec.names.singular"),
				    rows[i]->kind->singular);
		assert_string_equal(scope, rows[i]->kind->namespaced ? "Namespaced" : "Cluster");
		assert_string_equal(rows[i]->stored->kind->plural, rows[i]->kind->plural);
		assert_true(rows[i]->n_columns >= 2);
		assert_non_null(api_get(rows[i]->openapi, "properties.metadata.properties.labels"));
	}
}

static void found(void **state)
{
	(void)state;
	const struct apiserver_resource *r = apiserver_resource_find("", "v1", "services");
	assert_string_equal(r->list_kind, "ServiceList");
	assert_string_equal(r->categories, "all");
	assert_string_equal(r->fields[0], "spec.clusterIP");
	assert_int_equal(r->verbs, APISERVER_ALL_VERBS);
	assert_ptr_equal(r->stored, r);
	r = apiserver_resource_find("events.k8s.io", "v1", "events");
	assert_ptr_equal(r->stored, apiserver_resource_find("", "v1", "events"));
	assert_null(apiserver_resource_find("", "v1", "limitranges"));
	assert_null(apiserver_resource_find("", "v2", "services"));
	json_t *o =
		json_pack("{ss,ss}", "apiVersion", "discovery.k8s.io/v1", "kind", "EndpointSlice");
	assert_string_equal(apiserver_resource_of(o)->kind->plural, "endpointslices");
	json_object_set_new(o, "apiVersion", json_string("v1"));
	assert_null(apiserver_resource_of(o));
	json_decref(o);
	r = apiserver_resource_find("ipam.cluster.x-k8s.io", "v1beta1", "ipaddressclaims");
	assert_string_equal(r->stored->version, "v1beta2");
	assert_string_equal(r->columns[0].name, "Name");
}

/* Versions of a kind, and only they, share the stored one in their group. */
static void stored_versions(void **state)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < n; k++) {
			if (strcmp(rows[i]->kind->group, rows[k]->kind->group) == 0)
				assert_int_equal(strcmp(rows[i]->kind->kind, rows[k]->kind->kind) ==
							 0,
						 rows[i]->stored == rows[k]->stored);
		}
	}
}

/* The product's CRDs may be applied unchanged, and only so. */
static void definitions(void **state)
{
	const struct apiserver_resource *crds =
		apiserver_resource_find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
	const struct apiserver_env env = { 0 };
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct api_errors errs = { 0 };
		if (rows[i]->built_in) {
			assert_null(apiserver_crd_object(rows[i], ""));
			continue;
		}
		json_t *o = json_deep_copy(rows[i]->description);
		apiserver_prepare(crds, &env, o, NULL);
		apiserver_validate(crds, &env, o, NULL, &errs);
		assert_int_equal(errs.n, 0);
		json_object_set_new(api_get(o, "spec.names"), "kind", json_string("Other"));
		apiserver_validate(crds, &env, o, NULL, &errs);
		assert_int_equal(errs.n, 1);
		assert_string_equal(errs.v[0].field, "spec");
		api_errors_cut(&errs, 0);
		json_object_set_new(json_object_get(o, "metadata"), "name",
				    json_string("others.example.org"));
		apiserver_validate(crds, &env, o, NULL, &errs);
		assert_int_equal(errs.n, 1);
		assert_non_null(strstr(errs.v[0].body, "no kind can be added"));
		api_errors_done(&errs);
		json_decref(o);
		o = apiserver_crd_object(rows[i], "2026-01-02T03:04:05Z");
		assert_string_equal(api_get_string(o, "status.conditions[1].type"), "Established");
		json_decref(o);
	}
}

/* Every described field has a description, which `kubectl explain` shows. */
static void described(const json_t *schema, const char *where)
{
	const char *key;
	json_t *value;
	json_object_foreach (json_object_get(schema, "properties"), key, value) {
		CLEANUP(freep) char *path = xasprintf("%s.%s", where, key);
		if (api_get_string(value, "description")[0] == '\0')
			fail_msg("%s has no description", path);
		described(value, path);
	}
	if (json_object_get(schema, "items") != NULL)
		described(json_object_get(schema, "items"), where);
}

static void descriptions(void **state)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_true(api_get_string(rows[i]->openapi, "description")[0] != '\0');
		if (rows[i]->built_in)
			described(rows[i]->openapi, rows[i]->kind->kind);
	}
}

/* The time is only printed, it depends on the machine; the memory is checked. */
static void cost(void **state)
{
	struct timespec from, to;
	size_t n, before = mallinfo2().uordblks;
	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &from);
	apiserver_resources(&n);
	clock_gettime(CLOCK_MONOTONIC, &to);
	size_t bytes = mallinfo2().uordblks - before;
	print_message("table of %zu resources: %zu KB, %.1f ms\n", n, bytes >> 10,
		      (double)(to.tv_sec - from.tv_sec) * 1e3 +
			      (double)(to.tv_nsec - from.tv_nsec) / 1e6);
	assert_in_range(bytes, 0, n * 100 << 10); /* 94 KB of each today */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost), /* first, because it builds the table */
		cmocka_unit_test(every_kind),
		cmocka_unit_test(found),
		cmocka_unit_test(descriptions),
		cmocka_unit_test(definitions),
		cmocka_unit_test(stored_versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

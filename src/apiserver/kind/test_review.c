/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reviews: the question reaches the authorizer, and its answer the object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/strategy.h"
#include "base/compiler.h"

/* A user who may not write status or DNSNames. */
static bool may(void *ctx, const char *user, const struct apiserver_action *a)
{
	bool reads = strcmp(a->verb, "get") == 0 || strcmp(a->verb, "list") == 0 ||
		     strcmp(a->verb, "watch") == 0;
	(void)ctx;
	assert_string_equal(user, "ann");
	return reads || (strcmp(a->resource, "dnsnames") != 0 && strcmp(a->subresource, "") == 0 &&
			 strcmp(a->path, "") == 0);
}

static const char *const groups[] = { "people", "system:authenticated", NULL };
static const struct apiserver_env env = { .may = may, .groups = groups };

static json_t *reviewed(const char *group, const char *plural, const char *spec)
{
	const struct apiserver_resource *r = apiserver_resource_find(group, "v1", plural);
	json_t *o = json_pack("{so}", "spec", json_loads(spec, 0, NULL));
	r->strategy->review(&env, o, "ann");
	return o;
}

static void access_reviews(void **state)
{
	static const struct {
		const char *spec;
		bool allowed;
	} rows[] = {
		{ "{\"resourceAttributes\":{\"verb\":\"delete\",\"resource\":\"pods\"}}", true },
		{ "{\"resourceAttributes\":{\"verb\":\"update\",\"resource\":\"pods\","
		  "\"subresource\":\"status\"}}",
		  false },
		{ "{\"resourceAttributes\":{\"verb\":\"create\",\"group\":\"k8s.ovn.org\","
		  "\"resource\":\"dnsnames\"}}",
		  false },
		{ "{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"dnsnames\"}}", true },
		{ "{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/version\"}}", true },
		{ "{\"nonResourceAttributes\":{\"verb\":\"post\",\"path\":\"/version\"}}", false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *o =
			reviewed("authorization.k8s.io", "selfsubjectaccessreviews", rows[i].spec);
		assert_int_equal(json_is_true(api_get(o, "status.allowed")), rows[i].allowed);
		json_decref(o);
	}
}

static void one_question(void **state)
{
	static const struct {
		const char *spec, *body;
	} rows[] = {
		{ "{}", "Invalid value: null: exactly one of nonResourceAttributes or "
			"resourceAttributes must be specified" },
		{ "{\"resourceAttributes\":{},\"nonResourceAttributes\":{\"path\":\"/x\"}}",
		  "Invalid value: {\"Path\":\"/x\",\"Verb\":\"\"}: exactly one of "
		  "nonResourceAttributes or "
		  "resourceAttributes must be specified" },
	};
	const struct apiserver_resource *r =
		apiserver_resource_find("authorization.k8s.io", "v1", "selfsubjectaccessreviews");
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct api_errors errs = { 0 };
		json_t *o = json_pack("{so}", "spec", json_loads(rows[i].spec, 0, NULL));
		r->strategy->validate(&env, o, NULL, &errs);
		assert_int_equal(errs.n, 1);
		assert_string_equal(errs.v[0].field, "spec");
		assert_string_equal(errs.v[0].body, rows[i].body);
		api_errors_done(&errs);
		json_decref(o);
	}
}

/* The rule for a resource. */
static const json_t *rule_of(const json_t *o, const char *resource)
{
	const json_t *rules = api_get(o, "status.resourceRules");
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *list = json_object_get(json_array_get(rules, i), "resources");
		for (size_t k = 0; k < json_array_size(list); k++) {
			if (strcmp(json_string_value(json_array_get(list, k)), resource) == 0)
				return json_array_get(rules, i);
		}
	}
	return NULL;
}

static void rules_reviews(void **state)
{
	json_t *o = reviewed("authorization.k8s.io", "selfsubjectrulesreviews",
			     "{\"namespace\":\"default\"}");
	(void)state;
	assert_int_equal(json_array_size(json_object_get(rule_of(o, "pods"), "verbs")), 8);
	assert_int_equal(json_array_size(json_object_get(rule_of(o, "pods/status"), "verbs")), 3);
	assert_int_equal(json_array_size(json_object_get(rule_of(o, "dnsnames"), "verbs")), 3);
	assert_int_equal(
		json_array_size(json_object_get(rule_of(o, "selfsubjectreviews"), "verbs")), 1);
	assert_true(json_is_false(api_get(o, "status.incomplete")));
	json_decref(o);
}

static void self_reviews(void **state)
{
	json_t *o = reviewed("authentication.k8s.io", "selfsubjectreviews", "{}");
	(void)state;
	assert_string_equal(api_get_string(o, "status.userInfo.username"), "ann");
	assert_string_equal(api_get_string(o, "status.userInfo.groups[0]"), "people");
	assert_int_equal(json_array_size(api_get(o, "status.userInfo.groups")), 2);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(access_reviews),
		cmocka_unit_test(one_question),
		cmocka_unit_test(rules_reviews),
		cmocka_unit_test(self_reviews),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

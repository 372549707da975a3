/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pod specs in trees: test_pod_dns.json has the objects, the errors and the settings. */
#include "api/pod_dns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/tree.h"

static json_t *load_table(const char *name)
{
	json_error_t error;
	json_t *file = json_load_file(SOURCE_DIR "/test_pod_dns.json", 0, &error);
	if (file == NULL)
		fail_msg("line %d: %s", error.line, error.text);
	json_t *rows = json_incref(json_object_get(file, name));
	json_decref(file);
	assert_true(json_array_size(rows) > 0);
	return rows;
}

/* Which field of an object holds its pod spec. */
static void specs(void **state)
{
	json_t *rows = load_table("specs"), *row;
	size_t i;
	(void)state;
	json_array_foreach (rows, i, row) {
		const char *field = "";
		const json_t *object = json_object_get(row, "object");
		const json_t *spec = api_pod_spec(object, &field);
		assert_string_equal(field, api_text(json_object_get(row, "field")));
		assert_string_equal(api_text(json_object_get(spec, "dnsPolicy")),
				    api_text(json_object_get(row, "policy")));
	}
	json_decref(rows);
}

static json_t *errors_of(const json_t *row)
{
	struct api_errors errors = { 0 };
	enum podresolv_profile profile = PODRESOLV_KUBELET;
	json_t *list = json_array();
	if (json_object_get(row, "profile") != NULL)
		assert_true(podresolv_profile_from(api_text_slice(json_object_get(row, "profile")),
						   &profile));
	api_pod_dns_validate(json_object_get(row, "spec"), "spec", profile, &errors);
	for (size_t i = 0; i < errors.n; i++)
		json_array_append_new(list,
				      json_sprintf("%s: %s", errors.v[i].field, errors.v[i].body));
	api_errors_done(&errors);
	return list;
}

static void assert_same(size_t row, json_t *got, const json_t *want)
{
	if (!json_equal(got, want)) {
		char *text = json_dumps(got, JSON_SORT_KEYS);
		char *wanted = json_dumps(want, JSON_SORT_KEYS);
		fail_msg("row %zu: got %s, not %s", row, text, wanted);
	}
	json_decref(got);
}

/* PD-19, PD-22, PD-23, PD-28 to PD-33, with the paths and words of kube-apiserver. */
static void refusals(void **state)
{
	json_t *rows = load_table("refusals"), *row;
	size_t i;
	(void)state;
	json_array_foreach (rows, i, row)
		assert_same(i, errors_of(row), json_object_get(row, "errors"));
	json_decref(rows);
}

/* The completed dnsConfig of a pod on a node with the proposal's host file. */
static void configs(void **state)
{
	json_t *rows = load_table("configs"), *row;
	size_t i;
	(void)state;
	json_array_foreach (rows, i, row) {
		const struct slice cluster_dns = SLICE("10.0.0.10");
		struct podresolv_config host;
		struct podresolv_result result;
		struct api_errors errors = { 0 };
		struct slice policy;
		struct arena arena;
		arena_init(&arena);
		assert_int_equal(
			podresolv_parse_host(
				SLICE("nameserver 10.1.1.10\nsearch foo.com\noptions ndots:1\n"),
				false, &arena, &host, (struct err_text){ NULL, 0 }),
			0);
		struct podresolv_input input = { .ns = SLICE("default"),
						 .host = &host,
						 .cluster_dns = &cluster_dns,
						 .n_cluster_dns = 1,
						 .cluster_domain = SLICE("cluster.local") };
		api_pod_dns_read(json_object_get(row, "spec"), "spec", &arena, &input, &policy,
				 &errors);
		assert_int_equal(errors.n, 0);
		assert_int_equal(
			podresolv_compute(&input, &arena, &result, (struct err_text){ NULL, 0 }),
			0);
		assert_string_equal(podresolv_policy_name(result.policy),
				    api_text(json_object_get(row, "applied")));
		assert_same(i, api_pod_dns_config(&result), json_object_get(row, "config"));
		arena_done(&arena);
	}
	json_decref(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specs),
		cmocka_unit_test(refusals),
		cmocka_unit_test(configs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

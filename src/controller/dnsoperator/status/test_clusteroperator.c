/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ClusterOperator dns row by row (OP-D4): conditions of the DNS object, DaemonSets and versions
 * in, conditions and versions out. Each row is looked at twice: the second look must write nothing,
 * or two equal states were two texts. */
#include "controller/dnsoperator/test_rows.h"

#include <stdlib.h>

#include "api/condition.h"
#include "base/clock.h"
#include "controller/dnsoperator/status/clusteroperator.h"
#include "controller/dnsoperator/status/clusteroperator_test.h"

#define NOW (1700000000 * NS_PER_S)

/* {"Available": "True message"} */
static json_t *dns_object(const json_t *conditions)
{
	if (!json_is_object(conditions))
		return NULL;
	json_t *list = json_array(), *v;
	const char *type;
	json_object_foreach (api_tree(conditions), type, v) {
		const char *text = json_string_value(v);
		const char *space = strchr(text, ' ');
		assert_non_null(space);
		json_array_append_new(list, json_pack("{ss,ss%,ss,ss}", "type", type, "status",
						      text, (size_t)(space - text), "reason", "R",
						      "message", space + 1));
	}
	return json_pack("{s{ss},s{so}}", "metadata", "name", "default", "status", "conditions",
			 list);
}

/* {"images": {container: image}, "pods": [desired, updated, available], "behind": true} */
static json_t *daemonset(const json_t *o)
{
	if (!json_is_object(o))
		return NULL;
	json_t *list = json_array(), *v;
	const json_t *pods = json_object_get(o, "pods");
	const char *name;
	json_object_foreach (json_object_get(o, "images"), name, v)
		json_array_append_new(list, json_pack("{ss,sO}", "name", name, "image", v));
	json_t *set = json_pack("{s{si},s{sO,sO,sO,si},s{s{s{so}}}}", "metadata", "generation", 3,
				"status", "desiredNumberScheduled", json_array_get(pods, 0),
				"updatedNumberScheduled", json_array_get(pods, 1),
				"numberAvailable", json_array_get(pods, 2), "observedGeneration",
				json_is_true(json_object_get(o, "behind")) ? 2 : 3, "spec",
				"template", "spec", "containers", list);
	assert_non_null(set);
	return set;
}

static void read_wanted(const json_t *row, const char *wanted[DNSOPERATOR_VERSIONS])
{
	static const char *const names[DNSOPERATOR_VERSIONS] = { "coredns", "kube-rbac-proxy",
								 "openshift-cli", "operator" };
	for (int i = 0; i < DNSOPERATOR_VERSIONS; i++)
		wanted[i] = json_string_value(
			json_object_get(json_object_get(row, "wanted"), names[i]));
}

static void check(const char *id, const json_t *row, const json_t *co)
{
	const json_t *conditions = api_get(co, "status.conditions"), *c;
	const char *type;
	size_t i;
	json_t *v;
	assert_int_equal(json_array_size(conditions), 4);
	json_object_foreach (json_object_get(row, "want"), type, v) {
		char got[800];
		c = api_condition_find(conditions, type);
		snprintf(got, sizeof(got), "%s %s %s", api_get_string(c, "status"),
			 api_get_string(c, "reason"), api_get_string(c, "message"));
		if (strncmp(got, json_string_value(v), json_string_length(v)) != 0)
			fail_msg("%s: %s is '%s' instead of '%s'", id, type, got,
				 json_string_value(v));
	}
	json_array_foreach (api_get(co, "status.versions"), i, c) {
		const char *name = api_get_string(c, "name");
		v = json_object_get(json_object_get(row, "versions"), name);
		if (v != NULL && strcmp(json_string_value(v), api_get_string(c, "version")) != 0)
			fail_msg("%s: %s is '%s' instead of '%s'", id, name,
				 api_get_string(c, "version"), json_string_value(v));
	}
	assert_int_equal(i, DNSOPERATOR_VERSIONS);
	assert_string_equal(api_get_string(co, "status.relatedObjects[0].name"), "us");
}

static void each_row(void **state)
{
	(void)state;
	json_t *rows = rows_load(SOURCE_DIR "/test_clusteroperator.json"), *row;
	size_t i;
	json_array_foreach (rows, i, row) {
		const char *id = api_get_string(row, "id"), *name;
		json_t *dns = dns_object(json_object_get(row, "dns")), *v;
		struct dnsoperator_workload w = {
			.servers = daemonset(json_object_get(row, "servers")),
			.node_resolver = daemonset(json_object_get(row, "nodes")),
		};
		struct dnsoperator_clusteroperator in = { .dns = dns, .workload = &w, .ns = "us" };
		json_t *old = json_array();
		read_wanted(row, in.wanted);
		json_object_foreach (json_object_get(row, "old"), name, v)
			json_array_append_new(old,
					      json_pack("{ss,sO}", "name", name, "version", v));
		json_t *co = json_pack("{s{so}}", "status", "versions", old);
		assert_true(dnsoperator_clusteroperator_set(co, &in, NOW));
		check(id, row, co);
		json_t *first = json_deep_copy(co);
		if (dnsoperator_clusteroperator_set(co, &in, NOW + NS_PER_S) ||
		    !json_equal(first, co))
			fail_msg("%s: the second look writes", id);
		json_decref(first);
		json_decref(co);
		json_decref(dns);
		dnsoperator_workload_done(&w);
	}
	assert_true(i >= 15);
	json_decref(rows);
}

static void versions_of_the_environment(void **state)
{
	(void)state;
	const char *v[DNSOPERATOR_VERSIONS];
	setenv("RELEASE_VERSION", "4.21.0", 1);
	setenv("IMAGE", "i", 1);
	setenv("OPENSHIFT_CLI_IMAGE", "", 1);
	unsetenv("KUBE_RBAC_PROXY_IMAGE");
	dnsoperator_versions_env(v);
	assert_string_equal(v[DNSOPERATOR_VERSION_OPERATOR], "4.21.0");
	assert_string_equal(v[DNSOPERATOR_VERSION_COREDNS], "i");
	assert_null(v[DNSOPERATOR_VERSION_CLI]);
	assert_null(v[DNSOPERATOR_VERSION_PROXY]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_row),
					    cmocka_unit_test(versions_of_the_environment) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

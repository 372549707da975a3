/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of the API as a node's policy: whose address it is, which ranges, and firewalls that are not valid. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "node/policy.h"

enum { OBJECTS_MAX = 8 };

/* JSON texts, parsed; freed by done(). */
struct objects {
	json_t *trees[OBJECTS_MAX];
	const json_t *v[OBJECTS_MAX];
	size_t n;
};

static struct node_objects parse(struct objects *objects, const char *const *texts)
{
	objects->n = 0;
	for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
		json_t *tree = json_loads(texts[i], 0, NULL);
		assert_non_null(tree);
		objects->trees[i] = tree;
		objects->v[i] = tree;
		objects->n++;
	}
	return (struct node_objects){ objects->v, objects->n };
}

static void done(struct objects *objects)
{
	for (size_t i = 0; i < objects->n; i++)
		json_decref(objects->trees[i]);
}

#define POD(ns, name, more, status)                                                           \
	"{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name "\"" more "},\"spec\":{}," \
	"\"status\":{" status "}}"
#define IP(ip) "\"podIPs\":[{\"ip\":\"" ip "\"}]"

static const char *namespace_of(const struct nftables_policy *policy, const char *ip)
{
	uint8_t bytes[16] = { 0 };
	assert_int_equal(inet_pton(AF_INET, ip, bytes), 1);
	for (size_t i = 0; i < policy->n_pods; i++) {
		if (policy->pods[i].address.n == 4 &&
		    memcmp(policy->pods[i].address.bytes, bytes, 4) == 0)
			return policy->pods[i].namespace_name;
	}
	return NULL;
}

static void whose_address(void **state UNUSED)
{
	static const struct {
		const char *pods[OBJECTS_MAX];
		const char *expected; /* the namespace of 10.0.0.1; NULL: nobody's */
	} rows[] = {
		{ { POD("a", "x", "", IP("10.0.0.1")) }, "a" },
		{ { POD("a", "x", "", "\"podIP\":\"10.0.0.1\"") }, "a" },
		{ { POD("a", "x", "", "\"phase\":\"Succeeded\"," IP("10.0.0.1")) }, NULL },
		{ { POD("a", "x", "", "\"phase\":\"Failed\"," IP("10.0.0.1")) }, NULL },
		{ { POD("a", "x", "", "\"phase\":\"Pending\"") }, NULL },
		{ { POD("a", "x", "", IP("10.0.0.999")) }, NULL },
		{ { "{\"metadata\":{\"namespace\":\"a\",\"name\":\"x\"},"
		    "\"spec\":{\"hostNetwork\":true},\"status\":{" IP("10.0.0.1") "}}" },
		  NULL },
		{ { POD("a", "x", "", "\"phase\":\"Failed\"," IP("10.0.0.1")),
		    POD("b", "y", "", IP("10.0.0.1")) },
		  "b" },
		/* One that is about to go has given its address to another. */
		{ { POD("a", "x", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
			IP("10.0.0.1")),
		    POD("b", "y", "", IP("10.0.0.1")) },
		  "b" },
		{ { POD("b", "y", "", IP("10.0.0.1")),
		    POD("a", "x", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
			IP("10.0.0.1")) },
		  "b" },
		{ { POD("a", "x", ",\"creationTimestamp\":\"2026-01-01T00:00:01Z\"",
			IP("10.0.0.1")),
		    POD("b", "y", ",\"creationTimestamp\":\"2026-01-01T00:00:02Z\"",
			IP("10.0.0.1")) },
		  "b" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct node_policy *policy = node_policy_new();
		struct objects pods;
		struct nftables_policy got;
		struct arena arena;
		arena_init(&arena);
		struct node_policy_input input = { .pods = parse(&pods, rows[i].pods),
						   .node_name = "node-1" };
		node_policy_build(policy, &input, &arena, &got);
		const char *ns = namespace_of(&got, "10.0.0.1");
		if (rows[i].expected == NULL)
			assert_null(ns);
		else
			assert_string_equal(ns, rows[i].expected);
		assert_true(got.n_pods <= 1);
		arena_done(&arena);
		done(&pods);
		node_policy_free(policy);
	}
}

static bool has_range(const struct net_cidr *list, size_t n, const char *text)
{
	struct net_cidr wanted;
	assert_int_equal(net_cidr_parse(slice_of(text), &wanted), 0);
	for (size_t i = 0; i < n; i++) {
		if (list[i].family == wanted.family && list[i].bits == wanted.bits &&
		    memcmp(list[i].ip, wanted.ip, sizeof(wanted.ip)) == 0)
			return true;
	}
	return false;
}

/* Pods of this node; and what is open: pods of all nodes, the API server, and what was asked for. */
static void ranges(void **state UNUSED)
{
	static const char *const nodes[] = {
		"{\"metadata\":{\"name\":\"node-1\"},\"spec\":{\"podCIDRs\":[\"10.1.0.0/"
		"24\",\"fd01::/64\"]}}",
		"{\"metadata\":{\"name\":\"node-2\"},\"spec\":{\"podCIDR\":\"10.2.0.0/24\"}}", NULL
	};
	static const char *const slices[] = { "{\"endpoints\":[{\"addresses\":[\"192.0.2.6\"]},{"
					      "\"addresses\":[\"2001:db8::6\"]}]}",
					      NULL };
	struct node_policy *policy = node_policy_new();
	struct objects parsed_nodes, parsed_slices;
	struct nftables_policy got;
	struct arena arena;
	struct net_cidr extra;
	assert_int_equal(net_cidr_parse(SLICE("10.96.0.0/12"), &extra), 0);
	arena_init(&arena);
	struct node_policy_input input = { .nodes = parse(&parsed_nodes, nodes),
					   .api_slices = parse(&parsed_slices, slices),
					   .node_name = "node-1",
					   .always_open = &extra,
					   .n_always_open = 1 };
	node_policy_build(policy, &input, &arena, &got);
	assert_int_equal(got.n_pod_ranges, 2);
	assert_true(has_range(got.pod_ranges, 2, "10.1.0.0/24"));
	assert_true(has_range(got.pod_ranges, 2, "fd01::/64"));
	assert_int_equal(got.n_always_open, 6);
	assert_true(has_range(got.always_open, 6, "10.2.0.0/24"));
	assert_true(has_range(got.always_open, 6, "192.0.2.6/32"));
	assert_true(has_range(got.always_open, 6, "2001:db8::6/128"));
	assert_true(has_range(got.always_open, 6, "10.96.0.0/12"));
	/* What was given for this node takes the place of what the Node says. */
	input.pod_ranges = &extra;
	input.n_pod_ranges = 1;
	node_policy_build(policy, &input, &arena, &got);
	assert_int_equal(got.n_pod_ranges, 1);
	assert_true(has_range(got.pod_ranges, 1, "10.96.0.0/12"));
	arena_done(&arena);
	done(&parsed_nodes);
	done(&parsed_slices);
	node_policy_free(policy);
}

/* ---- firewalls ---- */

#define FIREWALL(name, generation, rules)                       \
	"{\"metadata\":{\"namespace\":\"web\",\"name\":\"" name \
	"\",\"uid\":\"u\",\"generation\":" generation "},\"spec\":{\"egress\":[" rules "]}}"
#define ALLOW "{\"type\":\"Allow\",\"to\":{\"cidrSelector\":\"203.0.113.0/24\"}}"
#define DENY  "{\"type\":\"Deny\",\"to\":{\"cidrSelector\":\"0.0.0.0/0\"}}"
#define WRONG "{\"type\":\"Allow\",\"to\":{\"cidrSelector\":\"no range\"}}"

static size_t build_rules(struct node_policy *policy, const char *firewall, struct arena *arena,
			  const struct nftables_rule **ret)
{
	static const struct nftables_rule no_rule;
	const char *const texts[] = { firewall, NULL };
	struct objects firewalls;
	struct nftables_policy got;
	struct node_policy_input input = { .firewalls = parse(&firewalls, texts),
					   .node_name = "node-1" };
	node_policy_build(policy, &input, arena, &got);
	done(&firewalls);
	*ret = got.n_namespaces != 0 ? got.namespaces[0].rules : &no_rule;
	return got.n_namespaces != 0 ? got.namespaces[0].n_rules : 0;
}

/* The rules of before stay; without any, nothing but the cluster is open. */
static void invalid_firewalls(void **state UNUSED)
{
	struct node_policy *policy = node_policy_new();
	const struct nftables_rule *rules;
	struct arena arena;
	arena_init(&arena);
	assert_int_equal(build_rules(policy, FIREWALL("default", "1", WRONG), &arena, &rules), 1);
	assert_false(rules[0].allows);
	assert_int_equal(rules[0].n_targets, 2);
	assert_int_equal(
		build_rules(policy, FIREWALL("default", "2", ALLOW "," DENY), &arena, &rules), 2);
	assert_true(rules[0].allows);
	assert_int_equal(
		build_rules(policy, FIREWALL("default", "3", WRONG "," DENY), &arena, &rules), 2);
	assert_true(rules[0].allows);
	/* Removed and made anew: that one has no past. */
	assert_int_equal(build_rules(policy, NULL, &arena, &rules), 0);
	assert_int_equal(build_rules(policy, FIREWALL("default", "1", WRONG), &arena, &rules), 1);
	assert_false(rules[0].allows);
	arena_done(&arena);
	node_policy_free(policy);
}

/* A namespace has one firewall, whose name is fixed. */
static void other_names_do_not_count(void **state UNUSED)
{
	struct node_policy *policy = node_policy_new();
	const struct nftables_rule *rules;
	struct arena arena;
	arena_init(&arena);
	assert_int_equal(build_rules(policy, FIREWALL("other", "1", DENY), &arena, &rules), 0);
	arena_done(&arena);
	node_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_address),
		cmocka_unit_test(ranges),
		cmocka_unit_test(invalid_firewalls),
		cmocka_unit_test(other_names_do_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

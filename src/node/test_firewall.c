/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EgressFirewall objects as rules of the node's table: each kind of target, and which rules count as the same. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "node/firewall.h"

struct made {
	struct arena arena;
	json_t *tree, *labels[2];
	struct nftables_namespace namespace;
};

/* From the text of the rules; there are two nodes, of which one has the label zone=a. */
static void make_rules(struct made *made, const char *rules, const char *depth)
{
	static const struct addrset_address addresses[] = { { 4, { 192, 0, 2, 1 } },
							    { 16, { 0xfd, [15] = 1 } },
							    { 4, { 192, 0, 2, 2 } } };
	struct egress_rules read;
	struct api_errors errors = { 0 };
	arena_init(&made->arena);
	made->tree = json_pack("{s{s:s,s{s:s}},s{so}}", "metadata", "name", "default",
			       "annotations", EGRESS_DEPTH_ANNOTATION, depth, "spec", "egress",
			       json_loads(rules, 0, NULL));
	assert_non_null(made->tree);
	made->labels[0] = json_pack("{s:s}", "zone", "a");
	made->labels[1] = json_object();
	egress_rules_read(made->tree, &made->arena, &read, &errors);
	assert_int_equal(errors.n, 0);
	const struct node_peer peers[] = { { made->labels[0], addresses, 2 },
					   { made->labels[1], &addresses[2], 1 } };
	node_firewall_rules(&read, peers, 2, "web", &made->arena, &made->namespace);
}

static void free_rules(struct made *made)
{
	json_decref(made->tree);
	json_decref(made->labels[0]);
	json_decref(made->labels[1]);
	arena_done(&made->arena);
}

static void test_kinds_of_targets(void **state UNUSED)
{
	struct made made;
	make_rules(
		&made,
		"[{\"type\":\"Allow\",\"to\":{\"dnsName\":\"Example.com\"},"
		"\"ports\":[{\"protocol\":\"TCP\",\"port\":443},{\"protocol\":\"UDP\",\"port\":53}]"
		"},"
		"{\"type\":\"Allow\",\"to\":{\"nodeSelector\":{\"matchLabels\":{\"zone\":\"a\"}}}},"
		"{\"type\":\"Deny\",\"to\":{\"cidrSelector\":\"2001:db8::/32\"}}]",
		"one");
	const struct nftables_rule *rules = made.namespace.rules;
	assert_int_equal(made.namespace.n_rules, 3);
	assert_string_equal(made.namespace.name, "web");

	struct addrset_id id = addrset_id_of(slice_of("example.com"));
	assert_true(rules[0].allows && rules[0].targets[0].is_name);
	assert_memory_equal(&rules[0].targets[0].name, &id, sizeof(id));
	assert_int_equal(rules[0].n_ports, 2);
	assert_int_equal(rules[0].ports[0].protocol, IPPROTO_TCP);
	assert_int_equal(rules[0].ports[1].number, 53);

	assert_int_equal(rules[1].n_targets, 2); /* both addresses of the one node */
	assert_int_equal(rules[1].targets[0].range.bits, 32);
	assert_int_equal(rules[1].targets[0].range.ip[3], 1);
	assert_int_equal(rules[1].targets[1].range.bits, 128);
	assert_int_equal(rules[1].targets[1].range.family, AF_INET6);

	assert_false(rules[2].allows);
	assert_int_equal(rules[2].targets[0].range.bits, 32);
	assert_int_equal(rules[2].targets[0].range.ip[0], 0x20);
	free_rules(&made);
}

/* EF-S1, EF-S3: a wildcard, the same at any depth and a host called "wildcard" are different names. */
static void test_wildcards(void **state UNUSED)
{
	struct addrset_id ids[] = { node_firewall_name_id("example.com", true, false),
				    node_firewall_name_id("example.com", true, true),
				    node_firewall_name_id("example.com", false, false),
				    node_firewall_name_id("wildcard.example.com", false, false) };
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(&ids[i], &ids[k], sizeof(ids[i]));
	}
	struct addrset_id host = node_firewall_name_id("example.com", false, true);
	assert_memory_equal(&host, &ids[2], sizeof(host)); /* depth is nothing to a host */
}

/* Any difference in what a rule means is a difference in its text, however long it is. */
static void test_texts_tell_rules_apart(void **state UNUSED)
{
	struct made made, deep;
	const char *rules =
		"[{\"type\":\"Allow\",\"to\":{\"dnsName\":\"*.example.com\"}},"
		"{\"type\":\"Deny\",\"to\":{\"dnsName\":\"*.example.com\"}},"
		"{\"type\":\"Allow\",\"to\":{\"dnsName\":\"example.com\"}},"
		"{\"type\":\"Allow\",\"to\":{\"dnsName\":\"example.com\"},\"ports\":[{\"protocol\":"
		"\"TCP\",\"port\":1}]},"
		"{\"type\":\"Allow\",\"to\":{\"dnsName\":\"example.com\"},\"ports\":[{\"protocol\":"
		"\"UDP\",\"port\":1}]},"
		"{\"type\":\"Allow\",\"to\":{\"nodeSelector\":{\"matchLabels\":{\"zone\":\"a\"}}}},"
		"{\"type\":\"Allow\",\"to\":{\"nodeSelector\":{\"matchLabels\":{\"zone\":\"b\"}}}},"
		"{\"type\":\"Allow\",\"to\":{\"nodeSelector\":{}}},"
		"{\"type\":\"Allow\",\"to\":{\"cidrSelector\":\"192.0.2.0/24\"}},"
		"{\"type\":\"Allow\",\"to\":{\"cidrSelector\":\"192.0.2.0/25\"}}]";
	make_rules(&made, rules, "one");
	make_rules(&deep, rules, "any");
	for (size_t i = 0; i < made.namespace.n_rules; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(made.namespace.rules[i].text,
						made.namespace.rules[k].text);
	}
	assert_string_not_equal(made.namespace.rules[0].text, deep.namespace.rules[0].text);
	assert_string_equal(made.namespace.rules[2].text, deep.namespace.rules[2].text);
	free_rules(&made);
	free_rules(&deep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_of_targets),
		cmocka_unit_test(test_wildcards),
		cmocka_unit_test(test_texts_tell_rules_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

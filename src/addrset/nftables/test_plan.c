/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans: each kind of rule, their order, what pods without firewall and unknown pods get, and that equal
 * policies give equal plans. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "addrset/nftables/plan.h"
#include "addrset/nftables/plan_test.h"
#include "addrset/nftables/step_text.h"
#include "base/compiler.h"
#include "base/strbuf.h"

static struct nftables_target range_of(const char *text)
{
	struct nftables_target target = { .is_name = false };
	assert_int_equal(net_cidr_parse(slice_of(text), &target.range), 0);
	return target;
}

static struct nftables_target name_of(const char *text)
{
	return (struct nftables_target){ .is_name = true, .name = addrset_id_of(slice_of(text)) };
}

/* One without a name where it is missing. */
static const struct nftables_plan_chain *chain_of(const struct nftables_plan *plan,
						  const char *name)
{
	static const struct nftables_plan_chain missing;
	for (size_t i = 0; i < plan->chains.n; i++) {
		if (strcmp(plan->chains.v[i].name, name) == 0)
			return &plan->chains.v[i];
	}
	return &missing;
}

/* Ids become the word that they stand for, so that the expected text can be read. */
static void replace_id(char *text, struct addrset_id id, const char *word)
{
	char hex[NFTABLES_COUNTER_BYTES];
	nftables_id_text(&id, hex);
	size_t n = strlen(word);
	for (char *at = strstr(text, hex); at != NULL; at = strstr(at, hex)) {
		memcpy(at, word, n);
		memmove(at + n, at + strlen(hex), strlen(at + strlen(hex)) + 1);
	}
}

static struct addrset_id id_from(const char *namespace_name, const char *text)
{
	char hex[NFTABLES_COUNTER_BYTES];
	struct addrset_id id;
	nftables_rule_counter(namespace_name, text, hex);
	for (size_t i = 0; i < sizeof(id.bytes); i++)
		id.bytes[i] = (uint8_t)(ascii_hex_value(hex[2 * i]) << 4 |
					ascii_hex_value(hex[2 * i + 1]));
	return id;
}

static void check_chain(const struct nftables_plan *plan, const char *name, const char *expected)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	const struct nftables_plan_chain *chain = chain_of(plan, name);
	assert_non_null(chain->name);
	for (size_t i = 0; i < chain->rules.n; i++) {
		nftables_steps_text(chain->rules.v[i].steps, chain->rules.v[i].n_steps, &out);
		strbuf_addc(&out, '\n');
	}
	replace_id(out.s, id_from("web", "first"), "FIRST");
	replace_id(out.s, id_from("web", "second"), "SECOND");
	replace_id(out.s, id_from("web", "no rule matches"), "REST");
	replace_id(out.s, addrset_id_of(slice_of("example.com")), "EXAMPLE");
	replace_id(out.s, addrset_id_of(slice_of("ports 6/80 6/443 17/443")), "PORTS");
	replace_id(out.s, addrset_id_of(slice_of("ports 6/53 6/853 17/53 17/853")), "DNS");
	assert_string_equal(out.s, expected);
}

static const struct nftables_port web_ports[] = { { IPPROTO_UDP, 443 },
						  { IPPROTO_TCP, 443 },
						  { IPPROTO_TCP, 80 } };

static void make_policy(struct nftables_policy *policy)
{
	static struct nftables_target allowed[1], denied[2];
	static struct nftables_rule rules[2];
	static struct nftables_namespace namespaces[1];
	static struct net_cidr pod_range, cluster;
	static const struct nftables_pod pods[] = {
		{ { 4, { 10, 1, 0, 3 } }, "other" },
		{ { 4, { 10, 1, 0, 2 } }, "web" },
		{ { 16, { 0xfd, [15] = 2 } }, "web" },
	};
	allowed[0] = name_of("example.com");
	denied[0] = range_of("0.0.0.0/0");
	denied[1] = range_of("2001:db8::/33");
	rules[0] = (struct nftables_rule){ true, "first", allowed, 1, web_ports, 3 };
	rules[1] = (struct nftables_rule){ false, "second", denied, 2, NULL, 0 };
	namespaces[0] = (struct nftables_namespace){ "web", rules, 2 };
	pod_range = range_of("10.1.0.0/24").range;
	cluster = range_of("10.0.0.0/8").range;
	*policy = (struct nftables_policy){ .namespaces = namespaces,
					    .n_namespaces = 1,
					    .pods = pods,
					    .n_pods = ARRAY_LEN(pods),
					    .pod_ranges = &pod_range,
					    .n_pod_ranges = 1,
					    .always_open = &cluster,
					    .n_always_open = 1,
					    .log_group = 5 };
}

/* Rules stand in their order: the first that matches decides, and what none matches is allowed. */
static void test_rules_in_order(void **state UNUSED)
{
	struct nftables_policy policy;
	struct nftables_plan plan;
	make_policy(&policy);
	nftables_plan_init(&plan, &policy);
	check_chain(
		&plan, "ns-web",
		"jump cluster\n"
		"is ip, to name EXAMPLE ip, to ports PORTS, count FIRST, admit FIRST, accept\n"
		"is ip6, to name EXAMPLE ip6, to ports PORTS, count FIRST, admit FIRST, accept\n"
		"is ip, to 0.0.0.0/0, count SECOND, goto denied\n"
		"is ip6, to 2001:db8::/33, count SECOND, goto denied\n"
		"count REST, admit REST, accept\n");
	check_chain(&plan, "cluster", "is ip, to 10.0.0.0/8, accept\n");
	check_chain(&plan, "denied", "log sample 5\nis tcp, reset\nunreachable\n");
	nftables_plan_done(&plan);
}

/* Connections that a rule admitted come first; an address of the pod range that is no known pod's is
 * denied, never passed. */
static void test_egress_chain(void **state UNUSED)
{
	struct nftables_policy policy;
	struct nftables_plan plan;
	make_policy(&policy);
	nftables_plan_init(&plan, &policy);
	check_chain(&plan, "egress",
		    "is admitted, accept\nis reply, accept\nis neighbour discovery, accept\n"
		    "is ip, by pod ip\nis ip6, by pod ip6\n"
		    "is ip, from 10.1.0.0/24, count unknown-pod, goto denied\n");
	check_chain(&plan, "forward", "jump egress\n");
	check_chain(&plan, "input", "jump egress\n");
	assert_int_equal(plan.pods.n, 3);
	assert_string_equal(plan.pods.v[0].chain, "ns-web");
	assert_null(plan.pods.v[1].chain); /* 10.1.0.3: its namespace has no firewall */
	assert_string_equal(plan.pods.v[2].chain, "ns-web");
	assert_int_equal(plan.ports.n, 3);
	assert_int_equal(plan.admitted.n,
			 2); /* the first rule and the rest; denials admit nothing */
	assert_int_equal(plan.counters.n, 4);
	nftables_plan_done(&plan);
}

/* Without a firewall there is nothing to do for any packet. */
static void test_no_firewall(void **state UNUSED)
{
	struct nftables_policy policy;
	struct nftables_plan plan;
	make_policy(&policy);
	policy.n_namespaces = 0;
	nftables_plan_init(&plan, &policy);
	assert_int_equal(chain_of(&plan, "egress")->rules.n, 0);
	assert_null(chain_of(&plan, "ns-web")->name);
	assert_int_equal(plan.pods.n + plan.admitted.n, 0);
	nftables_plan_done(&plan);
}

/* A rule without targets (a node selector that no node matches) matches nothing, but has its counter. */
static void test_rule_without_target(void **state UNUSED)
{
	struct nftables_policy policy;
	struct nftables_plan plan;
	struct nftables_rule rule = { true, "first", NULL, 0, NULL, 0 };
	struct nftables_namespace namespace = { "web", &rule, 1 };
	make_policy(&policy);
	policy.namespaces = &namespace;
	nftables_plan_init(&plan, &policy);
	check_chain(&plan, "ns-web", "jump cluster\ncount REST, admit REST, accept\n");
	assert_int_equal(plan.counters.n, 3);
	nftables_plan_done(&plan);
}

/* One machine (EF-D3): the DNS server's own queries are in front of the rules on its user; name servers are open for DNS. */
static void test_output_chain(void **state UNUSED)
{
	struct nftables_owner owner = { .id = 7, .namespace_name = "web" };
	struct net_cidr servers[] = { range_of("169.254.169.254/32").range,
				      range_of("2001:db8::53/128").range };
	struct nftables_policy policy;
	struct nftables_plan plan;
	make_policy(&policy);
	policy.name_servers = servers;
	policy.n_name_servers = ARRAY_LEN(servers);
	policy.owners = &owner;
	policy.n_owners = 1;
	policy.own_user = 7;
	policy.own_mark = 99;
	policy.spares_own_addresses = true;
	nftables_plan_init(&plan, &policy);
	check_chain(
		&plan, "output",
		"by loopback, accept\nby user 7 at 0, is marked 99 at 0, accept\n"
		"is admitted, accept\nis older, accept\nis tcp, is mid-stream, accept\n"
		"is reply, accept\nis neighbour discovery, accept\nby user 7 at 0, goto ns-web\n");
	check_chain(&plan, "cluster",
		    "is ip, to 10.0.0.0/8, accept\n"
		    "is ip, to 169.254.169.254/32, to ports DNS, accept\n"
		    "is ip6, to 2001:db8::53/128, to ports DNS, accept\n");
	assert_int_equal(plan.ports.n, ARRAY_LEN(web_ports) + 4);
	check_chain(&plan, "input", "");
	check_chain(&plan, "forward", "jump egress\n");
	nftables_plan_done(&plan);
}

/* The digest of a rule depends on each of its steps and on nothing else. */
static void test_digests(void **state UNUSED)
{
	struct nftables_policy policy;
	struct nftables_plan left, right;
	make_policy(&policy);
	nftables_plan_init(&left, &policy);
	nftables_plan_init(&right, &policy);
	const struct nftables_plan_chain *a = chain_of(&left, "ns-web"),
					 *b = chain_of(&right, "ns-web");
	for (size_t i = 0; i < a->rules.n; i++) {
		assert_memory_equal(&a->rules.v[i].digest, &b->rules.v[i].digest,
				    sizeof(struct addrset_id));
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(&a->rules.v[i].digest, &a->rules.v[k].digest,
						sizeof(struct addrset_id));
	}
	nftables_plan_done(&left);
	nftables_plan_done(&right);
}

static uint64_t hash_of(const struct nftables_policy *policy)
{
	struct nftables_plan plan;
	nftables_plan_init(&plan, policy);
	uint64_t hash = nftables_plan_hash(&plan);
	nftables_plan_done(&plan);
	return hash;
}

/* Whatever changes the table changes the hash; the order of namespaces and pods does not. */
static void test_hash(void **state UNUSED)
{
	struct nftables_target any = range_of("0.0.0.0/0");
	struct nftables_rule rule = { .text = "deny all", .targets = &any, .n_targets = 1 };
	struct nftables_namespace namespaces[] = { { "web", &rule, 1 }, { "shop", &rule, 1 } },
				  turned[] = { namespaces[1], namespaces[0] };
	struct nftables_pod pods[] = { { { 4, { 10, 1, 0, 2 } }, "web" },
				       { { 4, { 10, 1, 0, 3 } }, "shop" } },
			    moved[] = { pods[0], { pods[1].address, "web" } };
	struct nftables_owner owner = { .id = 1000, .namespace_name = "web" };
	struct nftables_policy policy = {
		.namespaces = namespaces, .n_namespaces = 2, .pods = pods, .n_pods = 2
	};
	uint64_t before = hash_of(&policy);
	policy.namespaces = turned;
	assert_true(hash_of(&policy) == before);
	policy.n_pods = 1;
	assert_true(hash_of(&policy) != before);
	policy.n_pods = 2;
	policy.pods = moved;
	assert_true(hash_of(&policy) != before);
	policy.pods = pods;
	policy.owners = &owner;
	policy.n_owners = 1;
	uint64_t with_owner = hash_of(&policy);
	assert_true(with_owner != before);
	owner.id++;
	assert_true(hash_of(&policy) != with_owner);
	policy.n_owners = 0;
	assert_true(hash_of(&policy) == before);
	rule.allows = true;
	assert_true(hash_of(&policy) != before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_in_order), cmocka_unit_test(test_egress_chain),
		cmocka_unit_test(test_no_firewall),    cmocka_unit_test(test_rule_without_target),
		cmocka_unit_test(test_digests),	       cmocka_unit_test(test_output_chain),
		cmocka_unit_test(test_hash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

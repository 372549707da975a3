/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open connections under changed rules, judged without a kernel. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "addrset/nftables/revoke_test.h"
#include "base/compiler.h"
#include "testing/fake_addrset.h"

static struct nftables_target targets[2]; /* name example.com, range 192.0.2.128/25 */
static const struct nftables_port https = { IPPROTO_TCP, 443 };
static const struct nftables_pod pods[] = { { { 4, { 10, 1, 0, 2 } }, "web" },
					    { { 4, { 10, 1, 0, 3 } }, "plain" } };
static struct fake_addrset *names;

static void ignore_done(struct addrset_request *request UNUSED, int result UNUSED)
{
}

static int setup(void **state UNUSED)
{
	struct addrset_pair pair = { addrset_id_of(slice_of("example.com")),
				     { 4, { 192, 0, 2, 1 } },
				     UINT64_MAX };
	struct addrset_request request = { .pairs = &pair, .n_pairs = 1, .done = ignore_done };
	targets[0] = (struct nftables_target){ .is_name = true, .name = pair.name };
	assert_int_equal(net_cidr_parse(slice_of("192.0.2.128/25"), &targets[1].range), 0);
	names = fake_addrset_new();
	addrset_add(fake_addrset_set(names), &request);
	fake_addrset_commit(names, 0);
	return 0;
}

static int teardown(void **state UNUSED)
{
	fake_addrset_free(names);
	return 0;
}

/* A connection to 192.0.2.LAST that the rule `text` admitted. */
static bool is_allowed(const struct nftables_rule *rules, size_t n_rules, const char *text,
		       uint8_t last, uint16_t port)
{
	struct nftables_namespace namespace = { "web", rules, n_rules };
	struct nftables_policy policy = {
		.namespaces = &namespace, .n_namespaces = 1, .pods = pods, .n_pods = ARRAY_LEN(pods)
	};
	struct nftables_connection connection = { .from = pods[0].address,
						  .to = { 4, { 192, 0, 2, last } },
						  .protocol = IPPROTO_TCP,
						  .port = port,
						  .label = nftables_rule_id("web", text) };
	return nftables_revoke_allows(&policy, fake_addrset_set(names), &connection);
}

#define IS_ALLOWED(rules, ...) is_allowed(rules, ARRAY_LEN(rules), __VA_ARGS__)

/* Only a rule that denies and stands in front of the one that admitted it takes a connection away. */
static void test_denials_in_front(void **state UNUSED)
{
	const struct nftables_rule allow = { true, "allow", targets, 1, NULL, 0 };
	const struct nftables_rule deny = { false, "deny", &targets[1], 1, NULL, 0 };
	const struct nftables_rule front[] = { deny, allow }, behind[] = { allow, deny };
	assert_false(IS_ALLOWED(front, "allow", 200, 80));
	assert_true(IS_ALLOWED(front, "allow", 1, 80));
	assert_true(IS_ALLOWED(front, "allow", 127, 80)); /* expired under its rule: goes on */
	assert_true(IS_ALLOWED(behind, "allow", 200, 80));
	assert_false(IS_ALLOWED(front, NULL, 200, 80));
	assert_true(IS_ALLOWED(front, NULL, 1, 80));
}

static void test_denials_by_port_and_name(void **state UNUSED)
{
	const struct nftables_rule by_port[] = { { false, "deny", &targets[1], 1, &https, 1 } };
	const struct nftables_rule by_name[] = { { false, "deny", targets, 1, NULL, 0 } };
	assert_false(IS_ALLOWED(by_port, NULL, 200, 443));
	assert_true(IS_ALLOWED(by_port, NULL, 200, 80));
	assert_false(IS_ALLOWED(by_name, NULL, 1, 80));
	assert_true(IS_ALLOWED(by_name, NULL, 2, 80));
}

/* A connection of a rule that is gone meets the rules again. */
static void test_rules_that_are_gone(void **state UNUSED)
{
	const struct nftables_rule rules[] = { { true, "allow", targets, 1, NULL, 0 } };
	assert_true(IS_ALLOWED(rules, "allow", 1, 80));
	assert_false(IS_ALLOWED(rules, "allowed before", 1, 80));
}

static void test_other_connections(void **state UNUSED)
{
	struct nftables_namespace namespace = { "web", NULL, 0 };
	struct nftables_policy policy = {
		.namespaces = &namespace, .n_namespaces = 1, .pods = pods, .n_pods = ARRAY_LEN(pods)
	};
	struct nftables_connection connection = { .from = pods[1].address };
	assert_true(nftables_revoke_allows(&policy, fake_addrset_set(names), &connection));
	connection.from.bytes[3] = 99;
	assert_true(nftables_revoke_allows(&policy, fake_addrset_set(names), &connection));
	connection.from = pods[0].address;
	assert_false(nftables_revoke_allows(&policy, fake_addrset_set(names), &connection));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_denials_in_front),
		cmocka_unit_test(test_denials_by_port_and_name),
		cmocka_unit_test(test_rules_that_are_gone),
		cmocka_unit_test(test_other_connections),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}

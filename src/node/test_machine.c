/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What annotations of Namespaces name on one machine: users, cgroups and network namespaces that exist, appear, or do not. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/log.h"
#include "node/machine.h"

enum { SHOP_USER = 1234 };

static int user_result; /* of the next lookups */

static int find_user(const char *name, uint64_t *ret)
{
	assert_string_equal(name, "shop");
	*ret = SHOP_USER;
	return user_result;
}

static int network_result;	    /* of the next readings */
static const char *network_address; /* NULL: it has none */
static unsigned network_more;	    /* number of others, 10.2.0.0 and so on */

static int read_network(const char *path, bool wants_socket UNUSED, struct node_network *ret)
{
	struct addrset_address address = { .n = 4 };
	assert_non_null(strstr(path, "/nowhere/"));
	if (network_result == 0 && network_address != NULL) {
		assert_int_equal(inet_pton(AF_INET, network_address, address.bytes), 1);
		vec_push(&ret->addresses, address);
	}
	for (unsigned i = 0; i < network_more; i++)
		vec_push(&ret->addresses,
			 (struct addrset_address){ 4, { 10, 2, (uint8_t)(i >> 8), (uint8_t)i } });
	return network_result;
}

static const char *cgroup_failure; /* of the next lookups; NULL: it is found */
static bool cgroup_is_unknown;

static const char *find_cgroup(const char *root UNUSED, const char *path UNUSED,
			       struct node_cgroup *ret)
{
	if (cgroup_failure == NULL)
		*ret = (struct node_cgroup){ .id = 77, .level = 2 };
	ret->is_unknown = cgroup_is_unknown;
	return cgroup_failure;
}

static struct node_machine *machine;
static struct arena arena;
static struct nftables_policy policy;
static struct node_problems problems;

static int begin(void **state UNUSED)
{
	struct node_machine_conf conf = { .find_user = find_user,
					  .find_cgroup = find_cgroup,
					  .read_network = read_network,
					  .networks = "/nowhere/" };
	machine = node_machine_new(&conf);
	arena_init(&arena);
	user_result = network_result = 0;
	network_more = 0;
	network_address = "10.1.0.2";
	cgroup_failure = NULL;
	cgroup_is_unknown = false;
	return 0;
}

static int end(void **state UNUSED)
{
	node_machine_free(machine);
	arena_done(&arena);
	return 0;
}

/* One namespace `web` with a firewall; `annotations` as JSON. */
static void build(const char *annotations)
{
	static const struct nftables_namespace web = { .name = "web" };
	json_t *parsed = json_loads(annotations, 0, NULL);
	assert_non_null(parsed);
	json_t *ns = json_pack("{s:{s:s, s:o}}", "metadata", "name", "web", "annotations", parsed);
	const json_t *list[] = { ns };
	policy = (struct nftables_policy){ .namespaces = &web, .n_namespaces = 1 };
	node_machine_add(machine, (struct node_objects){ list, 1 }, &arena, &policy, &problems);
	json_decref(ns);
}

static void check_problem(const char *reason, const char *words)
{
	assert_int_equal(problems.n, 1);
	assert_string_equal(problems.v[0].ns, "web");
	assert_string_equal(problems.v[0].reason, reason);
	assert_non_null(strstr(problems.v[0].message, words));
}

#define UID(value) "{\"egress.fairlead.dev/uid\": \"" value "\"}"

static void users(void **state UNUSED)
{
	user_result = -ENOENT;
	build(UID("shop"));
	check_problem("TargetMissing", "egress.fairlead.dev/uid is 'shop': no such user");
	assert_int_equal(policy.n_owners, 0);
	user_result = 0;
	build(UID("shop"));
	assert_int_equal(problems.n, 0);
	assert_int_equal(policy.n_owners, 1);
	assert_int_equal(policy.owners[0].id, SHOP_USER);
	build(UID("77"));
	assert_int_equal(policy.owners[0].id, 77);
	build(UID("4294967295"));
	check_problem("TargetMissing", "no such user");
}

/* A lookup that fails is no answer: the last one counts, of this value. */
static void failing_lookups(void **state UNUSED)
{
	user_result = -EIO;
	build(UID("shop"));
	check_problem("TargetMissing", "cannot be looked up");
	user_result = 0;
	build(UID("shop"));
	user_result = -EIO;
	build(UID("shop"));
	assert_int_equal(problems.n, 0);
	assert_int_equal(policy.n_owners, 1);
	assert_int_equal(policy.owners[0].id, SHOP_USER);
	build(UID("77"));
	build(UID("shop"));
	check_problem("TargetMissing", "cannot be looked up");
}

#define CGROUP	"{\"egress.fairlead.dev/cgroup\": \"shop/a\"}"
#define NETWORK "{\"egress.fairlead.dev/netns\": \"shop\"}"

/* EF-D3: a failure to read a cgroup opens nothing. */
static void failing_cgroups(void **state UNUSED)
{
	cgroup_failure = "this cgroup cannot be read";
	cgroup_is_unknown = true;
	build(CGROUP);
	check_problem("TargetMissing", "cannot be read");
	assert_int_equal(policy.n_owners, 0);
	cgroup_failure = NULL;
	cgroup_is_unknown = false;
	build(CGROUP);
	cgroup_failure = "this cgroup cannot be read";
	cgroup_is_unknown = true;
	build(CGROUP);
	assert_int_equal(problems.n, 0);
	assert_int_equal(policy.n_owners, 1);
	assert_int_equal(policy.owners[0].id, 77);
	assert_int_equal(policy.owners[0].level, 2);
	cgroup_is_unknown = false;
	for (int i = 0; i < 2; i++) {
		build(CGROUP);
		check_problem("TargetMissing", "cannot be read");
		assert_int_equal(policy.n_owners, 0);
		cgroup_is_unknown = true; /* it is gone: nothing is left to keep */
	}
}

static void check_address(const char *address)
{
	uint8_t bytes[4];
	assert_int_equal(inet_pton(AF_INET, address, bytes), 1);
	assert_int_equal(problems.n, 0);
	assert_int_equal(policy.n_pods, 1);
	assert_string_equal(policy.pods[0].namespace_name, "web");
	assert_memory_equal(policy.pods[0].address.bytes, bytes, sizeof(bytes));
}

/* EF-D3: nor does a failure to read a network namespace, whatever it is; only one that is gone has no addresses. */
static void failing_networks(void **state UNUSED)
{
	static const int failures[] = { -EMFILE, -EAGAIN, -EPERM, -ENOMEM, -EIO },
			 gone[] = { -ENOENT, -EINVAL };
	static const char *const words[] = {
		"'shop': no such network namespace",
		"'shop': this file is no network namespace here (is the mount "
		"visible to the program?)"
	};
	network_result = -EMFILE;
	build(NETWORK);
	check_problem("TargetMissing", "this network namespace cannot be read: ");
	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		network_result = 0;
		build(NETWORK);
		check_address("10.1.0.2");
		for (size_t k = 0; k < ARRAY_LEN(failures); k++) {
			network_result = failures[k];
			build(NETWORK);
			check_address("10.1.0.2");
		}
		network_result = gone[i];
		build(NETWORK);
		check_problem("TargetMissing", words[i]);
		assert_int_equal(policy.n_pods, 0);
		network_result = -EMFILE;
		build(NETWORK);
		check_problem("TargetMissing", "this network namespace cannot be read: ");
		assert_int_equal(policy.n_pods, 0);
	}
	network_result = 0;
	network_address = "10.1.0.3";
	build(NETWORK);
	check_address("10.1.0.3");
	network_address = NULL;
	build(NETWORK);
	check_problem("TargetMissing", "this network namespace has no address");
}

static int read_link_local(const char *path UNUSED, bool wants_socket UNUSED,
			   struct node_network *ret)
{
	vec_push(&ret->addresses, (struct addrset_address){ 16, { 0xfe, 0x80, [15] = 1 } });
	vec_push(&ret->addresses, (struct addrset_address){ 16, { 0xfe, 0xbf, [15] = 1 } });
	vec_push(&ret->addresses, (struct addrset_address){ 16, { 0xfe, 0xc0, [15] = 1 } });
	vec_push(&ret->addresses, (struct addrset_address){ 16, { 0xfd, 0x80, [15] = 1 } });
	return 0;
}

/* All are judged; DNS servers hear of those that may ask them. */
static void link_local_clients(void **state UNUSED)
{
	struct node_machine_conf conf = { .read_network = read_link_local };
	node_machine_free(machine);
	machine = node_machine_new(&conf);
	build(NETWORK);
	assert_int_equal(policy.n_pods, 4);
	assert_true(slice_eq(node_machine_clients(machine), SLICE("web fec0::1\nweb fd80::1\n")));
}

/* Builds, and returns how often the log speaks of clients that do not fit. */
static size_t count_warnings(unsigned addresses)
{
	char text[4096] = "";
	size_t n = 0;
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	network_more = addresses;
	log_set_fd(fds[1]);
	build(NETWORK);
	log_set_fd(STDOUT_FILENO);
	assert_true(read(fds[0], text, sizeof(text) - 1) < (ssize_t)sizeof(text) - 1);
	close(fds[0]);
	close(fds[1]);
	for (const char *at = text; (at = strstr(at, "do not fit into the report")) != NULL; at++)
		n++;
	assert_int_equal(policy.n_pods, addresses + 1);
	return n;
}

/* The limit of the report is logged when it is reached, not with each pass. */
static void too_many_clients(void **state UNUSED)
{
	static const unsigned few = 100, many = 4000;
	assert_int_equal(count_warnings(few), 0);
	assert_int_equal(count_warnings(many), 1);
	assert_int_equal(count_warnings(many), 0);
	assert_in_range(node_machine_clients(machine).n, 39900, 40000);
	assert_int_equal(count_warnings(few), 0);
	assert_int_equal(count_warnings(many), 1);
}

static void nothing_named(void **state UNUSED)
{
	build("{}");
	check_problem("NothingNamed", "no annotation of the Namespace");
	build("{\"example.com/uid\": \"7\"}");
	check_problem("NothingNamed", "no annotation of the Namespace");
	build("{\"egress.fairlead.dev/user\": \"7\"}");
	check_problem("UnknownAnnotation", "egress.fairlead.dev/user");
	/* What is right beside it is in force. */
	build("{\"egress.fairlead.dev/user\": \"7\", \"egress.fairlead.dev/uid\": \"8\"}");
	check_problem("UnknownAnnotation", "egress.fairlead.dev/user");
	assert_int_equal(policy.n_owners, 1);
	/* No Namespace at all. */
	node_machine_add(machine, (struct node_objects){ NULL, 0 }, &arena, &policy, &problems);
	check_problem("NothingNamed", "no annotation of the Namespace");
}

static void other_targets(void **state UNUSED)
{
	static const char *const networks[] = { "missing", "../x", "", "/etc" };
	struct node_machine_conf conf = { .networks = "/nowhere/" };
	node_machine_free(machine);
	machine = node_machine_new(&conf);
	build("{\"egress.fairlead.dev/cgroup\": \"no/such/group\"}");
	check_problem("TargetMissing", "egress.fairlead.dev/cgroup is 'no/such/group'");
	for (size_t i = 0; i < ARRAY_LEN(networks); i++) {
		char text[128];
		snprintf(text, sizeof(text), "{\"egress.fairlead.dev/netns\": \"%s\"}",
			 networks[i]);
		build(text);
		check_problem("TargetMissing", "no such network namespace");
	}
	/* A file that is none: in another mount namespace the mount is missing, and only the file is left. */
	node_machine_free(machine);
	conf.networks = "/proc/self/";
	machine = node_machine_new(&conf);
	build("{\"egress.fairlead.dev/netns\": \"status\"}");
	check_problem("TargetMissing", "this file is no network namespace here");
}

static size_t n_servers; /* in the file */

static size_t read_servers(const char *path, struct net_cidr *out, size_t most)
{
	assert_string_equal(path, "/no/resolv.conf");
	assert_true(most >= n_servers);
	for (size_t i = 0; i < n_servers; i++)
		out[i] = (struct net_cidr){ AF_INET, 32, { 192, 0, 2, (uint8_t)i } };
	return n_servers;
}

/* Those of now stay reachable; a file that cannot be read leaves those of before. */
static void name_servers(void **state UNUSED)
{
	static const struct net_cidr open = { AF_INET, 8, { 10 } };
	struct node_machine_conf conf = { .resolv_conf = "/no/resolv.conf",
					  .read_name_servers = read_servers };
	static const size_t rows[][2] = { { 2, 2 }, { 0, 2 }, { 1, 1 } };
	struct node_machine *other = node_machine_new(&conf);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		n_servers = rows[i][0];
		policy = (struct nftables_policy){ .always_open = &open, .n_always_open = 1 };
		node_machine_add(other, (struct node_objects){ NULL, 0 }, &arena, &policy,
				 &problems);
		assert_int_equal(policy.n_always_open, 1);
		assert_int_equal(policy.n_name_servers, rows[i][1]);
		assert_int_equal(policy.name_servers[0].ip[0], 192);
	}
	node_machine_free(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(users),
		TEST(failing_lookups),
		TEST(nothing_named),
		TEST(other_targets),
		TEST(name_servers),
		TEST(failing_cgroups),
		TEST(failing_networks),
		TEST(link_local_clients),
		TEST(too_many_clients),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

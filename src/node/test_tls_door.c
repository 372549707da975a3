/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The door for other nodes: a certificate that comes after the start, another one later, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "addrset/agent/agent_set.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/rcu/rcu.h"
#include "node/door.h"
#include "node/tls_door.h"
#include "testing/fake_addrset.h"
#include "testing/testcert.h"

enum { PATH_BYTES = 128 };

static char dir[] = "/tmp/test-tls-door-XXXXXX";
static char cert[PATH_BYTES], key[PATH_BYTES], ca[PATH_BYTES];
static char err[256];
static struct loop *loop;
static struct fake_addrset *kernel;
static union net_addr addr;

/* Turns the loop until `cond`, for at most 10 s. */
#define TURN_UNTIL(cond)                                           \
	do {                                                       \
		uint64_t until_ = clock_mono_ns() + 10 * NS_PER_S; \
		while (!(cond) && clock_mono_ns() < until_) {      \
			loop_turn(loop, false);                    \
			usleep(200);                               \
		}                                                  \
		assert_true(cond);                                 \
	} while (0)

static struct net_tls_files files_of(const char *name)
{
	char file[32];
	snprintf(file, sizeof(file), "%s.pem", name);
	const char *pem = testcert_path(dir, file);
	snprintf(file, sizeof(file), "%s.key", name);
	return (struct net_tls_files){ .cert = pem,
				       .key = testcert_path(dir, file),
				       .ca = testcert_path(dir, "ca.pem") };
}

/* As the kubelet does it: the new files take the places of the old ones. */
static void mount_cert(const char *name)
{
	struct net_tls_files from = files_of(name);
	unlink(cert);
	unlink(key);
	assert_int_equal(link(from.cert, cert), 0);
	assert_int_equal(link(from.key, key), 0);
}

/* A port that is free: a listener had it just now. */
static void find_port(void)
{
	struct net_tls_files files = files_of("node");
	struct node_door *door = NULL;
	struct node_door_conf conf = { .loop = loop,
				       .set = fake_addrset_set(kernel),
				       .addr = &addr };
	files.auth = NET_TLS_REQUIRE_AND_VERIFY;
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &addr), 0);
	assert_int_equal(net_tls_server_cred(&files, &conf.cred, ERR_TEXT(err)), 0);
	assert_int_equal(node_door_open(&conf, &door, ERR_TEXT(err)), 0);
	net_addr_set_port(&addr, node_door_port(door));
	node_door_close(door);
	net_tls_cred_unref(conf.cred);
}

static int open_door(struct node_tls_door **ret)
{
	struct node_tls_door_conf conf = {
		.loop = loop,
		.set = fake_addrset_set(kernel),
		.addr = &addr,
		.files = { .cert = cert, .key = key, .ca = ca, .auth = NET_TLS_REQUIRE_AND_VERIFY }
	};
	return node_tls_door_open(&conf, ret, ERR_TEXT(err));
}

static struct agent_set *start_server(const char *client, const char *agent_name)
{
	struct net_tls_files files = files_of(client);
	struct agent_set *agent = NULL;
	struct agent_set_conf conf = { .loop = loop, .addr = addr, .tls_name = agent_name };
	assert_int_equal(net_tls_client_cred(&files, &conf.cred, ERR_TEXT(err)), 0);
	assert_int_equal(agent_set_new(&conf, &agent), 0);
	net_tls_cred_unref(conf.cred);
	return agent;
}

/* The Secret may be made after the agent's start; servers ask when it is mounted. When it is rotated, new
 * connections meet the new certificate, and open ones stay. */
static void certificate_comes_later(void **state UNUSED)
{
	struct node_tls_door *door = NULL;
	assert_int_equal(open_door(&door), 0);
	struct agent_set *first = start_server("server", "node-1.example");
	TURN_UNTIL(agent_set_state(first).reason != 0);
	assert_false(agent_set_state(first).is_reachable);
	mount_cert("node");
	TURN_UNTIL(agent_set_state(first).is_reachable);
	mount_cert("other");
	struct agent_set *second = start_server("server", "node-2.example");
	TURN_UNTIL(agent_set_state(second).is_reachable);
	assert_true(agent_set_state(first).is_reachable);
	node_tls_door_end_connections(door);
	TURN_UNTIL(!agent_set_state(first).is_reachable); /* its name is another's now */
	agent_set_free(first);
	agent_set_free(second);
	node_tls_door_close(door);
}

/* Broken files are an error at the start, and change nothing later. */
static void files_that_are_no_certificate(void **state UNUSED)
{
	struct node_tls_door *door = NULL;
	mount_cert("node");
	unlink(cert);
	assert_int_equal(link(key, cert), 0);
	assert_true(open_door(&door) < 0);
	assert_non_null(strstr(err, cert));
	mount_cert("node");
	assert_int_equal(open_door(&door), 0);
	unlink(cert);
	assert_int_equal(link(key, cert), 0);
	struct agent_set *server = start_server("server", "node-1.example");
	TURN_UNTIL(agent_set_state(server).is_reachable);
	agent_set_free(server);
	node_tls_door_close(door);
}

/* An address that is somebody else's is an error. */
static void address_is_taken(void **state UNUSED)
{
	struct node_tls_door *door = NULL, *second = NULL;
	mount_cert("node");
	assert_int_equal(open_door(&door), 0);
	assert_true(open_door(&second) < 0);
	node_tls_door_close(door);
}

static int begin(void **state UNUSED)
{
	loop = loop_new();
	kernel = fake_addrset_new();
	find_port();
	return 0;
}

static int end(void **state UNUSED)
{
	fake_addrset_free(kernel);
	loop_free(loop);
	rcu_barrier_all();
	unlink(cert);
	unlink(key);
	return 0;
}

static int make_files(void **state UNUSED)
{
	assert_non_null(mkdtemp(dir));
	snprintf(cert, sizeof(cert), "%s/tls.crt", dir);
	snprintf(key, sizeof(key), "%s/tls.key", dir);
	snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
	struct testcert *certs = testcert_new(dir);
	testcert_make(certs, "node", "node-1.example");
	testcert_make(certs, "other", "node-2.example");
	testcert_make(certs, "server", "server.example");
	testcert_free(certs);
	return 0;
}

static int remove_files(void **state UNUSED)
{
	static const char *const files[] = { "node.pem",   "node.key",	 "other.pem", "other.key",
					     "server.pem", "server.key", "ca.pem" };
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(testcert_path(dir, files[i]));
	return rmdir(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(certificate_comes_later),
		TEST(files_that_are_no_certificate),
		TEST(address_is_taken),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}

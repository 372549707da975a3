/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A DNS server's side (addrset/agent) and an agent's door on one loop: what is acknowledged, what is known,
 * and what becomes of requests when the agent is slow, silent, gone or somebody else. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "addrset/agent/agent_set.h"
#include "addrset/shared/agent_protocol.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/rcu/rcu.h"
#include "node/door.h"
#include "testing/fake_addrset.h"
#include "testing/testcert.h"

static char dir[] = "/tmp/test-door-XXXXXX";
static char socket_path[64];
static char err[256];
static struct loop *loop;
static struct fake_addrset *kernel; /* what the agent fills */
static struct node_door *door;
static struct agent_set *agent;

/* ---- rig ---- */

static void open_door(void)
{
	struct node_door_conf conf = { .loop = loop,
				       .set = fake_addrset_set(kernel),
				       .path = socket_path };
	assert_int_equal(node_door_open(&conf, &door, ERR_TEXT(err)), 0);
}

static void close_door(void)
{
	node_door_close(door);
	door = NULL;
}

static int begin(void **state UNUSED)
{
	loop = loop_new();
	kernel = fake_addrset_new();
	open_door();
	struct agent_set_conf conf = { .loop = loop, .path = socket_path };
	assert_int_equal(agent_set_new(&conf, &agent), 0);
	return 0;
}

static int end(void **state UNUSED)
{
	agent_set_free(agent);
	close_door();
	fake_addrset_free(kernel);
	loop_free(loop);
	rcu_barrier_all();
	return 0;
}

/* Turns the loop until `cond`, for at most 5 s. */
#define TURN_UNTIL(cond)                                          \
	do {                                                      \
		uint64_t until_ = clock_mono_ns() + 5 * NS_PER_S; \
		while (!(cond) && clock_mono_ns() < until_) {     \
			loop_turn(loop, false);                   \
			usleep(200);                              \
		}                                                 \
		assert_true(cond);                                \
	} while (0)

struct call {
	struct addrset_request request;
	struct addrset_pair pair;
	int n_done, result;
	uint64_t begun_ns, took_ns;
};

static void note_done(struct addrset_request *request, int result)
{
	struct call *call = CONTAINER_OF(request, struct call, request);
	call->n_done++;
	call->result = result;
	call->took_ns = clock_mono_ns() - call->begun_ns;
}

static void ask(struct call *call, unsigned number)
{
	*call = (struct call){ .begun_ns = clock_mono_ns() };
	call->pair = (struct addrset_pair){
		.name = addrset_id_of(slice_of("example.com")),
		.address = { 4, { 192, 0, (uint8_t)(number >> 8), (uint8_t)number } },
		.until_ns = clock_mono_ns() + 30 * NS_PER_S,
	};
	call->request = (struct addrset_request){
		.pairs = &call->pair, .n_pairs = 1, .tenant = SLICE("web"), .done = note_done
	};
	addrset_add(agent_set_set(agent), &call->request);
}

static bool is_known(const struct call *call)
{
	return addrset_holds(agent_set_set(agent), &call->pair, 1);
}

/* ---- tests ---- */

/* The answer waits for the kernel; a known pair does not ask again. */
static void acknowledged_when_in_force(void **state UNUSED)
{
	struct call call, again;
	ask(&call, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	assert_int_equal(call.n_done, 0);
	assert_false(is_known(&call));
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(call.n_done == 1);
	assert_int_equal(call.result, 0);
	assert_true(is_known(&call));
	again = call;
	again.n_done = 0;
	addrset_add(agent_set_set(agent), &again.request);
	assert_int_equal(again.n_done, 1);
	assert_int_equal(agent_set_state(agent).requests, 1);
	assert_true(agent_set_state(agent).is_reachable);
}

/* EF-P10: whose limits count is known to the kernel's side, but for what is asked before the agent's hello. */
static void requests_name_their_namespace(void **state UNUSED)
{
	struct call first, call;
	ask(&first, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	assert_string_equal(fake_addrset_tenant(kernel), "");
	TURN_UNTIL(agent_set_state(agent).is_reachable);
	ask(&call, 2);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 2);
	assert_string_equal(fake_addrset_tenant(kernel), "web");
	fake_addrset_commit(kernel, ERR_QUOTA);
	TURN_UNTIL(call.n_done == 1);
	assert_int_equal(call.result, ERR_QUOTA);
	assert_false(is_known(&call));
}

/* What came in one turn is committed together, and fails for itself. */
static void many_at_once(void **state UNUSED)
{
	enum { CALLS = 500 };
	static struct call calls[CALLS];
	for (unsigned i = 0; i < CALLS; i++)
		ask(&calls[i], i);
	TURN_UNTIL(fake_addrset_waiting(kernel) == CALLS);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(calls[CALLS - 1].n_done == 1);
	for (unsigned i = 0; i < CALLS; i++) {
		assert_int_equal(calls[i].n_done, 1);
		assert_int_equal(calls[i].result, 0);
		assert_true(is_known(&calls[i]));
	}
	assert_int_equal(node_door_counts(door).requests, CALLS);
}

static void refused_by_the_kernel(void **state UNUSED)
{
	struct call call;
	ask(&call, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, ERR_LIMIT);
	TURN_UNTIL(call.n_done == 1);
	assert_int_equal(call.result, ERR_LIMIT);
	assert_false(is_known(&call));
	assert_int_equal(node_door_counts(door).failed, 1);
}

/* More than a connection may ask for at once: the rest fails, and nothing is lost. */
static void too_many_requests(void **state UNUSED)
{
	enum { CALLS = AGENT_REQUESTS_MAX + 10 };
	static struct call calls[CALLS];
	for (unsigned i = 0; i < CALLS; i++)
		ask(&calls[i], i);
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(calls[i].n_done, i >= AGENT_REQUESTS_MAX);
	assert_int_equal(calls[CALLS - 1].result, ERR_BUSY);
	TURN_UNTIL(fake_addrset_waiting(kernel) == AGENT_REQUESTS_MAX);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(calls[AGENT_REQUESTS_MAX - 1].n_done == 1);
	for (unsigned i = 0; i < AGENT_REQUESTS_MAX; i++)
		assert_int_equal(calls[i].result, 0);
	ask(&calls[0], CALLS);
	assert_int_equal(calls[0].n_done, 0); /* there is room again */
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(calls[0].n_done == 1);
}

/* An agent that is stopped costs one waiting time, then nothing; its late answer still counts. */
static void silent_agent(void **state UNUSED)
{
	struct call first, second, late;
	ask(&first, 1);
	TURN_UNTIL(first.n_done == 1);
	assert_int_equal(first.result, ERR_TIMEOUT);
	assert_true(first.took_ns >= AGENT_ANSWER_MS * NS_PER_MS);
	assert_true(first.took_ns < 2 * AGENT_ANSWER_MS * NS_PER_MS);
	ask(&second, 2);
	assert_int_equal(second.n_done, 1);
	assert_int_equal(second.result, ERR_TIMEOUT);
	assert_false(agent_set_state(agent).is_reachable);
	assert_int_equal(agent_set_state(agent).timed_out, 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(agent_set_state(agent).is_reachable);
	assert_true(is_known(&first));
	ask(&late, 3);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(late.n_done == 1);
	assert_int_equal(late.result, 0);
}

/* A lost agent: requests that wait fail, nothing is known any more, and the next agent is found. */
static void agent_comes_and_goes(void **state UNUSED)
{
	struct call known, waiting, refused, later;
	ask(&known, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(known.n_done == 1);
	ask(&waiting, 2);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	close_door();
	TURN_UNTIL(waiting.n_done == 1);
	assert_int_equal(waiting.result, ERR_CLOSED);
	assert_false(is_known(&known));
	assert_int_equal(access(socket_path, F_OK), -1);
	ask(&refused, 3);
	assert_int_equal(refused.n_done, 1);
	assert_int_equal(refused.result, ERR_CLOSED);
	TURN_UNTIL(agent_set_state(agent).reason == -ENOENT);
	fake_addrset_commit(kernel, 0); /* the request of before is answered into nothing */
	open_door();
	TURN_UNTIL(agent_set_state(agent).is_reachable);
	assert_false(is_known(&known));
	ask(&later, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(later.n_done == 1);
	assert_int_equal(later.result, 0);
	assert_true(is_known(&known));
}

/* The agent says that what is known is in doubt. */
static void connections_are_ended(void **state UNUSED)
{
	struct call call;
	ask(&call, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(call.n_done == 1);
	node_door_end_connections(door);
	TURN_UNTIL(!is_known(&call));
	TURN_UNTIL(agent_set_state(agent).is_reachable);
	assert_int_equal(agent_set_state(agent).connects, 2);
}

/* Pairs were removed: they are asked for again, on the same connection. */
static void servers_forget(void **state UNUSED)
{
	struct call call, again;
	ask(&call, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(call.n_done == 1);
	assert_true(is_known(&call));
	node_door_forget(door);
	TURN_UNTIL(!is_known(&call));
	assert_true(agent_set_state(agent).is_reachable);
	ask(&again, 1);
	TURN_UNTIL(again.n_done == 1 || fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(again.n_done == 1);
	assert_true(is_known(&again));
	assert_int_equal(agent_set_state(agent).connects, 1);
}

/* ---- peers that are something else ---- */

static int connect_raw(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void send_raw(int fd, const char *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static bool has_ended(int fd)
{
	char byte[512];
	ssize_t n;
	while ((n = recv(fd, byte, sizeof(byte), MSG_DONTWAIT)) > 0)
		continue;
	return n == 0 || errno == ECONNRESET;
}

/* Appends what has come; the number of bytes then. */
static size_t read_some(int fd, char *buf, size_t cap, size_t n)
{
	ssize_t more = recv(fd, buf + n, cap - n, MSG_DONTWAIT);
	return more > 0 ? n + (size_t)more : n;
}

static void strangers_are_refused(void **state UNUSED)
{
#define HELLO "\0\x0b\1fairlead\0\1"
	const struct slice rows[] = {
		SLICE("GET / HTTP/1.1\r\n\r\n"),
		SLICE("\0\0"),
		SLICE("\0\6\3\0\0\0\1\0"),	   /* no hello */
		SLICE(HELLO HELLO),		   /* two */
		SLICE(HELLO "\0\6\3\0\0\0\1\0"),   /* an answer */
		SLICE(HELLO "\0\5\2\0\0\0\1"),	   /* no pairs */
		SLICE(HELLO "\x7f\xff\2\0\0\0\1"), /* too long */
	};
	TURN_UNTIL(agent_set_state(agent).is_reachable);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = connect_raw();
		send_raw(fd, rows[i].p, rows[i].n);
		TURN_UNTIL(has_ended(fd));
		close(fd);
		assert_int_equal(node_door_counts(door).refused, i + 1);
	}
	assert_int_equal(fake_addrset_waiting(kernel), 0);
	assert_true(agent_set_state(agent).is_reachable);
	assert_int_equal(node_door_counts(door).connections, 1);
}

/* A server of version 1 has no `forget`: it forgets when its connection ends. */
static void old_servers_are_left(void **state UNUSED)
{
	TURN_UNTIL(agent_set_state(agent).is_reachable);
	int fd = connect_raw();
	send_raw(fd, HELLO "\0\5\4\0\0\0\1", sizeof(HELLO) - 1 + 7);
	char got[64];
	size_t n = 0;
	TURN_UNTIL((n = read_some(fd, got, sizeof(got), n)) == sizeof(HELLO) - 1 + 8);
	node_door_forget(door);
	TURN_UNTIL(has_ended(fd));
	close(fd);
	assert_true(agent_set_state(agent).is_reachable);
	assert_int_equal(node_door_counts(door).connections, 1);
}

/* A probe hears when rules are in force; the connection stays. */
static void probes(void **state UNUSED)
{
	static const char not_yet[] = "\0\6\3\0\0\0\1\4", ready[] = "\0\6\3\0\0\0\2\0";
	char got[64];
	int fd = connect_raw();
	send_raw(fd, HELLO "\0\5\4\0\0\0\1", sizeof(HELLO) - 1 + 7);
	size_t hello = sizeof(HELLO) - 1, n = 0;
	TURN_UNTIL((n = read_some(fd, got, sizeof(got), n)) == hello + 8);
	assert_memory_equal(got + hello, not_yet, 8);
	node_door_set_ready(door);
	send_raw(fd, "\0\5\4\0\0\0\2", 7);
	TURN_UNTIL((n = read_some(fd, got, sizeof(got), n)) == hello + 16);
	assert_memory_equal(got + hello + 8, ready, 8);
	close(fd);
}

/* Whoever connects and says nothing does not keep the place for ever. */
static void silent_strangers_are_left(void **state UNUSED)
{
	int fd = connect_raw();
	TURN_UNTIL(node_door_counts(door).connections == 2);
	uint64_t until = clock_mono_ns() + 8 * NS_PER_S;
	while (node_door_counts(door).connections == 2 && clock_mono_ns() < until)
		loop_turn(loop, true);
	assert_int_equal(node_door_counts(door).connections, 1);
	assert_true(has_ended(fd));
	close(fd);
}

/* Only the user who runs the agent may connect. */
static void mode_of_the_socket(void **state UNUSED)
{
	struct stat st;
	assert_int_equal(stat(socket_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* ... and a group that is named. */
static void group_of_the_socket(void **state UNUSED)
{
	char path[128];
	struct stat st;
	struct node_door *other = NULL;
	snprintf(path, sizeof(path), "%s/group.sock", dir);
	struct node_door_conf conf = { .loop = loop,
				       .set = fake_addrset_set(kernel),
				       .path = path,
				       .has_group = true,
				       .group = getgid() };
	assert_int_equal(node_door_open(&conf, &other, ERR_TEXT(err)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_gid, getgid());
	node_door_close(other);
}

static void bad_paths(void **state UNUSED)
{
	char path[200];
	struct node_door *other = NULL;
	struct node_door_conf conf = { .loop = loop,
				       .set = fake_addrset_set(kernel),
				       .path = path };
	struct agent_set *set = NULL;
	struct agent_set_conf agent_conf = { .loop = loop, .path = path };
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(node_door_open(&conf, &other, ERR_TEXT(err)), -ENAMETOOLONG);
	assert_int_equal(agent_set_new(&agent_conf, &set), ERR_LIMIT);
	snprintf(path, sizeof(path), "%s/missing/agent.sock", dir);
	assert_int_equal(node_door_open(&conf, &other, ERR_TEXT(err)), -ENOENT);
	assert_non_null(strstr(err, path));
	/* A file of somebody else is not replaced. */
	snprintf(path, sizeof(path), "%s/ca.pem", dir);
	assert_int_equal(node_door_open(&conf, &other, ERR_TEXT(err)), -EADDRINUSE);
	assert_non_null(strstr(err, "is no socket"));
	assert_int_equal(access(path, F_OK), 0);
}

/* Binds a socket of somebody else. */
static int bind_other(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* A socket at which somebody answers is not taken over; one that nobody listens on is. */
static void second_agent_is_refused(void **state UNUSED)
{
	struct node_door *other = NULL;
	struct node_door_conf conf = { .loop = loop,
				       .set = fake_addrset_set(kernel),
				       .path = socket_path };
	struct call call;
	assert_int_equal(node_door_open(&conf, &other, ERR_TEXT(err)), -EADDRINUSE);
	assert_non_null(strstr(err, "another agent answers at"));
	assert_non_null(strstr(err, socket_path));
	ask(&call, 1);
	TURN_UNTIL(fake_addrset_waiting(kernel) == 1);
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(call.n_done == 1);
	close_door();
	close(bind_other(socket_path));
	open_door();
}

/* The end of an agent leaves the socket of the next one alone. */
static void socket_of_another_stays(void **state UNUSED)
{
	assert_int_equal(unlink(socket_path), 0);
	int fd = bind_other(socket_path);
	close_door();
	assert_int_equal(access(socket_path, F_OK), 0);
	close(fd);
	open_door();
}

/* ---- other nodes ---- */

static struct net_tls_cred *cred_of(const char *name, bool is_server)
{
	char cert[32], key[32];
	struct net_tls_cred *cred = NULL;
	snprintf(cert, sizeof(cert), "%s.pem", name);
	snprintf(key, sizeof(key), "%s.key", name);
	struct net_tls_files files = { .cert = testcert_path(dir, cert),
				       .key = testcert_path(dir, key),
				       .ca = testcert_path(dir, "ca.pem"),
				       .auth = is_server ? NET_TLS_REQUIRE_AND_VERIFY
							 : NET_TLS_NOCERT };
	int r = is_server ? net_tls_server_cred(&files, &cred, ERR_TEXT(err))
			  : net_tls_client_cred(&files, &cred, ERR_TEXT(err));
	assert_int_equal(r, 0);
	return cred;
}

static struct node_door *open_tls_door(union net_addr *ret_addr)
{
	struct node_door *ret = NULL;
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), ret_addr), 0);
	struct node_door_conf conf = { .loop = loop,
				       .set = fake_addrset_set(kernel),
				       .addr = ret_addr,
				       .cred = cred_of("node", true) };
	assert_int_equal(node_door_open(&conf, &ret, ERR_TEXT(err)), 0);
	net_tls_cred_unref(conf.cred);
	net_addr_set_port(ret_addr, node_door_port(ret));
	return ret;
}

static void agent_on_another_node(void **state UNUSED)
{
	struct agent_set_conf conf = { .loop = loop,
				       .cred = cred_of("server", false),
				       .tls_name = "node-1.example" };
	struct node_door *tls_door = open_tls_door(&conf.addr);
	struct call calls[100];
	agent_set_free(agent);
	assert_int_equal(agent_set_new(&conf, &agent), 0);
	for (unsigned i = 0; i < ARRAY_LEN(calls); i++)
		ask(&calls[i], i);
	TURN_UNTIL(fake_addrset_waiting(kernel) == ARRAY_LEN(calls));
	fake_addrset_commit(kernel, 0);
	TURN_UNTIL(calls[ARRAY_LEN(calls) - 1].n_done == 1);
	assert_int_equal(calls[0].result, 0);
	assert_true(is_known(&calls[0]));
	net_tls_cred_unref(conf.cred);
	node_door_close(tls_door);
}

static int connect_to(const union net_addr *addr)
{
	int fd = socket(addr->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &addr->sa, net_addr_len(addr)), 0);
	return fd;
}

/* Connections that never begin a handshake keep no server out; the oldest of them go first. */
static void silent_crowd(void **state UNUSED)
{
	enum { SILENT = NODE_DOOR_STRANGERS_MAX + 100 };
	struct agent_set_conf conf = { .loop = loop,
				       .cred = cred_of("server", false),
				       .tls_name = "node-1.example" };
	struct node_door *tls_door = open_tls_door(&conf.addr);
	int fds[SILENT];
	for (size_t i = 0; i < SILENT; i++)
		fds[i] = connect_to(&conf.addr);
	TURN_UNTIL(node_door_counts(tls_door).accepted == SILENT);
	assert_int_equal(node_door_counts(tls_door).connections, NODE_DOOR_STRANGERS_MAX);
	assert_int_equal(node_door_counts(tls_door).refused, SILENT - NODE_DOOR_STRANGERS_MAX);
	assert_true(has_ended(fds[0]));
	assert_false(has_ended(fds[SILENT - 1]));
	agent_set_free(agent);
	assert_int_equal(agent_set_new(&conf, &agent), 0);
	TURN_UNTIL(agent_set_state(agent).is_reachable);
	/* A server that is known stays, however many come after it. */
	for (size_t i = 0; i < SILENT; i++) {
		close(fds[i]);
		fds[i] = connect_to(&conf.addr);
	}
	TURN_UNTIL(node_door_counts(tls_door).accepted == 2 * SILENT + 1);
	assert_true(agent_set_state(agent).is_reachable);
	assert_int_equal(agent_set_state(agent).connects, 1);
	for (size_t i = 0; i < SILENT; i++)
		close(fds[i]);
	net_tls_cred_unref(conf.cred);
	node_door_close(tls_door);
}

/* Wrong names, and clients whose certificate is somebody else's: no request gets through. */
static void wrong_certificates(void **state UNUSED)
{
	static const struct {
		const char *cert, *tls_name;
	} rows[] = { { "server", "node-2.example" }, { "stranger", "node-1.example" } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct agent_set_conf conf = { .loop = loop,
					       .cred = cred_of(rows[i].cert, false),
					       .tls_name = rows[i].tls_name };
		struct node_door *tls_door = open_tls_door(&conf.addr);
		struct call call;
		agent_set_free(agent);
		assert_int_equal(agent_set_new(&conf, &agent), 0);
		ask(&call, 1);
		TURN_UNTIL(call.n_done == 1);
		assert_int_equal(call.result, ERR_CLOSED);
		assert_false(agent_set_state(agent).is_reachable);
		assert_int_equal(fake_addrset_waiting(kernel), 0);
		net_tls_cred_unref(conf.cred);
		node_door_close(tls_door);
	}
}

static int make_files(void **state UNUSED)
{
	assert_non_null(mkdtemp(dir));
	snprintf(socket_path, sizeof(socket_path), "%s/agent.sock", dir);
	struct testcert *other = testcert_new(dir);
	testcert_make(other, "stranger", "client.example");
	testcert_free(other);
	struct testcert *certs = testcert_new(dir);
	testcert_make(certs, "node", "node-1.example");
	testcert_make(certs, "server", "server.example");
	testcert_free(certs);
	return 0;
}

static int remove_files(void **state UNUSED)
{
	static const char *const files[] = { "node.pem",    "node.key", "server.pem",
					     "server.key",  "ca.pem",	"stranger.pem",
					     "stranger.key" };
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(testcert_path(dir, files[i]));
	return rmdir(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(acknowledged_when_in_force),
		TEST(requests_name_their_namespace),
		TEST(many_at_once),
		TEST(refused_by_the_kernel),
		TEST(too_many_requests),
		TEST(silent_agent),
		TEST(agent_comes_and_goes),
		TEST(connections_are_ended),
		TEST(servers_forget),
		TEST(old_servers_are_left),
		TEST(strangers_are_refused),
		TEST(probes),
		TEST(silent_strangers_are_left),
		TEST(mode_of_the_socket),
		TEST(group_of_the_socket),
		TEST(bad_paths),
		TEST(second_agent_is_refused),
		TEST(socket_of_another_stays),
		TEST(agent_on_another_node),
		TEST(silent_crowd),
		TEST(wrong_certificates),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}

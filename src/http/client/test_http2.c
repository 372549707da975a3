/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP/2: many calls share one connection to a server that offers it. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/client/test_rig.h"
#include "http/framing.h"
#include "net/tls.h"
#include "testing/testcert.h"

enum { CALLS = 300, AT_ONCE = 50 };

struct server {
	struct net_tls_cred *cred;
	int listener;
	char url[64];
	pthread_t thread;
	_Atomic unsigned connections, requests;
};

struct peer { /* one connection */
	struct server *server;
	struct http_framing *framing;
};

static void answer(void *ctx, uint32_t stream, void *user, const struct http_message *message)
{
	struct peer *peer = ctx;
	(void)user;
	assert_true(slice_is(message->target, "/x"));
	atomic_fetch_add(&peer->server->requests, 1);
	assert_int_equal(
		http_framing_respond(peer->framing, stream,
				     &(struct http_message){ .status = 200, .body = SLICE("two") }),
		0);
}

static void wait_for(int fd, bool writes)
{
	struct pollfd p = { .fd = fd, .events = writes ? POLLOUT : POLLIN };
	assert_int_equal(poll(&p, 1, 20000), 1);
}

static void send_all(struct peer *peer, struct net_tls *tls, int fd)
{
	for (;;) {
		struct slice out = http_framing_out(peer->framing);
		if (out.n == 0)
			return;
		ssize_t n = net_tls_send(tls, out.p, out.n);
		if (n == -EAGAIN)
			wait_for(fd, true);
		else if (n <= 0)
			return;
		else
			http_framing_sent(peer->framing, (size_t)n);
	}
}

static void serve_connection(struct server *server, int fd)
{
	static const char *const alpn[] = { "h2", NULL };
	struct peer peer = { .server = server };
	struct net_tls *tls;
	char buf[8192];
	ssize_t n;
	assert_int_equal(net_tls_accept(server->cred, fd, alpn, &tls), 0);
	while ((n = net_tls_handshake(tls)) == -EAGAIN)
		wait_for(fd, net_tls_wants_write(tls));
	assert_int_equal(n, 0);
	assert_string_equal(net_tls_alpn(tls), "h2");
	peer.framing = http_framing_new(&(struct http_framing_conf){ .role = HTTP_ROLE_SERVER,
								     .version = HTTP_2,
								     .calls = { .message = answer },
								     .ctx = &peer });
	for (;;) {
		send_all(&peer, tls, fd);
		n = net_tls_recv(tls, buf, sizeof(buf));
		if (n == -EAGAIN) {
			wait_for(fd, false);
			continue;
		}
		if (n <= 0 || http_framing_feed(peer.framing, buf, (size_t)n, clock_mono_ns()) < 0)
			break;
	}
	http_framing_free(peer.framing);
	net_tls_free(tls);
	close(fd);
}

/* One after the other: a second connection at the same time would wait for ever. */
static void *serve(void *ctx)
{
	struct server *server = ctx;
	int fd;
	while ((fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		atomic_fetch_add(&server->connections, 1);
		serve_connection(server, fd);
	}
	return NULL;
}

static void server_up(struct server *server, const char *dir)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t n = sizeof(addr);
	char cert[96], key[96], err[256];
	snprintf(cert, sizeof(cert), "%s/server.pem", dir);
	snprintf(key, sizeof(key), "%s/server.key", dir);
	if (net_tls_server_cred(&(struct net_tls_files){ .cert = cert, .key = key }, &server->cred,
				ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(server->listener, 64), 0);
	assert_int_equal(getsockname(server->listener, (struct sockaddr *)&addr, &n), 0);
	snprintf(server->url, sizeof(server->url), "https://127.0.0.1:%u/x", ntohs(addr.sin_port));
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_down(struct server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
	net_tls_cred_unref(server->cred);
}

static void count_end(struct http_call *call)
{
	unsigned *good = call->ctx;
	if (call->result < 0)
		fail_msg("%s", call->error);
	*good += call->status == 200 && slice_is(strbuf_slice(&call->reply), "two");
}

static void many_on_one_connection(void **state)
{
	struct server server = { .listener = -1 };
	char dir[64] = "/tmp/fairlead-http2-XXXXXX", ca[96], err[256], command[96];
	unsigned good = 0;
	(void)state;
	assert_non_null(mkdtemp(dir));
	struct testcert *certs = testcert_new(dir);
	testcert_make(certs, "server", "127.0.0.1");
	snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
	server_up(&server, dir);
	const struct http_client_tls tls = { .ca = ca };
	struct loop *loop = loop_new();
	struct http_client *client = http_client_new(
		loop, &(struct http_client_conf){ .host_max = AT_ONCE, .http2 = true },
		ERR_TEXT(err));
	struct http_call *calls = xcalloc(CALLS, sizeof(*calls));
	for (size_t i = 0; i < CALLS; i++) {
		calls[i] = (struct http_call){ .method = "GET",
					       .url = server.url,
					       .tls = &tls,
					       .done = count_end,
					       .ctx = &good };
		http_client_start(client, &calls[i]);
	}
	while (good < CALLS)
		loop_turn(loop, true);
	assert_int_equal(server.requests, CALLS);
	assert_int_equal(server.connections, 1);
	for (size_t i = 0; i < CALLS; i++)
		http_call_release(&calls[i]);
	free(calls);
	http_client_free(client);
	loop_free(loop);
	server_down(&server);
	testcert_free(certs);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(many_on_one_connection) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

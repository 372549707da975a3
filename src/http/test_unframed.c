/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unframed: requests whose end cannot be determined, sent to both servers, plain and with TLS. Each gets
 * exactly one reply, its connection ends, and no handler sees it. */
#include "http/unframed_priv.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "http/server.h"
#include "http/service.h"
#include "http/tlscert.h"
#include "net/addr.h"
#include "net/tls.h"
#include "testing/testcert.h"

enum { READ_S = 20 };

/* --- the servers --- */

struct rig {
	char dir[64];
	struct http_tls *tls; /* NULL: plain */
	struct http_service *service;
	struct http_server *server;
	uint16_t port; /* of the one under test */
	_Atomic unsigned n_handled;
};

static void answer_service(void *ctx, const struct http_request *req, struct http_answer *answer)
{
	struct rig *rig = ctx;
	rig->n_handled++;
	strbuf_add_slice(&answer->body, req->body);
}

static void answer_server(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	struct rig *rig = ctx;
	rig->n_handled++;
	strbuf_add_slice(&reply->body, req->body);
}

static void start_service(struct rig *rig)
{
	struct http_service_conf conf = {
		.addr = "127.0.0.1:0", .tls = rig->tls, .handle = answer_service, .ctx = rig
	};
	assert_int_equal(http_service_start(&conf, &rig->service), 0);
	rig->port = http_service_port(rig->service);
}

static void start_server(struct rig *rig)
{
	struct http_route route = { .methods = HTTP_ANY_METHOD,
				    .max_body_bytes = 1000,
				    .handle = answer_server,
				    .ctx = rig };
	assert_int_equal(http_server_start_tls("127.0.0.1:0", rig->tls, &route, 1, &rig->server),
			 0);
	rig->port = http_server_port(rig->server);
}

/* --- a client --- */

struct client {
	int fd;
	struct net_tls *tls;
	struct net_tls_cred *cred;
	struct strbuf in;
};

static void dial(const struct rig *rig, struct client *client)
{
	struct timeval limit = { .tv_sec = READ_S };
	union net_addr addr;
	*client = (struct client){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	strbuf_init(&client->in);
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &addr), 0);
	net_addr_set_port(&addr, rig->port);
	setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(client->fd, &addr.sa, net_addr_len(&addr)), 0);
	if (rig->tls == NULL)
		return;
	CLEANUP(freep) char *ca = xasprintf("%s/ca.pem", rig->dir);
	char err[256];
	assert_int_equal(net_tls_client_cred(&(struct net_tls_files){ .ca = ca }, &client->cred,
					     ERR_TEXT(err)),
			 0);
	assert_int_equal(
		net_tls_connect(client->cred, client->fd, "127.0.0.1", NULL, NULL, &client->tls),
		0);
	assert_int_equal(net_tls_handshake(client->tls), 0);
}

static void hang_up(struct client *client)
{
	net_tls_free(client->tls);
	net_tls_cred_unref(client->cred);
	close(client->fd);
	strbuf_done(&client->in);
}

static void put(struct client *client, const char *text)
{
	size_t n = strlen(text);
	ssize_t sent = client->tls != NULL ? net_tls_send(client->tls, text, n)
					   : send(client->fd, text, n, MSG_NOSIGNAL);
	assert_int_equal(sent, n);
}

/* The library refuses some requests by itself; one that is stopped meanwhile must not crash. */
static void check_stop(struct rig *rig)
{
	struct client clients[8];
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		dial(rig, &clients[i]);
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		put(&clients[i], i % 2 == 0 ? "GET / HTTP/1.1\r\nno field\r\n\r\n"
					    : "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n");
	http_service_stop(TAKE_PTR(rig->service));
	http_server_stop(TAKE_PTR(rig->server));
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		hang_up(&clients[i]);
	assert_int_equal(rig->n_handled, 0);
}

static void stops_while_refusing(void **state)
{
	enum { ROUNDS = 100 };
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct rig rig = { .tls = NULL };
		start_service(&rig);
		check_stop(&rig);
		start_server(&rig);
		check_stop(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_while_refusing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

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

static void read_pem(const char *dir, const char *name, struct strbuf *out)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	assert_true(readfile_path(path, 100000, 1000, out) >= 0);
	unlink(path);
}

static void make_tls(struct rig *rig)
{
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	char err[256];
	snprintf(rig->dir, sizeof(rig->dir), "/tmp/test_unframed.XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	struct testcert *maker = testcert_new(rig->dir);
	testcert_make(maker, "server", "127.0.0.1");
	testcert_free(maker);
	read_pem(rig->dir, "server.pem", &cert);
	read_pem(rig->dir, "server.key", &key);
	assert_int_equal(
		http_tls_new(strbuf_slice(&cert), strbuf_slice(&key), &rig->tls, ERR_TEXT(err)), 0);
}

static void free_tls(struct rig *rig)
{
	CLEANUP(freep) char *ca = xasprintf("%s/ca.pem", rig->dir);
	if (rig->tls == NULL)
		return;
	unlink(ca);
	rmdir(rig->dir);
	http_tls_free(TAKE_PTR(rig->tls));
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

/* Runs `test` against the service and the server, plain and with TLS. */
static void with_each(void (*test)(struct rig *rig))
{
	for (int i = 0; i < 4; i++) {
		struct rig rig = { .tls = NULL };
		if (i >= 2)
			make_tls(&rig);
		if (i % 2 == 0)
			start_service(&rig);
		else
			start_server(&rig);
		test(&rig);
		http_service_stop(rig.service);
		http_server_stop(rig.server);
		free_tls(&rig);
	}
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

/* False at the connection's end, which must be an orderly one. */
static bool receive_more(struct client *client)
{
	char part[4096];
	ssize_t n = client->tls != NULL ? net_tls_recv(client->tls, part, sizeof(part))
					: recv(client->fd, part, sizeof(part), 0);
	if (n < 0)
		fail_msg("receiving failed (%zd, errno %d) after: %s", n, errno, client->in.s);
	strbuf_add(&client->in, part, (size_t)n);
	return n > 0;
}

/* Reads until the text is received; the position behind it. */
static size_t wait_for(struct client *client, const char *text)
{
	while (strstr(client->in.s, text) == NULL)
		assert_true(receive_more(client));
	return (size_t)(strstr(client->in.s, text) - client->in.s) + strlen(text);
}

/* Reads to the connection's end: from `start` on it is one whole reply with this status. */
static void check_last_reply(struct client *client, size_t start, const char *status)
{
	CLEANUP(freep) char *first_line = xasprintf("HTTP/1.1 %s\r\n", status);
	while (receive_more(client))
		;
	const char *reply = client->in.s + start, *end = strstr(reply, "\r\n\r\n");
	const char *length = strstr(reply, "\r\nContent-Length: ");
	if (strncmp(reply, first_line, strlen(first_line)) != 0 || end == NULL || length == NULL ||
	    length > end || strstr(reply, "\r\nConnection: close\r\n") == NULL ||
	    strstr(reply + 1, "HTTP/1.") != NULL ||
	    strtoul(length + strlen("\r\nContent-Length: "), NULL, 10) != strlen(end + 4))
		fail_msg("no single reply with %s: %s", status, reply);
}

/* --- lengths that are no numbers --- */

static const struct {
	const char *fields, *status;
} bad_lengths[] = {
	{ "Content-Length: -1\r\n", "400 Bad Request" },
	{ "Content-Length: +5\r\n", "400 Bad Request" },
	{ "Content-Length: 1x\r\n", "400 Bad Request" },
	{ "Content-Length: 0x1\r\n", "400 Bad Request" },
	{ "Content-Length: 1 2\r\n", "400 Bad Request" },
	{ "Content-Length: 5, 5\r\n", "400 Bad Request" },
	{ "Content-Length:\r\n", "400 Bad Request" },
	{ "Content-Length: five\r\n", "400 Bad Request" },
	{ "content-length: 1x\r\nContent-Length: 5\r\n", "400 Bad Request" },
	{ "Content-Length: 5\r\nContent-Length: 1x\r\n", "400 Bad Request" },
	{ "Content-Length: 5\r\nContent-Length: 6\r\n", "400 Bad Request" },
	{ "Content-Length: 18446744073709551616\r\n", "413 Content Too Large" },
	{ "Content-Length: 99999999999999999999999999\r\n", "413 Content Too Large" },
};

#define GOOD_REQUEST "POST /good HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\ngood"

enum moment { FIRST, SECOND, TOGETHER, MOMENT_COUNT };

/* As the first request of a connection, the second, or one that is sent together with the first. */
static void check_length(struct rig *rig, const char *request, const char *status,
			 enum moment moment)
{
	CLEANUP(freep) char *both = xasprintf(GOOD_REQUEST "%s", request);
	struct client client;
	size_t start = 0;
	unsigned before = rig->n_handled;
	dial(rig, &client);
	if (moment != FIRST) {
		put(&client, moment == SECOND ? GOOD_REQUEST : both);
		start = wait_for(&client, "\r\n\r\ngood");
	}
	if (moment != TOGETHER)
		put(&client, request);
	check_last_reply(&client, start, status);
	assert_int_equal(rig->n_handled, before + (moment != FIRST));
	hang_up(&client);
}

static void check_each_length(struct rig *rig)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_lengths); i++) {
		CLEANUP(freep)
		char *request = xasprintf("POST /bad HTTP/1.1\r\nHost: x\r\n%s\r\nhello",
					  bad_lengths[i].fields);
		for (enum moment moment = FIRST; moment < MOMENT_COUNT; moment++)
			check_length(rig, request, bad_lengths[i].status, moment);
	}
}

static void lengths_that_are_no_numbers(void **state)
{
	(void)state;
	with_each(check_each_length);
}

/* Headers that come in pieces, several at a time: each connection gets its own answer. */
static void check_pieces(struct rig *rig)
{
	static const char *const pieces[] = { "POST / HT", "TP/1.1\r\nHost: x\r\n",
					      "Content-Length: 4", "x\r\n", "X-Last: 1\r\n" };
	struct client bad[3], good;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		dial(rig, &bad[i]);
	dial(rig, &good);
	for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
		for (size_t i = 0; i < ARRAY_LEN(bad); i++)
			put(&bad[i], pieces[k]);
		put(&good, k != 3 ? pieces[k] : "\r\n");
	}
	put(&bad[1], "\r\n");
	check_last_reply(&bad[1], 0, "400 Bad Request");
	put(&bad[0], "\r\n");
	check_last_reply(&bad[0], 0, "400 Bad Request");
	put(&good, "\r\ngood");
	wait_for(&good, "\r\n\r\ngood");
	assert_int_equal(bad[2].in.n, 0);
	hang_up(&bad[2]); /* with its header unfinished */
	for (size_t i = 0; i < 2; i++)
		hang_up(&bad[i]);
	hang_up(&good);
	assert_int_equal(rig->n_handled, 1);
}

static void headers_in_pieces(void **state)
{
	(void)state;
	with_each(check_pieces);
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

/* --- lengths and codings that the library would accept --- */

static void check_each_doubt(struct rig *rig)
{
	static const struct {
		const char *fields, *status;
	} rows[] = {
		{ "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", "400 Bad Request" },
		{ "Content-Length: 2\r\ncontent-length: 2\r\n\r\n{}", "400 Bad Request" },
		{ "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		  "400 Bad Request" },
		{ "Content-Length: 1x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		  "400 Bad Request" },
		/* The library would wait for the connection's end, the client for an answer. */
		{ "Transfer-Encoding: gzip\r\n\r\n{}", "501 Not Implemented" },
		{ "Transfer-Encoding: identity\r\n\r\n{}", "501 Not Implemented" },
		{ "Transfer-Encoding: chunked, gzip\r\n\r\n{}", "501 Not Implemented" },
		{ "Transfer-Encoding: gzip, chunked\r\n\r\n{}", "501 Not Implemented" },
		{ "Transfer-Encoding: xchunked\r\n\r\n{}", "501 Not Implemented" },
		{ "Transfer-Encoding: \"chunked\"\r\n\r\n{}", "501 Not Implemented" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep)
		char *request = xasprintf("POST / HTTP/1.1\r\nHost: x\r\n%s", rows[i].fields);
		struct client client;
		dial(rig, &client);
		put(&client, request);
		check_last_reply(&client, 0, rows[i].status);
		hang_up(&client);
	}
	assert_int_equal(rig->n_handled, 0);
}

static void lengths_and_codings_in_doubt(void **state)
{
	(void)state;
	with_each(check_each_doubt);
}

static void check_known_coding(struct rig *rig)
{
	struct client client;
	dial(rig, &client);
	put(&client, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
		     "4\r\ngood\r\n0\r\n\r\n");
	wait_for(&client, "\r\n\r\ngood");
	assert_int_equal(rig->n_handled, 1);
	hang_up(&client);
}

static void chunked_is_known(void **state)
{
	(void)state;
	with_each(check_known_coding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_that_are_no_numbers),
		cmocka_unit_test(headers_in_pieces),
		cmocka_unit_test(stops_while_refusing),
		cmocka_unit_test(lengths_and_codings_in_doubt),
		cmocka_unit_test(chunked_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* server: routes, refusals, limits and a stop that loses no reply, over the loopback. */
#include "http/server.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/probe.h"
#include "net/addr.h"

enum { BIG_BYTES = 8 << 20, BODY_MAX_BYTES = 1000 };

static void say_ok(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)req;
	strbuf_adds(&reply->body, ctx);
}

static void say_not_ready(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)ctx;
	(void)req;
	reply->status = 503;
	reply->content_type = "application/json";
	strbuf_adds(&reply->body, "{}");
}

static void echo(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	const char *arg = http_request_arg(req, "a");
	const char *header = http_request_header(req, "x-test");
	(void)ctx;
	strbuf_addf(&reply->body, "%s %s a=%s h=%s b=", req->method_text, req->path,
		    arg != NULL ? arg : "(none)", header != NULL ? header : "(none)");
	strbuf_add_slice(&reply->body, req->body);
}

static void big(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	static const char block[1024];
	(void)ctx;
	(void)req;
	for (size_t i = 0; i < BIG_BYTES / sizeof(block); i++)
		strbuf_add(&reply->body, block, sizeof(block));
}

static char ok_text[] = "OK";

static const struct http_route routes[] = {
	{ .path = "/health", .methods = HTTP_ANY_METHOD, .handle = say_ok, .ctx = ok_text },
	{ .path = "/ready", .handle = say_not_ready },
	{ .path = "/echo",
	  .methods = HTTP_GET | HTTP_POST,
	  .max_body_bytes = BODY_MAX_BYTES,
	  .handle = echo },
	{ .path = "/big", .handle = big },
};

static struct http_server *start(const char *addr)
{
	struct http_server *s;
	assert_int_equal(http_server_start(addr, routes, ARRAY_LEN(routes), &s), 0);
	return s;
}

static int dial(const struct http_server *s)
{
	union net_addr a;
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	net_addr_set_port(&a, http_server_port(s));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &a.sa, net_addr_len(&a)), 0);
	return fd;
}

/* Reads until the end; the caller frees. */
static char *read_all(int fd, size_t *ret_n)
{
	struct strbuf b = STRBUF_INIT;
	char part[8192];
	ssize_t n;
	while ((n = read(fd, part, sizeof(part))) > 0)
		strbuf_add(&b, part, (size_t)n);
	if (ret_n != NULL)
		*ret_n = b.n;
	return strbuf_take(&b);
}

static void write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return; /* refused in the middle: the reply says so */
		p += sent;
		n -= (size_t)sent;
	}
}

/* The whole reply to a request, whose header asks to close; the caller frees. */
static char *ask(const struct http_server *s, const char *request)
{
	int fd = dial(s);
	write_all(fd, request, strlen(request));
	char *reply = read_all(fd, NULL);
	close(fd);
	return reply;
}

static const char *body_of(const char *reply)
{
	const char *at = strstr(reply, "\r\n\r\n");
	return at != NULL ? at + 4 : "(no body)";
}

#define CLOSE_HEAD "Host: x\r\nConnection: close\r\n"

static void routes_and_refusals(void **state)
{
	static const struct {
		const char *request, *status, *header, *body;
	} rows[] = {
		{ "GET /health HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK",
		  "Content-Type: text/plain; charset=utf-8\r\n", "OK" },
		{ "FROB /health HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "Content-Length: 2\r\n",
		  "OK" },
		{ "HEAD /ready HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "503 Service Unavailable",
		  "Content-Length: 2\r\n", "" },
		{ "GET /ready?x HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "503 Service Unavailable",
		  "Content-Type: application/json\r\n", "{}" },
		{ "GET /ready/ HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "404 Not Found",
		  "Content-Type: text/plain; charset=utf-8\r\n", "404 page not found\n" },
		{ "POST /ready HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "405 Method Not Allowed",
		  "Allow: GET, HEAD\r\n", "Method Not Allowed\n" },
		{ "GET /echo?a=%41%20b&c HTTP/1.1\r\n" CLOSE_HEAD "X-Test: 7\r\n\r\n", "200 OK", "",
		  "GET /echo a=A b h=7 b=" },
		{ "GET /echo?a HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "",
		  "GET /echo a= h=(none) b=" },
		{ "POST /echo HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 5\r\n\r\nhello", "200 OK",
		  "", "POST /echo a=(none) h=(none) b=hello" },
		{ "POST /echo HTTP/1.1\r\n" CLOSE_HEAD
		  "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
		  "200 OK", "", "POST /echo a=(none) h=(none) b=hello" },
		{ "POST /echo HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 1001\r\n\r\n",
		  "413 Content Too Large", "", "Content Too Large\n" },
		{ "POST /health HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 1\r\n\r\nx",
		  "413 Content Too Large", "", "Content Too Large\n" },
		{ "POST /health HTTP/1.1\r\n" CLOSE_HEAD
		  "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		  "413 Content Too Large", "", "Content Too Large\n" },
	};
	(void)state;
	struct http_server *s = start("127.0.0.1:0");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *reply = ask(s, rows[i].request);
		assert_int_equal(strncmp(reply, "HTTP/1.1 ", 9), 0);
		assert_memory_equal(reply + 9, rows[i].status, strlen(rows[i].status));
		assert_non_null(strstr(reply, rows[i].header));
		assert_string_equal(body_of(reply), rows[i].body);
	}
	http_server_stop(s);
}

static void any_path_comes_last(void **state)
{
	static char other[] = "other";
	const struct http_route table[] = {
		{ .path = "/a", .handle = say_ok, .ctx = ok_text },
		{ .path = NULL, .handle = say_ok, .ctx = other },
	};
	struct http_server *s;
	(void)state;
	assert_int_equal(http_server_start("localhost:0", table, ARRAY_LEN(table), &s), 0);
	CLEANUP(freep) char *a = ask(s, "GET /a HTTP/1.1\r\n" CLOSE_HEAD "\r\n");
	CLEANUP(freep) char *b = ask(s, "GET /b HTTP/1.1\r\n" CLOSE_HEAD "\r\n");
	assert_string_equal(body_of(a), "OK");
	assert_string_equal(body_of(b), "other");
	http_server_stop(s);
}

static void heads_and_bodies_are_limited(void **state)
{
	(void)state;
	struct http_server *s = start("127.0.0.1:0");
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_adds(&b, "GET /health HTTP/1.1\r\n" CLOSE_HEAD "X-Long: ");
	for (int i = 0; i < HTTP_HEAD_MAX_BYTES; i++)
		strbuf_addc(&b, 'x');
	strbuf_adds(&b, "\r\n\r\n");
	CLEANUP(freep) char *head = ask(s, b.s);
	assert_null(strstr(head, "200 OK"));

	/* Chunked, so that its length is not known before: exactly the limit passes, one more byte
	 * does not, and very much more breaks the connection. */
	for (int extra = 0; extra < 2; extra++) {
		strbuf_reset(&b);
		strbuf_addf(&b,
			    "POST /echo HTTP/1.1\r\n" CLOSE_HEAD
			    "Transfer-Encoding: chunked\r\n\r\n%x\r\n",
			    (unsigned)(BODY_MAX_BYTES + extra));
		for (int i = 0; i < BODY_MAX_BYTES + extra; i++)
			strbuf_addc(&b, 'x');
		strbuf_adds(&b, "\r\n0\r\n\r\n");
		CLEANUP(freep) char *reply = ask(s, b.s);
		assert_non_null(strstr(reply, extra == 0 ? "200 OK" : "413 Content Too Large"));
	}
	strbuf_reset(&b);
	strbuf_adds(&b, "POST /echo HTTP/1.1\r\n" CLOSE_HEAD
			"Transfer-Encoding: chunked\r\n\r\n1000000\r\n");
	for (int i = 0; i < 0x1000000; i++)
		strbuf_addc(&b, 'x');
	strbuf_adds(&b, "\r\n0\r\n\r\n");
	CLEANUP(freep) char *broken = ask(s, b.s);
	assert_null(strstr(broken, "200 OK"));
	http_server_stop(s);
}

static void all_addresses_are_both_families(void **state)
{
	static const char *const everywhere[] = { ":0", "0.0.0.0:0", "[::]:0" };
	(void)state;
	int v6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	union net_addr loopback = { .v6 = { .sin6_family = AF_INET6,
					    .sin6_addr = IN6ADDR_LOOPBACK_INIT } };
	bool has_v6 = v6 >= 0 && bind(v6, &loopback.sa, net_addr_len(&loopback)) == 0;
	if (v6 >= 0)
		close(v6);
	for (size_t i = 0; i < ARRAY_LEN(everywhere); i++) {
		struct http_server *s = start(everywhere[i]);
		static const char *const fmt[] = { "127.0.0.1:%u", ":%u", "[::1]:%u" };
		for (size_t f = 0; f < (has_v6 ? 3U : 2U); f++) {
			char addr[NET_ADDR_TEXT_MAX];
			unsigned status = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(addr, sizeof(addr), fmt[f], http_server_port(s));
#pragma GCC diagnostic pop
			assert_int_equal(http_probe(addr, "/health", 5000, &status), 0);
			assert_int_equal(status, 200);
		}
		http_server_stop(s);
	}
}

/* CoreDNS takes any free port then. */
static void empty_port(void **state)
{
	(void)state;
	static const char *const addresses[] = { ":", "127.0.0.1:", "localhost:", "0.0.0.0:" };
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		struct http_server *s;
		assert_int_equal(http_server_start(addresses[i], routes, 1, &s), 0);
		assert_int_not_equal(http_server_port(s), 0);
		http_server_stop(s);
	}
}

static void bad_addresses(void **state)
{
	struct http_server *s;
	(void)state;
	static const char *const bad[] = { "8080", "", "127.0.0.1", "example.org:", "::1:", "::" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(http_server_start(bad[i], routes, 1, &s), ERR_PARSE);
	assert_int_equal(http_server_start("example.org:80", routes, 1, &s), ERR_PARSE);
	assert_int_equal(http_server_start("192.0.2.1:0", routes, 1, &s), -EADDRNOTAVAIL);

	/* A socket of someone who does not share. */
	union net_addr a;
	char addr[NET_ADDR_TEXT_MAX];
	socklen_t n = sizeof(a);
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, &a.sa, net_addr_len(&a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, &a.sa, &n), 0);
	net_addr_str(&a, addr);
	assert_int_equal(http_server_start(addr, routes, 1, &s), -EADDRINUSE);
	close(fd);
	http_server_stop(NULL);
}

static void new_server_beside_the_old_one(void **state)
{
	char addr[NET_ADDR_TEXT_MAX];
	unsigned status = 0;
	(void)state;
	struct http_server *old = start("127.0.0.1:0");
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", http_server_port(old));
	struct http_server *next = start(addr);
	http_server_stop(old);
	assert_int_equal(http_probe(addr, "/health", 5000, &status), 0);
	assert_int_equal(status, 200);
	http_server_stop(next);
	assert_int_equal(http_probe(addr, "/health", 5000, &status), -ECONNREFUSED);
}

static void silent_clients_do_not_shut_others_out(void **state)
{
	enum { SILENT = HTTP_MAX_CONNECTIONS + 100 };
	static int fd[SILENT];
	(void)state;
	struct http_server *s = start("127.0.0.1:0");
	for (int i = 0; i < SILENT; i++) {
		fd[i] = dial(s);
		write_all(fd[i], "GET /hea", 8);
	}
	/* Sooner than the silent ones would time out. */
	char addr[NET_ADDR_TEXT_MAX];
	unsigned status = 0;
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", http_server_port(s));
	assert_int_equal(http_probe(addr, "/health", HTTP_TIMEOUT_S * 1000 / 2, &status), 0);
	assert_int_equal(status, 200);
	/* The first one was cut, the last one goes on. */
	char byte;
	assert_true(read(fd[0], &byte, 1) <= 0);
	static const char rest[] = "lth HTTP/1.1\r\n" CLOSE_HEAD "\r\n";
	write_all(fd[SILENT - 1], rest, sizeof(rest) - 1);
	CLEANUP(freep) char *last = read_all(fd[SILENT - 1], NULL);
	assert_string_equal(body_of(last), "OK");
	for (int i = 0; i < SILENT; i++)
		close(fd[i]);
	http_server_stop(s);
}

static void *stop_thread(void *s)
{
	http_server_stop(s);
	return NULL;
}

static void stop_finishes_replies(void **state)
{
	static const char request[] = "GET /big HTTP/1.1\r\n" CLOSE_HEAD "\r\n";
	char first;
	size_t n;
	pthread_t thread;
	(void)state;
	struct http_server *s = start("127.0.0.1:0");
	int idle = dial(s); /* does not delay the stop */
	int fd = dial(s);
	write_all(fd, request, sizeof(request) - 1);
	assert_int_equal(read(fd, &first, 1), 1);
	assert_int_equal(pthread_create(&thread, NULL, stop_thread, s), 0);
	CLEANUP(freep) char *reply = read_all(fd, &n);
	size_t head = (size_t)(body_of(reply) - reply);
	assert_int_equal(n - head, BIG_BYTES);
	pthread_join(thread, NULL);
	close(fd);
	close(idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_and_refusals),
		cmocka_unit_test(any_path_comes_last),
		cmocka_unit_test(heads_and_bodies_are_limited),
		cmocka_unit_test(all_addresses_are_both_families),
		cmocka_unit_test(empty_port),
		cmocka_unit_test(bad_addresses),
		cmocka_unit_test(new_server_beside_the_old_one),
		cmocka_unit_test(silent_clients_do_not_shut_others_out),
		cmocka_unit_test(stop_finishes_replies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

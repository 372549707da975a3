/* SPDX-License-Identifier: GPL-3.0-or-later */
/* probe: reads a status line, and keeps to its deadline against peers that misbehave. */
#include "http/probe.h"

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
#include "http/probe_test.h"
#include "net/addr.h"

/* A peer that takes one connection and writes `reply` to it. */
struct peer {
	int fd;
	char addr[NET_ADDR_TEXT_MAX];
	const char *reply;
	pthread_t thread;
};

static void peer_listen(struct peer *p)
{
	union net_addr a;
	socklen_t n = sizeof(a);
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(p->fd >= 0);
	assert_int_equal(bind(p->fd, &a.sa, net_addr_len(&a)), 0);
	assert_int_equal(listen(p->fd, 1), 0);
	assert_int_equal(getsockname(p->fd, &a.sa, &n), 0);
	net_addr_str(&a, p->addr);
}

static void *peer_run(void *arg)
{
	const struct peer *p = arg;
	char request[1024];
	int fd = accept(p->fd, NULL, NULL);
	if (fd >= 0 && read(fd, request, sizeof(request)) > 0)
		send(fd, p->reply, strlen(p->reply), MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

static int probe_reply(const char *reply, unsigned *ret_status)
{
	struct peer p = { .reply = reply };
	peer_listen(&p);
	assert_int_equal(pthread_create(&p.thread, NULL, peer_run, &p), 0);
	int r = http_probe(p.addr, "/", 5000, ret_status);
	pthread_join(p.thread, NULL);
	close(p.fd);
	return r;
}

static void status_lines(void **state)
{
	static const struct {
		const char *text;
		int result;
		unsigned status;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\n", 0, 200 },
		{ "HTTP/1.0 503 Service Unavailable\r\nA: b\r\n", 0, 503 },
		{ "HTTP/1.1 204\r\n", 0, 204 },
		{ "HTTP/1.1 200\n", 0, 200 },
		{ "HTTP/1.1 200 OK", ERR_CLOSED, 0 },
		{ "", ERR_CLOSED, 0 },
		{ "\n", ERR_PARSE, 0 },
		{ "HTTP/2 200 OK\r\n", ERR_PARSE, 0 },
		{ "HTTP/1.x 200 OK\r\n", ERR_PARSE, 0 },
		{ "HTTP/1.1 20\r\n", ERR_PARSE, 0 },
		{ "HTTP/1.1 2000 OK\r\n", ERR_PARSE, 0 },
		{ "HTTP/1.1 099 OK\r\n", ERR_PARSE, 0 },
		{ "SSH-2.0-OpenSSH\r\n", ERR_PARSE, 0 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned status = 0;
		assert_int_equal(http_probe_status(slice_of(rows[i].text), &status),
				 rows[i].result);
		assert_int_equal(status, rows[i].status);
	}
}

static void replies_over_a_socket(void **state)
{
	unsigned status = 0;
	(void)state;
	assert_int_equal(probe_reply("HTTP/1.1 200 OK\r\n\r\nOK", &status), 0);
	assert_int_equal(status, 200);
	assert_int_equal(probe_reply("HTTP/1.1 ", &status), ERR_CLOSED);
	assert_int_equal(probe_reply("nonsense\r\n", &status), ERR_PARSE);
}

static void silent_peer_times_out(void **state)
{
	struct peer p = { 0 };
	unsigned status;
	(void)state;
	peer_listen(&p); /* the kernel completes the handshake, nobody accepts */
	assert_int_equal(http_probe(p.addr, "/", 20, &status), ERR_TIMEOUT);
	close(p.fd);
	assert_int_equal(http_probe(p.addr, "/", 5000, &status), -ECONNREFUSED);
}

static void arguments_are_checked(void **state)
{
	unsigned status;
	char path[1024];
	(void)state;
	assert_int_equal(http_probe("example.org:80", "/", 1, &status), ERR_PARSE);
	assert_int_equal(http_probe("127.0.0.1", "/", 1, &status), ERR_PARSE);
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(http_probe("127.0.0.1:80", path, 1, &status), ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_lines),
		cmocka_unit_test(replies_over_a_socket),
		cmocka_unit_test(silent_peer_times_out),
		cmocka_unit_test(arguments_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over TLS on real loopback sockets: the same connections as plain TCP (test_tcp.c), so only
 * what TLS adds: handshakes good, bad and slow, replies that come later, long streams, limits,
 * reloads. */
#include "server/conn/test_stream.h"

static void answers_and_stays_open(void **state)
{
	(void)state;
	start("tls://.:0", NULL, 0);
	struct client *c = client_tls("dot");
	assert_string_equal(net_tls_alpn(c->tls), "dot");
	for (uint16_t i = 0; i < 300; i++) /* pipelined: many in one record */
		ask(c, i, "a.example.");
	for (int i = 0; i < 300; i++)
		assert_int_equal(next_id(c), i);
	ask(c, 7, "b250.example."); /* 62 KB: several records */
	assert_int_equal(next_id(c), 7);
	assert_true(c->body_n > 60000);
	client_close(c);
	stop();
}

static void without_alpn_and_with_another(void **state)
{
	(void)state;
	start("tls://.:0", NULL, 0);
	struct client *c = client_tls(NULL);
	ask(c, 1, "a.");
	assert_int_equal(next_id(c), 1);
	client_close(c);
	c = client_plain();
	assert_false(client_shake(c, "h2"));
	client_close(c);
	stop();
}

static void replies_that_come_later(void **state)
{
	(void)state;
	start("tls://.:0", NULL, 0);
	struct client *c = client_tls("dot"), *other = client_tls("dot");
	ask(c, 1, "w1.");
	ask(c, 2, "w2.");
	until_waiting(2);
	ask(other, 3, "g.");
	assert_int_equal(next_id(other), 3);
	assert_int_equal(next_id(c), 2);
	assert_int_equal(next_id(c), 1);
	client_close(c);
	client_close(other);
	stop();
}

/* Replies that are there at once, more than may be kept, to a client that reads. */
static void large_replies_at_once(void **state)
{
	enum { N = 100 };
	unsigned got = 0;
	(void)state;
	start("tls://.:0", NULL, 0);
	struct client *c = client_tls("dot"), *other = client_tls("dot");
	for (uint16_t i = 0; i < N; i++)
		ask(c, i, "w240.");
	until_waiting(N);
	while (got < N) {
		ask(other, 1, "g.");
		assert_int_equal(next_id(other), 1);
		for (; got < N && client_has_data(c); got++) {
			assert_in_range(next_id(c), 0, N - 1);
			assert_true(c->body_n > 60000 && (c->body[3] & 15) == 0);
		}
	}
	client_close(c);
	client_close(other);
	stop();
}

/* 100 messages of 16 KB to a client that reads only then. */
static void streams(void **state)
{
	(void)state;
	start("tls://.:0", NULL, 0);
	struct client *c = client_tls("dot"), *other = client_tls("dot");
	ask(c, 5, "s100.");
	ask(other, 1, "a."); /* is not held up */
	assert_int_equal(next_id(other), 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(next_id(c), 5);
	ask(c, 6, "a.");
	assert_int_equal(next_id(c), 6);
	client_close(c);
	client_close(other);
	stop();
}

static void slow_handshakes_end(void **state)
{
	static const uint8_t half_hello[] = { 22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3 };
	(void)state;
	start("tls://.:0", &(struct block_timeouts){ .read_ns = 1 * NS_PER_S }, 0);
	for (int i = 0; i < 2; i++) {
		struct client *c = client_plain();
		uint8_t b;
		uint64_t begin = clock_mono_ns();
		if (i == 1)
			client_send(c, half_hello, sizeof(half_hello));
		assert_int_equal(client_recv(c, &b, 1), 0);
		assert_in_range(clock_mono_ns() - begin, 900 * NS_PER_MS, 15 * NS_PER_S);
		client_close(c);
	}
	stop();
}

static void garbage_is_refused(void **state)
{
	static const char *const garbage[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\x16\x03\x01\xff\xff garbage garbage garbage garbage",
		"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10\x01\x00\x80",
	};
	(void)state;
	start("tls://.:0", NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
		struct client *c = client_plain();
		char buf[256];
		client_send(c, garbage[i], strlen(garbage[i]));
		shutdown(c->fd, SHUT_WR);
		while (client_recv(c, buf, sizeof(buf)) > 0)
			;
		client_close(c);
	}
	struct client *c = client_tls("dot");
	ask(c, 1, "a.");
	assert_int_equal(next_id(c), 1);
	client_close(c);
	stop();
}

/* Connections of encrypted transports have a limit of their own. */
static void oldest_idle_makes_room(void **state)
{
	(void)state;
	start("tls://.:0", NULL, 8); /* one client may have half of them */
	struct client *c[6];
	for (uint16_t i = 0; i < 6; i++) {
		c[i] = client_tls("dot");
		ask(c[i], i, "a.");
		assert_int_equal(next_id(c[i]), i);
	}
	assert_int_equal(srv->stream.n_conns, 4);
	assert_int_equal(srv->plain.n_conns, 0);
	assert_int_equal(next_id(c[0]), -1);
	assert_int_equal(next_id(c[1]), -1);
	ask(c[5], 9, "a.");
	assert_int_equal(next_id(c[5]), 9);
	for (int i = 0; i < 6; i++)
		client_close(c[i]);
	stop();
}

static void reload_keeps_connections(void **state)
{
	struct srcerr err = { 0 };
	(void)state;
	start("tls://.:0", NULL, 0);
	struct client *c = client_tls("dot");
	ask(c, 1, "w.");
	until_waiting(1);
	for (int i = 0; i < 20; i++)
		assert_int_equal(server_reload(srv, corefile("tls://.:0 {\n t\n}\n"), &err), 0);
	ask(c, 2, "g.");
	assert_int_equal(next_id(c), 2);
	assert_int_equal(next_id(c), 1);
	client_close(c);
	stop();
}

static void use_port_of(enum transport t)
{
	for (struct listener *l = srv->listeners; l != NULL; l = l->next) {
		if (l->transport == t)
			port = net_addr_port(&l->addr);
	}
}

static void post(struct client *c, const char *name)
{
	uint8_t m[300];
	char head[128];
	size_t n = message(m, 0, name);
	int head_n =
		snprintf(head, sizeof(head),
			 "POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", n);
	client_send(c, head, (size_t)head_n);
	client_send(c, m, n);
}

static void listener_given_up_still_replies(void **state)
{
	struct srcerr err = { 0 };
	char buf[512];
	(void)state;
	start("tls://.:0 https://.:0", NULL, 0);
	use_port_of(TRANSPORT_TLS);
	struct client *c = client_tls("dot"), *idle = client_tls("dot");
	ask(c, 1, "w.");
	until_waiting(1);
	assert_int_equal(server_reload(srv, corefile("https://.:0 {\n t\n}\n"), &err), 0);
	assert_int_equal(next_id(idle), -1);
	use_port_of(TRANSPORT_HTTPS);
	struct client *other = client_tls("http/1.1");
	post(other, "g.");
	assert_true(client_recv(other, buf, sizeof(buf)) > 0);
	assert_int_equal(next_id(c), 1);
	assert_int_equal(next_id(c), -1);
	client_close(c);
	client_close(idle);
	client_close(other);
	stop();
}

/* Stream workers start with the first configuration that needs them, also at a reload, while a
 * query of the old one still waits. */
static void starts_with_the_first_key(void **state)
{
	struct srcerr err = { 0 };
	(void)state;
	start(".:0", NULL, 0);
	assert_int_equal(srv->n_active, 1);
	struct client *plain = client_plain();
	ask(plain, 1, "a.");
	assert_int_equal(next_id(plain), 1);
	assert_int_equal(server_reload(srv, corefile(".:0 tls://.:0 {\n t\n}\n"), &err), 0);
	assert_int_equal(srv->n_active, 2);
	use_port_of(TRANSPORT_TLS);
	struct client *c = client_tls("dot");
	ask(c, 2, "a.");
	assert_int_equal(next_id(c), 2);
	ask(plain, 3, "a.");
	assert_int_equal(next_id(plain), 3);
	client_close(c);
	client_close(plain);
	stop();
}

/* Without certificates it is plain DNS over TCP. */
static void without_tls(void **state)
{
	(void)state;
	tls_wanted = false;
	start("tls://.:0", NULL, 0);
	struct client *c = client_plain();
	ask(c, 1, "a.");
	assert_int_equal(next_id(c), 1);
	client_close(c);
	stop();
	tls_wanted = true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_and_stays_open),
		cmocka_unit_test(without_alpn_and_with_another),
		cmocka_unit_test(replies_that_come_later),
		cmocka_unit_test(large_replies_at_once),
		cmocka_unit_test(streams),
		cmocka_unit_test(slow_handshakes_end),
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(oldest_idle_makes_room),
		cmocka_unit_test(reload_keeps_connections),
		cmocka_unit_test(listener_given_up_still_replies),
		cmocka_unit_test(starts_with_the_first_key),
		cmocka_unit_test(without_tls),
	};
	return cmocka_run_group_tests(tests, make_certs, remove_certs);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TCP: framing, order and ends of connections, streams, reloads. */
#include "server/conn/test_tcp_rig.h"

/* ---- framing ---- */

static void answers_and_stays_open(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	for (uint16_t i = 0; i < 100; i++) {
		ask(fd, i, "x.test");
		assert_int_equal(next_id(fd), i);
	}
	close(fd);
	stop();
}

static void takes_bytes_one_by_one(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	uint8_t m[300];
	for (uint16_t k = 0; k < 3; k++) {
		size_t n = frame(m, k, "x.with.a.longer.name.test");
		for (size_t i = 0; i < n; i++)
			send_all(fd, m + i, 1);
		assert_int_equal(next_id(fd), k);
	}
	close(fd);
	stop();
}

static void cuts_frames_anywhere(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	uint8_t m[300];
	size_t n = frame(m, 1, "x.test");
	n += frame(m + n, 2, "y.test");
	for (size_t cut = 1; cut < n; cut++) {
		send_all(fd, m, cut);
		send_all(fd, m + cut, n - cut);
		assert_int_equal(next_id(fd), 1);
		assert_int_equal(next_id(fd), 2);
	}
	close(fd);
	stop();
}

static void passes_over_empty_and_short_frames(void **state)
{
	static const uint8_t junk[] = { 0, 0, 0, 0, 0, 3, 1, 2, 3, 0, 1, 9 };
	(void)state;
	start(NULL, 0);
	int fd = client();
	send_all(fd, junk, sizeof(junk));
	ask(fd, 7, "x.test");
	assert_int_equal(next_id(fd), 7);
	close(fd);
	stop();
}

static void takes_the_longest_request(void **state)
{
	static uint8_t m[2 + 65535];
	(void)state;
	start(NULL, 0);
	int fd = client();
	for (int i = 0; i < 70; i++) { /* more often than there are blocks in the pool */
		frame(m, 5, "x.test");
		dns_put16(m, 65535); /* bytes after the question are not looked at */
		send_all(fd, m, sizeof(m));
		assert_int_equal(next_id(fd), 5);
		assert_int_equal(reply[3] & 15, DNS_RCODE_NOERROR);
	}
	close(fd);
	stop();
}

/* ---- order, ends ---- */

static void replies_as_they_are_ready(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	uint8_t m[1000];
	size_t n = frame(m, 1, "w1.test");
	n += frame(m + n, 2, "x.test");
	n += frame(m + n, 3, "w2.test");
	n += frame(m + n, 4, "x.test");
	n += frame(m + n, 5, "g.test");
	send_all(fd, m, n);
	static const int expected[] = { 2, 4, 5, 3, 1 };
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_int_equal(next_id(fd), expected[i]);
	close(fd);
	stop();
}

static void half_close_still_gets_its_replies(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client(), other = client();
	ask(fd, 1, "w.test");
	ask(fd, 2, "b200.test");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(next_id(fd), 2);
	ask(other, 3, "g.test");
	assert_int_equal(next_id(other), 3);
	assert_int_equal(next_id(fd), 1);
	expect_end(fd);
	close(other);
	stop();
}

static void closes_with_the_client(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	expect_end(fd);
	stop();
}

/* Waits until n clients of waiting queries are gone. */
static void until_gone(int fd, int n)
{
	for (int i = 0; i < 5000; i++) {
		ask(fd, 9, "c.test");
		assert_int_equal(next_id(fd), 9);
		if ((reply[3] & 15) == n)
			return;
		poll(NULL, 0, 1);
	}
	fail_msg("the server did not notice that clients went away");
}

static void survives_lost_clients(void **state)
{
	(void)state;
	start(NULL, 0);
	int other = client();
	for (int i = 0; i < 5; i++) {
		int fd = client();
		ask(fd, 1, "w.test");
		ask(fd, 2, "x.test");
		assert_int_equal(next_id(fd), 2);
		reset(fd);
	}
	until_gone(other, 5);
	ask(other, 3, "g.test");
	assert_int_equal(next_id(other), 3);
	until_gone(other, 0);
	close(other);
	stop();
}

static void drop_keeps_the_connection(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	ask(fd, 1, "d.test");
	ask(fd, 2, "x.test");
	assert_int_equal(next_id(fd), 2);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	expect_end(fd);
	stop();
}

/* ---- streams ---- */

static void streams_to_a_slow_reader(void **state)
{
	enum { N = 1000 }; /* 15 MB */
	(void)state;
	start(NULL, 0);
	int fd = client(), other = client();
	ask(fd, 1, "s1000.test");
	ask(fd, 2, "x.test");
	unsigned got = 0, others = 0;
	while (got + others < N + 1) {
		int id = next_id(fd);
		if (id == 2)
			others++;
		else
			got++;
		assert_true(id == 1 || id == 2);
		if (got % 100 == 50) { /* the worker is free meanwhile */
			ask(other, 3, "x.test");
			assert_int_equal(next_id(other), 3);
		}
	}
	assert_int_equal(got, N);
	ask(fd, 4, "x.test");
	assert_int_equal(next_id(fd), 4);
	close(fd);
	close(other);
	stop();
	assert_int_equal(n_streamed, N);
}

static void several_streams_on_one_connection(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	uint8_t m[300];
	size_t n = frame(m, 0, "s500.test");
	n += frame(m + n, 1, "s500.test");
	n += frame(m + n, 2, "s500.test");
	send_all(fd, m, n);
	unsigned got[3] = { 0 };
	for (unsigned i = 0; i < 1500; i++) {
		int id = next_id(fd);
		assert_in_range(id, 0, 2);
		got[id]++;
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(got[i], 500);
	close(fd);
	stop();
	assert_int_equal(n_done, 3);
}

static void stream_whose_reader_goes_away(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client(), other = client();
	uint8_t m[300];
	size_t n = frame(m, 0, "s100000.test");
	n += frame(m + n, 1, "s100000.test");
	send_all(fd, m, n);
	for (int i = 0; i < 10; i++)
		assert_int_equal(next_id(fd), 0);
	reset(fd);
	/* The second may still be unread behind the first. */
	for (int i = 0; i < 5000 && n_done != n_started; i++)
		poll(NULL, 0, 1);
	assert_in_range(n_started, 1, 2);
	assert_int_equal(n_done, n_started);
	ask(other, 3, "x.test");
	assert_int_equal(next_id(other), 3);
	close(other);
	stop();
}

static void broken_stream_breaks_the_connection(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	ask(fd, 1, "s0.test");
	expect_end(fd);
	stop();
	assert_int_equal(n_done, 1);
}

/* ---- life of the server ---- */

static void reload_keeps_connections(void **state)
{
	struct srcerr err = { 0 };
	(void)state;
	start(NULL, 0);
	int fd = client();
	ask(fd, 1, "w.test");
	ask(fd, 2, "x.test");
	assert_int_equal(next_id(fd), 2);
	assert_int_equal(server_reload(srv, corefile(".:0 {\n t\n}\n"), &err), 0);
	ask(fd, 3, "g.test");
	assert_int_equal(next_id(fd), 3);
	assert_int_equal(next_id(fd), 1);
	close(fd);
	stop();
}

/* A listener that is given up ends its connections, but not before what is due was sent. */
static void listener_given_up_still_replies(void **state)
{
	struct srcerr err = { 0 };
	(void)state;
	start(NULL, 0);
	int fd = client(), idle = client();
	ask(idle, 1, "x.test");
	assert_int_equal(next_id(idle), 1);
	ask(fd, 1, "w.test");
	ask(fd, 2, "x.test");
	assert_int_equal(next_id(fd), 2);
	assert_int_equal(server_reload(srv, corefile(".:0 {\n local\n t\n}\n"), &err), 0);
	expect_end(idle);
	port = net_addr_port(&listener_find(srv, "dns://127.0.0.1:0")->addr);
	int other = client();
	ask(other, 3, "g.test");
	assert_int_equal(next_id(other), 3);
	assert_int_equal(next_id(fd), 1);
	expect_end(fd);
	close(other);
	while (server_reap(srv))
		poll(NULL, 0, 1);
	assert_null(listener_find(srv, "dns://:0"));
	stop();
}

/* Stopping gives queries in flight their time, and their connections, too. */
static void stop_sends_what_is_due(void **state)
{
	(void)state;
	start(NULL, 0);
	int fd = client();
	ask(fd, 1, "l.test");
	ask(fd, 2, "x.test");
	assert_int_equal(next_id(fd), 2);
	stop();
	assert_int_equal(next_id(fd), 1);
	expect_end(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_and_stays_open),
		cmocka_unit_test(takes_bytes_one_by_one),
		cmocka_unit_test(cuts_frames_anywhere),
		cmocka_unit_test(passes_over_empty_and_short_frames),
		cmocka_unit_test(takes_the_longest_request),
		cmocka_unit_test(replies_as_they_are_ready),
		cmocka_unit_test(half_close_still_gets_its_replies),
		cmocka_unit_test(closes_with_the_client),
		cmocka_unit_test(survives_lost_clients),
		cmocka_unit_test(drop_keeps_the_connection),
		cmocka_unit_test(streams_to_a_slow_reader),
		cmocka_unit_test(several_streams_on_one_connection),
		cmocka_unit_test(stream_whose_reader_goes_away),
		cmocka_unit_test(broken_stream_breaks_the_connection),
		cmocka_unit_test(reload_keeps_connections),
		cmocka_unit_test(listener_given_up_still_replies),
		cmocka_unit_test(stop_sends_what_is_due),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

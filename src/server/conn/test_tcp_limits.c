/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TCP: time-outs, and limits of connections, of queries per connection and of unread replies. */
#include "server/conn/test_tcp_rig.h"

/* ---- memory ---- */

/* Those of up to 4 KB wait like any other; longer ones are few, so that answers find memory. */
static void long_requests_that_wait_are_few(void **state)
{
	static uint8_t m[2 + 10000];
	enum { N = 80, WAITING = SLAB_LARGE_WAITING_MAX / 2 };
	(void)state;
	start(NULL, 0);
	int fd = client();
	frame(m, 3, "w.test");
	dns_put16(m, 2000);
	for (int i = 0; i < N / 2; i++)
		send_all(fd, m, 2 + 2000);
	frame(m, 1, "w.test");
	dns_put16(m, 10000);
	for (int i = 0; i < N; i++)
		send_all(fd, m, sizeof(m));
	for (unsigned failed = 0; failed < N - WAITING; failed++) {
		assert_int_equal(next_id(fd), 1);
		assert_int_equal(reply[3] & 15, DNS_RCODE_SERVFAIL);
	}
	ask(fd, 2, "g.test");
	assert_int_equal(next_id(fd), 2);
	for (int i = 0; i < WAITING + N / 2; i++) {
		assert_int_equal(next_id(fd), i < WAITING ? 1 : 3);
		assert_int_equal(reply[3] & 15, DNS_RCODE_NOERROR);
	}
	close(fd);
	stop();
}

/* ---- time-outs ---- */

static void first_bytes_must_come_in_time(void **state)
{
	(void)state;
	start(&(struct block_timeouts){ .read_ns = 50 * (int64_t)NS_PER_MS,
					.idle_ns = 3600 * (int64_t)NS_PER_S },
	      0);
	uint64_t begin = clock_mono_ns();
	expect_end(client());
	assert_true(clock_mono_ns() - begin >= 45 * NS_PER_MS);
	/* Half a message, and further bytes of it do not help. */
	int fd = client();
	send_all(fd, "\0", 1);
	send_all(fd, "\x20", 1);
	for (int i = 0; i < 20; i++) {
		poll(NULL, 0, 10);
		if (send(fd, "", 1, MSG_NOSIGNAL) < 0)
			break;
	}
	errno = 0;
	assert_true(recv(fd, reply, 1, 0) <= 0);
	assert_int_not_equal(errno, EAGAIN);
	close(fd);
	stop();
}

static void idle_connections_end(void **state)
{
	(void)state;
	start(&(struct block_timeouts){ .read_ns = 3600 * (int64_t)NS_PER_S,
					.idle_ns = 50 * (int64_t)NS_PER_MS },
	      0);
	int fd = client();
	ask(fd, 1, "x.test");
	assert_int_equal(next_id(fd), 1);
	uint64_t begin = clock_mono_ns();
	expect_end(fd);
	assert_true(clock_mono_ns() - begin >= 40 * NS_PER_MS);
	/* One that waits for us is not idle. */
	int other = client();
	fd = client();
	ask(fd, 1, "w.test");
	ask(other, 2, "x.test");
	assert_int_equal(next_id(other), 2);
	expect_end(other);
	other = client();
	ask(other, 3, "g.test");
	assert_int_equal(next_id(fd), 1);
	expect_end(fd);
	close(other);
	stop();
}

static void client_that_does_not_read_is_cut(void **state)
{
	(void)state;
	start(&(struct block_timeouts){ .write_ns = 100 * (int64_t)NS_PER_MS }, 0);
	int fd = client();
	for (uint16_t i = 0; i < 400; i++) { /* 24 MB of replies */
		uint8_t m[300];
		size_t n = frame(m, i, "b240.test");
		if (send(fd, m, n, MSG_NOSIGNAL) < 0)
			break;
	}
	int other = client();
	for (int i = 0; i < 5000 && srv->plain.n_conns != 1; i++) {
		ask(other, 1, "x.test"); /* others are served meanwhile */
		assert_int_equal(next_id(other), 1);
		poll(NULL, 0, 1);
	}
	assert_int_equal(srv->plain.n_conns, 1);
	close(fd);
	close(other);
	stop();
}

/* ---- limits ---- */

static void oldest_idle_makes_room(void **state)
{
	(void)state;
	start(NULL, 4);
	int a = client_from("127.0.0.2"), b = client_from("127.0.0.3");
	int c = client_from("127.0.0.4"), d = client_from("127.0.0.5");
	int all[] = { a, b, c, d };
	for (size_t i = 0; i < 4; i++) {
		ask(all[i], 1, "x.test");
		assert_int_equal(next_id(all[i]), 1);
	}
	ask(a, 2, "x.test"); /* now b is the one idle longest */
	assert_int_equal(next_id(a), 2);
	int e = client_from("127.0.0.6");
	ask(e, 3, "x.test");
	assert_int_equal(next_id(e), 3);
	expect_end(b);
	assert_int_equal(srv->plain.n_conns, 4);
	int left[] = { a, c, d, e };
	for (size_t i = 0; i < 4; i++) {
		ask(left[i], 4, "x.test");
		assert_int_equal(next_id(left[i]), 4);
		close(left[i]);
	}
	stop();
}

static void one_client_has_at_most_half(void **state)
{
	(void)state;
	start(NULL, 8);
	int quiet = client_from("127.0.0.2"), fd[5];
	ask(quiet, 1, "x.test");
	assert_int_equal(next_id(quiet), 1);
	for (size_t i = 0; i < 5; i++) {
		fd[i] = client_from("127.0.0.3");
		ask(fd[i], 1, "x.test");
		assert_int_equal(next_id(fd[i]), 1);
	}
	expect_end(fd[0]); /* its own oldest, not the quiet one which is older */
	assert_int_equal(srv->plain.n_conns, 5);
	ask(quiet, 2, "x.test");
	assert_int_equal(next_id(quiet), 2);
	close(quiet);
	for (size_t i = 1; i < 5; i++)
		close(fd[i]);
	stop();
}

static void evicted_while_its_query_waits(void **state)
{
	(void)state;
	start(NULL, 2);
	int a = client_from("127.0.0.2"), b = client_from("127.0.0.3");
	ask(a, 1, "w.test");
	ask(b, 1, "c.test");
	assert_int_equal(next_id(b), 1);
	while ((reply[3] & 0x20) == 0) {
		ask(b, 1, "c.test");
		assert_int_equal(next_id(b), 1);
	}
	int c = client_from("127.0.0.4");
	ask(c, 2, "x.test");
	assert_int_equal(next_id(c), 2);
	expect_end(a);
	ask(c, 3, "g.test");
	assert_int_equal(next_id(c), 3);
	close(b);
	close(c);
	stop();
}

static void queries_per_connection_are_limited(void **state)
{
	(void)state;
	start(&(struct block_timeouts){ .max_tcp_queries = 3 }, 0);
	int fd = client();
	uint8_t m[1000];
	size_t n = 0;
	for (uint16_t i = 0; i < 6; i++)
		n += frame(m + n, i, "x.test");
	send_all(fd, m, n);
	for (int i = 0; i < 3; i++)
		assert_int_equal(next_id(fd), i);
	expect_end(fd);
	stop();
}

/* A client that sends more than we take at a time is not read from, and loses nothing. */
static void too_many_in_flight_wait_unread(void **state)
{
	enum { N = 1000 };
	static uint8_t m[64 * 1024];
	(void)state;
	start(NULL, 0);
	int fd = client(), other = client();
	size_t n = 0;
	for (uint16_t i = 0; i < N; i++)
		n += frame(m + n, i, "w.test");
	send_all(fd, m, n);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	static bool seen[N];
	memset(seen, 0, sizeof(seen));
	for (unsigned got = 0; got < N;) {
		ask(other, 9, "g.test");
		assert_int_equal(next_id(other), 9);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		while (got < N && poll(&p, 1, 1) == 1) {
			int id = next_id(fd);
			assert_in_range(id, 0, N - 1);
			assert_false(seen[id]);
			seen[id] = true;
			got++;
		}
	}
	expect_end(fd);
	close(other);
	stop();
	assert_in_range(max_held, 100, 128);
}

/* Replies nobody reads pile up to a limit; then nothing is read until the client reads. */
static void back_pressure(void **state)
{
	enum { N = 2000 };
	(void)state;
	start(NULL, 0);
	int fd = client();
	int small = 32 * 1024;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	unsigned sent = 0, got = 0;
	while (got < N) { /* 30 MB, which no socket buffer holds */
		uint8_t m[300];
		struct pollfd p = { .fd = fd, .events = POLLIN };
		size_t n = frame(m, (uint16_t)sent, "b60.test");
		if (sent < N && send(fd, m, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n) {
			sent++;
			continue;
		}
		p.events = POLLIN;
		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_int_equal(next_id(fd), (int)got);
		got++;
	}
	close(fd);
	stop();
}

/* Reads what has come, and lets those that wait go on, until each connection has all its replies. */
static void take_all(const int *fd, size_t n, unsigned each, int other)
{
	enum { IDS = 128 };
	static bool seen[16][IDS];
	unsigned left = (unsigned)n * each;
	memset(seen, 0, sizeof(seen));
	assert_true(n <= 16 && each <= IDS);
	while (left > 0) {
		ask(other, 9, "g.test");
		assert_int_equal(next_id(other), 9);
		for (size_t i = 0; i < n; i++) {
			struct pollfd p = { .fd = fd[i], .events = POLLIN };
			while (poll(&p, 1, 0) == 1) {
				int id = next_id(fd[i]);
				assert_in_range(id, 0, each - 1);
				assert_false(seen[i][id]);
				assert_true(reply_n > 12000 && (reply[3] & 15) == 0);
				seen[i][id] = true;
				left--;
			}
		}
	}
}

static void ask_many(int fd, unsigned n, const char *name)
{
	int small = 32 * 1024;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (unsigned i = 0; i < n; i++)
		ask(fd, (uint16_t)i, name);
}

static void until_held(unsigned n)
{
	for (int i = 0; i < 5000 && max_held < n; i++)
		poll(NULL, 0, 1);
	assert_int_equal(max_held, n);
}

/* All replies are there at once, many times what may be kept: a client that reads gets each of them. */
static void large_replies_at_once(void **state)
{
	enum { N = 100 };
	(void)state;
	start(NULL, 0);
	int fd = client(), other = client_from("127.0.0.2");
	ask_many(fd, N, "w240.test");
	until_held(N);
	take_all(&fd, 1, N, other);
	/* Nothing of it is left. */
	ask(fd, 7, "x.test");
	assert_int_equal(next_id(fd), 7);
	close(fd);
	close(other);
	stop();
}

static void large_replies_on_many_connections(void **state)
{
	enum { N = 50, CONNS = 10 };
	(void)state;
	start(NULL, 0);
	int fd[CONNS], other = client_from("127.0.0.2");
	for (size_t i = 0; i < CONNS; i++) {
		fd[i] = client();
		ask_many(fd[i], N, "w50.test");
	}
	until_held(N * CONNS);
	take_all(fd, CONNS, N, other);
	for (size_t i = 0; i < CONNS; i++)
		close(fd[i]);
	close(other);
	stop();
}

/* A client that reads on one connection keeps it, and gets all replies there, however many it leaves
 * unread on others. */
static void the_connection_that_reads_stays(void **state)
{
	enum { N = 20, STUCK = 12 };
	(void)state;
	start(NULL, 0);
	int stuck[STUCK], fd = client(), other = client_from("127.0.0.2");
	for (size_t i = 0; i < STUCK; i++) {
		stuck[i] = client();
		ask_many(stuck[i], 100, "w240.test");
	}
	ask_many(fd, N, "w240.test");
	until_held(100 * STUCK + N);
	take_all(&fd, 1, N, other);
	ask(fd, 7, "x.test");
	assert_int_equal(next_id(fd), 7);
	for (size_t i = 0; i < STUCK; i++)
		close(stuck[i]);
	close(fd);
	close(other);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_requests_that_wait_are_few),
		cmocka_unit_test(first_bytes_must_come_in_time),
		cmocka_unit_test(idle_connections_end),
		cmocka_unit_test(client_that_does_not_read_is_cut),
		cmocka_unit_test(oldest_idle_makes_room),
		cmocka_unit_test(one_client_has_at_most_half),
		cmocka_unit_test(evicted_while_its_query_waits),
		cmocka_unit_test(queries_per_connection_are_limited),
		cmocka_unit_test(too_many_in_flight_wait_unread),
		cmocka_unit_test(back_pressure),
		cmocka_unit_test(large_replies_at_once),
		cmocka_unit_test(large_replies_on_many_connections),
		cmocka_unit_test(the_connection_that_reads_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

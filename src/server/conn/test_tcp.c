/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TCP over real loopback sockets: framing, pipelining, half-close, lost clients, time-outs, limits,
 * streams, back-pressure. One worker thread and one test plugin, which does what the first label of
 * the question says. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "corefile/corefile.h"
#include "server/conn/listener.h"
#include "server/conn/listener_test.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "server/slab.h"
#include "server/waiting.h"

/* ---- the plugin; all of it on the one worker's thread ---- */

enum { HELD_MAX = 4096, TEXT_BYTES = 250 };

static struct block_timeouts timeouts_wanted;
static struct query *held[HELD_MAX];
static unsigned n_held;
static _Atomic unsigned n_done, n_started, n_streamed, max_held;

static int t_parse(struct plugin_inst *self, struct setup *s)
{
	(void)self;
	s->conf->timeouts = timeouts_wanted;
	return 0;
}

/* `n` records of about 250 bytes each. */
static void add_texts(struct query *q, unsigned n)
{
	uint8_t *rdata = arena_alloc(&q->arena, TEXT_BYTES);
	assert_non_null(rdata);
	memset(rdata, 'x', TEXT_BYTES);
	rdata[0] = TEXT_BYTES - 1;
	struct dns_rr rr = { .owner = q->qname.wire,
			     .owner_len = q->qname.len,
			     .type = DNS_TYPE_TXT,
			     .cls = DNS_CLASS_IN,
			     .rdata = rdata,
			     .rdlen = TEXT_BYTES };
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &rr), 0);
}

static int t_stream_next(struct plugin_inst *self, struct query *q)
{
	unsigned *left = query_state(q, self);
	query_reply(q);
	if (--*left == UINT32_MAX)
		return -1;
	add_texts(q, 60);
	n_streamed++;
	return *left != 0;
}

static enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	struct slice name = query_name_text(q);
	unsigned n = (unsigned)strtoul(name.p + 1, NULL, 10);
	query_reply(q);
	switch (name.p[0]) {
	case 'w': /* wait until somebody asks g */
		assert_true(n_held < HELD_MAX);
		held[n_held++] = q;
		max_held = MAX(max_held, n_held);
		return V_WAIT;
	case 'g': /* go, the last first */
		while (n_held > 0)
			query_resume(held[--n_held]);
		return V_ANSWERED;
	case 'c': /* count: how many wait, how many of them for nobody */
		for (unsigned i = n = 0; i < n_held; i++)
			n += query_client_gone(held[i]);
		q->resp.rcode = (uint16_t)MIN(n, 15U);
		q->resp.flags |= n_held == 0 ? 0 : DNS_FLAG_AD;
		return V_ANSWERED;
	case 'b': /* b<n>: big, n records */
		add_texts(q, n);
		return V_ANSWERED;
	case 's': /* s<n>: stream of n messages; s0 breaks at once */
		*(unsigned *)query_state(q, self) = n;
		n_started++;
		q->stream_next = t_stream_next;
		return V_STREAM;
	case 'l': /* later, by itself */
		query_resume_at(q, query_now(q) + 50 * NS_PER_MS);
		return V_WAIT;
	case 'd':
		return V_DROP;
	default:
		return V_ANSWERED;
	}
}

static enum verdict t_resume(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_ANSWERED;
}

static void t_done(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	n_done++;
}

static const struct plugin t_plugin = { .name = "t",
					.state_size = sizeof(unsigned),
					.parse = t_parse,
					.serve = t_serve,
					.resume = t_resume,
					.done = t_done };
static int local_parse(struct plugin_inst *self, struct setup *s)
{
	static const char *const ip[] = { "127.0.0.1" };
	(void)self;
	s->conf->listen = ip;
	s->conf->n_listen = 1;
	return 0;
}

static const struct plugin local_plugin = { .name = "local", .parse = local_parse };
const struct plugin *const plugin_list[] = { &local_plugin, &t_plugin, NULL };

/* ---- server and client ---- */

static struct server *srv;
static uint16_t port;

static struct corefile *corefile(const char *text)
{
	static const struct corefile_source none;
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	assert_int_equal(corefile_parse("Corefile", slice_of(text), &none, &cf, &err), 0);
	return cf;
}

static void start(const struct block_timeouts *t, uint32_t max_tcp)
{
	struct srcerr err = { 0 };
	timeouts_wanted = t != NULL ? *t : (struct block_timeouts){ 0 };
	n_held = 0;
	n_done = n_started = n_streamed = max_held = 0;
	struct server_opts o = { .workers = 1, .max_tcp = max_tcp, .log_fd = 2 };
	assert_int_equal(server_start(&o, corefile(".:0 {\n t\n}\n"), &srv, &err), 0);
	port = net_addr_port(&srv->listeners->addr);
}

static void stop(void)
{
	server_stop(srv, 5 * NS_PER_S);
	srv = NULL;
}

static int client_from(const char *ip)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	union net_addr from = { 0 }, to = { 0 };
	struct timeval patience = { .tv_sec = 10 };
	assert_int_equal(net_addr_parse_ip(slice_of(ip), &from), 0);
	assert_int_equal(net_addr_parse_ip(SLICE("127.0.0.1"), &to), 0);
	net_addr_set_port(&to, port);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	assert_int_equal(bind(fd, &from.sa, net_addr_len(&from)), 0);
	assert_int_equal(connect(fd, &to.sa, net_addr_len(&to)), 0);
	return fd;
}

static int client(void)
{
	return client_from("127.0.0.1");
}

static size_t frame(uint8_t *out, uint16_t id, const char *name)
{
	memset(out, 0, 14);
	dns_put16(out + 2, id);
	out[7] = 1;
	int n = dns_name_from_text(slice_of(name), out + 14);
	assert_true(n > 0);
	dns_put16(out + 14 + n, DNS_TYPE_A);
	dns_put16(out + 16 + n, DNS_CLASS_IN);
	dns_put16(out, (uint16_t)(16 + n));
	return 18U + (size_t)n;
}

static void send_all(int fd, const void *p, size_t n)
{
	assert_int_equal(send(fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void ask(int fd, uint16_t id, const char *name)
{
	uint8_t m[300];
	send_all(fd, m, frame(m, id, name));
}

static bool read_all(int fd, uint8_t *p, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t r = recv(fd, p + got, n - got, 0);
		if (r <= 0)
			return false;
		got += (size_t)r;
	}
	return true;
}

static uint8_t reply[65535];
static size_t reply_n;

/* The id of the next reply, or -1 when the connection ended (and not by our patience). */
static int next_id(int fd)
{
	uint8_t len[2];
	errno = 0;
	if (!read_all(fd, len, 2)) {
		assert_int_not_equal(errno, EAGAIN);
		return -1;
	}
	reply_n = dns_get16(len);
	assert_true(read_all(fd, reply, reply_n));
	assert_true(reply_n >= 12);
	assert_true((reply[2] & 0x80) != 0);
	return dns_get16(reply);
}

static void expect_end(int fd)
{
	assert_int_equal(next_id(fd), -1);
	close(fd);
}

static void reset(int fd)
{
	struct linger l = { .l_onoff = 1 };
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

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
		cmocka_unit_test(long_requests_that_wait_are_few),
		cmocka_unit_test(replies_as_they_are_ready),
		cmocka_unit_test(half_close_still_gets_its_replies),
		cmocka_unit_test(closes_with_the_client),
		cmocka_unit_test(survives_lost_clients),
		cmocka_unit_test(drop_keeps_the_connection),
		cmocka_unit_test(first_bytes_must_come_in_time),
		cmocka_unit_test(idle_connections_end),
		cmocka_unit_test(client_that_does_not_read_is_cut),
		cmocka_unit_test(oldest_idle_makes_room),
		cmocka_unit_test(one_client_has_at_most_half),
		cmocka_unit_test(evicted_while_its_query_waits),
		cmocka_unit_test(queries_per_connection_are_limited),
		cmocka_unit_test(too_many_in_flight_wait_unread),
		cmocka_unit_test(back_pressure),
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

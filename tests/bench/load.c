/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A DNS load generator: keeps a window of queries outstanding (saturating, the default) or sends
 * at a fixed rate, over UDP in sendmmsg/recvmmsg batches or over pipelined TCP, and prints what
 * was sent, answered and lost as one JSON object. Every query is followed by its id until it is
 * answered or its time-out passes, so the number lost is exact.
 *
 * Words: a *channel* is one connected socket (one source port); a *sequence number* counts the
 * queries of a channel and its low 16 bits are the DNS id; *open* means sent, not yet answered,
 * not yet given up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "queries.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum {
	CHANNELS_MAX = 256,
	BATCH_MAX = 256,
	REPLY_MAX = 33 * 64, /* an odd number of cache lines: see echo.c */
	/* Half of the id space, so that a late reply is not taken for a new query's. */
	RING_MAX = 32768,
	TCP_BUFFER = 256 * 1024,
	LATENCY_BUCKETS = 256,
	RCODES = 16,
	DNS_HEADER_LEN = 12,
	/* How far behind its schedule --rate may fall before queries are skipped, not bunched. */
	RATE_SLACK_US = 2000,
	RATE_TICK_US = 200,
	SPIN_US = 50,
};

struct options {
	const char *server;
	uint64_t port, sockets, window, batch, rate, timeout_ms, rcvbuf_bytes;
	double duration_s;
	bool tcp, sleep, once;
	struct queries_opts queries;
};

struct channel {
	int fd;
	uint64_t head, tail; /* sequence numbers: next to send, oldest not settled */
	uint32_t *sent_us;   /* ring by sequence number; 0 when answered */
	uint32_t ring;	     /* its size, a power of two */
	uint32_t n_open;
	unsigned char *out, *in; /* TCP only */
	size_t out_len, in_len;
};

struct stats {
	uint64_t sent, answered, lost, late, duplicate, malformed, truncated, skipped;
	uint64_t refused, send_errors, recv_errors, reconnects;
	uint64_t send_calls, recv_calls, recv_empty;
	uint64_t rcode[RCODES], answers, answers_min, answers_max;
	uint64_t bytes, bytes_min, bytes_max;
	uint64_t latency[LATENCY_BUCKETS];
};

struct load {
	struct options opt;
	struct queries queries;
	struct sockaddr_storage server;
	socklen_t server_len;
	uint64_t start_ns;
	uint32_t now_us; /* since start_ns, and never 0 */
	struct stats st;
	struct channel chan[CHANNELS_MAX];
	struct mmsghdr out[BATCH_MAX], in[BATCH_MAX];
	struct iovec out_iov[BATCH_MAX], in_iov[BATCH_MAX];
	unsigned char out_data[BATCH_MAX][QUERIES_WIRE_MAX + 64];
	unsigned char in_data[BATCH_MAX][REPLY_MAX];
};

static volatile sig_atomic_t stopped;

static void on_stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p == NULL)
		fail("out of memory");
	return p;
}

static unsigned get16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static void tick(struct load *l)
{
	struct timespec ts;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (l->start_ns == 0)
		l->start_ns = ns;
	l->now_us = (uint32_t)((ns - l->start_ns) / 1000 + 1);
}

/* ---- following queries ---- */

static unsigned latency_bucket(uint32_t us)
{
	unsigned e;

	if (us < 8)
		return us;
	e = 31u - (unsigned)__builtin_clz(us);
	return (e - 2) * 8 + ((us >> (e - 3)) & 7);
}

static uint32_t latency_of_bucket(unsigned b)
{
	unsigned e = b / 8 + 2;

	return b < 8 ? b : (8u + b % 8) << (e - 3);
}

static uint32_t latency_percentile(const struct stats *st, double share)
{
	double want = share * (double)st->answered, seen = 0;

	for (unsigned b = 0; b < LATENCY_BUCKETS; b++) {
		seen += (double)st->latency[b];
		if (seen >= want)
			return latency_of_bucket(b);
	}
	return 0;
}

static void channel_opened(struct channel *c, uint32_t now_us)
{
	c->sent_us[c->head++ & (c->ring - 1)] = now_us;
	c->n_open++;
}

/* Takes back the newest n, which could not be sent. */
static void channel_unopen(struct channel *c, unsigned n)
{
	c->head -= n;
	c->n_open -= n;
}

static void channel_forget_settled(struct channel *c)
{
	while (c->tail < c->head && c->sent_us[c->tail & (c->ring - 1)] == 0)
		c->tail++;
}

static unsigned channel_room(const struct load *l, const struct channel *c)
{
	uint64_t ring_room = c->ring - (c->head - c->tail);
	uint64_t window = l->opt.window / l->opt.sockets;
	uint64_t room = l->opt.rate > 0 ? ring_room : window - c->n_open;

	if (c->n_open >= window && l->opt.rate == 0)
		return 0;
	room = room < ring_room ? room : ring_room;
	return (unsigned)(room < l->opt.batch ? room : l->opt.batch);
}

/* Gives up the queries that are older than the time-out, or all of them. */
static void channel_expire(struct load *l, struct channel *c, bool all)
{
	uint32_t timeout_us = (uint32_t)l->opt.timeout_ms * 1000;

	while (c->tail < c->head) {
		uint32_t *sent = &c->sent_us[c->tail & (c->ring - 1)];

		if (*sent != 0) {
			if (!all && l->now_us - *sent < timeout_us)
				return;
			*sent = 0;
			c->n_open--;
			l->st.lost++;
		}
		c->tail++;
	}
}

static void count_reply(struct stats *st, const unsigned char *p, size_t len, uint32_t latency_us)
{
	unsigned answers = get16(p + 6);

	st->answered++;
	st->rcode[p[3] & 15]++;
	st->truncated += (p[2] & 2) != 0;
	st->answers += answers;
	st->answers_min = answers < st->answers_min ? answers : st->answers_min;
	st->answers_max = answers > st->answers_max ? answers : st->answers_max;
	st->bytes += len;
	st->bytes_min = len < st->bytes_min ? len : st->bytes_min;
	st->bytes_max = len > st->bytes_max ? len : st->bytes_max;
	st->latency[latency_bucket(latency_us)]++;
}

static void channel_reply(struct load *l, struct channel *c, const unsigned char *p, size_t len)
{
	uint64_t back;
	uint32_t *sent;

	if (len < DNS_HEADER_LEN || (p[2] & 0x80) == 0) {
		l->st.malformed++;
		return;
	}
	back = (uint16_t)(get16(p) - (unsigned)(c->tail & 0xffff));
	if (back >= c->head - c->tail) {
		l->st.late++;
		return;
	}
	sent = &c->sent_us[(c->tail + back) & (c->ring - 1)];
	if (*sent == 0) {
		l->st.duplicate++;
		return;
	}
	count_reply(&l->st, p, len, l->now_us - *sent);
	*sent = 0;
	c->n_open--;
}

/* ---- UDP ---- */

static void count_socket_error(uint64_t *other, struct stats *st, int error)
{
	if (error == ECONNREFUSED)
		st->refused++;
	else if (error != EAGAIN && error != EINTR)
		(*other)++;
}

static unsigned udp_send(struct load *l, struct channel *c, unsigned n)
{
	unsigned done = 0;
	int r;

	for (unsigned i = 0; i < n; i++) {
		l->out_iov[i].iov_len =
			queries_next(&l->queries, l->out_data[i], (unsigned)(c->head & 0xffff));
		channel_opened(c, l->now_us);
	}
	while (done < n) {
		r = sendmmsg(c->fd, l->out + done, n - done, MSG_DONTWAIT);
		l->st.send_calls++;
		if (r < 0) {
			/* An ICMP error is told once by the next call: the query itself may go. */
			count_socket_error(&l->st.send_errors, &l->st, errno);
			if (errno != ECONNREFUSED && errno != EINTR)
				break;
			continue;
		}
		done += (unsigned)r;
	}
	channel_unopen(c, n - done);
	l->st.sent += done;
	return done;
}

static bool udp_recv(struct load *l, struct channel *c)
{
	int r = recvmmsg(c->fd, l->in, (unsigned)l->opt.batch, MSG_DONTWAIT, NULL);

	l->st.recv_calls++;
	if (r <= 0) {
		l->st.recv_empty++;
		if (r < 0)
			count_socket_error(&l->st.recv_errors, &l->st, errno);
		return false;
	}
	for (int i = 0; i < r; i++)
		channel_reply(l, c, l->in_data[i], l->in[i].msg_len);
	channel_forget_settled(c);
	return true;
}

/* ---- TCP ---- */

static int open_channel(const struct load *l)
{
	int type = l->opt.tcp ? SOCK_STREAM : SOCK_DGRAM;
	int fd = socket(l->server.ss_family, type | SOCK_CLOEXEC, 0);
	int rcvbuf = (int)l->opt.rcvbuf_bytes, on = 1;

	if (fd < 0)
		fail("socket: %s", strerror(errno));
	if (!l->opt.tcp && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (l->opt.tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (const struct sockaddr *)&l->server, l->server_len) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The peer closed or broke the connection: what was open on it is lost. */
static void tcp_reopen(struct load *l, struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	channel_expire(l, c, true);
	c->in_len = c->out_len = 0;
	c->fd = open_channel(l);
	l->st.reconnects++;
}

static void tcp_flush(struct load *l, struct channel *c)
{
	ssize_t r;

	if (c->out_len == 0 || c->fd < 0)
		return;
	r = send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	l->st.send_calls++;
	if (r < 0) {
		if (errno != EAGAIN && errno != EINTR)
			tcp_reopen(l, c);
		return;
	}
	c->out_len -= (size_t)r;
	memmove(c->out, c->out + r, c->out_len);
}

static unsigned tcp_send(struct load *l, struct channel *c, unsigned n)
{
	unsigned done = 0;

	if (c->fd < 0)
		tcp_reopen(l, c);
	for (; done < n && c->out_len + QUERIES_WIRE_MAX < TCP_BUFFER; done++) {
		unsigned char *p = c->out + c->out_len;
		size_t len = queries_next(&l->queries, p + 2, (unsigned)(c->head & 0xffff));

		p[0] = (unsigned char)(len >> 8);
		p[1] = (unsigned char)len;
		c->out_len += len + 2;
		channel_opened(c, l->now_us);
	}
	l->st.sent += done;
	tcp_flush(l, c);
	return done;
}

static bool tcp_recv(struct load *l, struct channel *c)
{
	size_t at = 0;
	ssize_t r;

	if (c->fd < 0)
		return false;
	tcp_flush(l, c);
	r = recv(c->fd, c->in + c->in_len, TCP_BUFFER - c->in_len, MSG_DONTWAIT);
	l->st.recv_calls++;
	if (r <= 0) {
		l->st.recv_empty++;
		if (r == 0 || (errno != EAGAIN && errno != EINTR))
			tcp_reopen(l, c);
		return false;
	}
	c->in_len += (size_t)r;
	while (c->in_len - at >= 2 && c->in_len - at - 2 >= get16(c->in + at)) {
		size_t len = get16(c->in + at);

		channel_reply(l, c, c->in + at + 2, len);
		at += 2 + len;
	}
	c->in_len -= at;
	memmove(c->in, c->in + at, c->in_len);
	channel_forget_settled(c);
	return true;
}

/* ---- the run ---- */

static bool receive(struct load *l, struct channel *c)
{
	return l->opt.tcp ? tcp_recv(l, c) : udp_recv(l, c);
}

static unsigned transmit(struct load *l, struct channel *c, unsigned n)
{
	if (n == 0)
		return 0;
	return l->opt.tcp ? tcp_send(l, c, n) : udp_send(l, c, n);
}

static bool receive_all(struct load *l)
{
	bool got = false;

	for (uint64_t i = 0; i < l->opt.sockets; i++)
		got |= receive(l, &l->chan[i]);
	return got;
}

static void expire_all(struct load *l, bool all)
{
	for (uint64_t i = 0; i < l->opt.sockets; i++)
		channel_expire(l, &l->chan[i], all);
}

static void wait_readable(struct load *l, uint32_t us)
{
	struct pollfd p[CHANNELS_MAX];
	struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000 };

	for (uint64_t i = 0; i < l->opt.sockets; i++)
		p[i] = (struct pollfd){ .fd = l->chan[i].fd, .events = POLLIN };
	ppoll(p, l->opt.sockets, &ts, NULL);
}

/*
 * The client spins by default: a sleeping one would have the server pay for waking it, the more
 * the slower the server is. It spins away from the sockets, whose locks the server needs.
 */
static void pause_briefly(struct load *l)
{
	uint32_t from_us = l->now_us;

	if (l->opt.sleep) {
		wait_readable(l, 1000);
		return;
	}
	while (l->now_us - from_us < SPIN_US)
		tick(l);
}

/*
 * Keeps every channel's window full. A channel is topped up when half a batch or half its window
 * is free, so that the batches stay large.
 */
static void run_window(struct load *l, uint32_t end_us)
{
	uint64_t window = l->opt.window / l->opt.sockets;
	unsigned least = (unsigned)((window < l->opt.batch ? window : l->opt.batch) + 1) / 2;
	uint32_t expire_us = 0;

	while (l->now_us < end_us && !stopped && !(l->opt.once && l->st.sent >= l->queries.n)) {
		bool busy = false;

		for (uint64_t i = 0; i < l->opt.sockets; i++) {
			struct channel *c = &l->chan[i];
			unsigned room;

			receive(l, c);
			room = channel_room(l, c);
			if (room >= least || (room > 0 && c->n_open == 0))
				busy |= transmit(l, c, room) > 0;
		}
		if (!busy)
			pause_briefly(l);
		tick(l);
		if (l->now_us - expire_us > 1000) {
			expire_all(l, false);
			expire_us = l->now_us;
		}
	}
}

/* Sends what the schedule asks for by now; returns how much of that is still to be sent. */
static uint64_t send_due(struct load *l, uint64_t due)
{
	static uint64_t turn;

	for (uint64_t tries = 0; due > 0 && tries < l->opt.sockets; tries++) {
		struct channel *c = &l->chan[turn++ % l->opt.sockets];
		unsigned room = channel_room(l, c);

		due -= transmit(l, c, (unsigned)(due < room ? due : room));
		receive(l, c);
	}
	return due;
}

static void run_rate(struct load *l, uint32_t end_us)
{
	uint64_t slack = l->opt.rate * RATE_SLACK_US / 1000000 + 1;

	while (l->now_us < end_us && !stopped) {
		uint64_t planned = l->opt.rate * l->now_us / 1000000;
		uint64_t due = planned - l->st.sent - l->st.skipped;

		if (due > slack) {
			l->st.skipped += due - slack;
			due = slack;
		}
		send_due(l, due);
		receive_all(l);
		tick(l);
		expire_all(l, false);
		wait_readable(l, RATE_TICK_US);
		tick(l);
	}
}

/* Waits for the last replies; what has not come when the time-out is over is lost. */
static void drain(struct load *l)
{
	uint32_t end_us = l->now_us + (uint32_t)l->opt.timeout_ms * 1000;

	while (l->now_us < end_us) {
		uint64_t n_open = 0;

		receive_all(l);
		for (uint64_t i = 0; i < l->opt.sockets; i++)
			n_open += l->chan[i].n_open;
		if (n_open == 0)
			break;
		wait_readable(l, 1000);
		tick(l);
	}
	expire_all(l, true);
}

/* ---- options, set-up, report ---- */

enum opt_type { OPT_TEXT, OPT_UINT, OPT_SECONDS, OPT_FLAG, OPT_PATTERN };

static const struct opt {
	const char *name;
	enum opt_type type;
	size_t field;
	uint64_t min, max;
	const char *help;
} opts[] = {
#define FIELD(f) offsetof(struct options, f)
	{ "server", OPT_TEXT, FIELD(server), 0, 0, "address to ask (127.0.0.1)" },
	{ "port", OPT_UINT, FIELD(port), 1, 65535, "port to ask (53)" },
	{ "query", OPT_PATTERN, 0, 0, 0, "'NAME TYPE', {n} in it is numbered; may be repeated" },
	{ "range", OPT_TEXT, FIELD(queries.range), 0, 0, "FROM:TO of {n} (0:999)" },
	{ "queries", OPT_TEXT, FIELD(queries.file), 0, 0, "file of 'NAME TYPE' lines" },
	{ "duration", OPT_SECONDS, FIELD(duration_s), 0, 0, "seconds to send (5)" },
	{ "rate", OPT_UINT, FIELD(rate), 0, 50000000, "queries a second (0: saturate)" },
	{ "window", OPT_UINT, FIELD(window), 1, 65536, "open queries when saturating (192)" },
	{ "sockets", OPT_UINT, FIELD(sockets), 1, CHANNELS_MAX, "source ports (4)" },
	{ "batch", OPT_UINT, FIELD(batch), 1, BATCH_MAX, "messages per system call (32)" },
	{ "timeout-ms", OPT_UINT, FIELD(timeout_ms), 1, 60000, "a query is lost after (1000)" },
	{ "edns", OPT_UINT, FIELD(queries.edns), 0, 65535,
	  "send an OPT record of this size (0: none)" },
	{ "rcvbuf", OPT_UINT, FIELD(rcvbuf_bytes), 4096, 1u << 30, "receive buffer (8388608)" },
	{ "tcp", OPT_FLAG, FIELD(tcp), 0, 0, "pipelined TCP instead of UDP" },
	{ "sleep", OPT_FLAG, FIELD(sleep), 0, 0, "sleep, not spin, while nothing comes" },
	{ "shuffle", OPT_UINT, FIELD(queries.shuffle), 0, UINT32_MAX,
	  "seed of the queries' order (0: as they stand)" },
	{ "once", OPT_FLAG, FIELD(once), 0, 0, "end when each query was sent once" },
	{ "rd", OPT_FLAG, FIELD(queries.rd), 0, 0, "set the RD bit" },
#undef FIELD
};

static _Noreturn void usage(void)
{
	fputs("usage: bench-load [OPTION]... --query 'NAME TYPE'\n", stderr);
	for (size_t i = 0; i < ARRAY_LEN(opts); i++)
		fprintf(stderr, "  --%-12s %s\n", opts[i].name, opts[i].help);
	exit(2);
}

static void set_opt(struct options *o, const struct opt *row, const char *arg)
{
	void *field = (char *)o + row->field;
	char *end = NULL;

	errno = 0;
	switch (row->type) {
	case OPT_TEXT:
		*(const char **)field = arg;
		return;
	case OPT_FLAG:
		*(bool *)field = true;
		return;
	case OPT_PATTERN:
		if (o->queries.n_patterns == QUERIES_PATTERNS_MAX)
			fail("more than %d patterns", QUERIES_PATTERNS_MAX);
		o->queries.pattern[o->queries.n_patterns++] = arg;
		return;
	case OPT_SECONDS:
		*(double *)field = strtod(arg, &end);
		/* 32 bits of microseconds, and a drain after it. */
		if (*(double *)field <= 0 || *(double *)field > 4000)
			errno = ERANGE;
		break;
	case OPT_UINT:
		*(uint64_t *)field = strtoull(arg, &end, 10);
		if (*(uint64_t *)field < row->min || *(uint64_t *)field > row->max)
			errno = ERANGE;
		break;
	}
	if (errno != 0 || end == arg || *end != '\0')
		fail("--%s: bad value '%s'", row->name, arg);
}

static struct options parse_options(int argc, char **argv)
{
	struct option longopts[ARRAY_LEN(opts) + 1] = { 0 };
	struct options o = { .server = "127.0.0.1",
			     .port = 53,
			     .sockets = 4,
			     .window = 192,
			     .batch = 32,
			     .timeout_ms = 1000,
			     .rcvbuf_bytes = 8 << 20,
			     .duration_s = 5 };
	int i;

	for (size_t k = 0; k < ARRAY_LEN(opts); k++) {
		longopts[k].name = opts[k].name;
		longopts[k].has_arg = opts[k].type == OPT_FLAG ? no_argument : required_argument;
	}
	while (i = -1, getopt_long(argc, argv, "", longopts, &i) != -1) {
		if (i < 0)
			usage();
		set_opt(&o, &opts[i], optarg);
	}
	if (optind != argc)
		usage();
	if (o.window < o.sockets)
		fail("--window is smaller than --sockets");
	if (o.rate > 0)
		o.sleep = true;
	return o;
}

static void parse_server(struct load *l)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&l->server;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&l->server;

	if (inet_pton(AF_INET, l->opt.server, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)l->opt.port);
		l->server_len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, l->opt.server, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)l->opt.port);
		l->server_len = sizeof(*v6);
	} else {
		fail("--server: '%s' is not an address", l->opt.server);
	}
}

static void set_up(struct load *l)
{
	uint32_t ring = 1024;

	while (ring < RING_MAX && (l->opt.rate > 0 || ring < 16 * l->opt.window / l->opt.sockets))
		ring *= 2;
	l->st.answers_min = l->st.bytes_min = UINT64_MAX;
	queries_init(&l->queries, &l->opt.queries);
	parse_server(l);
	for (unsigned i = 0; i < BATCH_MAX; i++) {
		l->out_iov[i].iov_base = l->out_data[i];
		l->in_iov[i] = (struct iovec){ .iov_base = l->in_data[i], .iov_len = REPLY_MAX };
		l->out[i].msg_hdr.msg_iov = &l->out_iov[i];
		l->in[i].msg_hdr.msg_iov = &l->in_iov[i];
		l->out[i].msg_hdr.msg_iovlen = l->in[i].msg_hdr.msg_iovlen = 1;
	}
	for (uint64_t i = 0; i < l->opt.sockets; i++) {
		struct channel *c = &l->chan[i];

		c->ring = ring;
		c->sent_us = xcalloc(ring, sizeof(*c->sent_us));
		if (l->opt.tcp) {
			c->out = xcalloc(1, TCP_BUFFER);
			c->in = xcalloc(1, TCP_BUFFER);
		}
		c->fd = open_channel(l);
		if (c->fd < 0)
			fail("cannot connect: %s", strerror(errno));
	}
}

static void tear_down(struct load *l)
{
	for (uint64_t i = 0; i < l->opt.sockets; i++) {
		if (l->chan[i].fd >= 0)
			close(l->chan[i].fd);
		free(l->chan[i].sent_us);
		free(l->chan[i].out);
		free(l->chan[i].in);
	}
	queries_done(&l->queries);
	free(l);
}

static double ratio(uint64_t a, uint64_t b)
{
	return b > 0 ? (double)a / (double)b : 0.0;
}

static void print_rcodes(const struct stats *st)
{
	static const char *const names[RCODES] = { "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN",
						   "NOTIMP",  "REFUSED", "YXDOMAIN", "YXRRSET",
						   "NXRRSET", "NOTAUTH", "NOTZONE",  "RCODE11",
						   "RCODE12", "RCODE13", "RCODE14",  "RCODE15" };
	const char *sep = "";

	printf("  \"rcode\": {");
	for (unsigned i = 0; i < RCODES; i++) {
		if (st->rcode[i] == 0)
			continue;
		printf("%s\"%s\": %" PRIu64, sep, names[i], st->rcode[i]);
		sep = ", ";
	}
	printf("},\n");
}

static void print_report(const struct load *l, double seconds, uint64_t answered_in_time)
{
	const struct stats *st = &l->st;
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{ "sent", st->sent },
		{ "answered", st->answered },
		{ "lost", st->lost },
		{ "late", st->late },
		{ "duplicate", st->duplicate },
		{ "malformed", st->malformed },
		{ "truncated", st->truncated },
		{ "skipped", st->skipped },
		{ "refused", st->refused },
		{ "send_errors", st->send_errors },
		{ "recv_errors", st->recv_errors },
		{ "reconnects", st->reconnects },
		{ "answers_min", st->answered > 0 ? st->answers_min : 0 },
		{ "answers_max", st->answers_max },
		{ "bytes_min", st->answered > 0 ? st->bytes_min : 0 },
		{ "bytes_max", st->bytes_max },
		{ "latency_p50_us", latency_percentile(st, 0.5) },
		{ "latency_p99_us", latency_percentile(st, 0.99) },
		{ "latency_p999_us", latency_percentile(st, 0.999) },
	};

	printf("{\n");
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		printf("  \"%s\": %" PRIu64 ",\n", counts[i].name, counts[i].value);
	print_rcodes(st);
	printf("  \"answers_mean\": %.3f,\n", ratio(st->answers, st->answered));
	printf("  \"bytes_mean\": %.2f,\n", ratio(st->bytes, st->answered));
	printf("  \"send_batch\": %.2f,\n", ratio(st->sent, st->send_calls));
	printf("  \"recv_batch\": %.2f,\n", ratio(st->answered, st->recv_calls - st->recv_empty));
	printf("  \"seconds\": %.6f,\n", seconds);
	printf("  \"qps_sent\": %.1f,\n", (double)st->sent / seconds);
	printf("  \"qps_answered\": %.1f\n}\n", (double)answered_in_time / seconds);
}

int main(int argc, char **argv)
{
	struct load *l = xcalloc(1, sizeof(*l));
	uint64_t answered_in_time;
	uint32_t end_us;
	double seconds;

	l->opt = parse_options(argc, argv);
	signal(SIGINT, on_stop);
	signal(SIGTERM, on_stop);
	prctl(PR_SET_TIMERSLACK, 1000UL);
	set_up(l);
	tick(l);
	end_us = (uint32_t)(l->opt.duration_s * 1e6);
	if (l->opt.rate > 0)
		run_rate(l, end_us);
	else
		run_window(l, end_us);
	seconds = (double)l->now_us / 1e6;
	answered_in_time = l->st.answered;
	drain(l);
	print_report(l, seconds, answered_in_time);
	tear_down(l);
	return 0;
}

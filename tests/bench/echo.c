/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cheapest possible UDP "DNS server": it flips the QR bit and sends the packet back, padded or
 * cut to a given size. What it costs is what the kernel's UDP path costs, so every other server is
 * reported as a multiple of it. One thread, one SO_REUSEPORT socket, epoll, batches, IP_PKTINFO.
 *
 * With --answer it is the upstream of servers that forward: every question gets one A record of
 * that TTL, other types an empty answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BATCH_MAX = 1024,
	/* An odd number of cache lines, or the headers of a batch would share a few cache sets. */
	MESSAGE_MAX = 33 * 64,
	DNS_HEADER_LEN = 12,
	DNS_TYPE_A = 1,
	RECORD_LEN = 16, /* an A record whose owner is a pointer */
	/* Batches taken before the signal descriptor gets its turn. */
	BATCHES_PER_TURN = 16,
	/* Holds an in_pktinfo too; a multiple of its alignment. */
	CONTROL_LEN = CMSG_SPACE(sizeof(struct in6_pktinfo)),
};

struct options {
	const char *addr;
	unsigned port;
	unsigned batch;
	unsigned reply_size;   /* 0: as long as the query */
	unsigned rcvbuf_bytes; /* 0: the system's default */
	bool answer;
	unsigned ttl_s;
};

struct echo {
	struct options opt;
	int fd;
	struct mmsghdr msg[BATCH_MAX];
	struct iovec iov[BATCH_MAX];
	struct sockaddr_storage peer[BATCH_MAX];
	_Alignas(struct cmsghdr) unsigned char control[BATCH_MAX][CONTROL_LEN];
	unsigned char data[BATCH_MAX][MESSAGE_MAX];
	uint64_t n_queries, n_batches, n_full, n_dropped, n_unsent;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-echo: %s: %s\n", what, strerror(errno));
	exit(1);
}

static socklen_t parse_addr(const struct options *o, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, o->addr, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)o->port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, o->addr, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)o->port);
		return sizeof(*v6);
	}
	errno = EINVAL;
	die("--addr");
}

static void set_option(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)) < 0)
		die("setsockopt");
}

static int open_socket(const struct options *o)
{
	struct sockaddr_storage sa;
	socklen_t len = parse_addr(o, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		die("socket");
	set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (o->rcvbuf_bytes > 0)
		set_option(fd, SOL_SOCKET, SO_RCVBUF, (int)o->rcvbuf_bytes);
	if (sa.ss_family == AF_INET)
		set_option(fd, IPPROTO_IP, IP_PKTINFO, 1);
	else
		set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	if (bind(fd, (struct sockaddr *)&sa, len) < 0)
		die("bind");
	return fd;
}

/* Everything recvmmsg or the previous reply has overwritten. */
static void arm(struct mmsghdr *m)
{
	m->msg_hdr.msg_iov->iov_len = MESSAGE_MAX;
	m->msg_hdr.msg_namelen = sizeof(struct sockaddr_storage);
	m->msg_hdr.msg_controllen = CONTROL_LEN;
}

static void prepare(struct echo *e)
{
	for (unsigned i = 0; i < e->opt.batch; i++) {
		struct msghdr *h = &e->msg[i].msg_hdr;

		e->iov[i].iov_base = e->data[i];
		h->msg_name = &e->peer[i];
		h->msg_iov = &e->iov[i];
		h->msg_iovlen = 1;
		h->msg_control = e->control[i];
		arm(&e->msg[i]);
	}
}

/*
 * The control message that came with the query is sent back as it is: on receipt ipi_spec_dst is
 * the address that was asked. Only the interface is left to routing.
 */
static void reply_from_asked_address(struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	if (c != NULL && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
		((struct in_pktinfo *)(void *)CMSG_DATA(c))->ipi_ifindex = 0;
	h->msg_flags = 0;
}

/* The offset behind the question, or 0 when there is none whole. */
static size_t question_end(const unsigned char *d, size_t len)
{
	size_t at = DNS_HEADER_LEN;

	while (at < len && d[at] != 0 && d[at] < 64)
		at += 1u + d[at];
	return at + 5 <= len && d[at] == 0 ? at + 5 : 0;
}

/* An A record behind the question, and nothing else: an OPT record of the query is dropped. */
static void make_answer(struct mmsghdr *m, unsigned ttl_s)
{
	struct iovec *iov = m->msg_hdr.msg_iov;
	unsigned char *d = iov->iov_base;
	size_t end = question_end(d, m->msg_len);
	unsigned char record[RECORD_LEN] = { 0xc0, DNS_HEADER_LEN, 0, DNS_TYPE_A, 0, 1 };
	bool is_a = end > 0 && d[end - 4] == 0 && d[end - 3] == DNS_TYPE_A;

	for (unsigned i = 0; i < 4; i++)
		record[6 + i] = (unsigned char)(ttl_s >> (24 - 8 * i));
	record[11] = 4;
	memcpy(record + 12, (const unsigned char[]){ 192, 0, 2, 1 }, 4);
	d[2] |= 0x80;
	d[3] = 0x80;
	memset(d + 6, 0, DNS_HEADER_LEN - 6);
	d[7] = is_a;
	iov->iov_len = end > 0 ? end : DNS_HEADER_LEN;
	if (is_a && end + RECORD_LEN <= MESSAGE_MAX) {
		memcpy(d + end, record, RECORD_LEN);
		iov->iov_len = end + RECORD_LEN;
	}
	reply_from_asked_address(&m->msg_hdr);
}

static void make_reply(struct mmsghdr *m, const struct options *o)
{
	struct iovec *iov = m->msg_hdr.msg_iov;
	unsigned char *d = iov->iov_base;
	size_t len = m->msg_len;
	size_t want = o->reply_size > 0 ? o->reply_size : len;

	if (o->answer) {
		make_answer(m, o->ttl_s);
		return;
	}
	d[2] |= 0x80;
	if (want > len)
		memset(d + len, 0, want - len);
	iov->iov_len = want;
	reply_from_asked_address(&m->msg_hdr);
}

static void send_all(struct echo *e, unsigned n)
{
	unsigned done = 0;

	while (done < n) {
		int r = sendmmsg(e->fd, e->msg + done, n - done, 0);

		if (r > 0) {
			done += (unsigned)r;
		} else if (errno != EINTR) {
			/* The first of the rest cannot be sent: skip it alone. */
			e->n_unsent++;
			done++;
		}
	}
}

/* Never answer a reply: two echoes would talk to each other for ever. */
static bool is_query(const struct mmsghdr *m)
{
	const unsigned char *d = m->msg_hdr.msg_iov->iov_base;

	return m->msg_len >= DNS_HEADER_LEN && (d[2] & 0x80) == 0;
}

/* True when the socket may hold more. */
static bool serve_batch(struct echo *e)
{
	int r = recvmmsg(e->fd, e->msg, e->opt.batch, MSG_DONTWAIT, NULL);
	unsigned n, kept = 0;

	if (r <= 0)
		return false;
	n = (unsigned)r;
	for (unsigned i = 0; i < n; i++) {
		struct mmsghdr m = e->msg[i];

		if (!is_query(&m))
			continue;
		if (kept != i) {
			e->msg[i] = e->msg[kept];
			e->msg[kept] = m;
		}
		make_reply(&e->msg[kept++], &e->opt);
	}
	send_all(e, kept);
	for (unsigned i = 0; i < n; i++)
		arm(&e->msg[i]);
	e->n_queries += kept;
	e->n_dropped += n - kept;
	e->n_batches++;
	e->n_full += n == e->opt.batch;
	return n == e->opt.batch;
}

static void watch(int ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data = { .fd = fd } };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		die("epoll_ctl");
}

static int stop_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		die("sigprocmask");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die("signalfd");
	return fd;
}

static void serve(struct echo *e, int stop_fd)
{
	struct epoll_event ev[2];
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0)
		die("epoll_create1");
	watch(ep, e->fd);
	watch(ep, stop_fd);
	for (;;) {
		int n = epoll_wait(ep, ev, 2, -1);

		for (int i = 0; i < n; i++) {
			if (ev[i].data.fd == stop_fd) {
				close(ep);
				return;
			}
			for (int k = 0; k < BATCHES_PER_TURN && serve_batch(e); k++)
				;
		}
	}
}

static unsigned parse_number(const char *s, const char *name, unsigned min, unsigned max)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || v < min || v > max) {
		fprintf(stderr, "bench-echo: %s: '%s' is not in %u..%u\n", name, s, min, max);
		exit(2);
	}
	return (unsigned)v;
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "addr", required_argument, NULL, 'a' },
		{ "port", required_argument, NULL, 'p' },
		{ "reply-size", required_argument, NULL, 'r' },
		{ "batch", required_argument, NULL, 'b' },
		{ "rcvbuf", required_argument, NULL, 'R' },
		{ "answer", required_argument, NULL, 'A' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { .addr = "127.0.0.1", .port = 5300, .batch = 64 };
	int c;

	while ((c = getopt_long(argc, argv, "a:p:r:b:R:A:", longopts, NULL)) != -1) {
		switch (c) {
		case 'a':
			o.addr = optarg;
			break;
		case 'p':
			o.port = parse_number(optarg, "--port", 1, 65535);
			break;
		case 'r':
			o.reply_size =
				parse_number(optarg, "--reply-size", DNS_HEADER_LEN, MESSAGE_MAX);
			break;
		case 'b':
			o.batch = parse_number(optarg, "--batch", 1, BATCH_MAX);
			break;
		case 'R':
			o.rcvbuf_bytes = parse_number(optarg, "--rcvbuf", 1, 1u << 30);
			break;
		case 'A':
			o.answer = true;
			o.ttl_s = parse_number(optarg, "--answer", 0, 1u << 30);
			break;
		default:
			fprintf(stderr, "usage: bench-echo [--addr IP] [--port P] [--reply-size N]"
					" [--batch N] [--rcvbuf BYTES] [--answer TTL]\n");
			exit(2);
		}
	}
	return o;
}

int main(int argc, char **argv)
{
	struct echo *e = calloc(1, sizeof(*e));
	int stop_fd;

	if (e == NULL)
		die("calloc");
	e->opt = parse_options(argc, argv);
	stop_fd = stop_signals();
	e->fd = open_socket(&e->opt);
	prepare(e);
	serve(e, stop_fd);
	printf("{\"queries\": %" PRIu64 ", \"batches\": %" PRIu64 ", \"full_batches\": %" PRIu64
	       ", \"mean_batch\": %.2f, \"dropped\": %" PRIu64 ", \"unsent\": %" PRIu64 "}\n",
	       e->n_queries, e->n_batches, e->n_full,
	       e->n_batches > 0 ? (double)e->n_queries / (double)e->n_batches : 0.0, e->n_dropped,
	       e->n_unsent);
	close(e->fd);
	close(stop_fd);
	free(e);
	return 0;
}

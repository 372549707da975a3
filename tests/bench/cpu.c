/* Own work per query: the real chain on a fake network, in batches of 64, on one thread.
 *
 *	bench-cpu SCENARIO QUERIES [COREFILE-ONLY]
 *
 * Prints one JSON object: queries, answered, user nanoseconds per query, allocations. The fake
 *network hands out ready-made datagrams and swallows replies, so what is measured is admission,
 *routing, the chain, metrics and encoding. tests/bench/cpu runs it, also under callgrind and
 *strace. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rcu.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "server/server_priv.h"

enum { PACKETS = 1024, PACKET_MAX = 512 };

struct packet {
	uint16_t n;
	uint8_t bytes[PACKET_MAX];
};

static struct packet packets[PACKETS];
static uint64_t sent, answered, to_send, rcodes[16];
static _Atomic uint64_t allocations;

/* Counting allocator: every malloc of the process passes here. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
	return __libc_realloc(p, n);
}

static const struct sockaddr_in client = { .sin_family = AF_INET,
					   .sin_port = 0x3412,
					   .sin_addr.s_addr = 0x0100007f };

static int bench_recvmmsg(int fd, struct mmsghdr *v, unsigned n)
{
	(void)fd;
	if (sent >= to_send) {
		errno = EAGAIN;
		return -1;
	}
	n = (unsigned)MIN((uint64_t)n, to_send - sent);
	for (unsigned i = 0; i < n; i++) {
		const struct packet *p = &packets[sent++ % PACKETS];
		memcpy(v[i].msg_hdr.msg_iov[0].iov_base, p->bytes, p->n);
		memcpy(v[i].msg_hdr.msg_name, &client, sizeof(client));
		v[i].msg_hdr.msg_controllen = 0;
		v[i].msg_hdr.msg_flags = 0;
		v[i].msg_len = p->n;
	}
	return (int)n;
}

static int bench_sendmmsg(int fd, struct mmsghdr *v, unsigned n)
{
	(void)fd;
	for (unsigned i = 0; i < n; i++)
		rcodes[((const uint8_t *)v[i].msg_hdr.msg_iov[0].iov_base)[3] & 15]++;
	answered += n;
	return (int)n;
}

static const struct net_ops bench_ops = { bench_recvmmsg, bench_sendmmsg };

/* ---- scenarios ---- */

static void corefile_empty(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(
		t, ". {\n prometheus 127.0.0.1:0\n template IN AAAA . {\n  rcode NOERROR\n }\n}\n");
}

static void corefile_regex(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(
		t,
		". {\n prometheus 127.0.0.1:0\n template IN A example.org {\n"
		"  match "
		"^ip-(?P<a>[0-9]*)-(?P<b>[0-9]*)-(?P<c>[0-9]*)-(?P<d>[0-9]*)[.]example[.]org[.]$\n"
		"  answer \"{{ .Name }} 60 IN A {{ .Group.a }}.{{ .Group.b }}.{{ .Group.c }}."
		"{{ .Group.d }}\"\n }\n}\n");
}

/* One template with n zones; the name asked lies in the last. */
static void corefile_zones(struct strbuf *t, unsigned n)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n template IN AAAA");
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(t, " zone%u.example", i);
	strbuf_adds(t, " example.org {\n  rcode NOERROR\n }\n}\n");
}

/* n templates, each with a zone of its own; the name asked lies in the last. */
static void corefile_templates(struct strbuf *t, unsigned n)
{
	strbuf_adds(t, ". {\n prometheus 127.0.0.1:0\n");
	for (unsigned i = 0; i < n; i++)
		strbuf_addf(t, " template IN AAAA zone%u.example {\n  rcode NXDOMAIN\n }\n", i);
	strbuf_adds(t, " template IN AAAA example.org {\n  rcode NOERROR\n }\n}\n");
}

static void corefile_whoami(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(t, ". {\n whoami\n}\n");
}

/* No block takes the name: admission, routing and an empty reply, nothing else. */
static void corefile_refused(struct strbuf *t, unsigned n)
{
	(void)n;
	strbuf_adds(t, "other.example {\n whoami\n}\n");
}

static const struct scenario {
	const char *name;
	void (*corefile)(struct strbuf *t, unsigned n);
	unsigned n;
	const char *qname; /* printf format of one number */
	uint16_t qtype;
} scenarios[] = {
	{ "whoami", corefile_whoami, 0, "host%u.example.org", DNS_TYPE_A },
	{ "refused", corefile_refused, 0, "host%u.example.org", DNS_TYPE_AAAA },
	{ "template-empty", corefile_empty, 0, "host%u.example.org", DNS_TYPE_AAAA },
	{ "template-regex", corefile_regex, 0, "ip-10-1-2-%u.example.org", DNS_TYPE_A },
	{ "zones-10", corefile_zones, 10, "host%u.example.org", DNS_TYPE_AAAA },
	{ "zones-10000", corefile_zones, 10000, "host%u.example.org", DNS_TYPE_AAAA },
	{ "templates-10", corefile_templates, 10, "host%u.example.org", DNS_TYPE_AAAA },
	{ "templates-10000", corefile_templates, 10000, "host%u.example.org", DNS_TYPE_AAAA },
};

static void make_packets(const struct scenario *s)
{
	for (unsigned i = 0; i < PACKETS; i++) {
		uint8_t *m = packets[i].bytes;
		char name[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(name, sizeof(name), s->qname, i % 256);
#pragma GCC diagnostic pop
		memset(m, 0, DNS_HEADER_BYTES);
		dns_put16(m, (uint16_t)i);
		dns_put16(m + 2, DNS_FLAG_RD);
		dns_put16(m + 4, 1);
		int n = dns_name_from_text(slice_of(name), m + DNS_HEADER_BYTES);
		if (n < 0)
			abort();
		dns_put16(m + DNS_HEADER_BYTES + n, s->qtype);
		dns_put16(m + DNS_HEADER_BYTES + n + 2, DNS_CLASS_IN);
		packets[i].n = (uint16_t)(DNS_HEADER_BYTES + n + 4);
	}
}

static struct server *start(const struct scenario *s)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	struct server *srv = NULL;
	struct server_opts o = { .workers = 1, .no_threads = true, .ops = &bench_ops };
	static const struct corefile_source none;
	s->corefile(&text, s->n);
	if (corefile_parse(s->name, strbuf_slice(&text), &none, &cf, &err) < 0 ||
	    server_start(&o, cf, &srv, &err) < 0) {
		char line[1024];
		fprintf(stderr, "%s\n", srcerr_str(&err, line, sizeof(line)));
		exit(1);
	}
	return srv;
}

static void ask(struct server *srv, uint64_t n)
{
	struct listener_sock *sock = &srv->gen->route[0]->listener->sock[0];
	sent = 0;
	to_send = n;
	rcu_enter(); /* as the worker's loop does */
	while (sent < to_send)
		udp_readable(&sock->udp[0].io, EPOLLIN);
	rcu_leave();
}

/* What callgrind counts (--toggle-collect) and strace brackets: between two marks by getppid(2). */
void measured(struct server *srv, uint64_t n);
NOINLINE void measured(struct server *srv, uint64_t n)
{
	ask(srv, n);
	__asm__ volatile(
		"" ::
			: "memory"); /* no tail call: the function must be left to be counted */
}

static uint64_t user_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct scenario *s = NULL;
	for (size_t i = 0; argc == 3 && i < ARRAY_LEN(scenarios); i++) {
		if (strcmp(scenarios[i].name, argv[1]) == 0)
			s = &scenarios[i];
	}
	if (s == NULL) {
		fprintf(stderr, "usage: bench-cpu SCENARIO QUERIES\nscenarios:");
		for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
			fprintf(stderr, " %s", scenarios[i].name);
		fprintf(stderr, "\n");
		return 64;
	}
	uint64_t n = strtoull(argv[2], NULL, 10);
	make_packets(s);
	struct server *srv = start(s);
	ask(srv, PACKETS); /* slots, series and match data come into being */
	answered = 0;
	uint64_t before = allocations;
	uint64_t t0 = user_ns();
	getppid();
	measured(srv, n);
	getppid();
	uint64_t t1 = user_ns();
	printf("{\"scenario\": \"%s\", \"queries\": %llu, \"answered\": %llu, \"ns\": %.1f, "
	       "\"allocations\": %llu, \"noerror\": %llu}\n",
	       s->name, (unsigned long long)n, (unsigned long long)answered,
	       n != 0 ? (double)(t1 - t0) / (double)n : 0,
	       (unsigned long long)(allocations - before), (unsigned long long)rcodes[0]);
	server_stop(srv, 0);
	return answered == n ? 0 : 1;
}

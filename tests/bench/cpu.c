/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Own work per query: the real chain on a fake network, in batches of 64, on one thread.
 *
 *	bench-cpu SCENARIO QUERIES
 *
 * Prints one JSON object: queries, answered, user nanoseconds per query, allocations. The fake
 * network hands out ready-made datagrams and swallows replies, so what is measured is admission,
 * routing, the chain, metrics and encoding. Questions to an upstream are answered in there as well
 * (cpu_upstream.h). tests/bench/cpu runs it, also under callgrind and strace. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/rng.h"
#include "base/rng_test.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "cpu_scenarios.h"
#include "cpu_upstream.h"
#include "dns/types.h"
#include "net/sock.h"
#include "plugin/egressfirewall/store_test.h"
#include "server/conn/listener.h"
#include "server/conn/udp.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "server/server_test.h"

enum { PACKETS_LEAST = 1024, NAMES = 256, PACKET_MAX = 62 };

struct packet {
	uint16_t n;
	uint8_t bytes[PACKET_MAX];
};

static struct packet *packets;
static size_t n_packets;
static uint64_t sent, answered, to_send, rcodes[16];
static _Thread_local uint64_t allocations; /* of each thread; that which serves prints its own */

/* Counting allocator: every malloc of the process passes here. Threads beside the worker learn addresses or
 * write logs whenever they come to it: what they need does not count. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	allocations++;
	return __libc_realloc(p, n);
}

static const struct sockaddr_in client = { .sin_family = AF_INET,
					   .sin_port = 0x3412,
					   .sin_addr.s_addr = 0x0100007f };

static int bench_recvmmsg(int fd, struct mmsghdr *v, unsigned n)
{
	if (fd >= 0) /* listeners have none here */
		return cpu_upstream_recv(fd, v, n);
	if (sent >= to_send) {
		errno = EAGAIN;
		return -1;
	}
	n = (unsigned)MIN((uint64_t)n, to_send - sent);
	for (unsigned i = 0; i < n; i++) {
		const struct packet *p = &packets[sent++ % n_packets];
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
	if (fd >= 0)
		return cpu_upstream_send(fd, v, n);
	for (unsigned i = 0; i < n; i++)
		rcodes[((const uint8_t *)v[i].msg_hdr.msg_iov[0].iov_base)[3] & 15]++;
	answered += n;
	return (int)n;
}

static const struct net_ops bench_ops = { bench_recvmmsg, bench_sendmmsg };

static void make_packet(const struct cpu_scenario *s, struct packet *p, unsigned number,
			uint16_t id)
{
	uint8_t *m = p->bytes;
	char name[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(name, sizeof(name), s->qname, number);
#pragma GCC diagnostic pop
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(name), wire);
	if (n < 0 || DNS_HEADER_BYTES + n + 4 > PACKET_MAX)
		abort();
	memset(m, 0, DNS_HEADER_BYTES);
	dns_put16(m, id);
	dns_put16(m + 2, DNS_FLAG_RD);
	dns_put16(m + 4, 1);
	memcpy(m + DNS_HEADER_BYTES, wire, (size_t)n);
	dns_put16(m + DNS_HEADER_BYTES + n, s->qtype);
	dns_put16(m + DNS_HEADER_BYTES + n + 2, DNS_CLASS_IN);
	p->n = (uint16_t)(DNS_HEADER_BYTES + n + 4);
}

static void make_packets(const struct cpu_scenario *s)
{
	unsigned names = s->names != 0 ? s->names : NAMES;
	n_packets = MAX(names, PACKETS_LEAST);
	packets = xcalloc(n_packets, sizeof(*packets));
	for (size_t i = 0; i < n_packets; i++)
		make_packet(s, &packets[i], (unsigned)(i % names), (uint16_t)i);
}

/* What is kept must not be asked for in the order in which it came to lie in memory. */
static void shuffle_packets(void)
{
	struct rng rng;
	rng_init_seed(&rng, 7919);
	for (size_t i = n_packets - 1; i > 0; i--) {
		size_t k = rng_below(&rng, (uint32_t)i + 1);
		struct packet swap = packets[i];
		packets[i] = packets[k];
		packets[k] = swap;
	}
}

static char folder[] = "/tmp/fairlead-bench-cpu-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The Corefile with @UP@ and @DIR@ filled in. */
static void write_corefile(const struct cpu_scenario *s, struct strbuf *ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	s->corefile(&text, s->n);
	struct slice rest = strbuf_slice(&text);
	while (rest.n > 0) {
		struct slice before = slice_cut(&rest, '@');
		strbuf_add_slice(ret, before);
		if (rest.p != NULL)
			strbuf_adds(ret, slice_is(slice_cut(&rest, '@'), "UP")
						 ? cpu_upstream_address()
						 : folder);
	}
}

static struct server *start(const struct cpu_scenario *s)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	struct server *srv = NULL;
	struct server_opts o = { .workers = 1, .no_threads = true, .ops = &bench_ops };
	static const struct corefile_source none;
	if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0)
		abort();
	if (s->files != NULL)
		s->files(folder, s->names != 0 ? s->names : NAMES);
	write_corefile(s, &text);
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
	while (sent < to_send) {
		udp_readable(&sock->udp[0].io, EPOLLIN);
		if (cpu_upstream_used()) {
			rcu_leave(); /* a turn enters by itself */
			do {
				server_turn(srv, 0, false);
			} while (cpu_upstream_pending());
			rcu_enter();
		}
	}
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

/* Slots, series, match data and what is kept come into being. egressfirewall takes a client's reports in
 * parts: its control thread has to run until all of them are known. */
static void warm_up(struct server *srv)
{
	for (int i = 0; i < 3; i++) {
		ask(srv, n_packets);
		if (egressfirewall_store_latest() != NULL)
			egressfirewall_store_run(egressfirewall_store_latest());
	}
}

static uint64_t user_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct cpu_scenario *s = NULL;
	for (size_t i = 0; argc == 3 && i < cpu_n_scenarios; i++) {
		if (strcmp(cpu_scenarios[i].name, argv[1]) == 0)
			s = &cpu_scenarios[i];
	}
	if (s == NULL) {
		fprintf(stderr, "usage: bench-cpu SCENARIO QUERIES\nscenarios:");
		for (size_t i = 0; i < cpu_n_scenarios; i++)
			fprintf(stderr, " %s", cpu_scenarios[i].name);
		fprintf(stderr, "\n");
		return 64;
	}
	uint64_t n = strtoull(argv[2], NULL, 10);
	make_packets(s);
	struct server *srv = start(s);
	warm_up(srv);
	shuffle_packets();
	answered = 0;
	memset(rcodes, 0, sizeof(rcodes));
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
	free(packets);
	return answered == n ? 0 : 1;
}

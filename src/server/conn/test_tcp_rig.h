/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rig of tests of TCP: a server with one worker and a plugin that does what the name asks for,
 * and blocking clients. */
#pragma once

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

static inline int t_parse(struct plugin_inst *self, struct setup *s)
{
	(void)self;
	s->conf->timeouts = timeouts_wanted;
	return 0;
}

/* `n` records of about 250 bytes each. */
static inline void add_texts(struct query *q, unsigned n)
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

static inline int t_stream_next(struct plugin_inst *self, struct query *q)
{
	unsigned *left = query_state(q, self);
	query_reply(q);
	if (--*left == UINT32_MAX)
		return -1;
	add_texts(q, 60);
	n_streamed++;
	return *left != 0;
}

static inline enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	struct slice name = query_name_text(q);
	unsigned n = (unsigned)strtoul(name.p + 1, NULL, 10);
	query_reply(q);
	switch (name.p[0]) {
	case 'w': /* w<n>: wait until somebody asks g, then as b<n> */
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

static inline enum verdict t_resume(struct plugin_inst *self, struct query *q)
{
	(void)self;
	add_texts(q, (unsigned)strtoul(query_name_text(q).p + 1, NULL, 10));
	return V_ANSWERED;
}

static inline void t_done(struct plugin_inst *self, struct query *q)
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
static inline int local_parse(struct plugin_inst *self, struct setup *s)
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

static inline struct corefile *corefile(const char *text)
{
	static const struct corefile_source none;
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	assert_int_equal(corefile_parse("Corefile", slice_of(text), &none, &cf, &err), 0);
	return cf;
}

static inline void start(const struct block_timeouts *t, uint32_t max_tcp)
{
	struct srcerr err = { 0 };
	timeouts_wanted = t != NULL ? *t : (struct block_timeouts){ 0 };
	n_held = 0;
	n_done = n_started = n_streamed = max_held = 0;
	struct server_opts o = { .workers = 1, .max_tcp = max_tcp, .log_fd = 2 };
	assert_int_equal(server_start(&o, corefile(".:0 {\n t\n}\n"), &srv, &err), 0);
	port = net_addr_port(&srv->listeners->addr);
}

static inline void stop(void)
{
	server_stop(srv, 5 * NS_PER_S);
	srv = NULL;
}

static inline int client_from(const char *ip)
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

static inline int client(void)
{
	return client_from("127.0.0.1");
}

static inline size_t frame(uint8_t *out, uint16_t id, const char *name)
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

static inline void send_all(int fd, const void *p, size_t n)
{
	assert_int_equal(send(fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
}

static inline void ask(int fd, uint16_t id, const char *name)
{
	uint8_t m[300];
	send_all(fd, m, frame(m, id, name));
}

static inline bool read_all(int fd, uint8_t *p, size_t n)
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
static inline int next_id(int fd)
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

static inline void expect_end(int fd)
{
	assert_int_equal(next_id(fd), -1);
	close(fd);
}

static inline void reset(int fd)
{
	struct linger l = { .l_onoff = 1 };
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

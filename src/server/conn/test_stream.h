/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of encrypted transports: a server with one stream worker and one test plugin, which
 * does what the first label of the question says, and clients that block (with patience) on real
 * loopback sockets. */
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
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "corefile/corefile.h"
#include "http/framing.h"
#include "net/tls.h"
#include "server/conn/certs.h"
#include "server/conn/conn.h"
#include "server/conn/listener.h"
#include "server/conn/transport.h"
#include "server/generation.h"
#include "server/query.h"
#include "server/route.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "server/worker.h"
#include "testing/testcert.h"

enum { HELD_MAX = 4096, TEXT_BYTES = 250, PATIENCE_MS = 20000 };

/* ---- the plugins; queries only on the one stream worker's thread ---- */

static struct block_timeouts timeouts_wanted;
static uint32_t max_connections_wanted;
static bool tls_wanted = true;
static struct certs *certs;
static struct query *held[HELD_MAX];
static unsigned n_held;
static _Atomic unsigned n_done, n_waiting;

static void add_texts(struct query *q, unsigned n)
{
	uint8_t *rdata = arena_alloc(&q->arena, TEXT_BYTES);
	assert_non_null(rdata);
	memset(rdata, 'x', TEXT_BYTES);
	rdata[0] = TEXT_BYTES - 1;
	struct dns_rr rr = { .owner = q->qname.wire,
			     .owner_len = q->qname.len,
			     .ttl = 77,
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
	add_texts(q, 60);
	return --*left != 0;
}

static enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	struct slice name = query_name_text(q);
	unsigned n = (unsigned)strtoul(name.p + 1, NULL, 10);
	query_reply(q);
	switch (name.p[0]) {
	case 'w': /* w<n>: wait until somebody asks g, then as b<n> */
		held[n_held++] = q;
		n_waiting++;
		return V_WAIT;
	case 'g': /* go, the last first */
		while (n_held > 0)
			query_resume(held[--n_held]);
		n_waiting = 0;
		return V_ANSWERED;
	case 'b': /* b<n>: big, n records */
		add_texts(q, n);
		return V_ANSWERED;
	case 's': /* s<n>: stream of n messages */
		*(unsigned *)query_state(q, self) = n;
		q->stream_next = t_stream_next;
		return V_STREAM;
	case 'd':
		return V_DROP;
	default:
		return V_ANSWERED;
	}
}

static enum verdict t_resume(struct plugin_inst *self, struct query *q)
{
	(void)self;
	add_texts(q, (unsigned)strtoul(query_name_text(q).p + 1, NULL, 10));
	return V_ANSWERED;
}

static void t_done(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	n_done++;
}

static int t_parse(struct plugin_inst *self, struct setup *s)
{
	static const char *const ip[] = { "127.0.0.1" };
	(void)self;
	s->conf->timeouts = timeouts_wanted;
	s->conf->listen = ip;
	s->conf->n_listen = 1;
	s->conf->https.has_max_connections = true;
	s->conf->https.max_connections = max_connections_wanted;
	s->conf->certs = tls_wanted ? certs : NULL;
	return 0;
}

static const struct plugin t_plugin = { .name = "t",
					.state_size = sizeof(unsigned),
					.parse = t_parse,
					.serve = t_serve,
					.resume = t_resume,
					.done = t_done };
const struct plugin *const plugin_list[] = { &t_plugin, NULL };

/* ---- the server ---- */

static char dir[] = "/tmp/test-stream-XXXXXX";
static struct server *srv;
static uint16_t port;

static const char *path(const char *name)
{
	return testcert_path(dir, name);
}

static UNUSED int make_certs(void **state)
{
	char err[256];
	(void)state;
	assert_non_null(mkdtemp(dir));
	struct testcert *t = testcert_new(dir);
	testcert_make(t, "server", "dns.example");
	testcert_free(t);
	struct net_tls_files f = { .cert = path("server.pem"), .key = path("server.key") };
	return certs_open(&f, true, &certs, ERR_TEXT(err));
}

static UNUSED int remove_certs(void **state)
{
	static const char *const files[] = { "server.pem", "server.key", "ca.pem" };
	(void)state;
	certs_close(certs);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(path(files[i]));
	return rmdir(dir);
}

static struct corefile *corefile(const char *text)
{
	static const struct corefile_source none;
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	assert_int_equal(corefile_parse("Corefile", slice_of(text), &none, &cf, &err), 0);
	return cf;
}

static UNUSED void start(const char *key, const struct block_timeouts *t, uint32_t max_tls)
{
	struct srcerr err = { 0 };
	char text[64];
	timeouts_wanted = t != NULL ? *t : (struct block_timeouts){ 0 };
	n_held = 0;
	n_done = n_waiting = 0;
	struct server_opts o = { .workers = 1, .max_tls = max_tls, .log_fd = 2 };
	snprintf(text, sizeof(text), "%s {\n t\n}\n", key);
	assert_int_equal(server_start(&o, corefile(text), &srv, &err), 0);
	port = net_addr_port(&srv->listeners->addr);
}

static UNUSED void stop(void)
{
	server_stop(srv, 5 * NS_PER_S);
	srv = NULL;
}

/* ---- a client ---- */

struct client {
	int fd;
	struct net_tls *tls;
	struct http_framing *http;
	/* The last HTTP response. */
	unsigned n_responses, n_gone, status;
	uint32_t stream, order[8]; /* of the first ones */
	char age[64], type[64];
	size_t body_n;
	uint8_t body[HTTP_BODY_MAX];
};

static UNUSED void wait_for(struct client *c, short events)
{
	struct pollfd p = { .fd = c->fd, .events = events };
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

static UNUSED struct client *client_plain(void)
{
	struct client *c = xcalloc(1, sizeof(*c));
	union net_addr to = { 0 };
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(net_addr_parse_ip(SLICE("127.0.0.1"), &to), 0);
	net_addr_set_port(&to, port);
	assert_int_equal(connect(c->fd, &to.sa, net_addr_len(&to)), 0);
	return c;
}

/* With TLS; alpn NULL: none is offered. False when the handshake failed. */
static UNUSED bool client_shake(struct client *c, const char *alpn)
{
	const char *const protocols[] = { alpn, NULL };
	struct net_tls_files f = { .ca = path("ca.pem") };
	struct net_tls_cred *cred = NULL;
	char err[256];
	assert_int_equal(net_tls_client_cred(&f, &cred, ERR_TEXT(err)), 0);
	assert_int_equal(net_tls_connect(cred, c->fd, "dns.example",
					 alpn != NULL ? protocols : NULL, NULL, &c->tls),
			 0);
	net_tls_cred_unref(cred);
	int r;
	while ((r = net_tls_handshake(c->tls)) == -EAGAIN)
		wait_for(c, net_tls_wants_write(c->tls) ? POLLOUT : POLLIN);
	return r == 0;
}

static UNUSED struct client *client_tls(const char *alpn)
{
	struct client *c = client_plain();
	assert_true(client_shake(c, alpn));
	return c;
}

static UNUSED void client_close(struct client *c)
{
	http_framing_free(c->http);
	net_tls_free(c->tls);
	close(c->fd);
	free(c);
}

static UNUSED void client_send(struct client *c, const void *p, size_t n)
{
	while (n > 0) {
		ssize_t r = c->tls != NULL ? net_tls_send(c->tls, p, n)
					   : send(c->fd, p, n, MSG_NOSIGNAL);
		if (r == -EAGAIN) {
			wait_for(c, POLLOUT);
			continue;
		}
		if (r < 0)
			return; /* the server has closed: reading will tell */
		p = (const uint8_t *)p + r;
		n -= (size_t)r;
	}
}

/* Bytes, or 0 at the end of the connection. */
static UNUSED size_t client_recv(struct client *c, void *p, size_t n)
{
	for (;;) {
		if (c->tls == NULL || net_tls_pending(c->tls) == 0)
			wait_for(c, POLLIN);
		ssize_t r = c->tls != NULL ? net_tls_recv(c->tls, p, n) : recv(c->fd, p, n, 0);
		if (r != -EAGAIN)
			return r > 0 ? (size_t)r : 0;
	}
}

static UNUSED bool client_has_data(const struct client *client)
{
	struct pollfd readable = { .fd = client->fd, .events = POLLIN };
	return (client->tls != NULL && net_tls_pending(client->tls) > 0) ||
	       poll(&readable, 1, 0) == 1;
}

/* ---- DNS ---- */

static UNUSED size_t message(uint8_t *out, uint16_t id, const char *name)
{
	memset(out, 0, 12);
	dns_put16(out, id);
	out[5] = 1;
	int n = dns_name_from_text(slice_of(name), out + 12);
	assert_true(n > 0);
	dns_put16(out + 12 + n, DNS_TYPE_A);
	dns_put16(out + 14 + n, DNS_CLASS_IN);
	return 16U + (size_t)n;
}

static UNUSED void ask(struct client *c, uint16_t id, const char *name)
{
	uint8_t m[300];
	size_t n = message(m + 2, id, name);
	dns_put16(m, (uint16_t)n);
	client_send(c, m, n + 2);
}

static UNUSED bool read_all(struct client *c, uint8_t *p, size_t n)
{
	for (size_t got = 0; got < n;) {
		size_t r = client_recv(c, p + got, n - got);
		if (r == 0)
			return false;
		got += r;
	}
	return true;
}

/* The id of the next reply, or -1 when the connection ended. */
static UNUSED int next_id(struct client *c)
{
	uint8_t len[2];
	if (!read_all(c, len, 2))
		return -1;
	c->body_n = dns_get16(len);
	assert_true(read_all(c, c->body, c->body_n));
	assert_true(c->body_n >= 12 && (c->body[2] & 0x80) != 0);
	return dns_get16(c->body);
}

/* Until so many queries wait. */
static UNUSED void until_waiting(unsigned n)
{
	for (int i = 0; i < PATIENCE_MS && n_waiting != n; i++)
		poll(NULL, 0, 1);
	assert_int_equal(n_waiting, n);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scripted upstream: non-blocking loopback sockets and a list of questions taken. */
#include "testing/fake_upstream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "dns/request.h"
#include "dns/rrtext/rrtext.h"
#include "dns/types.h"

enum { KEPT = 256, MESSAGE_MAX = 65535, PORT_TRIES = 100 };

struct conn {
	int fd; /* -1: closed */
	size_t n;
	uint8_t in[2 + MESSAGE_MAX];
};

struct question {
	union net_addr from;
	struct conn *conn; /* NULL: UDP */
	size_t n;
	uint8_t *bytes;
};

struct fakeup {
	union net_addr addr;
	int udp, tcp;
	VEC(struct conn *) conns;
	struct question taken[KEPT];
	struct question *now;
	unsigned n_taken;
	struct strbuf text;
	struct dns_rrtext *rrtext;
	struct arena arena;
	uint8_t block[64 * 1024];
};

static void check(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "fakeup: %s: %s\n", what, strerror(errno));
		abort();
	}
}

static bool bind_both(struct fakeup *u)
{
	socklen_t len = sizeof(u->addr);
	u->addr = (union net_addr){ .v4 = { .sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	u->udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	u->tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	check(u->udp >= 0 && u->tcp >= 0, "socket");
	check(bind(u->udp, &u->addr.sa, net_addr_len(&u->addr)) == 0, "bind");
	check(getsockname(u->udp, &u->addr.sa, &len) == 0, "getsockname");
	if (bind(u->tcp, &u->addr.sa, net_addr_len(&u->addr)) == 0 && listen(u->tcp, 128) == 0)
		return true;
	close(u->udp);
	close(u->tcp);
	return false;
}

struct fakeup *fakeup_new(void)
{
	struct fakeup *u = xcalloc(1, sizeof(*u));
	unsigned tries = 0;
	while (!bind_both(u))
		check(++tries < PORT_TRIES, "no port free for both");
	strbuf_init(&u->text);
	u->rrtext = dns_rrtext_new();
	return u;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void fakeup_free(struct fakeup *u)
{
	if (u == NULL)
		return;
	fakeup_stop_udp(u);
	fakeup_stop_tcp(u);
	for (size_t i = 0; i < u->conns.n; i++)
		free(u->conns.v[i]);
	vec_done(&u->conns);
	for (unsigned i = 0; i < KEPT; i++)
		free(u->taken[i].bytes);
	strbuf_done(&u->text);
	dns_rrtext_free(u->rrtext);
	free(u);
}

const union net_addr *fakeup_addr(const struct fakeup *u)
{
	return &u->addr;
}

uint16_t fakeup_port(const struct fakeup *u)
{
	return net_addr_port(&u->addr);
}

/* ---- questions ---- */

static const char *describe(struct fakeup *u, const uint8_t *msg, size_t n, bool tcp)
{
	char name[DNS_NAME_TEXT_MAX];
	char type[DNS_MNEMONIC_MAX];
	char cls[DNS_MNEMONIC_MAX];
	uint8_t wire[DNS_NAME_MAX];
	int at = n > DNS_HEADER_BYTES ? dns_name_unpack(msg, n, DNS_HEADER_BYTES, wire) : -1;
	check(at > 0 && (size_t)at + 4 <= n, "a query that cannot be read");
	dns_name_to_text(wire, false, name);
	strbuf_reset(&u->text);
	strbuf_addf(&u->text, "%s %s %s %s", tcp ? "tcp" : "udp", name,
		    dns_class_str(dns_get16(msg + at + 2), cls),
		    dns_type_str(dns_get16(msg + at), type));
	return u->text.s;
}

static const char *keep(struct fakeup *u, struct conn *c, const union net_addr *from,
			const uint8_t *msg, size_t n)
{
	u->now = &u->taken[u->n_taken++ % KEPT];
	free(u->now->bytes);
	*u->now = (struct question){ .conn = c, .n = n, .bytes = xmemdup(msg, n) };
	if (from != NULL)
		u->now->from = *from;
	return describe(u, msg, n, c != NULL);
}

static void accept_all(struct fakeup *u)
{
	int fd;
	while (u->tcp >= 0 &&
	       (fd = accept4(u->tcp, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct conn *c = xcalloc(1, sizeof(*c));
		int on = 1; /* what is sent is there at once */
		check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0, "nodelay");
		c->fd = fd;
		vec_push(&u->conns, c);
	}
}

static const char *next_of(struct fakeup *u, struct conn *c)
{
	ssize_t n = c->fd >= 0 ? recv(c->fd, c->in + c->n, sizeof(c->in) - c->n, 0) : -1;
	if (n == 0)
		close_fd(&c->fd);
	c->n += n > 0 ? (size_t)n : 0;
	size_t len = c->n >= 2 ? 2U + dns_get16(c->in) : SIZE_MAX;
	if (len > c->n)
		return NULL;
	const char *text = keep(u, c, NULL, c->in + 2, len - 2);
	c->n -= len;
	memmove(c->in, c->in + len, c->n);
	return text;
}

const char *fakeup_next(struct fakeup *u)
{
	uint8_t buf[4096];
	union net_addr from = { 0 };
	socklen_t len = sizeof(from);
	ssize_t n = u->udp >= 0 ? recvfrom(u->udp, buf, sizeof(buf), 0, &from.sa, &len) : -1;
	if (n >= 0)
		return keep(u, NULL, &from, buf, (size_t)n);
	accept_all(u);
	const char *text = NULL;
	for (size_t i = 0; i < u->conns.n && text == NULL; i++)
		text = next_of(u, u->conns.v[i]);
	return text;
}

const uint8_t *fakeup_query(const struct fakeup *u, size_t *ret_n)
{
	*ret_n = u->now->n;
	return u->now->bytes;
}

unsigned fakeup_taken(const struct fakeup *u)
{
	return u->n_taken;
}

void fakeup_pick(struct fakeup *u, unsigned i)
{
	check(i < u->n_taken && i + KEPT >= u->n_taken, "no such question");
	u->now = &u->taken[i % KEPT];
}

/* ---- replies ---- */

void fakeup_stream(struct fakeup *u, const void *p, size_t n)
{
	check(u->now != NULL && u->now->conn != NULL, "no connection");
	/* The client may be gone: what then comes of it is what the test looks at. */
	IGNORE(send(u->now->conn->fd, p, n, MSG_NOSIGNAL) < 0);
}

static void send_from(const struct fakeup *u, int fd, const uint8_t *p, size_t n)
{
	const union net_addr *to = &u->now->from;
	check(sendto(fd, p, n, 0, &to->sa, net_addr_len(to)) == (ssize_t)n, "sendto");
}

void fakeup_raw(struct fakeup *u, const uint8_t *p, size_t n, bool elsewhere)
{
	if (u->now->conn != NULL) {
		uint8_t head[2];
		dns_put16(head, (uint16_t)n);
		fakeup_stream(u, head, 2);
		fakeup_stream(u, p, n);
		return;
	}
	int fd = elsewhere ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : u->udp;
	send_from(u, fd, p, n);
	if (elsewhere)
		close(fd);
}

void fakeup_bytes(struct fakeup *u, const uint8_t *p, size_t n)
{
	uint8_t *copy = xmemdup(p, n);
	memcpy(copy, u->now->bytes, MIN(n, 2));
	fakeup_raw(u, copy, n, false);
	free(copy);
}

static size_t put_record(struct fakeup *u, struct slice line, uint8_t *out)
{
	struct dns_rr rr;
	if (dns_rrtext_parse(u->rrtext, line, &u->arena, &rr) < 0) {
		fprintf(stderr, "fakeup: %.*s: %s\n", (int)line.n, line.p,
			dns_rrtext_error(u->rrtext));
		abort();
	}
	size_t at = rr.owner_len;
	memcpy(out, rr.owner, at);
	dns_put16(out + at, rr.type);
	dns_put16(out + at + 2, rr.cls);
	dns_put32(out + at + 4, rr.ttl);
	dns_put16(out + at + 8, rr.rdlen);
	memcpy(out + at + 10, rr.rdata, rr.rdlen);
	return at + 10 + rr.rdlen;
}

static size_t put_records(struct fakeup *u, const char *lines, uint8_t *count, uint8_t *out)
{
	struct slice rest = slice_of(lines);
	size_t at = 0;
	unsigned n = 0;
	while (rest.n > 0) {
		struct slice line = slice_trim(slice_cut(&rest, '\n'));
		if (line.n == 0)
			continue;
		at += put_record(u, line, out + at);
		n++;
	}
	dns_put16(count, (uint16_t)n);
	return at;
}

static size_t put_question(const struct fakeup *u, const struct fakeup_reply *r, uint8_t *out)
{
	const uint8_t *q = u->now->bytes + DNS_HEADER_BYTES;
	size_t name_n = dns_name_len(q);
	int n = (int)name_n;
	if (r->no_question)
		return 0;
	if (r->question != NULL)
		n = dns_name_from_text(slice_of(r->question), out);
	else
		memcpy(out, q, name_n);
	check(n > 0, "name");
	memcpy(out + n, q + name_n, 4);
	return (size_t)n + 4;
}

static size_t put_opt(uint8_t *m, uint8_t *out)
{
	static const uint8_t opt[DNS_OPT_BYTES] = { 0, 0, DNS_TYPE_OPT, 1232 >> 8, 1232 & 255 };
	memcpy(out, opt, sizeof(opt));
	dns_put16(m + 10, (uint16_t)(dns_get16(m + 10) + 1));
	return sizeof(opt);
}

void fakeup_reply(struct fakeup *u, const struct fakeup_reply *r)
{
	uint8_t *m = xcalloc(1, MESSAGE_MAX);
	const uint8_t *q = u->now->bytes;
	unsigned flags = dns_get16(q + 2) | DNS_FLAG_QR | DNS_FLAG_RA | r->set_flags | r->rcode;
	arena_init_fixed(&u->arena, u->block, sizeof(u->block));
	memcpy(m, q, 2);
	m[0] ^= r->wrong_id ? 0x55 : 0;
	dns_put16(m + 2, (uint16_t)(flags & ~(unsigned)r->clear_flags));
	dns_put16(m + 4, r->no_question ? 0 : 1);
	size_t n = DNS_HEADER_BYTES;
	n += put_question(u, r, m + n);
	n += put_records(u, r->answer, m + 6, m + n);
	n += put_records(u, r->authority, m + 8, m + n);
	n += put_records(u, r->additional, m + 10, m + n);
	if (r->opt)
		n += put_opt(m, m + n);
	fakeup_raw(u, m, n, false);
	free(m);
}

void fakeup_answer(struct fakeup *u, const char *records)
{
	fakeup_reply(u, &(struct fakeup_reply){ .answer = records });
}

/* ---- going away ---- */

void fakeup_hang_up(struct fakeup *u, bool reset)
{
	check(u->now != NULL && u->now->conn != NULL, "no connection");
	struct linger now = { .l_onoff = 1 };
	if (reset && u->now->conn->fd >= 0)
		check(setsockopt(u->now->conn->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0,
		      "linger");
	close_fd(&u->now->conn->fd);
}

void fakeup_stop_udp(struct fakeup *u)
{
	close_fd(&u->udp);
}

void fakeup_stop_tcp(struct fakeup *u)
{
	close_fd(&u->tcp);
	for (size_t i = 0; i < u->conns.n; i++)
		close_fd(&u->conns.v[i]->fd);
}

unsigned fakeup_accepted(struct fakeup *u)
{
	accept_all(u);
	return (unsigned)u->conns.n;
}

unsigned fakeup_open(struct fakeup *u)
{
	unsigned n = 0;
	accept_all(u);
	for (size_t i = 0; i < u->conns.n; i++) {
		uint8_t byte;
		struct conn *c = u->conns.v[i];
		if (c->fd >= 0 && recv(c->fd, &byte, 1, MSG_PEEK) == 0)
			close_fd(&c->fd);
		n += c->fd >= 0;
	}
	return n;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rig of tests of http/service: a server whose handler answers at once, waits or streams, plain
 * or over TLS, and clients that read and write bytes. */
#pragma once

#include "http/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "http/tlscert.h"
#include "net/addr.h"
#include "net/tls.h"
#include "testing/testcert.h"

enum { BODY_MAX_BYTES = 1000, READ_MS = 20000 };

/* --- what is served --- */

/* A stream of numbered lines: `said` of `wanted` are sent, the rest follows when wanted grows. */
struct ticker {
	struct ticker *next;
	struct http_stream *handle;
	_Atomic unsigned wanted, end;
	unsigned said;
	_Atomic bool done;
};

struct board {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t change;
	struct ticker *tickers; /* that are not done */
	struct ticker *done;	/* freed at the end */
	unsigned n_tickers;
	unsigned n_inside; /* handlers of /wait */
	bool open;	   /* the gate of /wait */
};

static inline void board_init(struct board *b)
{
	*b = (struct board){ .n_tickers = 0 };
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->change, NULL);
}

static inline void board_done(struct board *b)
{
	assert_null(b->tickers);
	for (struct ticker *t = b->done, *next; t != NULL; t = next) {
		next = t->next;
		free(t);
	}
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->change);
}

static inline void wait_tickers(struct board *b, unsigned n)
{
	pthread_mutex_lock(&b->lock);
	while (b->n_tickers != n)
		pthread_cond_wait(&b->change, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

/* All tickers may send up to n lines; each is woken. */
static inline void raise_all(struct board *b, unsigned n, unsigned end)
{
	pthread_mutex_lock(&b->lock);
	for (struct ticker *t = b->tickers; t != NULL; t = t->next) {
		if (t->wanted < n)
			t->wanted = n;
		t->end = end;
		http_stream_wake(t->handle);
	}
	pthread_mutex_unlock(&b->lock);
}

static struct board *the_board; /* of the running test */

static inline ssize_t ticker_pull(void *ctx, char *buf, size_t n)
{
	struct ticker *t = ctx;
	char line[32];
	size_t used = 0;
	while (t->said < t->wanted) {
		int len = snprintf(line, sizeof(line), "line %u\n", t->said);
		if (used + (size_t)len > n)
			break;
		memcpy(buf + used, line, (size_t)len);
		used += (size_t)len;
		t->said++;
	}
	if (used == 0 && t->end != 0 && t->said >= t->end)
		return -1;
	return (ssize_t)used;
}

static inline void ticker_done(void *ctx)
{
	struct ticker *t = ctx;
	struct board *b = the_board;
	pthread_mutex_lock(&b->lock);
	struct ticker **at = &b->tickers;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->next = b->done;
	b->done = t;
	b->n_tickers--;
	pthread_cond_broadcast(&b->change);
	pthread_mutex_unlock(&b->lock);
	assert_false(atomic_exchange(&t->done, true));
}

static const struct http_stream_ops ticker_ops = { ticker_pull, ticker_done, false };

/* The same, but its end is never reached. */
static inline ssize_t broken_pull(void *ctx, char *buf, size_t n)
{
	ssize_t got = ticker_pull(ctx, buf, n);
	return got == HTTP_STREAM_END ? HTTP_STREAM_BROKEN : got;
}

static const struct http_stream_ops broken_ops = { broken_pull, ticker_done, true };

static inline void tick(struct board *b, const struct http_request *req, struct http_answer *a)
{
	struct ticker *t = xcalloc(1, sizeof(*t));
	const char *n = http_request_arg(req, "n");
	t->handle = a->handle;
	t->wanted = t->end = n != NULL ? (unsigned)strtoul(n, NULL, 10) : 0;
	a->stream = &ticker_ops;
	a->stream_ctx = t;
	a->content_type = "application/json";
	if (http_request_arg(req, "hello") != NULL)
		strbuf_adds(&a->body, "hello\n");
	pthread_mutex_lock(&b->lock);
	t->next = b->tickers;
	b->tickers = t;
	b->n_tickers++;
	pthread_cond_broadcast(&b->change);
	pthread_mutex_unlock(&b->lock);
}

static inline void wait_gate(struct board *b, struct http_answer *a)
{
	pthread_mutex_lock(&b->lock);
	b->n_inside++;
	pthread_cond_broadcast(&b->change);
	while (!b->open)
		pthread_cond_wait(&b->change, &b->lock);
	b->n_inside--;
	pthread_mutex_unlock(&b->lock);
	strbuf_adds(&a->body, "through");
}

static inline void echo(const struct http_request *req, struct http_answer *a)
{
	struct http_arg args[4];
	size_t n = http_request_args(req, args, ARRAY_LEN(args));
	const char *h = http_request_header(req, "x-test");
	strbuf_addf(&a->body, "%s %s h=%s", req->method_text, req->path, h != NULL ? h : "-");
	for (size_t i = 0; i < MIN(n, ARRAY_LEN(args)); i++)
		strbuf_addf(&a->body, " %s=%s", args[i].name, args[i].value);
	strbuf_addf(&a->body, " (%zu) b=", n);
	strbuf_add_slice(&a->body, req->body);
	http_answer_header(a, "X-One", "1\r\n2");
	http_answer_header(a, "X-One", "3");
}

static inline ssize_t flood_pull(void *ctx, char *buf, size_t n)
{
	(void)ctx;
	memset(buf, 'x', n);
	return (ssize_t)n;
}

static const struct http_stream_ops flood_ops = { flood_pull, ticker_done, false };

static inline void serve(void *ctx, const struct http_request *req, struct http_answer *a)
{
	struct board *b = ctx;
	if (strcmp(req->path, "/tick") == 0) {
		tick(b, req, a);
	} else if (strcmp(req->path, "/broken") == 0) {
		tick(b, req, a);
		a->stream = &broken_ops;
	} else if (strcmp(req->path, "/flood") == 0) {
		tick(b, req, a);
		a->stream = &flood_ops;
	} else if (strcmp(req->path, "/wait") == 0) {
		wait_gate(b, a);
	} else if (strcmp(req->path, "/none") == 0) {
		a->status = 304;
		a->content_type = NULL;
	} else {
		echo(req, a);
	}
}

static inline void too_long(void *ctx, const struct http_request *req, struct http_answer *a)
{
	(void)ctx;
	a->status = 413;
	a->content_type = "application/json";
	strbuf_addf(&a->body, "{\"too long\":%zu}", req->body.n);
}

/* --- the service under test and its clients --- */

struct rig {
	struct board board;
	struct http_tls *tls; /* NULL: plain */
	char dir[64];
	struct http_service *service;
};

static inline struct http_service_conf rig_conf(struct rig *r)
{
	return (struct http_service_conf){
		.addr = "127.0.0.1:0",
		.tls = r->tls,
		.max_body_bytes = BODY_MAX_BYTES,
		.handle = serve,
		.too_long = too_long,
		.ctx = &r->board,
	};
}

static inline void rig_start(struct rig *r, const struct http_service_conf *c)
{
	board_init(&r->board);
	the_board = &r->board;
	assert_int_equal(http_service_start(c, &r->service), 0);
}

static inline void rig_stop(struct rig *r)
{
	http_service_stop(TAKE_PTR(r->service));
	board_done(&r->board);
}

static inline void read_pem(const char *dir, const char *name, struct strbuf *out)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	assert_true(readfile_path(path, 100000, 1000, out) >= 0);
	unlink(path);
}

static inline void rig_tls(struct rig *r)
{
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	char err[256];
	snprintf(r->dir, sizeof(r->dir), "/tmp/test_service.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	struct testcert *t = testcert_new(r->dir);
	testcert_make(t, "server", "127.0.0.1");
	testcert_free(t);
	read_pem(r->dir, "server.pem", &cert);
	read_pem(r->dir, "server.key", &key);
	assert_int_equal(
		http_tls_new(strbuf_slice(&cert), strbuf_slice(&key), &r->tls, ERR_TEXT(err)), 0);
}

static inline void rig_tls_done(struct rig *r)
{
	CLEANUP(freep) char *ca = xasprintf("%s/ca.pem", r->dir);
	unlink(ca);
	rmdir(r->dir);
	http_tls_free(TAKE_PTR(r->tls));
}

struct client {
	int fd;
	struct net_tls *tls;
	struct net_tls_cred *cred;
	struct strbuf in;
	size_t read; /* of `in`, by next_line */
};

static inline void dial(const struct rig *r, struct client *c)
{
	struct timeval limit = { .tv_sec = READ_MS / 1000 };
	union net_addr a;
	*c = (struct client){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	strbuf_init(&c->in);
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	net_addr_set_port(&a, http_service_port(r->service));
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(c->fd, &a.sa, net_addr_len(&a)), 0);
	if (r->tls == NULL)
		return;
	CLEANUP(freep) char *ca = xasprintf("%s/ca.pem", r->dir);
	char err[256];
	assert_int_equal(
		net_tls_client_cred(&(struct net_tls_files){ .ca = ca }, &c->cred, ERR_TEXT(err)),
		0);
	assert_int_equal(net_tls_connect(c->cred, c->fd, "127.0.0.1", NULL, NULL, &c->tls), 0);
	assert_int_equal(net_tls_handshake(c->tls), 0);
}

static inline void hang_up(struct client *c)
{
	if (c->tls != NULL) {
		net_tls_free(c->tls);
		net_tls_cred_unref(c->cred);
	}
	close(c->fd);
	strbuf_done(&c->in);
}

static inline void put_n(struct client *c, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t sent = c->tls != NULL ? net_tls_send(c->tls, p, n)
					      : send(c->fd, p, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return; /* refused in the middle: the reply says so */
		p += sent;
		n -= (size_t)sent;
	}
}

static inline void put(struct client *c, const char *text)
{
	put_n(c, text, strlen(text));
}

/* More bytes; false at the end. */
static inline bool more(struct client *c)
{
	char part[8192];
	ssize_t n = c->tls != NULL ? net_tls_recv(c->tls, part, sizeof(part))
				   : recv(c->fd, part, sizeof(part), 0);
	assert_false(n == -EAGAIN || (c->tls == NULL && n < 0 && errno == EAGAIN));
	if (n <= 0)
		return false;
	strbuf_add(&c->in, part, (size_t)n);
	return true;
}

/* Reads until the text has come; false: the end came first. */
static inline bool until(struct client *c, const char *text)
{
	while (strstr(c->in.s + c->read, text) == NULL) {
		if (!more(c))
			return false;
	}
	c->read = (size_t)(strstr(c->in.s + c->read, text) - c->in.s) + strlen(text);
	return true;
}

static inline char *ask(const struct rig *r, const char *request)
{
	struct client c;
	dial(r, &c);
	put(&c, request);
	while (more(&c))
		;
	char *reply = strbuf_take(&c.in);
	hang_up(&c);
	return reply;
}

static inline const char *body_of(const char *reply)
{
	const char *at = strstr(reply, "\r\n\r\n");
	return at != NULL ? at + 4 : "(no body)";
}

#define CLOSE_HEAD "Host: x\r\nConnection: close\r\n"

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* service: handlers that wait, streams that are woken from anywhere, and clients that are slow,
 * silent or gone; over the loopback, plain and with TLS. */
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

static void board_init(struct board *b)
{
	*b = (struct board){ .n_tickers = 0 };
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->change, NULL);
}

static void board_done(struct board *b)
{
	assert_null(b->tickers);
	for (struct ticker *t = b->done, *next; t != NULL; t = next) {
		next = t->next;
		free(t);
	}
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->change);
}

static void wait_tickers(struct board *b, unsigned n)
{
	pthread_mutex_lock(&b->lock);
	while (b->n_tickers != n)
		pthread_cond_wait(&b->change, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

/* All tickers may say up to n lines; each is woken. */
static void raise_all(struct board *b, unsigned n, unsigned end)
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

static ssize_t ticker_pull(void *ctx, char *buf, size_t n)
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

static void ticker_done(void *ctx)
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
static ssize_t broken_pull(void *ctx, char *buf, size_t n)
{
	ssize_t got = ticker_pull(ctx, buf, n);
	return got == HTTP_STREAM_END ? HTTP_STREAM_BROKEN : got;
}

static const struct http_stream_ops broken_ops = { broken_pull, ticker_done, true };

static void tick(struct board *b, const struct http_request *req, struct http_answer *a)
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

static void wait_gate(struct board *b, struct http_answer *a)
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

static void echo(const struct http_request *req, struct http_answer *a)
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

static ssize_t flood_pull(void *ctx, char *buf, size_t n)
{
	(void)ctx;
	memset(buf, 'x', n);
	return (ssize_t)n;
}

static const struct http_stream_ops flood_ops = { flood_pull, ticker_done, false };

static void serve(void *ctx, const struct http_request *req, struct http_answer *a)
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

static void too_long(void *ctx, const struct http_request *req, struct http_answer *a)
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

static struct http_service_conf rig_conf(struct rig *r)
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

static void rig_start(struct rig *r, const struct http_service_conf *c)
{
	board_init(&r->board);
	the_board = &r->board;
	assert_int_equal(http_service_start(c, &r->service), 0);
}

static void rig_stop(struct rig *r)
{
	http_service_stop(TAKE_PTR(r->service));
	board_done(&r->board);
}

static void read_pem(const char *dir, const char *name, struct strbuf *out)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	assert_true(readfile_path(path, 100000, 1000, out) >= 0);
	unlink(path);
}

static void rig_tls(struct rig *r)
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

static void rig_tls_done(struct rig *r)
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

static void dial(const struct rig *r, struct client *c)
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

static void hang_up(struct client *c)
{
	if (c->tls != NULL) {
		net_tls_free(c->tls);
		net_tls_cred_unref(c->cred);
	}
	close(c->fd);
	strbuf_done(&c->in);
}

static void put_n(struct client *c, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t sent = c->tls != NULL ? net_tls_send(c->tls, p, n)
					      : send(c->fd, p, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return; /* refused in the middle: the reply tells */
		p += sent;
		n -= (size_t)sent;
	}
}

static void put(struct client *c, const char *text)
{
	put_n(c, text, strlen(text));
}

/* More bytes; false at the end. */
static bool more(struct client *c)
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
static bool until(struct client *c, const char *text)
{
	while (strstr(c->in.s + c->read, text) == NULL) {
		if (!more(c))
			return false;
	}
	c->read = (size_t)(strstr(c->in.s + c->read, text) - c->in.s) + strlen(text);
	return true;
}

static char *ask(const struct rig *r, const char *request)
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

static const char *body_of(const char *reply)
{
	const char *at = strstr(reply, "\r\n\r\n");
	return at != NULL ? at + 4 : "(no body)";
}

#define CLOSE_HEAD "Host: x\r\nConnection: close\r\n"

/* --- tests --- */

static const struct {
	const char *request, *status, *header, *body;
} rows[] = {
	{ "GET /a%20b?x=1&y&x=%26 HTTP/1.1\r\n" CLOSE_HEAD "X-Test: 7\r\n\r\n", "200 OK",
	  "Content-Type: text/plain; charset=utf-8\r\n", "GET /a b h=7 x=1 y= x=& (3) b=" },
	{ "GET /a%00b?c=d%00e+f HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "X-One: 1  2\r\n",
	  "GET /a%00b h=- c=d%00e f (1) b=" },
	{ "GET /a?1&2&3&4&5 HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "X-One: 3\r\n",
	  "GET /a h=- 1= 2= 3= 4= (5) b=" },
	{ "FROB / HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "", "FROB / h=- (0) b=" },
	{ "HEAD / HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "Content-Length: 17\r\n", "" },
	{ "GET /none HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "304 Not Modified", "", "" },
	{ "POST / HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 5\r\n\r\nhello", "200 OK", "",
	  "POST / h=- (0) b=hello" },
	{ "PATCH / HTTP/1.1\r\n" CLOSE_HEAD
	  "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
	  "200 OK", "", "PATCH / h=- (0) b=hello" },
	{ "DELETE / HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "", "DELETE / h=- (0) b=" },
	/* Nothing of the body comes, so the reply cannot have waited for it. */
	{ "POST / HTTP/1.1\r\n" CLOSE_HEAD "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n",
	  "413 Content Too Large", "Content-Type: application/json\r\n", "{\"too long\":0}" },
	{ "POST / HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 99999999\r\n\r\n",
	  "413 Content Too Large", "", "{\"too long\":0}" },
	{ "GET /tick?n=2 HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK",
	  "Transfer-Encoding: chunked\r\n", "E\r\nline 0\nline 1\n\r\n0\r\n\r\n" },
	{ "GET /tick?n=2&hello HTTP/1.0\r\n\r\n", "200 OK", "Content-Type: application/json\r\n",
	  "hello\nline 0\nline 1\n" },
	{ "HEAD /tick?n=2 HTTP/1.1\r\n" CLOSE_HEAD "\r\n", "200 OK", "", "" },
};

static void check_rows(struct rig *r)
{
	struct http_service_conf c = rig_conf(r);
	rig_start(r, &c);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *reply = ask(r, rows[i].request);
		if (strncmp(reply, "HTTP/1.", 7) != 0 ||
		    strncmp(reply + 9, rows[i].status, strlen(rows[i].status)) != 0 ||
		    strstr(reply, rows[i].header) == NULL ||
		    strcmp(body_of(reply), rows[i].body) != 0)
			fail_msg("%s->\n%s", rows[i].request, reply);
	}
	rig_stop(r);
}

static void requests_and_replies(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	check_rows(&r);
	rig_tls(&r);
	check_rows(&r);
	rig_tls_done(&r);
}

static void lengths_are_said_once(void **state)
{
	static const char *const twice[] = {
		"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
		"Content-Length: 2\r\ncontent-length: 2\r\n\r\n{}",
		"Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	};
	struct rig r = { .tls = NULL };
	(void)state;
	struct http_service_conf c = rig_conf(&r);
	rig_start(&r, &c);
	for (size_t i = 0; i < ARRAY_LEN(twice); i++) {
		CLEANUP(freep)
		char *request = xasprintf("POST / HTTP/1.1\r\n" CLOSE_HEAD "%s", twice[i]);
		CLEANUP(freep) char *reply = ask(&r, request);
		assert_non_null(strstr(reply, "400 Bad Request"));
	}
	rig_stop(&r);
}

/* The library would wait for the connection's end, the client for an answer. */
static void codings_that_are_not_known(void **state)
{
	static const char *const codings[] = { "gzip",		"identity", "chunked, gzip",
					       "gzip, chunked", "xchunked", "\"chunked\"" };
	struct rig r = { .tls = NULL };
	(void)state;
	struct http_service_conf c = rig_conf(&r);
	rig_start(&r, &c);
	for (size_t i = 0; i < ARRAY_LEN(codings); i++) {
		CLEANUP(freep)
		char *request =
			xasprintf("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: %s\r\n\r\n"
				  "2\r\n{}\r\n0\r\n\r\n",
				  codings[i]);
		CLEANUP(freep) char *reply = ask(&r, request); /* to the connection's end */
		assert_ptr_equal(strstr(reply, "HTTP/1.1 501 Not Implemented"), reply);
		assert_null(strstr(reply + 1, "HTTP/1.1"));
	}
	CLEANUP(freep)
	char *known = ask(&r, "POST / HTTP/1.1\r\n" CLOSE_HEAD "Transfer-Encoding: Chunked\r\n\r\n"
			      "2\r\n{}\r\n0\r\n\r\n");
	assert_non_null(strstr(known, "200 OK"));
	rig_stop(&r);
}

static void keeps_the_connection(void **state)
{
	struct rig r = { .tls = NULL };
	struct client c;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	dial(&r, &c);
	for (int i = 0; i < 3; i++) {
		put(&c, "GET /tick?n=3&hello HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_true(until(&c, "hello\n"));
		assert_true(until(&c, "line 2\n\r\n0\r\n\r\n"));
		put(&c, "POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
			"Content-Length: 3\r\n\r\n");
		assert_true(until(&c, "HTTP/1.1 100 Continue\r\n\r\n"));
		put(&c, "abc");
		assert_true(until(&c, "POST /x h=- (0) b=abc"));
	}
	hang_up(&c);
	rig_stop(&r);
}

/* A document that cannot be told to its end has no last chunk, nor one that a stop cuts off. */
static void broken_ends_are_seen(void **state)
{
	struct rig r = { .tls = NULL };
	struct client c, d;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	dial(&r, &c);
	put(&c, "GET /broken?n=3 HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&c, "line 2\n"));
	assert_false(until(&c, "\r\n0\r\n\r\n"));
	dial(&r, &d);
	put(&d, "GET /broken?hello HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&d, "hello\n"));
	http_service_stop(TAKE_PTR(r.service));
	assert_false(until(&d, "\r\n0\r\n\r\n"));
	hang_up(&c);
	hang_up(&d);
	rig_stop(&r);
}

static void bodies_are_limited(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct rig r = { .tls = NULL };
	struct client c;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	dial(&r, &c);
	for (int chunked = 0; chunked < 2; chunked++) {
		/* The limit passes, one more and a million more do not; the connection stays. */
		static const int length[] = { BODY_MAX_BYTES, BODY_MAX_BYTES + 1, 1000000 };
		for (size_t i = 0; i < ARRAY_LEN(length); i++) {
			strbuf_reset(&b);
			strbuf_addf(&b, "POST / HTTP/1.1\r\nHost: x\r\n");
			if (chunked)
				strbuf_addf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n",
					    (unsigned)length[i]);
			else
				strbuf_addf(&b, "Content-Length: %d\r\n\r\n", length[i]);
			for (int k = 0; k < length[i]; k++)
				strbuf_addc(&b, 'x');
			if (chunked)
				strbuf_adds(&b, "\r\n0\r\n\r\n");
			put_n(&c, b.s, b.n);
			assert_true(until(&c, i == 0 ? "200 OK" : "413 Content Too Large"));
			assert_true(until(&c, i == 0 ? "b=xxx" : "{\"too long\":0}"));
		}
	}
	hang_up(&c);
	rig_stop(&r);
}

static void handlers_may_wait(void **state)
{
	enum { THREADS = 4, CLIENTS = 3 * THREADS };
	struct rig r = { .tls = NULL };
	struct client c[CLIENTS];
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.threads = THREADS;
	rig_start(&r, &conf);
	for (int i = 0; i < CLIENTS; i++) {
		dial(&r, &c[i]);
		put(&c[i], "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	/* All threads are inside, no more; then the gate opens for all. */
	pthread_mutex_lock(&r.board.lock);
	while (r.board.n_inside < THREADS)
		pthread_cond_wait(&r.board.change, &r.board.lock);
	assert_int_equal(r.board.n_inside, THREADS);
	r.board.open = true;
	pthread_cond_broadcast(&r.board.change);
	pthread_mutex_unlock(&r.board.lock);
	for (int i = 0; i < CLIENTS; i++) {
		assert_true(until(&c[i], "through"));
		hang_up(&c[i]);
	}
	rig_stop(&r);
}

enum { STREAMS = 100, LINES = 200, WAKERS = 4 };

static void *raise_thread(void *ctx)
{
	struct board *b = ctx;
	for (unsigned i = 1; i <= LINES; i++)
		raise_all(b, i, 0);
	return NULL;
}

static void check_lines(struct client *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char line[32];
		snprintf(line, sizeof(line), "line %u\n", i);
		/* In order, none missing: nothing but chunk borders lies between. */
		size_t before = c->read;
		assert_true(until(c, line));
		if (i > 0)
			assert_true(c->read - before <= strlen(line) + 16);
	}
}

/* Each wake is seen by all streams although many come at once from many threads. */
static void storm(struct rig *r)
{
	static struct client c[STREAMS];
	pthread_t wakers[WAKERS];
	struct http_service_conf conf = rig_conf(r);
	rig_start(r, &conf);
	for (int i = 0; i < STREAMS; i++) {
		dial(r, &c[i]);
		put(&c[i], "GET /tick HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	wait_tickers(&r->board, STREAMS);
	for (int i = 0; i < WAKERS; i++)
		assert_int_equal(pthread_create(&wakers[i], NULL, raise_thread, &r->board), 0);
	for (int i = 0; i < STREAMS; i++)
		check_lines(&c[i], LINES);
	for (int i = 0; i < WAKERS; i++)
		pthread_join(wakers[i], NULL);
	/* One more, now that all rest; and the end. */
	raise_all(&r->board, LINES + 1, 0);
	for (int i = 0; i < STREAMS; i++)
		assert_true(until(&c[i], "line 200\n"));
	raise_all(&r->board, LINES + 1, LINES + 1);
	for (int i = 0; i < STREAMS; i++) {
		assert_true(until(&c[i], "\r\n0\r\n\r\n"));
		hang_up(&c[i]);
	}
	wait_tickers(&r->board, 0);
	rig_stop(r);
}

static void every_wake_is_seen(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	storm(&r);
	rig_tls(&r);
	storm(&r);
	rig_tls_done(&r);
}

static void vanish(struct rig *r)
{
	struct client c[3];
	struct http_service_conf conf = rig_conf(r);
	rig_start(r, &conf);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		dial(r, &c[i]);
		put(&c[i], "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_true(until(&c[i], "hello\n"));
	}
	wait_tickers(&r->board, 3);
	/* Nobody wakes them: gone without a word, then with a reset. */
	hang_up(&c[0]);
	wait_tickers(&r->board, 2);
	struct linger now = { .l_onoff = 1 };
	setsockopt(c[1].fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	hang_up(&c[1]);
	wait_tickers(&r->board, 1);
	raise_all(&r->board, 1, 0);
	assert_true(until(&c[2], "line 0\n"));
	hang_up(&c[2]);
	wait_tickers(&r->board, 0);
	rig_stop(r);
}

static void clients_that_vanish(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	vanish(&r);
	rig_tls(&r);
	vanish(&r);
	rig_tls_done(&r);
}

static void slow_clients_are_cut(void **state)
{
	struct rig r = { .tls = NULL };
	struct client flooded, unfinished, silent, quiet;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.idle_s = conf.stall_s = 1;
	rig_start(&r, &conf);
	dial(&r, &quiet);
	put(&quiet, "GET /tick?hello HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&quiet, "hello\n"));
	dial(&r, &flooded);
	put(&flooded, "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
	wait_tickers(&r.board, 2);
	dial(&r, &unfinished);
	put(&unfinished, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
	dial(&r, &silent);
	assert_false(until(&unfinished, "200 OK"));
	assert_false(until(&silent, "HTTP"));
	/* It takes nothing of what it gets; but a stream that has nothing to say is no slow one. */
	wait_tickers(&r.board, 1);
	raise_all(&r.board, 1, 0);
	assert_true(until(&quiet, "line 0\n"));
	hang_up(&quiet);
	hang_up(&flooded);
	hang_up(&unfinished);
	hang_up(&silent);
	rig_stop(&r);
}

static void the_idle_make_room(void **state)
{
	enum { MAX = 8 };
	struct rig r = { .tls = NULL };
	struct client c[MAX], one, last;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.max_connections = MAX;
	rig_start(&r, &conf);
	dial(&r, &c[0]);
	for (int i = 1; i < MAX; i++) {
		dial(&r, &c[i]);
		put(&c[i], "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_true(until(&c[i], "hello\n"));
	}
	/* The idle one goes, the streams stay; when all are at work the new one goes. */
	dial(&r, &one);
	put(&one, "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(until(&one, "hello\n"));
	assert_false(until(&c[0], "HTTP"));
	dial(&r, &last);
	put(&last, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_false(until(&last, "HTTP"));
	raise_all(&r.board, 1, 0);
	assert_true(until(&one, "line 0\n"));
	for (int i = 1; i < MAX; i++)
		assert_true(until(&c[i], "line 0\n"));
	for (int i = 0; i < MAX; i++)
		hang_up(&c[i]);
	hang_up(&one);
	hang_up(&last);
	rig_stop(&r);
}

/* --- clients that are not known --- */

static bool has_key(void *ctx, const struct http_request *req)
{
	(void)ctx;
	assert_int_equal(req->body.n, 0);
	return http_request_header(req, "Key") != NULL;
}

/* However many strangers send however much: they are cut one after the other, their bodies reach
 * nobody, and those who are known have all of their room. */
static void strangers_take_no_room(struct rig *r)
{
	enum { MAX = 4, STRANGERS = 3 * MAX };
	struct client slow[STRANGERS], known[MAX], last;
	struct http_service_conf conf = rig_conf(r);
	conf.max_connections = conf.max_unknown = MAX;
	conf.is_known = has_key;
	rig_start(r, &conf);
	for (int i = 0; i < STRANGERS; i++) {
		dial(r, &slow[i]);
		put(&slow[i], "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
	}
	for (int i = 0; i < MAX; i++) {
		dial(r, &known[i]);
		put(&known[i], "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\nKey: k\r\n\r\n");
		assert_true(until(&known[i], "hello\n"));
	}
	/* The first ones are gone, the last ones are answered, without their body. */
	assert_false(until(&slow[0], "HTTP"));
	put(&slow[STRANGERS - 1], "lo");
	assert_true(until(&slow[STRANGERS - 1], "200 OK"));
	assert_true(until(&slow[STRANGERS - 1], "POST /"));
	assert_null(strstr(slow[STRANGERS - 1].in.s, "hel"));
	/* All who are known are at work: another one is told so. */
	dial(r, &last);
	put(&last, "GET / HTTP/1.1\r\nHost: x\r\nKey: k\r\n\r\n");
	assert_true(until(&last, "429 Too Many Requests"));
	assert_true(until(&last, "Retry-After: 1"));
	/* And finds room when one of them ends. */
	raise_all(&r->board, 1, 1);
	assert_true(until(&known[0], "0\r\n\r\n"));
	put(&last, "GET /again HTTP/1.1\r\nHost: x\r\nKey: k\r\n\r\n");
	assert_true(until(&last, "GET /again"));
	for (int i = 0; i < STRANGERS; i++)
		hang_up(&slow[i]);
	for (int i = 0; i < MAX; i++)
		hang_up(&known[i]);
	hang_up(&last);
	rig_stop(r);
}

static void strangers(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	strangers_take_no_room(&r);
	rig_tls(&r);
	strangers_take_no_room(&r);
	rig_tls_done(&r);
}

/* Bodies of all clients together. */
static void bodies_share_a_limit(void **state)
{
	struct rig r = { .tls = NULL };
	struct client first, second;
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	conf.max_bodies_bytes = 7;
	rig_start(&r, &conf);
	dial(&r, &first);
	put(&first, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nhello");
	for (int i = 0; i < 2; i++) {
		/* It is not known when the first part has been read: until then the second fits. */
		for (int tries = 0; tries < 1000; tries++) {
			dial(&r, &second);
			put(&second,
			    "POST /2 HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 4\r\n\r\nbody");
			assert_true(until(&second, "\r\n\r\n"));
			bool busy = strstr(second.in.s, "429 Too Many Requests") != NULL;
			if (busy != (i == 0)) {
				hang_up(&second);
				continue;
			}
			hang_up(&second);
			break;
		}
		if (i == 0) {
			put(&first, "!");
			assert_true(until(&first, "b=hello!"));
		}
	}
	dial(&r, &second);
	put(&second, "POST /2 HTTP/1.1\r\n" CLOSE_HEAD "Content-Length: 4\r\n\r\nbody");
	assert_true(until(&second, "b=body"));
	hang_up(&second);
	hang_up(&first);
	rig_stop(&r);
}

static void addresses(void **state)
{
	struct rig r = { .tls = NULL };
	struct http_service *second;
	char addr[NET_ADDR_TEXT_MAX];
	(void)state;
	struct http_service_conf conf = rig_conf(&r);
	rig_start(&r, &conf);
	/* A port has one owner, unlike those of http/server.h. */
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", http_service_port(r.service));
	conf.addr = addr;
	assert_int_equal(http_service_start(&conf, &second), -EADDRINUSE);
	conf.addr = "nonsense";
	assert_int_equal(http_service_start(&conf, &second), ERR_PARSE);
	rig_stop(&r);
	http_service_stop(NULL);
}

struct waker {
	struct board *board;
	_Atomic bool over;
};

static void *wake_thread(void *ctx)
{
	struct waker *w = ctx;
	for (unsigned i = 1; !w->over; i++)
		raise_all(w->board, i, 0);
	return NULL;
}

/* Stops in the middle of everything: streams end with their last chunk, a handler that waits is
 * waited for, and its reply comes. */
static void stop_in_the_storm(struct rig *r)
{
	enum { N = 20 };
	struct client c[N], waiting, idle;
	pthread_t wakers[2];
	struct http_service_conf conf = rig_conf(r);
	rig_start(r, &conf);
	struct waker w = { .board = &r->board };
	dial(r, &idle);
	dial(r, &waiting);
	put(&waiting, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < N; i++) {
		dial(r, &c[i]);
		put(&c[i], "GET /tick HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	wait_tickers(&r->board, N);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&wakers[i], NULL, wake_thread, &w), 0);
	for (int i = 0; i < N; i += 2)
		assert_true(until(&c[i], "line 0\n"));
	pthread_mutex_lock(&r->board.lock);
	r->board.open = true;
	pthread_cond_broadcast(&r->board.change);
	pthread_mutex_unlock(&r->board.lock);
	http_service_stop(TAKE_PTR(r->service));
	assert_int_equal(r->board.n_tickers, 0);
	w.over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(wakers[i], NULL);
	assert_true(until(&waiting, "through"));
	assert_false(until(&idle, "HTTP"));
	for (int i = 0; i < N; i++) {
		assert_true(until(&c[i], "\r\n0\r\n\r\n"));
		hang_up(&c[i]);
	}
	hang_up(&waiting);
	hang_up(&idle);
	board_done(&r->board);
}

static void stops_are_clean(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	for (int i = 0; i < 5; i++)
		stop_in_the_storm(&r);
	rig_tls(&r);
	for (int i = 0; i < 3; i++)
		stop_in_the_storm(&r);
	rig_tls_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_and_replies),
		cmocka_unit_test(lengths_are_said_once),
		cmocka_unit_test(codings_that_are_not_known),
		cmocka_unit_test(strangers),
		cmocka_unit_test(bodies_share_a_limit),
		cmocka_unit_test(keeps_the_connection),
		cmocka_unit_test(broken_ends_are_seen),
		cmocka_unit_test(bodies_are_limited),
		cmocka_unit_test(handlers_may_wait),
		cmocka_unit_test(every_wake_is_seen),
		cmocka_unit_test(clients_that_vanish),
		cmocka_unit_test(slow_clients_are_cut),
		cmocka_unit_test(the_idle_make_room),
		cmocka_unit_test(addresses),
		cmocka_unit_test(stops_are_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

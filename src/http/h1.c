/* HTTP/1.1: one message after the other. Lines are collected until the head is whole, then the body
 * by its length, by chunks, or (responses) to the end of the connection. A server reads the next
 * request when the last one is answered; a client sends the next when it has its response. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/framing_priv.h"

enum {
	CHUNK_LINE_MAX = 256,
	DISCARD_MAX = 256 * 1024, /* of a body that is too long; then the connection ends */
};

enum h1_state {
	H1_HEAD,
	H1_BODY,	/* `left` more bytes */
	H1_BODY_TO_EOF, /* until the peer closes */
	H1_CHUNK_LINE,	/* its size */
	H1_CHUNK,	/* `left` more bytes of it */
	H1_CHUNK_END,	/* the line end after it */
	H1_TRAILER,
	H1_ANSWER, /* server: the request is whole and not answered */
	H1_OVER,   /* nothing more is read */
};

struct h1 {
	struct http_framing f;
	enum h1_state state;
	struct strbuf head; /* when whole: what `now` points into */
	struct strbuf body;
	struct strbuf line; /* of a chunk */
	size_t line_at;	    /* where the head's last line begins */
	uint64_t left;
	struct http_h1_head now;
	uint32_t stream; /* the last one */
	size_t body_n;	 /* received, kept or not */
	bool discard;	 /* the body is too long: it is read, but not kept */
	bool waiting;	 /* for a response: the peer's (client) or ours (server) */
	bool closing;	 /* no message after this one */
	bool is_head;	 /* the request's method: its response has no body */
	void *user;
};

static struct h1 *h1_of(struct http_framing *f)
{
	return CONTAINER_OF(f, struct h1, f);
}

static const struct h1 *h1_of_const(const struct http_framing *f)
{
	return (const struct h1 *)(const void *)((const char *)f - offsetof(struct h1, f));
}

static bool is_server(const struct h1 *h)
{
	return h->f.conf.role == HTTP_ROLE_SERVER;
}

static void reset_message(struct h1 *h)
{
	strbuf_done(&h->head); /* an idle connection keeps no memory */
	strbuf_done(&h->body);
	strbuf_done(&h->line);
	h->line_at = 0;
	h->left = 0;
	h->body_n = 0;
	h->discard = false;
	h->now = (struct http_h1_head){ 0 };
	h->state = h->closing ? H1_OVER : H1_HEAD;
}

/* ---- the end of a message ---- */

static void deliver(struct h1 *h)
{
	struct http_message m = h->now.m;
	void *user = h->user;
	struct strbuf head = h->head, body = h->body; /* the callback may answer, or ask again */
	m.body = strbuf_slice(&body);
	strbuf_init(&h->head);
	strbuf_init(&h->body);
	h->closing |= h->now.close;
	if (is_server(h)) {
		h->is_head = slice_is(m.method, "HEAD");
		h->stream++;
	}
	h->waiting = is_server(h);
	uint32_t stream = h->stream;
	reset_message(h);
	if (is_server(h))
		h->state = H1_ANSWER;
	h->f.conf.calls.message(h->f.conf.ctx, stream, user, &m);
	strbuf_done(&head);
	strbuf_done(&body);
}

static void lose(struct h1 *h, int err)
{
	bool waited = h->waiting;
	h->closing = true;
	h->waiting = false;
	reset_message(h);
	if (waited && h->f.conf.calls.gone != NULL)
		h->f.conf.calls.gone(h->f.conf.ctx, h->stream, h->user, err);
}

/* Refuses what cannot be read further; the peer is told once. */
static int refuse(struct h1 *h, unsigned status, int err)
{
	if (is_server(h) && !h->waiting)
		strbuf_addf(&h->f.out,
			    "HTTP/1.1 %u %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
			    "Connection: close\r\n\r\n%u %s",
			    status, http_h1_reason(status), status, http_h1_reason(status));
	lose(h, err);
	return err;
}

/* `more` bytes of the body are to come. A server's caller answers a message that is too long, when
 * it was read: a client that is still sending might not see the answer. Beyond DISCARD_MAX it is
 * answered at once. Positive: the body goes on. */
static int expect_body(struct h1 *h, uint64_t more)
{
	if (h->body_n + more <= HTTP_BODY_MAX)
		return 1;
	if (!is_server(h)) {
		lose(h, ERR_LIMIT);
		return ERR_LIMIT;
	}
	strbuf_done(&h->body);
	h->discard = true;
	h->now.m.too_long = true;
	if (h->body_n + more <= DISCARD_MAX)
		return 1;
	h->closing = true;
	deliver(h);
	return 0;
}

/* ---- the head ---- */

static int start_body(struct h1 *h)
{
	const struct http_h1_head *n = &h->now;
	bool none = !is_server(h) &&
		    (h->is_head || n->m.status == 204 || n->m.status == 304 || n->m.status < 200);
	if (n->chunked && !none) {
		h->state = H1_CHUNK_LINE;
	} else if (n->length > 0 && !none) {
		h->left = (uint64_t)n->length;
		h->state = H1_BODY;
	} else if (!is_server(h) && n->length == HTTP_H1_NO_LENGTH && !none) {
		h->closing = true;
		h->state = H1_BODY_TO_EOF;
	} else {
		deliver(h);
		return 0;
	}
	int r = expect_body(h, n->length > 0 ? (uint64_t)n->length : 0);
	if (r <= 0)
		return r;
	if (is_server(h) && n->expects_continue)
		strbuf_adds(&h->f.out, "HTTP/1.1 100 Continue\r\n\r\n");
	return 0;
}

static int head_done(struct h1 *h)
{
	int r = http_h1_head_parse(strbuf_slice(&h->head), h->f.conf.role, &h->now);
	if (r < 0)
		return refuse(h, h->now.refuse, r);
	if (!is_server(h) && !h->waiting)
		return refuse(h, 0, ERR_PARSE); /* nobody asked */
	if (!is_server(h) && h->now.m.status < 200) {
		if (h->now.m.status == 101)
			return refuse(h, 0, ERR_PARSE);
		reset_message(h); /* an interim response: the real one follows */
		return 0;
	}
	return start_body(h);
}

/* Bytes up to and with the next line end; fewer when it is not there yet. */
static size_t line_part(const uint8_t *p, size_t n)
{
	const uint8_t *end = memchr(p, '\n', n);
	return end != NULL ? (size_t)(end - p) + 1 : n;
}

static bool line_is_empty(const struct strbuf *b, size_t from)
{
	struct slice s = slice_from(strbuf_slice(b), from);
	return slice_eq(s, SLICE("\n")) || slice_eq(s, SLICE("\r\n"));
}

static ssize_t feed_head(struct h1 *h, const uint8_t *p, size_t n)
{
	size_t use = line_part(p, n);
	if (h->head.n + use > HTTP_HEAD_MAX)
		return refuse(h, 431, ERR_LIMIT);
	strbuf_add(&h->head, p, use);
	if (p[use - 1] != '\n')
		return (ssize_t)use;
	bool empty = line_is_empty(&h->head, h->line_at);
	bool first = h->line_at == 0;
	h->line_at = h->head.n;
	if (empty && first) {
		/* RFC 9112 2.2: empty lines before a request are passed over. */
		strbuf_reset(&h->head);
		h->line_at = 0;
		return (ssize_t)use;
	}
	int r = empty ? head_done(h) : 0;
	return r < 0 ? r : (ssize_t)use;
}

/* ---- the body ---- */

static ssize_t feed_body(struct h1 *h, const uint8_t *p, size_t n)
{
	size_t use = MIN((uint64_t)n, h->left);
	if (!h->discard)
		strbuf_add(&h->body, p, use);
	h->body_n += use;
	h->left -= use;
	if (h->left == 0) {
		if (h->state == H1_BODY)
			deliver(h);
		else
			h->state = H1_CHUNK_END;
	}
	return (ssize_t)use;
}

static ssize_t feed_to_eof(struct h1 *h, const uint8_t *p, size_t n)
{
	int r = expect_body(h, n);
	if (r < 0)
		return r;
	strbuf_add(&h->body, p, n);
	h->body_n += n;
	return (ssize_t)n;
}

static int hex_value(char c)
{
	if (ascii_isdigit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1a2b;extension": the size, or negative. */
static int64_t chunk_size(struct slice line)
{
	int64_t size = 0;
	size_t i = 0;
	for (; i < line.n && hex_value(line.p[i]) >= 0; i++) {
		size = size * 16 + hex_value(line.p[i]);
		if (size > INT32_MAX)
			return ERR_LIMIT;
	}
	struct slice rest = slice_trim(slice_from(line, i));
	return i > 0 && (rest.n == 0 || rest.p[0] == ';') ? size : ERR_PARSE;
}

static int chunk_line_done(struct h1 *h)
{
	struct slice line = slice_trim(strbuf_slice(&h->line));
	int64_t size = h->state == H1_CHUNK_LINE ? chunk_size(line) : 0;
	if (size == ERR_PARSE || (h->state == H1_CHUNK_END && line.n != 0))
		return refuse(h, 400, ERR_PARSE);
	if (h->state == H1_CHUNK_END) {
		h->state = H1_CHUNK_LINE;
	} else {
		int r = expect_body(h, size < 0 ? UINT32_MAX : (uint64_t)size);
		if (r <= 0)
			return r;
		h->left = (uint64_t)size;
		h->state = size > 0 ? H1_CHUNK : H1_TRAILER;
	}
	strbuf_reset(&h->line);
	return 0;
}

/* Lines between chunks and after the last one. */
static ssize_t feed_chunk_line(struct h1 *h, const uint8_t *p, size_t n)
{
	size_t use = line_part(p, n);
	size_t max = h->state == H1_TRAILER ? HTTP_HEAD_MAX : CHUNK_LINE_MAX;
	if (h->line.n + use > max)
		return refuse(h, 431, ERR_LIMIT);
	strbuf_add(&h->line, p, use);
	if (p[use - 1] != '\n')
		return (ssize_t)use;
	int r = 0;
	if (h->state != H1_TRAILER)
		r = chunk_line_done(h);
	else if (line_is_empty(&h->line, h->left))
		deliver(h);
	else
		h->left = h->line.n; /* where the next trailer line begins */
	return r < 0 ? r : (ssize_t)use;
}

static ssize_t feed_some(struct h1 *h, const uint8_t *p, size_t n)
{
	switch (h->state) {
	case H1_HEAD:
		return feed_head(h, p, n);
	case H1_BODY:
	case H1_CHUNK:
		return feed_body(h, p, n);
	case H1_BODY_TO_EOF:
		return feed_to_eof(h, p, n);
	case H1_CHUNK_LINE:
	case H1_CHUNK_END:
	case H1_TRAILER:
		return feed_chunk_line(h, p, n);
	case H1_ANSWER:
	case H1_OVER:
		break;
	}
	return 0;
}

static bool h1_is_full(const struct http_framing *f)
{
	return is_server(h1_of_const(f)) && f->out.n - f->out_at > HTTP_OUT_HIGH;
}

static ssize_t h1_feed(struct http_framing *f, const uint8_t *p, size_t n, uint64_t now_ns)
{
	struct h1 *h = h1_of(f);
	size_t used = 0;
	(void)now_ns;
	while (used < n && h->state != H1_ANSWER) {
		if (h1_is_full(f) && h->state != H1_OVER)
			break;
		if (h->state == H1_OVER)
			return is_server(h) ? (ssize_t)n : ERR_CLOSED;
		ssize_t r = feed_some(h, p + used, n - used);
		if (r < 0)
			return r;
		used += (size_t)r;
	}
	return (ssize_t)used;
}

static void h1_eof(struct http_framing *f)
{
	struct h1 *h = h1_of(f);
	h->closing = true;
	if (h->state == H1_BODY_TO_EOF)
		deliver(h);
	else if (!is_server(h))
		lose(h, ERR_CLOSED);
	else if (h->state != H1_ANSWER)
		reset_message(h);
}

/* ---- sending ---- */

static void add_fields(struct strbuf *b, const struct http_message *m)
{
	static const char *const names[HTTP_N_FIELDS] = { "Content-Type", "Accept",
							  "Cache-Control" };
	for (size_t i = 0; i < HTTP_N_FIELDS; i++) {
		struct slice v = http_field_get(m, &http_fields[i]);
		if (v.n != 0)
			strbuf_addf(b, "%s: %.*s\r\n", names[i], (int)v.n, v.p);
	}
}

static int h1_respond(struct http_framing *f, uint32_t stream, const struct http_message *m)
{
	struct h1 *h = h1_of(f);
	if (!h->waiting || stream != h->stream)
		return 0;
	strbuf_addf(&f->out, "HTTP/1.1 %u %s\r\n", m->status, http_h1_reason(m->status));
	add_fields(&f->out, m);
	strbuf_addf(&f->out, "Content-Length: %zu\r\n%s\r\n", m->body.n,
		    h->closing ? "Connection: close\r\n" : "");
	if (!h->is_head)
		strbuf_add_slice(&f->out, m->body);
	h->waiting = false;
	reset_message(h);
	return 0;
}

static int h1_request(struct http_framing *f, const struct http_message *m, void *user,
		      uint32_t *ret_stream)
{
	struct h1 *h = h1_of(f);
	if (h->waiting)
		return ERR_BUSY;
	if (h->closing)
		return ERR_CLOSED;
	strbuf_addf(&f->out, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n", (int)m->method.n, m->method.p,
		    (int)m->target.n, m->target.p, (int)m->authority.n, m->authority.p);
	add_fields(&f->out, m);
	if (m->body.n > 0)
		strbuf_addf(&f->out, "Content-Length: %zu\r\n", m->body.n);
	strbuf_adds(&f->out, "\r\n");
	strbuf_add_slice(&f->out, m->body);
	h->is_head = slice_is(m->method, "HEAD");
	h->waiting = true;
	h->user = user;
	*ret_stream = ++h->stream;
	return 0;
}

/* The response cannot be told from the next one but by reading it: the connection is given up. */
static void h1_cancel(struct http_framing *f, uint32_t stream)
{
	struct h1 *h = h1_of(f);
	if (!h->waiting || stream != h->stream)
		return;
	h->waiting = false;
	h->closing = true;
	reset_message(h);
}

static void h1_end(struct http_framing *f)
{
	struct h1 *h = h1_of(f);
	h->closing = true;
	if (h->state == H1_HEAD && !h->waiting)
		reset_message(h);
}

static bool h1_over(const struct http_framing *f)
{
	const struct h1 *h = h1_of_const(f);
	return h->state == H1_OVER && !h->waiting;
}

static size_t h1_pending(const struct http_framing *f)
{
	const struct h1 *h = h1_of_const(f);
	return h->waiting;
}

static void h1_free(struct http_framing *f)
{
	struct h1 *h = h1_of(f);
	strbuf_done(&h->head);
	strbuf_done(&h->body);
	strbuf_done(&h->line);
	free(h);
}

static size_t h1_held(const struct http_framing *f)
{
	const struct h1 *h = h1_of_const(f);
	return h->head.n + h->body.n + h->line.n;
}

/* There is no way to say so but by a response, and no other one could follow. */
static void h1_refuse(struct http_framing *f, uint32_t stream)
{
	struct h1 *h = h1_of(f);
	if (h->waiting && stream == h->stream)
		lose(h, ERR_LIMIT);
}

static const struct framing_impl h1_impl = {
	.held = h1_held,
	.refuse = h1_refuse,
	.is_full = h1_is_full,
	.feed = h1_feed,
	.eof = h1_eof,
	.respond = h1_respond,
	.request = h1_request,
	.cancel = h1_cancel,
	.end = h1_end,
	.over = h1_over,
	.pending = h1_pending,
	.free = h1_free,
};

struct http_framing *http_h1_new(void)
{
	struct h1 *h = xcalloc(1, sizeof(*h));
	h->f.impl = &h1_impl;
	strbuf_init(&h->head);
	strbuf_init(&h->body);
	strbuf_init(&h->line);
	return &h->f;
}

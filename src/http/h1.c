/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP/1.1: one message after the other. Lines are collected until the head is whole, then the body
 * by its length, by chunks, or (responses) to the end of the connection. A server reads the next
 * request when the last one is answered; a client sends the next when it has its response. */
#include "http/h1_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/framing_priv.h"
#include "http/h1_head_priv.h"

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

static struct h1 *h1_of(struct http_framing *framing)
{
	return CONTAINER_OF(framing, struct h1, f);
}

static const struct h1 *h1_of_const(const struct http_framing *framing)
{
	return (const struct h1 *)(const void *)((const char *)framing - offsetof(struct h1, f));
}

static bool is_server(const struct h1 *h1)
{
	return h1->f.conf.role == HTTP_ROLE_SERVER;
}

static void reset_message(struct h1 *h1)
{
	strbuf_done(&h1->head); /* an idle connection keeps no memory */
	strbuf_done(&h1->body);
	strbuf_done(&h1->line);
	h1->line_at = 0;
	h1->left = 0;
	h1->body_n = 0;
	h1->discard = false;
	h1->now = (struct http_h1_head){ 0 };
	h1->state = h1->closing ? H1_OVER : H1_HEAD;
}

/* ---- the end of a message ---- */

static void deliver_message(struct h1 *h1)
{
	struct http_message m = h1->now.m;
	void *user = h1->user;
	struct strbuf head = h1->head, body = h1->body; /* the callback may answer, or ask again */
	m.body = strbuf_slice(&body);
	strbuf_init(&h1->head);
	strbuf_init(&h1->body);
	h1->closing |= h1->now.close;
	if (is_server(h1)) {
		h1->is_head = slice_is(m.method, "HEAD");
		h1->stream++;
	}
	h1->waiting = is_server(h1);
	uint32_t stream = h1->stream;
	reset_message(h1);
	if (is_server(h1))
		h1->state = H1_ANSWER;
	h1->f.conf.calls.message(h1->f.conf.ctx, stream, user, &m);
	strbuf_done(&head);
	strbuf_done(&body);
}

static void lose_connection(struct h1 *h1, int err)
{
	bool waited = h1->waiting;
	h1->closing = true;
	h1->waiting = false;
	reset_message(h1);
	if (waited && h1->f.conf.calls.gone != NULL)
		h1->f.conf.calls.gone(h1->f.conf.ctx, h1->stream, h1->user, err);
}

/* Refuses a message that cannot be read further; sends one error response. */
static int refuse_message(struct h1 *h1, unsigned status, int err)
{
	if (is_server(h1) && !h1->waiting)
		strbuf_addf(&h1->f.out,
			    "HTTP/1.1 %u %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
			    "Connection: close\r\n\r\n%u %s",
			    status, http_h1_reason(status), status, http_h1_reason(status));
	lose_connection(h1, err);
	return err;
}

/* `more` bytes of the body are to come. A server's caller answers a message that is too long, when
 * it was read: a client that is still sending might not see the answer. Beyond DISCARD_MAX it is
 * answered at once. Positive: the body goes on. */
static int expect_body(struct h1 *h1, uint64_t more)
{
	if (h1->body_n + more <= HTTP_BODY_MAX)
		return 1;
	if (!is_server(h1)) {
		lose_connection(h1, ERR_LIMIT);
		return ERR_LIMIT;
	}
	strbuf_done(&h1->body);
	h1->discard = true;
	h1->now.m.too_long = true;
	if (h1->body_n + more <= DISCARD_MAX)
		return 1;
	h1->closing = true;
	deliver_message(h1);
	return 0;
}

/* ---- the head ---- */

static int start_body(struct h1 *h1)
{
	const struct http_h1_head *n = &h1->now;
	bool none = !is_server(h1) &&
		    (h1->is_head || n->m.status == 204 || n->m.status == 304 || n->m.status < 200);
	if (n->chunked && !none) {
		h1->state = H1_CHUNK_LINE;
	} else if (n->length > 0 && !none) {
		h1->left = (uint64_t)n->length;
		h1->state = H1_BODY;
	} else if (!is_server(h1) && n->length == HTTP_H1_NO_LENGTH && !none) {
		h1->closing = true;
		h1->state = H1_BODY_TO_EOF;
	} else {
		deliver_message(h1);
		return 0;
	}
	int r = expect_body(h1, n->length > 0 ? (uint64_t)n->length : 0);
	if (r <= 0)
		return r;
	if (is_server(h1) && n->expects_continue)
		strbuf_adds(&h1->f.out, "HTTP/1.1 100 Continue\r\n\r\n");
	return 0;
}

static int head_done(struct h1 *h1)
{
	int r = http_h1_head_parse(strbuf_slice(&h1->head), h1->f.conf.role, &h1->now);
	if (r < 0)
		return refuse_message(h1, h1->now.refuse, r);
	if (!is_server(h1) && !h1->waiting)
		return refuse_message(h1, 0, ERR_PARSE); /* nobody asked */
	if (!is_server(h1) && h1->now.m.status < 200) {
		if (h1->now.m.status == 101)
			return refuse_message(h1, 0, ERR_PARSE);
		reset_message(h1); /* an interim response: the real one follows */
		return 0;
	}
	return start_body(h1);
}

/* Bytes up to and with the next line end; fewer when it has not arrived yet. */
static size_t line_part(const uint8_t *data, size_t len)
{
	const uint8_t *end = memchr(data, '\n', len);
	return end != NULL ? (size_t)(end - data) + 1 : len;
}

static bool line_is_empty(const struct strbuf *out, size_t from)
{
	struct slice s = slice_from(strbuf_slice(out), from);
	return slice_eq(s, SLICE("\n")) || slice_eq(s, SLICE("\r\n"));
}

static ssize_t feed_head(struct h1 *h1, const uint8_t *data, size_t len)
{
	size_t use = line_part(data, len);
	if (h1->head.n + use > HTTP_HEAD_MAX)
		return refuse_message(h1, 431, ERR_LIMIT);
	strbuf_add(&h1->head, data, use);
	if (data[use - 1] != '\n')
		return (ssize_t)use;
	bool empty = line_is_empty(&h1->head, h1->line_at);
	bool first = h1->line_at == 0;
	h1->line_at = h1->head.n;
	if (empty && first) {
		/* RFC 9112 2.2: empty lines before a request are passed over. */
		strbuf_reset(&h1->head);
		h1->line_at = 0;
		return (ssize_t)use;
	}
	int r = empty ? head_done(h1) : 0;
	return r < 0 ? r : (ssize_t)use;
}

/* ---- the body ---- */

static ssize_t feed_body(struct h1 *h1, const uint8_t *data, size_t len)
{
	size_t use = MIN((uint64_t)len, h1->left);
	if (!h1->discard)
		strbuf_add(&h1->body, data, use);
	h1->body_n += use;
	h1->left -= use;
	if (h1->left == 0) {
		if (h1->state == H1_BODY)
			deliver_message(h1);
		else
			h1->state = H1_CHUNK_END;
	}
	return (ssize_t)use;
}

static ssize_t feed_to_eof(struct h1 *h1, const uint8_t *data, size_t len)
{
	int r = expect_body(h1, len);
	if (r < 0)
		return r;
	strbuf_add(&h1->body, data, len);
	h1->body_n += len;
	return (ssize_t)len;
}

/* "1a2b;extension": the size, or negative. */
static int64_t chunk_size(struct slice line)
{
	int64_t size = 0;
	size_t i = 0;
	for (; i < line.n && ascii_hex_value(line.p[i]) >= 0; i++) {
		size = size * 16 + ascii_hex_value(line.p[i]);
		if (size > INT32_MAX)
			return ERR_LIMIT;
	}
	struct slice rest = slice_trim(slice_from(line, i));
	return i > 0 && (rest.n == 0 || rest.p[0] == ';') ? size : ERR_PARSE;
}

static int chunk_line_done(struct h1 *h1)
{
	struct slice line = slice_trim(strbuf_slice(&h1->line));
	int64_t size = h1->state == H1_CHUNK_LINE ? chunk_size(line) : 0;
	if (size == ERR_PARSE || (h1->state == H1_CHUNK_END && line.n != 0))
		return refuse_message(h1, 400, ERR_PARSE);
	if (h1->state == H1_CHUNK_END) {
		h1->state = H1_CHUNK_LINE;
	} else {
		int r = expect_body(h1, size < 0 ? UINT32_MAX : (uint64_t)size);
		if (r <= 0)
			return r;
		h1->left = (uint64_t)size;
		h1->state = size > 0 ? H1_CHUNK : H1_TRAILER;
	}
	strbuf_reset(&h1->line);
	return 0;
}

/* Lines between chunks and after the last one. */
static ssize_t feed_chunk_line(struct h1 *h1, const uint8_t *data, size_t len)
{
	size_t use = line_part(data, len);
	size_t max = h1->state == H1_TRAILER ? HTTP_HEAD_MAX : CHUNK_LINE_MAX;
	if (h1->line.n + use > max)
		return refuse_message(h1, 431, ERR_LIMIT);
	strbuf_add(&h1->line, data, use);
	if (data[use - 1] != '\n')
		return (ssize_t)use;
	int r = 0;
	if (h1->state != H1_TRAILER)
		r = chunk_line_done(h1);
	else if (line_is_empty(&h1->line, h1->left))
		deliver_message(h1);
	else
		h1->left = h1->line.n; /* where the next trailer line begins */
	return r < 0 ? r : (ssize_t)use;
}

static ssize_t feed_some(struct h1 *h1, const uint8_t *data, size_t len)
{
	switch (h1->state) {
	case H1_HEAD:
		return feed_head(h1, data, len);
	case H1_BODY:
	case H1_CHUNK:
		return feed_body(h1, data, len);
	case H1_BODY_TO_EOF:
		return feed_to_eof(h1, data, len);
	case H1_CHUNK_LINE:
	case H1_CHUNK_END:
	case H1_TRAILER:
		return feed_chunk_line(h1, data, len);
	case H1_ANSWER:
	case H1_OVER:
		break;
	}
	return 0;
}

static bool h1_is_full(const struct http_framing *framing)
{
	return is_server(h1_of_const(framing)) && framing->out.n - framing->out_at > HTTP_OUT_HIGH;
}

static ssize_t h1_feed(struct http_framing *framing, const uint8_t *data, size_t len,
		       uint64_t now_ns)
{
	struct h1 *h = h1_of(framing);
	size_t used = 0;
	(void)now_ns;
	while (used < len && h->state != H1_ANSWER) {
		if (h1_is_full(framing) && h->state != H1_OVER)
			break;
		if (h->state == H1_OVER)
			return is_server(h) ? (ssize_t)len : ERR_CLOSED;
		ssize_t r = feed_some(h, data + used, len - used);
		if (r < 0)
			return r;
		used += (size_t)r;
	}
	return (ssize_t)used;
}

static void h1_eof(struct http_framing *framing)
{
	struct h1 *h = h1_of(framing);
	h->closing = true;
	if (h->state == H1_BODY_TO_EOF)
		deliver_message(h);
	else if (!is_server(h))
		lose_connection(h, ERR_CLOSED);
	else if (h->state != H1_ANSWER)
		reset_message(h);
}

/* ---- sending ---- */

static void add_fields(struct strbuf *out, const struct http_message *message)
{
	static const char *const names[HTTP_N_FIELDS] = { "Content-Type", "Accept",
							  "Cache-Control" };
	for (size_t i = 0; i < HTTP_N_FIELDS; i++) {
		struct slice v = http_field_get(message, &http_fields[i]);
		if (v.n != 0)
			strbuf_addf(out, "%s: %.*s\r\n", names[i], (int)v.n, v.p);
	}
}

static int h1_respond(struct http_framing *framing, uint32_t stream,
		      const struct http_message *message)
{
	struct h1 *h = h1_of(framing);
	if (!h->waiting || stream != h->stream)
		return 0;
	strbuf_addf(&framing->out, "HTTP/1.1 %u %s\r\n", message->status,
		    http_h1_reason(message->status));
	add_fields(&framing->out, message);
	strbuf_addf(&framing->out, "Content-Length: %zu\r\n%s\r\n", message->body.n,
		    h->closing ? "Connection: close\r\n" : "");
	if (!h->is_head)
		strbuf_add_slice(&framing->out, message->body);
	h->waiting = false;
	reset_message(h);
	return 0;
}

static int h1_request(struct http_framing *framing, const struct http_message *message, void *user,
		      uint32_t *ret_stream)
{
	struct h1 *h = h1_of(framing);
	if (h->waiting)
		return ERR_BUSY;
	if (h->closing)
		return ERR_CLOSED;
	strbuf_addf(&framing->out, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n", (int)message->method.n,
		    message->method.p, (int)message->target.n, message->target.p,
		    (int)message->authority.n, message->authority.p);
	add_fields(&framing->out, message);
	if (message->body.n > 0)
		strbuf_addf(&framing->out, "Content-Length: %zu\r\n", message->body.n);
	strbuf_adds(&framing->out, "\r\n");
	strbuf_add_slice(&framing->out, message->body);
	h->is_head = slice_is(message->method, "HEAD");
	h->waiting = true;
	h->user = user;
	*ret_stream = ++h->stream;
	return 0;
}

/* Only reading the response would separate it from the next one: the connection is closed. */
static void h1_cancel(struct http_framing *framing, uint32_t stream)
{
	struct h1 *h = h1_of(framing);
	if (!h->waiting || stream != h->stream)
		return;
	h->waiting = false;
	h->closing = true;
	reset_message(h);
}

static void h1_end(struct http_framing *framing)
{
	struct h1 *h = h1_of(framing);
	h->closing = true;
	if (h->state == H1_HEAD && !h->waiting)
		reset_message(h);
}

static bool h1_over(const struct http_framing *framing)
{
	const struct h1 *h = h1_of_const(framing);
	return h->state == H1_OVER && !h->waiting;
}

static size_t h1_pending(const struct http_framing *framing)
{
	const struct h1 *h = h1_of_const(framing);
	return h->waiting;
}

static void h1_free(struct http_framing *framing)
{
	struct h1 *h = h1_of(framing);
	strbuf_done(&h->head);
	strbuf_done(&h->body);
	strbuf_done(&h->line);
	free(h);
}

static size_t h1_held(const struct http_framing *framing)
{
	const struct h1 *h = h1_of_const(framing);
	return h->head.n + h->body.n + h->line.n;
}

/* Only a response can report the error, and no other one could follow. */
static void h1_refuse(struct http_framing *framing, uint32_t stream)
{
	struct h1 *h = h1_of(framing);
	if (h->waiting && stream == h->stream)
		lose_connection(h, ERR_LIMIT);
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

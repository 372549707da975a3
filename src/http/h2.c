/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP/2 by nghttp2: a session per connection, a struct per stream. What a peer can make us hold is
 * bounded (streams, header bytes, bodies that are not whole, answers it does not fetch), and frames
 * that ask for no answer cost it tokens, so that floods of them end the connection. */
#include "http/h2_priv.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/framing_priv.h"

enum {
	TOKENS_MAX = 1000,
	TOKENS_PER_S = 50,
	TOKENS_PER_ANSWER = 4, /* a client that asks also acknowledges and opens windows */
	COST_FRAME = 1,
	COST_RESET = 10, /* a stream opened and given up makes work on both ends */
	OUTBOUND_ACKS_MAX = 100,
	FIELD_OVERHEAD = 32, /* RFC 9113 6.5.2 counts a field so */
};

/* Texts of a message, in the order of `text` below. */
enum { TEXT_METHOD = HTTP_N_FIELDS, TEXT_TARGET, TEXT_AUTHORITY, N_TEXTS };

struct h2_stream {
	struct h2_stream *next, *prev;
	int32_t id;
	struct strbuf head; /* texts received, one after the other */
	struct {
		uint32_t at, n;
	} text[N_TEXTS];
	unsigned status;
	uint32_t head_bytes, n_fields; /* all that came, kept or not */
	struct strbuf body;	       /* received */
	struct strbuf out;	       /* body to be sent */
	size_t out_at;
	bool have_head; /* further fields are a trailer */
	bool delivered; /* client: or cancelled */
	bool answered;
	bool is_head;	   /* the request's method: its response has no body */
	uint64_t waits_ns; /* its response waits to be sent since then at least; 0: not seen yet */
	void *user;
};

struct h2 {
	struct http_framing f;
	nghttp2_session *s;
	struct h2_stream *streams;
	size_t pending; /* without their response */
	size_t held;	/* bytes of messages that are not whole */
	size_t unsent;	/* bytes of answers */
	int64_t tokens;
	uint64_t tokens_ns; /* when they were last filled */
	bool flooded;
	bool ended;
};

static struct h2 *h2_of(struct http_framing *framing)
{
	return CONTAINER_OF(framing, struct h2, f);
}

static const struct h2 *h2_of_const(const struct http_framing *framing)
{
	return (const struct h2 *)(const void *)((const char *)framing - offsetof(struct h2, f));
}

static bool is_server(const struct h2 *h2)
{
	return h2->f.conf.role == HTTP_ROLE_SERVER;
}

/* ---- streams ---- */

static struct h2_stream *stream_new(struct h2 *h2, int32_t id)
{
	struct h2_stream *st = xcalloc(1, sizeof(*st));
	st->id = id;
	strbuf_init(&st->head);
	strbuf_init(&st->body);
	strbuf_init(&st->out);
	st->next = h2->streams;
	if (h2->streams != NULL)
		h2->streams->prev = st;
	h2->streams = st;
	h2->pending++;
	return st;
}

static struct h2_stream *stream_get(struct h2 *h2, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h2->s, id);
}

static void settle_pending(struct h2 *h2, struct h2_stream *st)
{
	if (!st->answered)
		h2->pending--;
	st->answered = true;
}

/* What was received of it is not held any more. */
static void drop_received(struct h2 *h2, struct h2_stream *st)
{
	h2->held -= st->head.n + st->body.n;
	strbuf_done(&st->head);
	strbuf_done(&st->body);
}

static void stream_free(struct h2 *h2, struct h2_stream *st)
{
	settle_pending(h2, st);
	drop_received(h2, st);
	h2->unsent -= st->out.n - st->out_at;
	*(st->prev != NULL ? &st->prev->next : &h2->streams) = st->next;
	if (st->next != NULL)
		st->next->prev = st->prev;
	strbuf_done(&st->out);
	free(st);
}

static struct slice text_of(const struct h2_stream *st, size_t index)
{
	return (struct slice){ st->head.s + st->text[index].at, st->text[index].n };
}

/* The stream's message is whole (or too long: the server's caller gets `too_long`). */
static void deliver_message(struct h2 *h2, struct h2_stream *st, bool too_long)
{
	struct http_message m = {
		.method = text_of(st, TEXT_METHOD),
		.target = text_of(st, TEXT_TARGET),
		.authority = text_of(st, TEXT_AUTHORITY),
		.status = st->status,
		.too_long = too_long,
	};
	for (size_t i = 0; i < HTTP_N_FIELDS; i++)
		*http_field_of(&m, &http_fields[i]) = text_of(st, i);
	struct strbuf head = st->head, body = st->body;
	h2->held -= head.n + body.n;
	strbuf_init(&st->head);
	strbuf_init(&st->body);
	if (!too_long)
		m.body = strbuf_slice(&body);
	st->delivered = true;
	st->is_head = slice_is(m.method, "HEAD");
	if (!is_server(h2))
		settle_pending(h2, st);
	h2->f.conf.calls.message(h2->f.conf.ctx, (uint32_t)st->id, st->user, &m);
	strbuf_done(&head);
	strbuf_done(&body);
}

/* ---- floods ---- */

static void refill_tokens(struct h2 *h2, uint64_t now_ns)
{
	uint64_t n = (now_ns - h2->tokens_ns) / (NS_PER_S / TOKENS_PER_S);
	if (n == 0)
		return;
	h2->tokens_ns = now_ns;
	h2->tokens = (int64_t)MIN((uint64_t)h2->tokens + n, (uint64_t)TOKENS_MAX);
}

static int spend_tokens(struct h2 *h2, int64_t cost)
{
	if (h2->tokens < cost) {
		h2->flooded = true;
		IGNORE(nghttp2_session_terminate_session(h2->s, NGHTTP2_ENHANCE_YOUR_CALM));
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	h2->tokens -= cost;
	return 0;
}

/* ---- receiving ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h = user;
	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (h->unsent > HTTP_UNSENT_MAX)
		return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
						 NGHTTP2_REFUSED_STREAM);
	struct h2_stream *st = stream_new(h, frame->hd.stream_id);
	return nghttp2_session_set_stream_user_data(session, st->id, st);
}

static size_t text_index(struct slice name)
{
	static const char *const pseudo[] = { ":method", ":path", ":authority" };
	for (size_t i = 0; i < HTTP_N_FIELDS; i++) {
		if (slice_is(name, http_fields[i].name))
			return i;
	}
	for (size_t i = 0; i < ARRAY_LEN(pseudo); i++) {
		if (slice_is(name, pseudo[i]))
			return TEXT_METHOD + i;
	}
	return slice_is(name, "host") ? TEXT_AUTHORITY : N_TEXTS;
}

static void read_status(struct h2_stream *st, struct slice value)
{
	uint64_t n;
	if (slice_u64(value, &n) == 0 && n <= 999)
		st->status = (unsigned)n;
}

static bool head_too_large(const struct h2_stream *st)
{
	return st->head_bytes > HTTP_HEAD_MAX || st->n_fields > HTTP_FIELDS_MAX;
}

static int hold_bytes(struct h2 *h2, struct strbuf *out, const void *data, size_t len)
{
	if (h2->held + len > HTTP_HELD_MAX)
		return spend_tokens(h2, INT64_MAX);
	strbuf_add(out, data, len);
	h2->held += len;
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = stream_get(h, frame->hd.stream_id);
	struct slice v = { (const char *)value, value_n };
	(void)session;
	(void)flags;
	if (st == NULL || st->have_head || st->delivered)
		return 0;
	struct slice k = { (const char *)name, name_n };
	st->head_bytes += (uint32_t)(name_n + value_n + FIELD_OVERHEAD);
	st->n_fields++;
	if (head_too_large(st))
		return 0;
	if (slice_is(k, ":status"))
		read_status(st, v);
	size_t i = text_index(k);
	if (i == N_TEXTS || (i == TEXT_AUTHORITY && st->text[i].n != 0))
		return 0;
	st->text[i].at = (uint32_t)st->head.n;
	st->text[i].n = (uint32_t)value_n;
	return hold_bytes(h, &st->head, value, value_n);
}

static int submit_response(struct h2 *h2, struct h2_stream *st, const struct http_message *message);

static int close_stream(struct h2 *h2, struct h2_stream *st, uint32_t code)
{
	return nghttp2_submit_rst_stream(h2->s, NGHTTP2_FLAG_NONE, st->id, code);
}

static int head_done(struct h2 *h2, struct h2_stream *st)
{
	if (st->have_head || st->delivered)
		return 0;
	if (head_too_large(st)) {
		if (!is_server(h2))
			return close_stream(h2, st, NGHTTP2_ENHANCE_YOUR_CALM);
		drop_received(h2, st);
		st->delivered = true;
		return submit_response(h2, st, &(struct http_message){ .status = 431 });
	}
	if (!is_server(h2) && st->status < 200) {
		drop_received(h2, st); /* an interim response: the real one follows */
		memset(st->text, 0, sizeof(st->text));
		return 0;
	}
	st->have_head = true;
	return 0;
}

static int on_stream_end(struct h2 *h2, struct h2_stream *st)
{
	if (!st->delivered && st->have_head)
		deliver_message(h2, st, false);
	return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h = user;
	(void)session;
	bool opens = frame->hd.type == NGHTTP2_HEADERS;
	bool data = frame->hd.type == NGHTTP2_DATA && frame->hd.length > 0;
	int64_t cost = frame->hd.type == NGHTTP2_RST_STREAM ? COST_RESET : COST_FRAME;
	/* Windows opened and acknowledgements are paid for by the answers they follow. */
	if (!data && (!opens || frame->headers.cat == NGHTTP2_HCAT_HEADERS)) {
		int r = spend_tokens(h, cost);
		if (r != 0)
			return r;
	}
	if (!opens && frame->hd.type != NGHTTP2_DATA)
		return 0;
	struct h2_stream *st = stream_get(h, frame->hd.stream_id);
	if (st == NULL)
		return 0;
	int r = opens ? head_done(h, st) : 0;
	if (r == 0 && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		r = on_stream_end(h, st);
	return r < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t len, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = stream_get(h, id);
	(void)session;
	(void)flags;
	if (st == NULL || st->delivered)
		return 0;
	if (st->body.n + len <= HTTP_BODY_MAX)
		return hold_bytes(h, &st->body, data, len);
	if (!is_server(h))
		return close_stream(h, st, NGHTTP2_ENHANCE_YOUR_CALM);
	deliver_message(h, st, true);
	return 0;
}

static int error_of(uint32_t code)
{
	switch (code) {
	case NGHTTP2_PROTOCOL_ERROR:
		return ERR_PARSE;
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return ERR_LIMIT;
	default:
		return ERR_CLOSED;
	}
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = stream_get(h, id);
	if (st == NULL)
		return 0;
	bool owed = !st->answered;
	bool told = is_server(h) ? st->delivered : !st->delivered;
	void *stream_user = st->user;
	IGNORE(nghttp2_session_set_stream_user_data(session, id, NULL));
	if (st->answered && code == NGHTTP2_NO_ERROR)
		h->tokens = MIN(h->tokens + TOKENS_PER_ANSWER, (int64_t)TOKENS_MAX);
	stream_free(h, st);
	if (owed && told && h->f.conf.calls.gone != NULL)
		h->f.conf.calls.gone(h->f.conf.ctx, (uint32_t)id, stream_user, error_of(code));
	return 0;
}

/* Nothing more will come for a client's streams. */
static void lose_all(struct h2 *h2, int err)
{
	h2->ended = true;
	for (struct h2_stream *st = h2->streams, *next; st != NULL; st = next) {
		next = st->next;
		if (is_server(h2) || st->delivered)
			continue;
		st->delivered = true;
		drop_received(h2, st);
		settle_pending(h2, st);
		if (h2->f.conf.calls.gone != NULL)
			h2->f.conf.calls.gone(h2->f.conf.ctx, (uint32_t)st->id, st->user, err);
	}
}

static int feed_error(const struct h2 *h2, ssize_t ret)
{
	if (h2->flooded || ret == NGHTTP2_ERR_FLOODED)
		return ERR_LIMIT;
	return ret == NGHTTP2_ERR_NOMEM ? ERR_INTERNAL : ERR_PARSE;
}

static ssize_t h2_feed(struct http_framing *framing, const uint8_t *data, size_t len,
		       uint64_t now_ns)
{
	struct h2 *h = h2_of(framing);
	if (h->tokens_ns == 0)
		h->tokens_ns = now_ns;
	refill_tokens(h, now_ns);
	ssize_t r = nghttp2_session_mem_recv(h->s, data, len);
	if (r >= 0 && !h->flooded)
		return r;
	int err = feed_error(h, r);
	lose_all(h, err);
	return err;
}

static void h2_eof(struct http_framing *framing)
{
	lose_all(h2_of(framing), ERR_CLOSED);
}

/* ---- sending ---- */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t cap,
			 uint32_t *flags, nghttp2_data_source *src, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = src->ptr;
	size_t n = MIN(cap, st->out.n - st->out_at);
	memcpy(buf, st->out.s + st->out_at, n);
	st->out_at += n;
	h->unsent -= n;
	if (st->out_at < st->out.n)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	/* A request that was cut short need not be sent to its end. */
	if (is_server(h) && nghttp2_session_get_stream_remote_close(session, id) == 0)
		IGNORE(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR));
	return (ssize_t)n;
}

static void h2_fill(struct http_framing *framing)
{
	struct h2 *h = h2_of(framing);
	while (framing->out.n - framing->out_at < HTTP_OUT_HIGH) {
		const uint8_t *p;
		ssize_t n = nghttp2_session_mem_send(h->s, &p);
		if (n <= 0)
			return;
		strbuf_add(&framing->out, p, (size_t)n);
	}
}

static void add_nv(nghttp2_nv *nv, size_t *count, const char *name, struct slice value)
{
	if (value.n == 0)
		return;
	/* nghttp2 copies both; its type has no const. */
	union {
		const void *in;
		uint8_t *out;
	} k = { .in = name }, v = { .in = value.p };
	nv[(*count)++] = (nghttp2_nv){
		.name = k.out, .value = v.out, .namelen = strlen(name), .valuelen = value.n
	};
}

enum { NV_MAX = HTTP_N_FIELDS + 5, NUMBER_MAX = 24 };

/* Fields of either kind of message; `length` keeps the number's text. */
static void add_fields(nghttp2_nv *nv, size_t *count, const struct http_message *message,
		       char length[NUMBER_MAX])
{
	for (size_t i = 0; i < HTTP_N_FIELDS; i++)
		add_nv(nv, count, http_fields[i].name, http_field_get(message, &http_fields[i]));
	if (message->body.n == 0)
		return;
	snprintf(length, NUMBER_MAX, "%zu", message->body.n);
	add_nv(nv, count, "content-length", slice_of(length));
}

static void keep_body(struct h2 *h2, struct h2_stream *st, struct slice body)
{
	strbuf_add_slice(&st->out, body);
	h2->unsent += body.n;
}

static int submit_response(struct h2 *h2, struct h2_stream *st, const struct http_message *message)
{
	nghttp2_nv nv[NV_MAX];
	char status[NUMBER_MAX], length[NUMBER_MAX];
	size_t n = 0;
	snprintf(status, sizeof(status), "%u", message->status);
	add_nv(nv, &n, ":status", slice_of(status));
	add_fields(nv, &n, message, length);
	settle_pending(h2, st);
	if (!st->is_head)
		keep_body(h2, st, message->body);
	nghttp2_data_provider data = { .source.ptr = st, .read_callback = read_body };
	/* An empty body goes the same way: the end of the request may have to be sent, too. */
	return nghttp2_submit_response(h2->s, st->id, nv, n, &data) == 0 ? 0 : ERR_INTERNAL;
}

static int h2_respond(struct http_framing *framing, uint32_t stream,
		      const struct http_message *message)
{
	struct h2 *h = h2_of(framing);
	struct h2_stream *st = stream_get(h, (int32_t)stream);
	if (st == NULL || st->answered || !st->delivered)
		return 0;
	return submit_response(h, st, message);
}

static int h2_request(struct http_framing *framing, const struct http_message *message, void *user,
		      uint32_t *ret_stream)
{
	struct h2 *h = h2_of(framing);
	nghttp2_nv nv[NV_MAX];
	char length[NUMBER_MAX];
	size_t n = 0;
	if (h->ended || nghttp2_session_check_request_allowed(h->s) == 0)
		return ERR_CLOSED;
	if (h->pending >=
	    nghttp2_session_get_remote_settings(h->s, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
		return ERR_BUSY;
	add_nv(nv, &n, ":method", message->method);
	add_nv(nv, &n, ":scheme", SLICE("https"));
	add_nv(nv, &n, ":authority", message->authority);
	add_nv(nv, &n, ":path", message->target);
	add_fields(nv, &n, message, length);
	struct h2_stream *st = stream_new(h, 0);
	st->user = user;
	keep_body(h, st, message->body);
	nghttp2_data_provider data = { .source.ptr = st, .read_callback = read_body };
	int id = nghttp2_submit_request(h->s, NULL, nv, n, message->body.n > 0 ? &data : NULL, st);
	if (id < 0) {
		stream_free(h, st);
		return id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE ? ERR_CLOSED : ERR_INTERNAL;
	}
	st->id = id;
	*ret_stream = (uint32_t)id;
	return 0;
}

static void h2_cancel(struct http_framing *framing, uint32_t stream)
{
	struct h2 *h = h2_of(framing);
	struct h2_stream *st = stream_get(h, (int32_t)stream);
	if (st == NULL || st->delivered)
		return;
	drop_received(h, st);
	st->delivered = true;
	settle_pending(h, st);
	IGNORE(close_stream(h, st, NGHTTP2_CANCEL));
}

static void h2_end(struct http_framing *framing)
{
	struct h2 *h = h2_of(framing);
	if (h->ended)
		return;
	h->ended = true;
	IGNORE(nghttp2_submit_goaway(h->s, NGHTTP2_FLAG_NONE,
				     nghttp2_session_get_last_proc_stream_id(h->s),
				     NGHTTP2_NO_ERROR, NULL, 0));
}

static bool h2_over(const struct http_framing *framing)
{
	const struct h2 *h = h2_of_const(framing);
	if (nghttp2_session_want_write(h->s) != 0 || framing->out_at < framing->out.n)
		return false;
	return nghttp2_session_want_read(h->s) == 0 ||
	       (h->ended && h->pending == 0 && h->unsent == 0);
}

static size_t h2_pending(const struct http_framing *framing)
{
	return h2_of_const(framing)->pending;
}

static size_t h2_unsent(const struct http_framing *framing)
{
	return h2_of_const(framing)->unsent;
}

static size_t h2_held(const struct http_framing *framing)
{
	return h2_of_const(framing)->held;
}

static void h2_refuse(struct http_framing *framing, uint32_t stream)
{
	struct h2 *h = h2_of(framing);
	struct h2_stream *st = stream_get(h, (int32_t)stream);
	if (st == NULL || st->answered)
		return;
	settle_pending(h, st);
	IGNORE(close_stream(h, st, NGHTTP2_REFUSED_STREAM));
}

/* A client may take other responses and leave one for ever: its window is its own. */
static bool h2_expire(struct http_framing *framing, uint64_t now_ns, uint64_t max_ns)
{
	struct h2 *h = h2_of(framing);
	bool some = false;
	for (struct h2_stream *st = h->streams; st != NULL; st = st->next) {
		if (!st->answered || st->out_at == st->out.n)
			continue;
		if (st->waits_ns == 0)
			st->waits_ns = now_ns;
		if (now_ns - st->waits_ns <= max_ns)
			continue;
		IGNORE(close_stream(h, st, NGHTTP2_CANCEL));
		some = true;
	}
	return some;
}

static void h2_free(struct http_framing *framing)
{
	struct h2 *h = h2_of(framing);
	while (h->streams != NULL)
		stream_free(h, h->streams);
	nghttp2_session_del(h->s);
	free(h);
}

static const struct framing_impl h2_impl = {
	.feed = h2_feed,
	.eof = h2_eof,
	.fill = h2_fill,
	.respond = h2_respond,
	.request = h2_request,
	.cancel = h2_cancel,
	.end = h2_end,
	.over = h2_over,
	.pending = h2_pending,
	.unsent = h2_unsent,
	.held = h2_held,
	.refuse = h2_refuse,
	.expire = h2_expire,
	.free = h2_free,
};

static void require_success(int ret)
{
	if (ret == 0)
		return;
	fprintf(stderr, "cannot create an HTTP/2 session: %s\n", nghttp2_strerror(ret));
	abort(); /* only for want of memory */
}

static void make_session(struct h2 *h2, bool server)
{
	nghttp2_session_callbacks *cb;
	nghttp2_option *opt;
	require_success(nghttp2_session_callbacks_new(&cb));
	require_success(nghttp2_option_new(&opt));
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_option_set_max_outbound_ack(opt, OUTBOUND_ACKS_MAX);
	nghttp2_option_set_no_closed_streams(opt, 1);
	require_success(server ? nghttp2_session_server_new2(&h2->s, cb, h2, opt)
			       : nghttp2_session_client_new2(&h2->s, cb, h2, opt));
	nghttp2_option_del(opt);
	nghttp2_session_callbacks_del(cb);
}

struct http_framing *http_h2_new(const struct http_framing_conf *conf)
{
	struct h2 *h = xcalloc(1, sizeof(*h));
	bool server = conf->role == HTTP_ROLE_SERVER;
	uint32_t streams = conf->max_streams != 0 ? conf->max_streams : HTTP_DEFAULT_STREAMS;
	nghttp2_settings_entry set[] = {
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX },
		{ server ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS : NGHTTP2_SETTINGS_ENABLE_PUSH,
		  server ? streams : 0 },
	};
	h->f.impl = &h2_impl;
	h->tokens = TOKENS_MAX;
	make_session(h, server);
	require_success(nghttp2_submit_settings(h->s, NGHTTP2_FLAG_NONE, set, ARRAY_LEN(set)));
	return &h->f;
}

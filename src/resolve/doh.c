/* The codec of HTTPS (RFC 8484): a question is a request, found again by its stream. Messages have
 * id 0, so that caches on the way can share them. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/framing.h"
#include "resolve/stream_priv.h"

static const char media_type[] = "application/dns-message";

enum { HTTP_OK = 200, TARGET_MAX = 2048 };

static void on_message(void *ctx, uint32_t stream, void *user, const struct http_message *m)
{
	struct stream *s = ctx;
	struct resolve_exchange *x = user;
	(void)stream;
	x->http_stream = 0;
	bool fine = m->status == HTTP_OK && m->body.n >= DNS_HEADER_BYTES &&
		    slice_eq_nocase(
			    slice_trim(slice_cut(
				    &(struct slice){ m->content_type.p, m->content_type.n }, ';')),
			    slice_of(media_type));
	if (!fine) {
		stream_heard(s);
		s->answered++;
		exchange_fail(s->l.pool->r, x, RESOLVE_NETWORK, ERR_PARSE);
		x->error_text = m->status == HTTP_OK ? "no DNS message in the HTTP response"
						     : "unexpected HTTP status";
		return;
	}
	/* The body is the framing's, and what becomes of a reply changes it in place. */
	struct resolver *r = s->l.pool->r;
	memcpy(r->doh_reply, m->body.p, m->body.n);
	stream_answered(s, x, r->doh_reply, m->body.n);
}

static void on_gone(void *ctx, uint32_t stream, void *user, int err)
{
	struct resolve_exchange *x = user;
	(void)stream;
	x->http_stream = 0;
	stream_retry(ctx, x, err);
}

static int doh_opened(struct stream *s)
{
	bool h2 = strcmp(net_tls_alpn(s->tls), "h2") == 0;
	s->depth = s->l.pool->new_depth = h2 ? STREAM_DEPTH_HTTP : 1;
	if (s->l.pool->r->doh_reply == NULL)
		s->l.pool->r->doh_reply = xmalloc(HTTP_BODY_MAX);
	s->http = http_framing_new(&(struct http_framing_conf){
		.role = HTTP_ROLE_CLIENT,
		.version = h2 ? HTTP_2 : HTTP_1_1,
		.calls = { .message = on_message, .gone = on_gone },
		.ctx = s,
	});
	return 0;
}

/* RFC 4648 section 5, without padding. */
static size_t base64url(const uint8_t *p, size_t n, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t at = 0;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);
		size_t chars = MIN(n - i, 3) + 1;
		for (size_t k = 0; k < chars; k++)
			out[at++] = digits[v >> (18 - 6 * k) & 63];
	}
	return at;
}

static int put_get(struct stream *s, struct resolve_exchange *x, struct http_message *m)
{
	char target[TARGET_MAX];
	size_t n = m->target.n;
	static const char query[] = "?dns=";
	if (n + sizeof(query) + (size_t)x->msg_n * 4 / 3 + 4 > sizeof(target))
		return ERR_LIMIT;
	memcpy(target, m->target.p, n);
	memcpy(target + n, query, sizeof(query) - 1);
	n += sizeof(query) - 1;
	n += base64url(x->msg, x->msg_n, target + n);
	m->method = SLICE("GET");
	m->target = (struct slice){ target, n };
	return http_framing_request(s->http, m, x, &x->http_stream);
}

static int doh_put(struct stream *s, struct resolve_exchange *x)
{
	const struct resolve_conf *c = &x->up->conf;
	char host[NET_ADDR_TEXT_MAX];
	struct http_message m = { .target = slice_of(c->http_path != NULL ? c->http_path
									  : "/dns-query"),
				  .accept = slice_of(media_type) };
	net_addr_str(&c->addr, host);
	m.authority = slice_of(c->http_host != NULL	? c->http_host
			       : c->server_name != NULL ? c->server_name
							: host);
	dns_put16(x->msg, 0);
	int r = ERR_LIMIT;
	if (c->http_get)
		r = put_get(s, x, &m);
	if (r == ERR_LIMIT) { /* POST has no limit of this kind */
		m.method = SLICE("POST");
		m.content_type = slice_of(media_type);
		m.body = (struct slice){ (const char *)x->msg, x->msg_n };
		r = http_framing_request(s->http, &m, x, &x->http_stream);
	}
	return r;
}

static int doh_feed(struct stream *s, uint8_t *buf, size_t n)
{
	ssize_t r = http_framing_feed(s->http, buf, n, loop_now(s->l.pool->r->env.loop));
	if (r >= 0 && s->l.io.fd >= 0 && http_framing_over(s->http))
		return ERR_CLOSED;
	return r < 0 ? (int)r : 0;
}

/* A response of HTTP/1.1 may last until its connection ends. */
static void doh_ended(struct stream *s)
{
	if (strcmp(net_tls_alpn(s->tls), "h2") != 0)
		http_framing_eof(s->http);
}

static struct slice doh_out(struct stream *s)
{
	return http_framing_out(s->http);
}

static void doh_sent(struct stream *s, size_t n)
{
	http_framing_sent(s->http, n);
}

static void doh_drop(struct stream *s, struct resolve_exchange *x)
{
	if (x->http_stream == 0)
		return;
	http_framing_cancel(s->http, x->http_stream);
	x->http_stream = 0;
	link_dirty(&s->l); /* the peer is told */
}

static void doh_free(struct stream *s)
{
	http_framing_free(s->http);
}

const struct stream_codec doh_codec = {
	.opened = doh_opened,
	.put = doh_put,
	.feed = doh_feed,
	.ended = doh_ended,
	.out = doh_out,
	.sent = doh_sent,
	.drop = doh_drop,
	.free = doh_free,
};

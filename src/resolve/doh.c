/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The codec of HTTPS (RFC 8484): a question is a request, found again by its stream. Messages have
 * id 0, so that caches on the way can share them. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/framing.h"
#include "resolve/exchange_priv.h"
#include "resolve/link_priv.h"
#include "resolve/stream_pool_priv.h"
#include "resolve/stream_priv.h"

static const char media_type[] = "application/dns-message";

enum { HTTP_OK = 200, TARGET_MAX = 2048 };

static void on_message(void *ctx, uint32_t stream, void *user, const struct http_message *message)
{
	struct stream *s = ctx;
	struct resolve_exchange *exchange = user;
	(void)stream;
	exchange->http_stream = 0;
	bool fine = message->status == HTTP_OK && message->body.n >= DNS_HEADER_BYTES &&
		    slice_eq_nocase(slice_trim(slice_cut(&(struct slice){ message->content_type.p,
									  message->content_type.n },
							 ';')),
				    slice_of(media_type));
	if (!fine) {
		stream_heard(s);
		s->answered++;
		exchange_fail(s->link.pool->resolver, exchange, RESOLVE_NETWORK, ERR_PARSE);
		exchange->error_text = message->status == HTTP_OK
					       ? "no DNS message in the HTTP response"
					       : "unexpected HTTP status";
		return;
	}
	/* The body is the framing's, and what becomes of a reply changes it in place. */
	struct resolver *resolver = s->link.pool->resolver;
	memcpy(resolver->doh_reply, message->body.p, message->body.n);
	stream_answered(s, exchange, resolver->doh_reply, message->body.n);
}

static void on_gone(void *ctx, uint32_t stream, void *user, int err)
{
	struct resolve_exchange *exchange = user;
	(void)stream;
	exchange->http_stream = 0;
	stream_retry(ctx, exchange, err);
}

static int doh_opened(struct stream *stream)
{
	bool h2 = strcmp(net_tls_alpn(stream->tls), "h2") == 0;
	stream->depth = stream->link.pool->new_depth = h2 ? STREAM_DEPTH_HTTP : 1;
	if (stream->link.pool->resolver->doh_reply == NULL)
		stream->link.pool->resolver->doh_reply = xmalloc(HTTP_BODY_MAX);
	stream->http = http_framing_new(&(struct http_framing_conf){
		.role = HTTP_ROLE_CLIENT,
		.version = h2 ? HTTP_2 : HTTP_1_1,
		.calls = { .message = on_message, .gone = on_gone },
		.ctx = stream,
	});
	return 0;
}

/* RFC 4648 section 5, without padding. */
static size_t encode_base64url(const uint8_t *data, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t at = 0;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)data[i] << 16 |
			     (i + 1 < len ? (uint32_t)data[i + 1] << 8 : 0) |
			     (i + 2 < len ? data[i + 2] : 0);
		size_t chars = MIN(len - i, 3) + 1;
		for (size_t k = 0; k < chars; k++)
			out[at++] = digits[v >> (18 - 6 * k) & 63];
	}
	return at;
}

static int put_get(struct stream *stream, struct resolve_exchange *exchange,
		   struct http_message *message)
{
	char target[TARGET_MAX];
	size_t n = message->target.n;
	static const char query[] = "?dns=";
	if (n + sizeof(query) + (size_t)exchange->msg_n * 4 / 3 + 4 > sizeof(target))
		return ERR_LIMIT;
	memcpy(target, message->target.p, n);
	memcpy(target + n, query, sizeof(query) - 1);
	n += sizeof(query) - 1;
	n += encode_base64url(exchange->msg, exchange->msg_n, target + n);
	message->method = SLICE("GET");
	message->target = (struct slice){ target, n };
	return http_framing_request(stream->http, message, exchange, &exchange->http_stream);
}

static int doh_put(struct stream *stream, struct resolve_exchange *exchange)
{
	const struct resolve_conf *conf = &exchange->up->conf;
	char host[NET_ADDR_TEXT_MAX];
	struct http_message message = { .target = slice_of(conf->http_path != NULL ? conf->http_path
										   : "/dns-query"),
					.accept = slice_of(media_type) };
	net_addr_str(&conf->addr, host);
	message.authority = slice_of(conf->http_host != NULL	 ? conf->http_host
				     : conf->server_name != NULL ? conf->server_name
								 : host);
	dns_put16(exchange->msg, 0);
	int r = ERR_LIMIT;
	if (conf->http_get)
		r = put_get(stream, exchange, &message);
	if (r == ERR_LIMIT) { /* POST has no limit of this kind */
		message.method = SLICE("POST");
		message.content_type = slice_of(media_type);
		message.body = (struct slice){ (const char *)exchange->msg, exchange->msg_n };
		r = http_framing_request(stream->http, &message, exchange, &exchange->http_stream);
	}
	return r;
}

static int doh_feed(struct stream *stream, uint8_t *buf, size_t len)
{
	ssize_t r = http_framing_feed(stream->http, buf, len,
				      loop_now(stream->link.pool->resolver->env.loop));
	if (r >= 0 && stream->link.io.fd >= 0 && http_framing_over(stream->http))
		return ERR_CLOSED;
	return r < 0 ? (int)r : 0;
}

/* A response of HTTP/1.1 may last until its connection ends. */
static void doh_ended(struct stream *stream)
{
	if (strcmp(net_tls_alpn(stream->tls), "h2") != 0)
		http_framing_eof(stream->http);
}

static struct slice doh_out(struct stream *stream)
{
	return http_framing_out(stream->http);
}

static void doh_sent(struct stream *stream, size_t count)
{
	http_framing_sent(stream->http, count);
}

static void doh_drop(struct stream *stream, struct resolve_exchange *exchange)
{
	if (exchange->http_stream == 0)
		return;
	http_framing_cancel(stream->http, exchange->http_stream);
	exchange->http_stream = 0;
	link_dirty(&stream->link); /* sends the cancellation */
}

static void doh_free(struct stream *stream)
{
	http_framing_free(stream->http);
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

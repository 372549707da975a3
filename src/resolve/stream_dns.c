/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The codec of TCP and TLS: messages with their length in front, replies in any order. */
#include <string.h>

#include "resolve/link_priv.h"
#include "resolve/stream_priv.h"

static int dns_opened(struct stream *stream)
{
	(void)stream;
	return 0;
}

static int dns_put(struct stream *stream, struct resolve_exchange *exchange)
{
	uint8_t head[2];
	dns_put16(head, exchange->msg_n);
	strbuf_add(&stream->out, head, sizeof(head));
	strbuf_add(&stream->out, exchange->msg, exchange->msg_n);
	return 0;
}

static bool dns_message(void *ctx, uint8_t *msg, size_t len)
{
	struct stream *stream = ctx;
	struct resolve_exchange *exchange =
		len >= DNS_HEADER_BYTES ? link_find(&stream->link, dns_get16(msg)) : NULL;
	if (exchange != NULL && exchange->state == X_SENT) {
		stream_answered(stream, exchange, msg, len);
	} else {
		stream->link.pool->resolver->stats.strays++;
		stream_heard(stream);
	}
	return stream->link.io.fd >= 0;
}

static int dns_feed(struct stream *stream, uint8_t *buf, size_t len)
{
	tcp_frame_feed(&stream->frame, buf, len, dns_message, stream);
	return 0;
}

static struct slice dns_out(struct stream *stream)
{
	return (struct slice){ stream->out.s + stream->out_at, stream->out.n - stream->out_at };
}

static void dns_sent(struct stream *stream, size_t count)
{
	stream->out_at += count;
	if (stream->out_at < stream->out.n && stream->out_at < STREAM_OUT_HIGH)
		return;
	stream->out.n -= stream->out_at;
	memmove(stream->out.s, stream->out.s + stream->out_at, stream->out.n);
	stream->out_at = 0;
}

static void dns_free(struct stream *stream)
{
	(void)stream;
}

const struct stream_codec stream_dns_codec = {
	.opened = dns_opened,
	.put = dns_put,
	.feed = dns_feed,
	.out = dns_out,
	.sent = dns_sent,
	.free = dns_free,
};

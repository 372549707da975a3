/* The codec of TCP and TLS: messages with their length in front, replies in any order. */
#include <string.h>

#include "resolve/stream_priv.h"

static int dns_opened(struct stream *s)
{
	(void)s;
	return 0;
}

static int dns_put(struct stream *s, struct resolve_exchange *x)
{
	uint8_t head[2];
	dns_put16(head, x->msg_n);
	strbuf_add(&s->out, head, sizeof(head));
	strbuf_add(&s->out, x->msg, x->msg_n);
	return 0;
}

static bool dns_message(void *ctx, uint8_t *msg, size_t n)
{
	struct stream *s = ctx;
	struct resolve_exchange *x =
		n >= DNS_HEADER_BYTES ? link_find(&s->l, dns_get16(msg)) : NULL;
	if (x != NULL && x->state == X_SENT) {
		stream_answered(s, x, msg, n);
	} else {
		s->l.pool->r->stats.strays++;
		stream_heard(s);
	}
	return s->l.io.fd >= 0;
}

static int dns_feed(struct stream *s, uint8_t *buf, size_t n)
{
	frame_feed(&s->frame, buf, n, dns_message, s);
	return 0;
}

static struct slice dns_out(struct stream *s)
{
	return (struct slice){ s->out.s + s->out_at, s->out.n - s->out_at };
}

static void dns_sent(struct stream *s, size_t n)
{
	s->out_at += n;
	if (s->out_at < s->out.n && s->out_at < STREAM_OUT_HIGH)
		return;
	s->out.n -= s->out_at;
	memmove(s->out.s, s->out.s + s->out_at, s->out.n);
	s->out_at = 0;
}

static void dns_free(struct stream *s)
{
	(void)s;
}

const struct stream_codec stream_dns_codec = {
	.opened = dns_opened,
	.put = dns_put,
	.feed = dns_feed,
	.out = dns_out,
	.sent = dns_sent,
	.free = dns_free,
};

/* DNS messages with their length in front (RFC 1035 4.2.2, over TLS RFC 7858): pipelined queries,
 * replies in the order they are ready, and streams of messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/admit.h"
#include "server/conn_priv.h"

enum { STREAM_BURST = 16 /* messages before others have their turn */ };

static bool is_whole(const uint8_t *p, size_t n)
{
	return n >= 2 && n - 2 >= dns_get16(p);
}

static enum conn_part tcp_part(const struct tcp_conn *c)
{
	return is_whole(c->part, c->part_n) ? CONN_PART_READY : CONN_PART_SHORT;
}

/* ---- writing ---- */

static size_t tcp_unsent(const struct tcp_conn *c)
{
	return c->out_n - c->out_at;
}

static struct slice tcp_out(struct tcp_conn *c)
{
	return slice_from((struct slice){ (const char *)c->out, c->out_n }, c->out_at);
}

static void tcp_sent(struct tcp_conn *c, size_t n)
{
	c->out_at += n;
	if (c->out_at < c->out_n)
		return;
	free(c->out);
	c->out = NULL;
	c->out_n = c->out_at = 0;
}

static void keep_unsent(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	if (tcp_unsent(c) + n > CONN_MAX_OUT_BYTES) {
		conn_cut(c);
		return;
	}
	if (c->out_at != 0) {
		memmove(c->out, c->out + c->out_at, c->out_n - c->out_at);
		c->out_n -= c->out_at;
		c->out_at = 0;
	}
	c->out = xrealloc(c->out, c->out_n + n);
	memcpy(c->out + c->out_n, p, n);
	c->out_n += n;
}

static void tcp_reply(struct query *q, uint8_t *msg, size_t n)
{
	struct tcp_conn *c = q->conn;
	ssize_t sent = 0;
	if (c->out_n == 0 && !c->gather) {
		sent = c->how->send(c, msg, n);
		if (sent < 0 && sent != -EAGAIN) {
			conn_close(c);
			return;
		}
		sent = MAX(sent, 0);
		c->sent_bytes += (uint64_t)sent;
	}
	if ((size_t)sent == n)
		return;
	keep_unsent(c, msg + sent, n - (size_t)sent);
	if (!c->closed && !c->gather && !c->want_write)
		conn_flush(c);
}

/* ---- streams ---- */

/* One message of the first stream. Taken off the list meanwhile: closing ends those on it. */
static void stream_step(struct tcp_conn *c)
{
	struct query *q = c->stream;
	struct plugin_inst *p = q->block->chain[q->at];
	struct slot_mark mark = slot_mark(q);
	c->stream = q->next;
	int r = q->stream_next(p, q);
	if (r >= 0) {
		reply_complete(q);
		reply_send(q);
	} else {
		conn_close(c);
	}
	if (r <= 0 || c->closed) {
		chain_stream_end(q);
		return;
	}
	slot_rewind(q, mark);
	q->next = c->stream;
	c->stream = q;
}

void tcp_stream_run(struct tcp_conn *c)
{
	conn_hold(c);
	for (int i = 0; i < STREAM_BURST && c->stream != NULL && tcp_unsent(c) <= CONN_HIGH_BYTES;
	     i++)
		stream_step(c);
	if (!c->closed && conn_count_kept(c))
		conn_update_events(c);
	else
		conn_cut(c);
	conn_let_go(c);
}

bool tcp_can_stream(const struct query *q)
{
	return q->conn != NULL && q->conn->proto == &tcp_proto;
}

/* Several transfers on one connection go one after the other. */
void tcp_stream(struct query *q)
{
	struct tcp_conn *c = q->conn;
	if (c->closed) {
		chain_stream_end(q);
		return;
	}
	struct query **at = &c->stream;
	while (*at != NULL)
		at = &(*at)->next;
	*at = q;
	q->next = NULL;
	/* Before the mark that each message is rewound to. */
	IGNORE(query_state(q, q->block->chain[q->at]) == NULL);
	if (c->stream == q)
		tcp_stream_run(c);
}

/* ---- reading ---- */

/* No memory for a long request: its header is enough for SERVFAIL. */
static void refuse_large(struct query *q, const uint8_t *msg)
{
	q->req = (struct dns_request){ .id = dns_get16(msg), .flags = dns_get16(msg + 2) };
	q->req.opcode = (uint8_t)(q->req.flags >> 11 & 15);
	if ((q->req.flags & DNS_FLAG_QR) == 0)
		reply_bare(q, DNS_RCODE_SERVFAIL);
	slot_release(q->worker, q);
}

static void serve_message(struct tcp_conn *c, const uint8_t *msg, size_t n)
{
	struct worker *w = c->worker;
	uint8_t *at;
	struct query *q = conn_query(c, msg, n, &at);
	if (q == NULL)
		return; /* at the hard cap: the client's own time-out tells it */
	if (at == NULL) {
		refuse_large(q, msg);
		return;
	}
	c->n_queries++;
	switch (admit_parse(q, at, n)) {
	case ADMIT_SERVE:
		admit_serve(q);
		chain_drain(w);
		return;
	case ADMIT_BARE:
		reply_bare(q, q->rcode);
		break;
	case ADMIT_NONE:
		break;
	}
	tcp_query_done(q);
	slot_release(w, q);
}

/* Serves whole messages until too much is in flight. */
static size_t tcp_input(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	size_t used = 0;
	int64_t max = conn_timeouts(c)->max_tcp_queries;
	while (!c->closed && is_whole(p + used, n - used)) {
		if (c->inflight >= CONN_MAX_INFLIGHT || tcp_unsent(c) > CONN_HIGH_BYTES)
			break;
		size_t len = dns_get16(p + used);
		serve_message(c, p + used + 2, len);
		used += 2 + len;
		if (max > 0 && c->n_queries >= (uint64_t)max) {
			c->eof = true;
			return n; /* the rest is not looked at */
		}
	}
	return used;
}

const struct conn_proto tcp_proto = {
	.input = tcp_input,
	.part = tcp_part,
	.out = tcp_out,
	.sent = tcp_sent,
	.unsent = tcp_unsent,
	.reply = tcp_reply,
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS messages with their length in front (RFC 1035 4.2.2, over TLS RFC 7858): pipelined queries,
 * replies in the order they are ready, and streams of messages. */
#include "server/conn/tcp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/admit.h"
#include "server/block.h"
#include "server/chain.h"
#include "server/conn/conn.h"
#include "server/conn/deferred.h"
#include "server/conn/flow.h"
#include "server/query.h"
#include "server/reply.h"
#include "server/slab.h"

enum { STREAM_BURST = 16 /* messages before others have their turn */ };

static bool is_whole(const uint8_t *data, size_t len)
{
	return len >= 2 && len - 2 >= dns_get16(data);
}

static enum conn_part tcp_part(const struct tcp_conn *conn)
{
	return is_whole(conn->part, conn->part_n) ? CONN_PART_READY : CONN_PART_SHORT;
}

/* ---- writing ---- */

static size_t tcp_unsent(const struct tcp_conn *conn)
{
	return conn->out_n - conn->out_at;
}

static struct slice tcp_out(struct tcp_conn *conn)
{
	return slice_from((struct slice){ (const char *)conn->out, conn->out_n }, conn->out_at);
}

static void tcp_sent(struct tcp_conn *conn, size_t count)
{
	conn->out_at += count;
	assert(conn->out_at <= conn->out_n);
	if (conn->out_at < conn->out_n)
		return;
	free(conn->out);
	conn->out = NULL;
	conn->out_n = conn->out_at = 0;
}

static void keep_unsent(struct tcp_conn *conn, const uint8_t *data, size_t len)
{
	if (conn->out_at != 0) {
		memmove(conn->out, conn->out + conn->out_at, conn->out_n - conn->out_at);
		conn->out_n -= conn->out_at;
		conn->out_at = 0;
	}
	conn->out = xrealloc(conn->out, conn->out_n + len);
	memcpy(conn->out + conn->out_n, data, len);
	conn->out_n += len;
}

/* There is no room to keep the reply: can it be sent now, or the request be served again later? If
 * neither, the connection is closed. */
static bool defer_request(struct query *q, size_t len)
{
	struct tcp_conn *conn = q->conn;
	conn_flush(conn);
	if (conn->closed || conn_has_room(conn, len))
		return conn->closed;
	if (conn->sock == NULL || q->req.msg == NULL ||
	    !conn_defer(conn, 0, (struct slice){ (const char *)q->req.msg, q->req.len }))
		conn_abort(conn);
	else
		conn->n_queries--;
	return true;
}

static void tcp_reply(struct query *q, uint8_t *msg, size_t len)
{
	struct tcp_conn *conn = q->conn;
	ssize_t sent = 0;
	if (conn->out_n == 0 && !conn->gather) {
		sent = conn->transport_io->send(conn, msg, len);
		if (sent < 0 && sent != -EAGAIN) {
			conn_close(conn);
			return;
		}
		sent = MAX(sent, 0);
		conn->sent_bytes += (uint64_t)sent;
	}
	if ((size_t)sent == len)
		return;
	/* A message that has begun, and those of a stream, cannot be made again. */
	if (sent == 0 && q->stream_next == NULL && UNLIKELY(!conn_has_room(conn, len)) &&
	    defer_request(q, len))
		return;
	keep_unsent(conn, msg + sent, len - (size_t)sent);
	if (!conn->closed && !conn->gather && !conn->want_write)
		conn_flush(conn);
}

/* ---- streams ---- */

/* Sends one message of the first stream, which is not on the list meanwhile: closing the connection
 * ends those on it. */
static void stream_step(struct tcp_conn *conn)
{
	struct query *q = conn->stream;
	struct plugin_inst *inst = q->block->chain[q->at];
	assert(q->conn == conn && q->stream_next != NULL);
	struct slot_mark mark = slot_mark(q);
	conn->stream = q->next;
	int r = q->stream_next(inst, q);
	if (r >= 0) {
		reply_complete(q);
		reply_send(q);
	} else {
		conn_close(conn);
	}
	if (r <= 0 || conn->closed) {
		chain_stream_end(q);
		return;
	}
	slot_rewind(q, mark);
	q->next = conn->stream;
	conn->stream = q;
}

void tcp_stream_run(struct tcp_conn *conn)
{
	conn_hold(conn);
	for (int i = 0;
	     i < STREAM_BURST && conn->stream != NULL && tcp_unsent(conn) <= CONN_HIGH_BYTES; i++)
		stream_step(conn);
	if (!conn->closed)
		conn_count_kept(conn);
	if (!conn->closed)
		conn_update_events(conn);
	conn_let_go(conn);
}

bool tcp_can_stream(const struct query *q)
{
	return q->conn != NULL && q->conn->proto == &tcp_proto;
}

/* Several transfers on one connection go one after the other. */
void tcp_stream(struct query *q)
{
	struct tcp_conn *conn = q->conn;
	if (conn->closed) {
		chain_stream_end(q);
		return;
	}
	struct query **at = &conn->stream;
	while (*at != NULL)
		at = &(*at)->next;
	*at = q;
	q->next = NULL;
	/* Before the mark that each message is rewound to. */
	IGNORE(query_state(q, q->block->chain[q->at]) == NULL);
	if (conn->stream == q)
		tcp_stream_run(conn);
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

static void serve_message(struct tcp_conn *conn, const uint8_t *msg, size_t len)
{
	struct worker *w = conn->worker;
	uint8_t *at;
	struct query *q = conn_query(conn, msg, len, &at);
	if (q == NULL)
		return; /* at the hard cap: the client runs into its own time-out */
	if (at == NULL) {
		refuse_large(q, msg);
		return;
	}
	conn->n_queries++;
	switch (admit_parse(q, at, len)) {
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
	conn_query_done(q);
	slot_release(w, q);
}

/* Serves whole messages until too much is in flight. */
static size_t tcp_input(struct tcp_conn *conn, const uint8_t *data, size_t size)
{
	size_t used = 0;
	int64_t max = conn_timeouts(conn)->max_tcp_queries;
	while (!conn->closed && is_whole(data + used, size - used)) {
		if (!conn_can_serve(conn) || conn->deferred_n != 0)
			break;
		size_t len = dns_get16(data + used);
		serve_message(conn, data + used + 2, len);
		used += 2 + len;
		if (max > 0 && conn->n_queries >= (uint64_t)max) {
			conn->eof = true;
			return size; /* the rest is ignored */
		}
	}
	return used;
}

static void tcp_serve(struct tcp_conn *conn, uint32_t stream, struct slice msg)
{
	(void)stream;
	serve_message(conn, (const uint8_t *)msg.p, msg.n);
}

const struct conn_proto tcp_proto = {
	.input = tcp_input,
	.part = tcp_part,
	.serve = tcp_serve,
	.out = tcp_out,
	.sent = tcp_sent,
	.unsent = tcp_unsent,
	.reply = tcp_reply,
};

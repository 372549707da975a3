/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over HTTPS (RFC 8484) on a connection: requests become queries, replies become responses with
 * the status codes and the max-age that CoreDNS sends. */
#include "server/conn/doh.h"

#include <stdio.h>
#include <string.h>

#include "base/metrics/metrics.h"
#include "dns/http_max_age.h"
#include "http/framing.h"
#include "server/admit.h"
#include "server/chain.h"
#include "server/conn/conn.h"
#include "server/conn/deferred.h"
#include "server/conn/doh_request.h"
#include "server/conn/flow.h"
#include "server/conn/listener.h"
#include "server/generation.h"
#include "server/query.h"
#include "server/reply.h"
#include "server/route.h"
#include "server/slab.h"
#include "server/worker.h"

static const struct metrics_family responses_family = {
	.name = "coredns_dns_https_responses_total",
	.help = "Counter of DoH responses per server and http status code.",
	.kind = METRICS_COUNTER,
	.labels = { "server", "status" },
};

/* What CoreDNS writes with each; the place is that of route->https_count. */
static const struct {
	unsigned status;
	const char *text;
} statuses[ROUTE_HTTPS_STATUSES] = {
	{ 200, "" },
	{ 400, "invalid request\n" },
	{ 404, "\n" },
	{ 500, "No response\n" },
};

static size_t place_of(unsigned status)
{
	size_t i = 0;
	while (i < ARRAY_LEN(statuses) - 1 && statuses[i].status != status)
		i++;
	return i;
}

static void count_response(const struct tcp_conn *conn, size_t place)
{
	struct route *route = conn->sock != NULL ? conn->sock->route : NULL;
	if (route == NULL || !conn->worker->gen->has_metrics)
		return;
	_Atomic(struct metrics_series *) *at = &route->https_count[place];
	struct metrics_series *series = atomic_load_explicit(at, memory_order_acquire);
	if (series == NULL) {
		char text[16];
		snprintf(text, sizeof(text), "%u", statuses[place].status);
		series =
			metrics_get(&responses_family, (const char *const[]){ route->label, text });
		atomic_store_explicit(at, series, memory_order_release);
	}
	metrics_add(series, worker_slot(conn->worker), 1);
}

/* ---- writing ---- */

/* Sends what is queued, unless more is about to follow. */
static void flush_responses(struct tcp_conn *conn)
{
	if (!conn->gather)
		conn_flush(conn);
	if (!conn->closed && http_framing_over(conn->http))
		conn->eof = true;
}

static void refuse_request(struct tcp_conn *conn, uint32_t stream)
{
	http_framing_refuse(conn->http, stream);
	flush_responses(conn);
}

static void send_response(struct tcp_conn *conn, uint32_t stream,
			  const struct http_message *message)
{
	/* Only a body that is too long could fail, and a DNS message is not. */
	IGNORE(http_framing_respond(conn->http, stream, message) < 0);
	count_response(conn, place_of(message->status));
	flush_responses(conn);
}

static void respond_status(struct tcp_conn *conn, uint32_t stream, unsigned status)
{
	size_t place = place_of(status);
	struct http_message message = { .status = statuses[place].status,
					.content_type = SLICE("text/plain; charset=utf-8"),
					.body = slice_of(statuses[place].text) };
	send_response(conn, stream, &message);
}

/* There is no room to keep the reply: can it be sent now? Else the request is served again later, or
 * refused. nghttp2 may not be asked for frames to send while it reads some: replies are gathered then. */
static bool defer_request(struct query *q, size_t len)
{
	struct tcp_conn *conn = q->conn;
	if (!conn->gather)
		conn_flush(conn);
	if (conn->closed || conn_has_room(conn, len))
		return conn->closed;
	if (conn->sock == NULL || q->req.msg == NULL ||
	    !conn_defer(conn, q->http_stream,
			(struct slice){ (const char *)q->req.msg, q->req.len }))
		refuse_request(conn, q->http_stream);
	return true;
}

/* `msg` begins with the length that TCP wants. */
static void doh_reply(struct query *q, uint8_t *msg, size_t len)
{
	char age[32];
	q->replied = true;
	if (!conn_has_room(q->conn, len) && defer_request(q, len))
		return;
	int age_n = snprintf(age, sizeof(age), "max-age=%u", dns_http_max_age(msg + 2, len - 2));
	struct http_message message = { .status = 200,
					.content_type = SLICE("application/dns-message"),
					.cache_control = { age, (size_t)age_n },
					.body = { (const char *)msg + 2, len - 2 } };
	send_response(q->conn, q->http_stream, &message);
}

/* RFC 8484 4.2.1: a query that was dropped has to be answered, too. */
static void doh_done(struct query *q)
{
	if (!q->replied)
		respond_status(q->conn, q->http_stream, 500);
}

/* ---- reading ---- */

static void doh_serve(struct tcp_conn *conn, uint32_t stream, struct slice msg)
{
	struct worker *w = conn->worker;
	uint8_t *at;
	struct query *q = conn_query(conn, (const uint8_t *)msg.p, msg.n, &at);
	if (at == NULL) {
		if (q != NULL)
			slot_release(w, q);
		respond_status(conn, stream, 500);
		return;
	}
	q->http_stream = stream;
	q->replied = false;
	enum admit_result a = admit_parse(q, at, msg.n);
	if (a == ADMIT_SERVE) {
		admit_serve(q);
		chain_drain(w);
		return;
	}
	if (a == ADMIT_BARE && q->rcode == DNS_RCODE_SERVFAIL) {
		reply_bare(q, q->rcode);
	} else {
		q->replied = true;
		respond_status(conn, stream, 400);
	}
	conn_query_done(q);
	slot_release(w, q);
}

static void on_message(void *ctx, uint32_t stream, void *user, const struct http_message *message)
{
	struct tcp_conn *conn = ctx;
	struct slice msg;
	(void)user;
	if (conn->closed)
		return;
	conn->n_queries++;
	unsigned status = doh_request_read(message, conn->worker->tcp_out, &msg);
	if (status != 0)
		respond_status(conn, stream, status);
	else if (conn_can_serve(conn))
		doh_serve(conn, stream, msg);
	else if (!conn_defer(conn, stream, msg))
		refuse_request(conn, stream);
}

/* A connection that broke the protocol gets an error and is not read any more. */
static size_t doh_input(struct tcp_conn *conn, const uint8_t *data, size_t len)
{
	ssize_t used = http_framing_feed(conn->http, data, len, loop_now(conn->worker->loop));
	if (used < 0 || http_framing_over(conn->http)) {
		conn->eof = true;
		return len;
	}
	return (size_t)used;
}

static enum conn_part doh_part(const struct tcp_conn *conn)
{
	if (conn->part_n == 0)
		return CONN_PART_SHORT;
	return http_framing_pending(conn->http) > 0 || http_framing_is_full(conn->http)
		       ? CONN_PART_WAITS
		       : CONN_PART_READY;
}

/* ---- the rest of the table ---- */

static struct slice doh_out(struct tcp_conn *conn)
{
	return http_framing_out(conn->http);
}

static void doh_sent(struct tcp_conn *conn, size_t count)
{
	http_framing_sent(conn->http, count);
}

static size_t doh_unsent(const struct tcp_conn *conn)
{
	return http_framing_unsent(conn->http);
}

static size_t doh_held(const struct tcp_conn *conn)
{
	return http_framing_held(conn->http);
}

static bool doh_expire(struct tcp_conn *conn, uint64_t max_ns)
{
	return http_framing_expire(conn->http, loop_now(conn->worker->loop), max_ns);
}

static void doh_end(struct tcp_conn *conn)
{
	http_framing_end(conn->http);
	conn_flush(conn);
}

static void doh_free(struct tcp_conn *conn)
{
	http_framing_free(conn->http);
}

static const struct conn_proto doh_proto = {
	.input = doh_input,
	.part = doh_part,
	.serve = doh_serve,
	.out = doh_out,
	.sent = doh_sent,
	.unsent = doh_unsent,
	.reply = doh_reply,
	.done = doh_done,
	.end = doh_end,
	.free = doh_free,
	.held = doh_held,
	.expire = doh_expire,
};

void doh_start(struct tcp_conn *conn, enum http_version version)
{
	const struct route *route = conn->sock->route;
	conn->http = http_framing_new(&(struct http_framing_conf){
		.role = HTTP_ROLE_SERVER,
		.version = version,
		.max_streams = route != NULL ? route->https.max_streams : 0,
		.calls = { .message = on_message },
		.ctx = conn,
	});
	conn->proto = &doh_proto;
}

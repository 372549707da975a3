/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and writing a connection: bytes are read into the worker's scratch and only what cannot
 * be used yet is kept aside; replies are sent at once, as far as the client accepts them. */
#include "server/conn/flow.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/tls.h"
#include "server/conn/conn.h"
#include "server/conn/io.h"
#include "server/conn/conn_limits.h"
#include "server/conn/deferred.h"
#include "server/conn/tcp.h"
#include "server/query.h"
#include "server/slab.h"
#include "server/worker.h"

enum { READ_DEFAULT_S = 3, IDLE_DEFAULT_S = 10, WRITE_DEFAULT_S = 5 };

/* ---- going on ---- */

bool conn_can_serve(const struct tcp_conn *conn)
{
	return conn->inflight < CONN_MAX_INFLIGHT && conn_unsent(conn) <= CONN_HIGH_BYTES;
}

/* What was deferred comes before further requests, which HTTP may have between frames that must be
 * read. */
static bool is_deferring(const struct tcp_conn *conn)
{
	return conn->deferred_n != 0 && conn->http == NULL;
}

/* What could go on at once (a message kept aside, bytes that no readiness announces, a stream that
 * let others pass) is called by writability, in the next turn. */
static bool can_go_on(const struct tcp_conn *conn)
{
	if (conn->paused || is_deferring(conn))
		return false;
	enum conn_part part = conn->proto->part(conn);
	bool more = !conn->eof && conn->transport_io->has_more != NULL &&
		    conn->transport_io->has_more(conn);
	return part == CONN_PART_READY || (part == CONN_PART_SHORT && more);
}

static uint32_t wanted_events(const struct tcp_conn *conn)
{
	if (conn->handshaking)
		return net_tls_wants_write(conn->tls) ? EPOLLOUT : EPOLLIN;
	bool kept = can_go_on(conn);
	bool in = !conn->paused && !conn->eof && !kept && !is_deferring(conn) &&
		  conn->proto->part(conn) == CONN_PART_SHORT;
	bool again = conn->deferred_n != 0 && conn_can_serve_deferred(conn);
	bool out = conn->want_write || conn->stream != NULL || kept || again;
	return (in ? (uint32_t)EPOLLIN : 0) | (out ? (uint32_t)EPOLLOUT : 0);
}

void conn_update_events(struct tcp_conn *conn)
{
	uint32_t ev = wanted_events(conn);
	if (ev == conn->events)
		return;
	conn->events = ev;
	if (loop_fd_mod(conn->worker->loop, &conn->io, ev) < 0)
		conn_close(conn);
}

void conn_settle(struct tcp_conn *conn)
{
	/* While replies are gathered nothing was tried to send yet. */
	if (!conn->gather)
		conn_count_kept(conn);
	if (conn->closed)
		return;
	if (conn->eof && conn->inflight == 0 && conn->deferred_n == 0 && conn_unsent(conn) == 0) {
		conn_close(conn);
		return;
	}
	/* Once paused, it stays so until half of it is done. */
	uint32_t max = conn->paused ? CONN_MAX_INFLIGHT / 2 : CONN_MAX_INFLIGHT - 1;
	conn->paused = conn->inflight > max || conn->out_n - conn->out_at > CONN_HIGH_BYTES;
	conn_update_events(conn);
}

void conn_on_timeout(struct loop_timer *timer)
{
	struct tcp_conn *conn = CONTAINER_OF(timer, struct tcp_conn, timer);
	if (conn->inflight > 0 && conn_unsent(conn) == 0) {
		/* waiting for us, not for the client */
		conn_set_timeout(conn, conn_timeouts(conn)->idle_ns, IDLE_DEFAULT_S);
		return;
	}
	if (conn_is_behind(conn)) {
		conn_abort(conn);
		return;
	}
	conn_hold(conn);
	if (conn->proto->end != NULL)
		conn->proto->end(conn); /* a courtesy: the client may be about to ask again */
	conn_close(conn);
	conn_let_go(conn);
}

/* ---- writing ---- */

/* The client has to accept CONN_PACE_BYTES, or all that is unsent, within the write time-out: a
 * timer that each byte restarts would let it hold replies for ever. */
static void set_pace(struct tcp_conn *conn)
{
	size_t unsent = conn_unsent(conn);
	const struct block_timeouts *t = conn_timeouts(conn);
	uint64_t write_ns = t->write_ns != 0 ? (uint64_t)t->write_ns : WRITE_DEFAULT_S * NS_PER_S;
	if (unsent == 0) {
		if (conn->pacing)
			conn_set_timeout(conn, t->idle_ns, IDLE_DEFAULT_S);
		conn->pacing = false;
		return;
	}
	if (conn->pacing && conn->sent_bytes < conn->pace_at)
		return;
	conn->pacing = true;
	conn->pace_at = conn->sent_bytes + MIN(unsent, (size_t)CONN_PACE_BYTES);
	conn_set_timeout(conn, (int64_t)write_ns, 0);
	/* As long as all that can be unsent may take. */
	if (conn->proto->expire != NULL &&
	    conn->proto->expire(conn, CONN_MAX_OUT_BYTES / CONN_PACE_BYTES * write_ns))
		conn->want_write = true;
}

/* The one that keeps most is the one that reads least; it may be `conn` itself. Where none here has
 * more than its share, one of another worker has, whose time runs out. */
static void close_largest(struct tcp_conn *conn)
{
	struct tcp_conn *largest = conn;
	size_t n = atomic_load_explicit(&conn->owner->n_conns, memory_order_relaxed);
	for (struct tcp_conn *other = conn->worker->conns.oldest; other != NULL;
	     other = other->link[CONN_OF_WORKER].newer) {
		if (other->owner == conn->owner && other->kept_bytes > largest->kept_bytes)
			largest = other;
	}
	if (largest->kept_bytes * n >= CONN_CLIENT_BYTES)
		conn_abort(largest);
}

static size_t count_kept(const struct tcp_conn *conn)
{
	size_t kept = conn_unsent(conn) + conn->part_n + conn->deferred_n;
	return conn->proto->held != NULL ? kept + conn->proto->held(conn) : kept;
}

static bool fits_limits(const struct tcp_conn *conn, size_t len)
{
	size_t others =
		atomic_load_explicit(&conn->owner->bytes, memory_order_relaxed) - conn->kept_bytes;
	return conn_unsent(conn) + len <= CONN_MAX_OUT_BYTES &&
	       others + count_kept(conn) + len <= CONN_CLIENT_HIGH_BYTES;
}

bool conn_has_room(const struct tcp_conn *conn, size_t len)
{
	return conn_unsent(conn) == 0 || fits_limits(conn, len);
}

bool conn_can_serve_deferred(const struct tcp_conn *conn)
{
	if (!conn_can_serve(conn))
		return false;
	return conn->inflight == 0 ? conn_has_room(conn, CONN_SCRATCH)
				   : fits_limits(conn, ((size_t)conn->inflight + 1) * CONN_SCRATCH);
}

void conn_count_kept(struct tcp_conn *conn)
{
	assert(!conn->closed);
	size_t kept = count_kept(conn);
	if (kept == conn->kept_bytes)
		return;
	size_t more = kept - conn->kept_bytes; /* or less: it wraps */
	size_t all =
		atomic_fetch_add_explicit(&conn->owner->bytes, more, memory_order_relaxed) + more;
	bool grew = kept > conn->kept_bytes;
	conn->kept_bytes = kept;
	if (grew && all > CONN_CLIENT_BYTES)
		close_largest(conn);
}

void conn_flush(struct tcp_conn *conn)
{
	struct slice s;
	conn->want_write = false;
	while ((s = conn->proto->out(conn)).n > 0) {
		ssize_t n = conn->transport_io->send(conn, s.p, s.n);
		if (n == -EAGAIN || n == 0) {
			conn->want_write = true;
			break;
		}
		if (n < 0) {
			conn_close(conn);
			return;
		}
		conn->sent_bytes += (uint64_t)n;
		conn->proto->sent(conn, (size_t)n);
	}
	set_pace(conn);
	if (conn->want_write)
		conn_update_events(conn);
}

/* ---- reading ---- */

static void keep_part(struct tcp_conn *conn, const uint8_t *data, size_t len)
{
	uint8_t *copy = len != 0 ? xmemdup(data, len) : NULL;
	free(conn->part);
	conn->part = copy;
	conn->part_n = len;
}

static void after_read(struct tcp_conn *conn, bool progress)
{
	if (progress)
		conn_touch(conn);
	if (!conn->pacing && (progress || conn->timer.heap_at == 0)) {
		const struct block_timeouts *t = conn_timeouts(conn);
		conn_set_timeout(conn, conn->part_n != 0 ? t->read_ns : t->idle_ns,
				 conn->part_n != 0 ? READ_DEFAULT_S : IDLE_DEFAULT_S);
	}
	conn_settle(conn);
}

void conn_gather(struct tcp_conn *conn)
{
	/* A record of TLS, a frame of HTTP/2: the fewer, the cheaper. And handshakes before this
	 * one took their time. */
	conn->gather = conn->tls != NULL || conn->http != NULL;
	if (conn->gather)
		loop_now_refresh(conn->worker->loop);
}

void conn_send_gathered(struct tcp_conn *conn)
{
	if (!conn->closed && conn->gather)
		conn_flush(conn);
	conn->gather = false;
}

/* Uses what is in the worker's scratch and keeps the rest. */
static void use_scratch(struct tcp_conn *conn, size_t have)
{
	const uint8_t *buf = conn->worker->tcp_in;
	uint64_t before = conn->n_queries;
	conn_hold(conn); /* keeps the struct while messages are served */
	conn_gather(conn);
	size_t used = conn->proto->input(conn, buf, have);
	conn_send_gathered(conn);
	assert(used <= have);
	bool first_bytes = conn->part_n == 0 && used < have;
	if (!conn->closed) {
		keep_part(conn, buf + used, have - used);
		after_read(conn, conn->n_queries != before || first_bytes);
	}
	conn_let_go(conn);
}

static void read_some(struct tcp_conn *conn)
{
	uint8_t *buf = conn->worker->tcp_in;
	if (conn->part_n != 0)
		memcpy(buf, conn->part, conn->part_n);
	ssize_t n = conn->transport_io->recv(conn, buf + conn->part_n, CONN_SCRATCH - conn->part_n);
	if (n < 0) {
		if (n != -EAGAIN)
			conn_close(conn);
		return;
	}
	if (n == 0) {
		conn->eof = true;
		conn_hold(conn); /* counting what it keeps may close it */
		conn_settle(conn);
		conn_let_go(conn);
		return;
	}
	use_scratch(conn, conn->part_n + (size_t)n);
}

/* Nothing is unsent, or it is being sent: what else was put off? */
static void on_writable(struct tcp_conn *conn)
{
	if (conn->want_write) {
		conn_hold(conn);
		conn_flush(conn);
		if (!conn->closed && !conn->want_write)
			conn_settle(conn);
		conn_let_go(conn);
	} else if (conn->stream != NULL) {
		tcp_stream_run(conn);
	} else if (conn->deferred_n != 0 && conn_can_serve_deferred(conn)) {
		conn_serve_deferred(conn);
	} else if (!conn->paused && conn->proto->part(conn) == CONN_PART_READY) {
		memcpy(conn->worker->tcp_in, conn->part, conn->part_n);
		use_scratch(conn, conn->part_n);
	} else if (can_go_on(conn)) {
		read_some(conn);
	} else {
		conn_update_events(conn);
	}
}

/* A client may have sent its question together with the end of the handshake. */
static void shake_hands(struct tcp_conn *conn)
{
	if (!conn_tls_handshake(conn))
		return;
	const struct block_timeouts *t = conn_timeouts(conn);
	conn_set_timeout(conn, conn->http != NULL ? t->idle_ns : t->read_ns,
			 conn->http != NULL ? IDLE_DEFAULT_S : READ_DEFAULT_S);
	conn_hold(conn);
	conn_update_events(conn);
	if (!conn->closed)
		read_some(conn);
	conn_let_go(conn);
}

void conn_io_ready(struct loop_fd *loop_fd, uint32_t events)
{
	struct tcp_conn *conn = CONTAINER_OF(loop_fd, struct tcp_conn, io);
	/* Hung up means both directions: no reply can be sent any more. */
	if ((events & (EPOLLERR | EPOLLHUP)) != 0)
		conn_close(conn);
	else if (conn->handshaking)
		shake_hands(conn);
	else if ((events & EPOLLOUT) != 0)
		on_writable(conn); /* the read side comes with the next turn */
	else if ((events & EPOLLIN) != 0)
		read_some(conn);
}

/* ---- queries ---- */

void conn_send(struct query *q, uint8_t *msg, size_t len)
{
	if (!q->conn->closed)
		q->conn->proto->reply(q, msg, len);
}

void conn_query_done(struct query *q)
{
	struct tcp_conn *conn = q->conn;
	conn_hold(conn);
	if (conn->proto->done != NULL && !conn->closed)
		conn->proto->done(q);
	assert(conn->inflight > 0);
	conn->inflight--;
	if (!conn->closed)
		conn_settle(conn);
	conn_let_go(conn);
}

struct query *conn_query(struct tcp_conn *conn, const uint8_t *msg, size_t len, uint8_t **ret_at)
{
	struct worker *w = conn->worker;
	struct query *q = slot_take(w);
	*ret_at = NULL;
	if (q == NULL)
		return NULL;
	q->conn = conn;
	uint8_t *at = len > SLOT_REQUEST_MAX ? slot_request_room(q, len) : q->buf;
	if (at == NULL)
		return q;
	if (at == q->buf)
		slot_fit(q, len);
	memcpy(at, msg, len);
	q->sock = conn->sock;
	q->proto = QUERY_TCP;
	q->client = conn->client;
	q->local = conn->local;
	q->start_ns = loop_now(w->loop);
	conn->inflight++;
	*ret_at = at;
	return q;
}

/* Reading and writing a connection: bytes are read into the worker's scratch and only what cannot
 * be used yet is kept aside; replies leave at once, as far as the client takes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/tls.h"
#include "server/conn_priv.h"

enum { READ_DEFAULT_S = 3, IDLE_DEFAULT_S = 10, WRITE_DEFAULT_S = 5 };

/* ---- going on ---- */

/* What could go on at once (a message kept aside, bytes that no readiness announces, a stream that
 * let others pass) is called by writability, in the next turn. */
static bool can_go_on(const struct tcp_conn *c)
{
	if (c->paused)
		return false;
	enum conn_part part = c->proto->part(c);
	bool more = !c->eof && c->how->has_more != NULL && c->how->has_more(c);
	return part == CONN_PART_READY || (part == CONN_PART_SHORT && more);
}

static uint32_t wanted_events(const struct tcp_conn *c)
{
	if (c->handshaking)
		return net_tls_wants_write(c->tls) ? EPOLLOUT : EPOLLIN;
	bool kept = can_go_on(c);
	bool in = !c->paused && !c->eof && !kept && c->proto->part(c) == CONN_PART_SHORT;
	bool out = c->want_write || c->stream != NULL || kept;
	return (in ? (uint32_t)EPOLLIN : 0) | (out ? (uint32_t)EPOLLOUT : 0);
}

void conn_update_events(struct tcp_conn *c)
{
	uint32_t ev = wanted_events(c);
	if (ev == c->events)
		return;
	c->events = ev;
	if (loop_fd_mod(c->worker->loop, &c->io, ev) < 0)
		conn_close(c);
}

void conn_settle(struct tcp_conn *c)
{
	/* While replies are gathered nothing was tried to send yet. */
	if (!c->gather && !conn_count_kept(c)) {
		conn_cut(c);
		return;
	}
	if (c->eof && c->inflight == 0 && conn_unsent(c) == 0) {
		conn_close(c);
		return;
	}
	/* Once paused, it stays so until half of it is done. */
	uint32_t max = c->paused ? CONN_MAX_INFLIGHT / 2 : CONN_MAX_INFLIGHT - 1;
	c->paused = c->inflight > max || c->out_n - c->out_at > CONN_HIGH_BYTES;
	conn_update_events(c);
}

void conn_on_timeout(struct loop_timer *t)
{
	struct tcp_conn *c = CONTAINER_OF(t, struct tcp_conn, timer);
	if (c->inflight > 0 && conn_unsent(c) == 0) {
		/* waiting for us, not for the client */
		conn_set_timeout(c, conn_timeouts(c)->idle_ns, IDLE_DEFAULT_S);
		return;
	}
	if (conn_is_behind(c)) {
		conn_cut(c);
		return;
	}
	conn_hold(c);
	if (c->proto->end != NULL)
		c->proto->end(c); /* a courtesy: the client may be about to ask again */
	conn_close(c);
	conn_let_go(c);
}

/* ---- writing ---- */

/* The client takes CONN_PACE_BYTES, or all there is, in the time of a write: a timer that each byte
 * started anew would let it hold replies for ever. */
static void set_pace(struct tcp_conn *c)
{
	size_t unsent = conn_unsent(c);
	const struct block_timeouts *t = conn_timeouts(c);
	uint64_t write_ns = t->write_ns != 0 ? (uint64_t)t->write_ns : WRITE_DEFAULT_S * NS_PER_S;
	if (unsent == 0) {
		if (c->pacing)
			conn_set_timeout(c, t->idle_ns, IDLE_DEFAULT_S);
		c->pacing = false;
		return;
	}
	if (c->pacing && c->sent_bytes < c->pace_at)
		return;
	c->pacing = true;
	c->pace_at = c->sent_bytes + MIN(unsent, (size_t)CONN_PACE_BYTES);
	conn_set_timeout(c, (int64_t)write_ns, 0);
	/* As long as all that can be unsent may take. */
	if (c->proto->expire != NULL &&
	    c->proto->expire(c, CONN_MAX_OUT_BYTES / CONN_PACE_BYTES * write_ns))
		c->want_write = true;
}

bool conn_count_kept(struct tcp_conn *c)
{
	size_t kept = conn_unsent(c) + c->part_n;
	if (c->proto->held != NULL)
		kept += c->proto->held(c);
	if (kept == c->kept_bytes)
		return true;
	size_t more = kept - c->kept_bytes; /* or less: it wraps */
	size_t all = atomic_fetch_add_explicit(&c->of->bytes, more, memory_order_relaxed) + more;
	bool grew = kept > c->kept_bytes;
	c->kept_bytes = kept;
	return !grew || all <= CONN_CLIENT_BYTES;
}

void conn_flush(struct tcp_conn *c)
{
	struct slice s;
	c->want_write = false;
	while ((s = c->proto->out(c)).n > 0) {
		ssize_t n = c->how->send(c, s.p, s.n);
		if (n == -EAGAIN || n == 0) {
			c->want_write = true;
			break;
		}
		if (n < 0) {
			conn_close(c);
			return;
		}
		c->sent_bytes += (uint64_t)n;
		c->proto->sent(c, (size_t)n);
	}
	set_pace(c);
	if (c->want_write)
		conn_update_events(c);
}

/* ---- reading ---- */

static void keep_part(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	uint8_t *copy = n != 0 ? xmemdup(p, n) : NULL;
	free(c->part);
	c->part = copy;
	c->part_n = n;
}

static void after_read(struct tcp_conn *c, bool progress)
{
	if (progress)
		conn_touch(c);
	if (!c->pacing && (progress || c->timer.heap_at == 0)) {
		const struct block_timeouts *t = conn_timeouts(c);
		conn_set_timeout(c, c->part_n != 0 ? t->read_ns : t->idle_ns,
				 c->part_n != 0 ? READ_DEFAULT_S : IDLE_DEFAULT_S);
	}
	conn_settle(c);
}

/* Uses what is in the worker's scratch and keeps the rest. */
static void use_scratch(struct tcp_conn *c, size_t have)
{
	const uint8_t *buf = c->worker->tcp_in;
	uint64_t before = c->n_queries;
	conn_hold(c); /* keeps the struct while messages are served */
	/* A record of TLS, a frame of HTTP/2: the fewer, the cheaper. And handshakes before this
	 * one took their time. */
	c->gather = c->tls != NULL || c->http != NULL;
	if (c->gather)
		loop_now_refresh(c->worker->loop);
	size_t used = c->proto->input(c, buf, have);
	if (!c->closed && c->gather)
		conn_flush(c);
	c->gather = false;
	bool first_bytes = c->part_n == 0 && used < have;
	if (!c->closed) {
		keep_part(c, buf + used, have - used);
		after_read(c, c->n_queries != before || first_bytes);
	}
	conn_let_go(c);
}

static void read_some(struct tcp_conn *c)
{
	uint8_t *buf = c->worker->tcp_in;
	if (c->part_n != 0)
		memcpy(buf, c->part, c->part_n);
	ssize_t n = c->how->recv(c, buf + c->part_n, CONN_SCRATCH - c->part_n);
	if (n < 0) {
		if (n != -EAGAIN)
			conn_close(c);
		return;
	}
	if (n == 0) {
		c->eof = true;
		conn_settle(c);
		return;
	}
	use_scratch(c, c->part_n + (size_t)n);
}

/* Nothing is unsent, or it is being sent: what else was put off? */
static void on_writable(struct tcp_conn *c)
{
	if (c->want_write) {
		conn_hold(c);
		conn_flush(c);
		if (!c->closed && !c->want_write)
			conn_settle(c);
		conn_let_go(c);
	} else if (c->stream != NULL) {
		tcp_stream_run(c);
	} else if (!c->paused && c->proto->part(c) == CONN_PART_READY) {
		memcpy(c->worker->tcp_in, c->part, c->part_n);
		use_scratch(c, c->part_n);
	} else if (can_go_on(c)) {
		read_some(c);
	} else {
		conn_update_events(c);
	}
}

/* A client may have sent its question together with the end of the handshake. */
static void shake_hands(struct tcp_conn *c)
{
	if (!conn_tls_handshake(c))
		return;
	const struct block_timeouts *t = conn_timeouts(c);
	conn_set_timeout(c, c->http != NULL ? t->idle_ns : t->read_ns,
			 c->http != NULL ? IDLE_DEFAULT_S : READ_DEFAULT_S);
	conn_hold(c);
	conn_update_events(c);
	if (!c->closed)
		read_some(c);
	conn_let_go(c);
}

void conn_io_ready(struct loop_fd *f, uint32_t events)
{
	struct tcp_conn *c = CONTAINER_OF(f, struct tcp_conn, io);
	/* Hung up means both directions: no reply can be sent any more. */
	if ((events & (EPOLLERR | EPOLLHUP)) != 0)
		conn_close(c);
	else if (c->handshaking)
		shake_hands(c);
	else if ((events & EPOLLOUT) != 0)
		on_writable(c); /* the read side comes with the next turn */
	else if ((events & EPOLLIN) != 0)
		read_some(c);
}

/* ---- queries ---- */

void tcp_send(struct query *q, uint8_t *msg, size_t n)
{
	if (!q->conn->closed)
		q->conn->proto->reply(q, msg, n);
}

void tcp_query_done(struct query *q)
{
	struct tcp_conn *c = q->conn;
	conn_hold(c);
	if (c->proto->done != NULL && !c->closed)
		c->proto->done(q);
	c->inflight--;
	if (!c->closed)
		conn_settle(c);
	conn_let_go(c);
}

struct query *conn_query(struct tcp_conn *c, const uint8_t *msg, size_t n, uint8_t **ret_at)
{
	struct worker *w = c->worker;
	struct query *q = slot_take(w);
	*ret_at = NULL;
	if (q == NULL)
		return NULL;
	q->conn = c;
	uint8_t *at = n > REQUEST_MAX ? slot_request_room(q, n) : q->buf;
	if (at == NULL)
		return q;
	if (at == q->buf)
		slot_fit(q, n);
	memcpy(at, msg, n);
	q->sock = c->sock;
	q->proto = QUERY_TCP;
	q->client = c->client;
	q->local = c->local;
	q->start_ns = loop_now(w->loop);
	c->inflight++;
	*ret_at = at;
	return q;
}

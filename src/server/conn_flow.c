/* Reading and writing a connection: bytes are read into the worker's scratch and only what cannot
 * be used yet is kept aside; replies leave at once, as far as the client takes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/mem.h"
#include "net/tls.h"
#include "server/conn_priv.h"

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
	bool idle = c->inflight == 0 && conn_unsent(c) == 0;
	if (c->eof && idle) {
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
		conn_set_timeout(c, conn_timeouts(c)->idle_ns, 10);
		return;
	}
	conn_hold(c);
	if (c->proto->end != NULL && conn_unsent(c) == 0)
		c->proto->end(c); /* a courtesy: the client may be about to ask again */
	conn_close(c);
	conn_let_go(c);
}

/* ---- writing ---- */

static void all_sent(struct tcp_conn *c, bool moved)
{
	bool blocked = conn_unsent(c) != 0;
	if (blocked && (!c->blocked || moved))
		conn_set_timeout(c, conn_timeouts(c)->write_ns, 5);
	else if (!blocked && (c->want_write || c->blocked))
		conn_set_timeout(c, conn_timeouts(c)->idle_ns, 10);
	c->want_write = false;
	c->blocked = blocked;
}

/* The client has to take bytes, or to allow them: it has that long. */
static void wait_for_client(struct tcp_conn *c, bool moved)
{
	if (!c->want_write || moved)
		conn_set_timeout(c, conn_timeouts(c)->write_ns, 5);
	c->want_write = true;
}

void conn_flush(struct tcp_conn *c)
{
	bool moved = false;
	struct slice s;
	while ((s = c->proto->out(c)).n > 0) {
		ssize_t n = c->how->send(c, s.p, s.n);
		if (n == -EAGAIN || n == 0) {
			wait_for_client(c, moved);
			conn_update_events(c);
			return;
		}
		if (n < 0) {
			conn_close(c);
			return;
		}
		moved = true;
		c->proto->sent(c, (size_t)n);
	}
	all_sent(c, moved);
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
	if (!c->want_write && !c->blocked && (progress || c->timer.heap_at == 0)) {
		const struct block_timeouts *t = conn_timeouts(c);
		conn_set_timeout(c, c->part_n != 0 ? t->read_ns : t->idle_ns,
				 c->part_n != 0 ? 3 : 10);
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
	conn_set_timeout(c, c->http != NULL ? t->idle_ns : t->read_ns, c->http != NULL ? 10 : 3);
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

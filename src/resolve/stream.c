/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection's life: connecting, the TLS handshake, bytes in and out, and its end. */
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "resolve/exchange_priv.h"
#include "resolve/link_priv.h"
#include "resolve/resolver_priv.h"
#include "resolve/stream_pool_priv.h"
#include "resolve/stream_priv.h"

enum { READS_PER_TURN = 16 };

/* As CoreDNS: between 1 and 30 s, twice the smoothed time of dials, which starts at 15 s. */
#define DIAL_MIN_NS   NS_PER_S
#define DIAL_MAX_NS   (30 * NS_PER_S)
#define DIAL_START_NS (DIAL_MAX_NS / 2)

static uint64_t now_of(const struct stream *stream)
{
	return loop_now(stream->link.pool->resolver->env.loop);
}

/* ---- bytes ---- */

static ssize_t io_recv(struct stream *stream, void *data, size_t len)
{
	if (stream->tls != NULL)
		return net_tls_recv(stream->tls, data, len);
	ssize_t got = recv(stream->link.io.fd, data, len, MSG_DONTWAIT);
	return got >= 0 ? got : errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t io_send(struct stream *stream, struct slice out)
{
	if (stream->tls == NULL) {
		ssize_t n = send(stream->link.io.fd, out.p, out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
		return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
	}
	size_t want = stream->unsent_tls != 0 ? stream->unsent_tls : out.n;
	ssize_t n = net_tls_send(stream->tls, out.p, want);
	stream->unsent_tls = n == -EAGAIN ? want : 0;
	return n;
}

static void watch_events(struct stream *stream, uint32_t events)
{
	if (stream->events == events)
		return;
	stream->events = events;
	if (loop_fd_mod(stream->link.pool->resolver->env.loop, &stream->link.io, events) < 0)
		stream_lost(stream, ERR_INTERNAL);
}

/* ---- sending ---- */

/* A question was sent. One that is alone holds up no other. */
static void watch_stall(struct stream *stream)
{
	if (stream->silent_since_ns == 0)
		stream->silent_since_ns = now_of(stream);
	if (stream->link.inflight > 1 && stream->timer.heap_at == 0 &&
	    !stream->link.pool->any_order)
		loop_timer_set(stream->link.pool->resolver->env.loop, &stream->timer,
			       now_of(stream) + stream_patience_ns(stream));
}

/* Makes bytes of what waits, as long as there is room for them. */
static int put_queued(struct stream *stream)
{
	while (stream->link.queued.first != NULL &&
	       stream->codec->out(stream).n < STREAM_OUT_HIGH) {
		struct resolve_exchange *x = stream->link.queued.first;
		assert(x->state == X_QUEUED && x->link == &stream->link);
		int r = stream->codec->put(stream, x);
		if (r == ERR_BUSY || r == ERR_CLOSED)
			return r;
		if (r < 0) {
			exchange_fail(stream->link.pool->resolver, x, RESOLVE_NETWORK, r);
			continue;
		}
		xlist_remove(&stream->link.queued, x);
		xlist_append(&stream->link.sent, x);
		x->state = X_SENT;
		x->sent_ns = now_of(stream);
		watch_stall(stream);
	}
	return 0;
}

static void stream_flush(struct resolve_link *link)
{
	struct stream *s = stream_of(link);
	if (s->phase != STREAM_OPEN)
		return;
	ssize_t n = 0;
	do {
		if (put_queued(s) == ERR_CLOSED)
			stream_stop(s);
		if (link->io.fd < 0)
			return;
		struct slice out = s->codec->out(s);
		if (out.n == 0)
			break;
		n = io_send(s, out);
		if (n > 0)
			s->codec->sent(s, (size_t)n);
	} while (n > 0);
	if (n < 0 && n != -EAGAIN) {
		stream_lost(s, (int)n);
		return;
	}
	watch_events(s, s->codec->out(s).n != 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* ---- receiving ---- */

/* Called for each DNS reply; other TLS or HTTP traffic is no sign of life. */
void stream_heard(struct stream *stream)
{
	stream->heard_ns = now_of(stream);
	stream->silent_since_ns = stream->link.inflight != 0 ? stream->heard_ns : 0;
}

void stream_answered(struct stream *stream, struct resolve_exchange *exchange, uint8_t *msg,
		     size_t len)
{
	assert(exchange->link == &stream->link);
	struct resolve_pool *p = stream->link.pool;
	stream_heard(stream);
	if (exchange != stream->link.sent.first)
		p->any_order = true;
	if (exchange->alone)
		p->held_up_ns = stream->heard_ns;
	stream->answered++;
	if (stream->answered > p->depth)
		p->depth = MIN(stream->answered, STREAM_DEPTH);
	exchange_reply(p->resolver, exchange, msg, len, false);
}

/* TLS 1.3 sends tickets after the handshake, and a session that ended badly has none. */
static void keep_ticket(struct stream *stream)
{
	struct net_tls_ticket t;
	struct resolve_pool *p = stream->link.pool;
	stream->ticket_kept = true;
	net_tls_ticket_take(stream->tls, &t);
	if (t.p == NULL)
		return;
	free(p->ticket.p);
	p->ticket = t;
}

static void stream_read(struct stream *stream)
{
	uint8_t *buf = stream->link.pool->resolver->stream_in;
	for (unsigned k = 0;
	     k < READS_PER_TURN || (stream->tls != NULL && net_tls_pending(stream->tls) != 0);
	     k++) {
		size_t have = tcp_frame_restore(&stream->frame, buf);
		ssize_t n = io_recv(stream, buf + have, TCP_FRAME_MAX - have);
		if (n == -EAGAIN)
			return;
		int r = n > 0 ? 0 : n == 0 ? ERR_CLOSED : (int)n;
		if (r == 0) {
			if (stream->tls != NULL && !stream->ticket_kept)
				keep_ticket(stream);
			r = stream->codec->feed(stream, buf, have + (size_t)n);
		} else if (n == 0 && stream->codec->ended != NULL) {
			stream->codec->ended(stream);
		}
		if (stream->link.io.fd < 0)
			return;
		if (r < 0) {
			stream_lost(stream, r);
			return;
		}
		if (stream->link.queued.first != NULL || stream->codec->out(stream).n != 0)
			link_dirty(&stream->link);
	}
}

/* ---- opening ---- */

static void dial_measured(struct resolve_upstream *upstream, uint64_t ns)
{
	uint64_t avg = atomic_load_explicit(&upstream->dial_ns, memory_order_relaxed);
	if (avg == 0)
		avg = DIAL_START_NS;
	avg = ns > avg ? avg + (ns - avg) / 4 : avg - (avg - ns) / 4;
	atomic_store_explicit(&upstream->dial_ns, MAX(avg, 1), memory_order_relaxed);
}

static uint64_t dial_limit(const struct resolve_upstream *upstream)
{
	uint64_t avg = atomic_load_explicit(&upstream->dial_ns, memory_order_relaxed);
	uint64_t limit = 2 * (avg != 0 ? avg : DIAL_START_NS);
	return MIN(MAX(limit, DIAL_MIN_NS), DIAL_MAX_NS);
}

static void on_stall(struct loop_timer *timer)
{
	struct stream *s = CONTAINER_OF(timer, struct stream, timer);
	struct resolver *r = s->link.pool->resolver;
	resolver_enter(r);
	if (!stream_is_stalled(s, now_of(s))) {
		if (s->link.inflight > 1 && !s->link.pool->any_order)
			loop_timer_set(r->env.loop, timer,
				       s->silent_since_ns + stream_patience_ns(s));
	} else if (stream_rescue(s)) {
		loop_timer_set(r->env.loop, timer, now_of(s) + stream_patience_ns(s));
	}
	resolver_leave(r);
}

static void finish_opening(struct stream *stream)
{
	assert(stream->phase != STREAM_OPEN);
	struct resolve_pool *p = stream->link.pool;
	loop_timer_stop(p->resolver->env.loop, &stream->timer);
	dial_measured(p->up, now_of(stream) - stream->link.opened_ns);
	stream->phase = STREAM_OPEN;
	stream->timer.cb = on_stall;
	stream->heard_ns = now_of(stream);
	int r = stream->codec->opened(stream);
	if (r < 0) {
		stream_lost(stream, r);
		return;
	}
	stream_shed(stream);
	stream_flush(&stream->link);
}

static void continue_handshake(struct stream *stream)
{
	int r = net_tls_handshake(stream->tls);
	if (r == 0)
		finish_opening(stream);
	else if (r == -EAGAIN)
		watch_events(stream, net_tls_wants_write(stream->tls) ? EPOLLOUT : EPOLLIN);
	else
		stream_lost(stream, r);
}

static int start_tls(struct stream *stream)
{
	static const char *const dot[] = { "dot", NULL };
	static const char *const doh[] = { "h2", "http/1.1", NULL };
	const struct resolve_pool *p = stream->link.pool;
	const struct resolve_conf *c = &p->up->conf;
	char ip[NET_ADDR_TEXT_MAX];
	if (c->cred == NULL)
		return ERR_TLS;
	net_addr_ip_str(&c->addr, ip);
	ip[strcspn(ip, "%")] = '\0';
	return net_tls_connect(c->cred, stream->link.io.fd,
			       c->server_name != NULL ? c->server_name : ip,
			       c->transport == RESOLVE_HTTPS ? doh : dot, &p->ticket, &stream->tls);
}

static void finish_connecting(struct stream *stream)
{
	int error = 0;
	socklen_t len = sizeof(error);
	if (getsockopt(stream->link.io.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	int r = -error;
	if (r == 0 && stream->link.pool->up->conf.transport != RESOLVE_PLAIN)
		r = start_tls(stream);
	if (r < 0) {
		stream_lost(stream, r);
	} else if (stream->tls != NULL) {
		stream->phase = STREAM_HANDSHAKE;
		continue_handshake(stream);
	} else {
		finish_opening(stream);
	}
}

static void on_io(struct loop_fd *loop_fd, uint32_t events)
{
	struct stream *s = stream_of(CONTAINER_OF(loop_fd, struct resolve_link, io));
	struct resolver *r = s->link.pool->resolver;
	resolver_enter(r);
	switch (s->phase) {
	case STREAM_CONNECTING:
		finish_connecting(s);
		break;
	case STREAM_HANDSHAKE:
		continue_handshake(s);
		break;
	case STREAM_OPEN:
		if ((events & ~(uint32_t)EPOLLOUT) != 0)
			stream_read(s);
		if ((events & EPOLLOUT) != 0 && loop_fd->fd >= 0)
			stream_flush(&s->link);
		break;
	}
	resolver_leave(r);
}

static void on_dial_timeout(struct loop_timer *timer)
{
	struct stream *s = CONTAINER_OF(timer, struct stream, timer);
	struct resolver *r = s->link.pool->resolver;
	resolver_enter(r);
	assert(s->phase != STREAM_OPEN);
	dial_measured(s->link.pool->up, now_of(s) - s->link.opened_ns);
	stream_lost(s, ERR_TIMEOUT);
	resolver_leave(r);
}

/* ---- the end ---- */

static void stream_closed(struct resolve_link *link)
{
	struct stream *s = stream_of(link);
	loop_timer_stop(link->pool->resolver->env.loop, &s->timer);
	assert(link->pool->n_streams > 0);
	link->pool->n_streams--;
	if (s->tls != NULL && s->phase == STREAM_OPEN)
		net_tls_bye(s->tls);
}

static void stream_destroy(struct resolve_link *link)
{
	struct stream *s = stream_of(link);
	s->codec->free(s);
	net_tls_free(s->tls);
	tcp_frame_done(&s->frame);
	strbuf_done(&s->out);
}

/* Nothing was heard since this exchange was sent: the peer may be gone without a word, so nobody
 * else shall wait for it. */
static void stream_timed_out(struct resolve_link *link, struct resolve_exchange *exchange)
{
	struct stream *s = stream_of(link);
	if (s->phase == STREAM_OPEN && exchange->state == X_SENT &&
	    s->heard_ns <= exchange->sent_ns)
		link->draining = true;
}

static void stream_dropped(struct resolve_link *link, struct resolve_exchange *exchange)
{
	struct stream *s = stream_of(link);
	if (s->codec->drop != NULL && s->link.io.fd >= 0)
		s->codec->drop(s, exchange);
}

static void stream_idle(struct resolve_link *link)
{
	struct resolve_pool *p = link->pool;
	unsigned idle = 0;
	stream_of(link)->silent_since_ns = 0;
	for (const struct resolve_link *k = p->links; k != NULL; k = k->next)
		idle += stream_is(k) && k->inflight == 0;
	if (p->up->conf.max_idle != 0 && idle > p->up->conf.max_idle)
		link_close(link);
	else
		link_sweep_at(p->resolver, link->idle_ns + p->up->conf.expire_ns);
}

static const struct link_ops stream_ops = {
	.flush = stream_flush,
	.closed = stream_closed,
	.destroy = stream_destroy,
	.idle = stream_idle,
	.timed_out = stream_timed_out,
	.dropped = stream_dropped,
};

bool stream_is(const struct resolve_link *link)
{
	return link->ops == &stream_ops;
}

int stream_dial(struct resolve_pool *pool, struct stream **ret)
{
	struct resolver *r = pool->resolver;
	int fd = link_socket(&pool->up->conf, SOCK_STREAM);
	if (fd < 0)
		return fd;
	int on = 1;
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0); /* a speed-up */
	struct resolve_link *l = link_open(pool, fd, EPOLLOUT, &stream_ops, sizeof(struct stream));
	if (l == NULL)
		return -ENOMEM;
	struct stream *s = stream_of(l);
	l->io.cb = on_io;
	l->keeps_sent = true;
	s->events = EPOLLOUT;
	s->depth = pool->new_depth;
	s->codec = pool->up->conf.transport == RESOLVE_HTTPS ? &doh_codec : &stream_dns_codec;
	s->timer.cb = on_dial_timeout;
	strbuf_init(&s->out);
	loop_timer_set(r->env.loop, &s->timer, loop_now(r->env.loop) + dial_limit(pool->up));
	if (r->stream_in == NULL)
		r->stream_in = xmalloc(TCP_FRAME_MAX);
	pool->n_streams++;
	*ret = s;
	return 0;
}

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
		struct resolve_exchange *exchange = stream->link.queued.first;
		assert(exchange->state == X_QUEUED && exchange->link == &stream->link);
		int r = stream->codec->put(stream, exchange);
		if (r == ERR_BUSY || r == ERR_CLOSED)
			return r;
		if (r < 0) {
			exchange_fail(stream->link.pool->resolver, exchange, RESOLVE_NETWORK, r);
			continue;
		}
		xlist_remove(&stream->link.queued, exchange);
		xlist_append(&stream->link.sent, exchange);
		exchange->state = X_SENT;
		exchange->sent_ns = now_of(stream);
		watch_stall(stream);
	}
	return 0;
}

static void stream_flush(struct resolve_link *link)
{
	struct stream *stream = stream_of(link);
	if (stream->phase != STREAM_OPEN)
		return;
	ssize_t n = 0;
	do {
		if (put_queued(stream) == ERR_CLOSED)
			stream_stop(stream);
		if (link->io.fd < 0)
			return;
		struct slice out = stream->codec->out(stream);
		if (out.n == 0)
			break;
		n = io_send(stream, out);
		if (n > 0)
			stream->codec->sent(stream, (size_t)n);
	} while (n > 0);
	if (n < 0 && n != -EAGAIN) {
		stream_lost(stream, (int)n);
		return;
	}
	watch_events(stream, stream->codec->out(stream).n != 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
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
	struct resolve_pool *pool = stream->link.pool;
	stream_heard(stream);
	if (exchange != stream->link.sent.first)
		pool->any_order = true;
	if (exchange->alone)
		pool->held_up_ns = stream->heard_ns;
	stream->answered++;
	if (stream->answered > pool->depth)
		pool->depth = MIN(stream->answered, STREAM_DEPTH);
	exchange_reply(pool->resolver, exchange, msg, len, false);
}

/* TLS 1.3 sends tickets after the handshake, and a session that ended badly has none. */
static void keep_ticket(struct stream *stream)
{
	struct net_tls_ticket t;
	struct resolve_pool *pool = stream->link.pool;
	stream->ticket_kept = true;
	net_tls_ticket_take(stream->tls, &t);
	if (t.p == NULL)
		return;
	free(pool->ticket.p);
	pool->ticket = t;
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
	struct stream *stream = CONTAINER_OF(timer, struct stream, timer);
	struct resolver *resolver = stream->link.pool->resolver;
	resolver_enter(resolver);
	if (!stream_is_stalled(stream, now_of(stream))) {
		/* Those that were not sent yet are in flight, too, and nothing is silent then. */
		uint64_t since =
			stream->silent_since_ns != 0 ? stream->silent_since_ns : now_of(stream);
		if (stream->link.inflight > 1 && !stream->link.pool->any_order)
			loop_timer_set(resolver->env.loop, timer,
				       since + stream_patience_ns(stream));
	} else if (stream_rescue(stream)) {
		loop_timer_set(resolver->env.loop, timer,
			       now_of(stream) + stream_patience_ns(stream));
	}
	resolver_leave(resolver);
}

static void finish_opening(struct stream *stream)
{
	assert(stream->phase != STREAM_OPEN);
	struct resolve_pool *pool = stream->link.pool;
	loop_timer_stop(pool->resolver->env.loop, &stream->timer);
	dial_measured(pool->up, now_of(stream) - stream->link.opened_ns);
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
	const struct resolve_pool *pool = stream->link.pool;
	const struct resolve_conf *conf = &pool->up->conf;
	char ip[NET_ADDR_TEXT_MAX];
	if (conf->cred == NULL)
		return ERR_TLS;
	net_addr_ip_str(&conf->addr, ip);
	ip[strcspn(ip, "%")] = '\0';
	return net_tls_connect(
		conf->cred, stream->link.io.fd, conf->server_name != NULL ? conf->server_name : ip,
		conf->transport == RESOLVE_HTTPS ? doh : dot, &pool->ticket, &stream->tls);
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
	struct stream *stream = stream_of(CONTAINER_OF(loop_fd, struct resolve_link, io));
	struct resolver *resolver = stream->link.pool->resolver;
	resolver_enter(resolver);
	switch (stream->phase) {
	case STREAM_CONNECTING:
		finish_connecting(stream);
		break;
	case STREAM_HANDSHAKE:
		continue_handshake(stream);
		break;
	case STREAM_OPEN:
		if ((events & ~(uint32_t)EPOLLOUT) != 0)
			stream_read(stream);
		if ((events & EPOLLOUT) != 0 && loop_fd->fd >= 0)
			stream_flush(&stream->link);
		break;
	}
	resolver_leave(resolver);
}

static void on_dial_timeout(struct loop_timer *timer)
{
	struct stream *stream = CONTAINER_OF(timer, struct stream, timer);
	struct resolver *resolver = stream->link.pool->resolver;
	resolver_enter(resolver);
	assert(stream->phase != STREAM_OPEN);
	dial_measured(stream->link.pool->up, now_of(stream) - stream->link.opened_ns);
	stream_lost(stream, ERR_TIMEOUT);
	resolver_leave(resolver);
}

/* ---- the end ---- */

static void stream_closed(struct resolve_link *link)
{
	struct stream *stream = stream_of(link);
	loop_timer_stop(link->pool->resolver->env.loop, &stream->timer);
	assert(link->pool->n_streams > 0);
	link->pool->n_streams--;
	if (stream->tls != NULL && stream->phase == STREAM_OPEN)
		net_tls_bye(stream->tls);
}

static void stream_destroy(struct resolve_link *link)
{
	struct stream *stream = stream_of(link);
	stream->codec->free(stream);
	net_tls_free(stream->tls);
	tcp_frame_done(&stream->frame);
	strbuf_done(&stream->out);
}

/* Nothing was heard since this exchange was sent: the peer may be gone without a word, so nobody
 * else shall wait for it. */
static void stream_timed_out(struct resolve_link *link, struct resolve_exchange *exchange)
{
	struct stream *stream = stream_of(link);
	if (stream->phase == STREAM_OPEN && exchange->state == X_SENT &&
	    stream->heard_ns <= exchange->sent_ns)
		link->draining = true;
}

static void stream_dropped(struct resolve_link *link, struct resolve_exchange *exchange)
{
	struct stream *stream = stream_of(link);
	if (stream->codec->drop != NULL && stream->link.io.fd >= 0)
		stream->codec->drop(stream, exchange);
}

static void stream_idle(struct resolve_link *link)
{
	struct resolve_pool *pool = link->pool;
	unsigned idle = 0;
	stream_of(link)->silent_since_ns = 0;
	for (const struct resolve_link *k = pool->links; k != NULL; k = k->next)
		idle += stream_is(k) && k->inflight == 0;
	if (pool->up->conf.max_idle != 0 && idle > pool->up->conf.max_idle)
		link_close(link);
	else
		link_sweep_at(pool->resolver, link->idle_ns + pool->up->conf.expire_ns);
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
	struct resolver *resolver = pool->resolver;
	int fd = link_socket(&pool->up->conf, SOCK_STREAM);
	if (fd < 0)
		return fd;
	int on = 1;
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0); /* a speed-up */
	struct resolve_link *link =
		link_open(pool, fd, EPOLLOUT, &stream_ops, sizeof(struct stream));
	if (link == NULL)
		return -ENOMEM;
	struct stream *stream = stream_of(link);
	link->io.cb = on_io;
	link->keeps_sent = true;
	stream->events = EPOLLOUT;
	stream->depth = pool->new_depth;
	stream->codec = pool->up->conf.transport == RESOLVE_HTTPS ? &doh_codec : &stream_dns_codec;
	stream->timer.cb = on_dial_timeout;
	strbuf_init(&stream->out);
	loop_timer_set(resolver->env.loop, &stream->timer,
		       loop_now(resolver->env.loop) + dial_limit(pool->up));
	if (resolver->stream_in == NULL)
		resolver->stream_in = xmalloc(TCP_FRAME_MAX);
	pool->n_streams++;
	*ret = stream;
	return 0;
}

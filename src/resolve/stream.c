/* A connection's life: connecting, the TLS handshake, bytes in and out, and its end. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "resolve/stream_priv.h"

enum { READS_PER_TURN = 16 };

/* As CoreDNS: between 1 and 30 s, twice the smoothed time of dials, which starts at 15 s. */
#define DIAL_MIN_NS   NS_PER_S
#define DIAL_MAX_NS   (30 * NS_PER_S)
#define DIAL_START_NS (DIAL_MAX_NS / 2)

static uint64_t now_of(const struct stream *s)
{
	return loop_now(s->l.pool->r->env.loop);
}

/* ---- bytes ---- */

static ssize_t io_recv(struct stream *s, void *p, size_t n)
{
	if (s->tls != NULL)
		return net_tls_recv(s->tls, p, n);
	ssize_t got = recv(s->l.io.fd, p, n, MSG_DONTWAIT);
	return got >= 0 ? got : errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t io_send(struct stream *s, struct slice out)
{
	if (s->tls == NULL) {
		ssize_t n = send(s->l.io.fd, out.p, out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
		return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
	}
	size_t want = s->unsent_tls != 0 ? s->unsent_tls : out.n;
	ssize_t n = net_tls_send(s->tls, out.p, want);
	s->unsent_tls = n == -EAGAIN ? want : 0;
	return n;
}

static void watch(struct stream *s, uint32_t events)
{
	if (s->events == events)
		return;
	s->events = events;
	if (loop_fd_mod(s->l.pool->r->env.loop, &s->l.io, events) < 0)
		stream_lost(s, ERR_INTERNAL);
}

/* ---- sending ---- */

/* A question was sent. One that is alone holds up no other. */
static void watch_stall(struct stream *s)
{
	if (s->silent_since_ns == 0)
		s->silent_since_ns = now_of(s);
	if (s->l.inflight > 1 && s->timer.heap_at == 0 && !s->l.pool->any_order)
		loop_timer_set(s->l.pool->r->env.loop, &s->timer,
			       now_of(s) + stream_patience_ns(s));
}

/* Makes bytes of what waits, as long as there is room for them. */
static int put_queued(struct stream *s)
{
	while (s->l.queued.first != NULL && s->codec->out(s).n < STREAM_OUT_HIGH) {
		struct resolve_exchange *x = s->l.queued.first;
		int r = s->codec->put(s, x);
		if (r == ERR_BUSY || r == ERR_CLOSED)
			return r;
		if (r < 0) {
			exchange_fail(s->l.pool->r, x, RESOLVE_NETWORK, r);
			continue;
		}
		xlist_remove(&s->l.queued, x);
		xlist_append(&s->l.sent, x);
		x->state = X_SENT;
		x->sent_ns = now_of(s);
		watch_stall(s);
	}
	return 0;
}

static void stream_flush(struct resolve_link *l)
{
	struct stream *s = stream_of(l);
	if (s->phase != STREAM_OPEN)
		return;
	ssize_t n = 0;
	do {
		if (put_queued(s) == ERR_CLOSED)
			stream_stop(s);
		if (l->io.fd < 0)
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
	watch(s, s->codec->out(s).n != 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* ---- receiving ---- */

/* Replies count, and not what else TLS and HTTP have to say. */
void stream_heard(struct stream *s)
{
	s->heard_ns = now_of(s);
	s->silent_since_ns = s->l.inflight != 0 ? s->heard_ns : 0;
}

void stream_answered(struct stream *s, struct resolve_exchange *x, uint8_t *msg, size_t n)
{
	struct resolve_pool *p = s->l.pool;
	stream_heard(s);
	if (x != s->l.sent.first)
		p->any_order = true;
	if (x->alone)
		p->held_up_ns = s->heard_ns;
	s->answered++;
	if (s->answered > p->depth)
		p->depth = MIN(s->answered, STREAM_DEPTH);
	exchange_reply(p->r, x, msg, n, false);
}

/* TLS 1.3 sends tickets after the handshake, and a session that ended badly gives none. */
static void keep_ticket(struct stream *s)
{
	struct net_tls_ticket t;
	struct resolve_pool *p = s->l.pool;
	s->ticket_kept = true;
	net_tls_ticket_take(s->tls, &t);
	if (t.p == NULL)
		return;
	free(p->ticket.p);
	p->ticket = t;
}

static void stream_read(struct stream *s)
{
	uint8_t *buf = s->l.pool->r->stream_in;
	for (unsigned k = 0; k < READS_PER_TURN || (s->tls != NULL && net_tls_pending(s->tls) != 0);
	     k++) {
		size_t have = frame_restore(&s->frame, buf);
		ssize_t n = io_recv(s, buf + have, FRAME_MAX - have);
		if (n == -EAGAIN)
			return;
		int r = n > 0 ? 0 : n == 0 ? ERR_CLOSED : (int)n;
		if (r == 0) {
			if (s->tls != NULL && !s->ticket_kept)
				keep_ticket(s);
			r = s->codec->feed(s, buf, have + (size_t)n);
		} else if (n == 0 && s->codec->ended != NULL) {
			s->codec->ended(s);
		}
		if (s->l.io.fd < 0)
			return;
		if (r < 0) {
			stream_lost(s, r);
			return;
		}
		if (s->l.queued.first != NULL || s->codec->out(s).n != 0)
			link_dirty(&s->l);
	}
}

/* ---- opening ---- */

static void dial_measured(struct resolve_upstream *u, uint64_t ns)
{
	uint64_t avg = atomic_load_explicit(&u->dial_ns, memory_order_relaxed);
	if (avg == 0)
		avg = DIAL_START_NS;
	avg = ns > avg ? avg + (ns - avg) / 4 : avg - (avg - ns) / 4;
	atomic_store_explicit(&u->dial_ns, MAX(avg, 1), memory_order_relaxed);
}

static uint64_t dial_limit(const struct resolve_upstream *u)
{
	uint64_t avg = atomic_load_explicit(&u->dial_ns, memory_order_relaxed);
	uint64_t limit = 2 * (avg != 0 ? avg : DIAL_START_NS);
	return MIN(MAX(limit, DIAL_MIN_NS), DIAL_MAX_NS);
}

static void on_stall(struct loop_timer *t)
{
	struct stream *s = CONTAINER_OF(t, struct stream, timer);
	struct resolver *r = s->l.pool->r;
	resolver_enter(r);
	if (!stream_is_stalled(s, now_of(s))) {
		if (s->l.inflight > 1 && !s->l.pool->any_order)
			loop_timer_set(r->env.loop, t, s->silent_since_ns + stream_patience_ns(s));
	} else if (stream_rescue(s)) {
		loop_timer_set(r->env.loop, t, now_of(s) + stream_patience_ns(s));
	}
	resolver_leave(r);
}

static void opened(struct stream *s)
{
	struct resolve_pool *p = s->l.pool;
	loop_timer_stop(p->r->env.loop, &s->timer);
	dial_measured(p->up, now_of(s) - s->l.opened_ns);
	s->phase = STREAM_OPEN;
	s->timer.cb = on_stall;
	s->heard_ns = now_of(s);
	int r = s->codec->opened(s);
	if (r < 0) {
		stream_lost(s, r);
		return;
	}
	stream_shed(s);
	stream_flush(&s->l);
}

static void handshake(struct stream *s)
{
	int r = net_tls_handshake(s->tls);
	if (r == 0)
		opened(s);
	else if (r == -EAGAIN)
		watch(s, net_tls_wants_write(s->tls) ? EPOLLOUT : EPOLLIN);
	else
		stream_lost(s, r);
}

static int start_tls(struct stream *s)
{
	static const char *const dot[] = { "dot", NULL };
	static const char *const doh[] = { "h2", "http/1.1", NULL };
	const struct resolve_pool *p = s->l.pool;
	const struct resolve_conf *c = &p->up->conf;
	char ip[NET_ADDR_TEXT_MAX];
	if (c->cred == NULL)
		return ERR_TLS;
	net_addr_ip_str(&c->addr, ip);
	ip[strcspn(ip, "%")] = '\0';
	return net_tls_connect(c->cred, s->l.io.fd, c->server_name != NULL ? c->server_name : ip,
			       c->transport == RESOLVE_HTTPS ? doh : dot, &p->ticket, &s->tls);
}

static void connected(struct stream *s)
{
	int error = 0;
	socklen_t len = sizeof(error);
	if (getsockopt(s->l.io.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	int r = -error;
	if (r == 0 && s->l.pool->up->conf.transport != RESOLVE_PLAIN)
		r = start_tls(s);
	if (r < 0) {
		stream_lost(s, r);
	} else if (s->tls != NULL) {
		s->phase = STREAM_HANDSHAKE;
		handshake(s);
	} else {
		opened(s);
	}
}

static void on_io(struct loop_fd *f, uint32_t events)
{
	struct stream *s = stream_of(CONTAINER_OF(f, struct resolve_link, io));
	struct resolver *r = s->l.pool->r;
	resolver_enter(r);
	switch (s->phase) {
	case STREAM_CONNECTING:
		connected(s);
		break;
	case STREAM_HANDSHAKE:
		handshake(s);
		break;
	case STREAM_OPEN:
		if ((events & ~(uint32_t)EPOLLOUT) != 0)
			stream_read(s);
		if ((events & EPOLLOUT) != 0 && f->fd >= 0)
			stream_flush(&s->l);
		break;
	}
	resolver_leave(r);
}

static void on_dial_timeout(struct loop_timer *t)
{
	struct stream *s = CONTAINER_OF(t, struct stream, timer);
	struct resolver *r = s->l.pool->r;
	resolver_enter(r);
	dial_measured(s->l.pool->up, now_of(s) - s->l.opened_ns);
	stream_lost(s, ERR_TIMEOUT);
	resolver_leave(r);
}

/* ---- the end ---- */

static void stream_closed(struct resolve_link *l)
{
	struct stream *s = stream_of(l);
	loop_timer_stop(l->pool->r->env.loop, &s->timer);
	l->pool->n_streams--;
	if (s->tls != NULL && s->phase == STREAM_OPEN)
		net_tls_bye(s->tls);
}

static void stream_destroy(struct resolve_link *l)
{
	struct stream *s = stream_of(l);
	s->codec->free(s);
	net_tls_free(s->tls);
	frame_done(&s->frame);
	strbuf_done(&s->out);
}

/* Nothing was heard since this exchange was sent: the peer may be gone without a word, so nobody
 * else shall wait for it. */
static void stream_timed_out(struct resolve_link *l, struct resolve_exchange *x)
{
	struct stream *s = stream_of(l);
	if (s->phase == STREAM_OPEN && x->state == X_SENT && s->heard_ns <= x->sent_ns)
		l->draining = true;
}

static void stream_dropped(struct resolve_link *l, struct resolve_exchange *x)
{
	struct stream *s = stream_of(l);
	if (s->codec->drop != NULL && s->l.io.fd >= 0)
		s->codec->drop(s, x);
}

static void stream_idle(struct resolve_link *l)
{
	struct resolve_pool *p = l->pool;
	unsigned idle = 0;
	stream_of(l)->silent_since_ns = 0;
	for (const struct resolve_link *k = p->links; k != NULL; k = k->next)
		idle += stream_is(k) && k->inflight == 0;
	if (p->up->conf.max_idle != 0 && idle > p->up->conf.max_idle)
		link_close(l);
	else
		link_sweep_at(p->r, l->idle_ns + p->up->conf.expire_ns);
}

static const struct link_ops stream_ops = {
	.flush = stream_flush,
	.closed = stream_closed,
	.destroy = stream_destroy,
	.idle = stream_idle,
	.timed_out = stream_timed_out,
	.dropped = stream_dropped,
};

bool stream_is(const struct resolve_link *l)
{
	return l->ops == &stream_ops;
}

int stream_dial(struct resolve_pool *p, struct stream **ret)
{
	struct resolver *r = p->r;
	int fd = link_socket(&p->up->conf, SOCK_STREAM);
	if (fd < 0)
		return fd;
	int on = 1;
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0); /* a speed-up */
	struct resolve_link *l = link_open(p, fd, EPOLLOUT, &stream_ops, sizeof(struct stream));
	if (l == NULL)
		return -ENOMEM;
	struct stream *s = stream_of(l);
	l->io.cb = on_io;
	l->keeps_sent = true;
	s->events = EPOLLOUT;
	s->depth = p->new_depth;
	s->codec = p->up->conf.transport == RESOLVE_HTTPS ? &doh_codec : &stream_dns_codec;
	s->timer.cb = on_dial_timeout;
	strbuf_init(&s->out);
	loop_timer_set(r->env.loop, &s->timer, loop_now(r->env.loop) + dial_limit(p->up));
	if (r->stream_in == NULL)
		r->stream_in = xmalloc(FRAME_MAX);
	p->n_streams++;
	*ret = s;
	return 0;
}

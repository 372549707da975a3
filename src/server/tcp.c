/* TCP: pipelined queries, replies in the order they are ready, time-outs, a bounded number of
 * connections. An idle connection costs its struct and nothing else: bytes are read into the
 * worker's scratch and only an unfinished message is kept aside. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "server/admit.h"
#include "server/server_priv.h"

enum {
	READ_SCRATCH = 2 + 65535,
	MAX_INFLIGHT = 128,	    /* per connection; then it is not read from */
	MAX_OUT_BYTES = 512 * 1024, /* unsent; then the connection is closed */
	STREAM_HIGH_BYTES = 128 * 1024,
	ACCEPTS_PER_TURN = 32,
	ACCEPT_PAUSE_NS = 100 * 1000 * 1000, /* when there is no descriptor to be had */
};

struct tcp_conn {
	struct loop_fd io;
	struct loop_timer timer;
	struct listener_sock *sock;
	struct worker *worker;
	struct tcp_conn *older, *newer; /* worker's list by last activity */
	union net_addr client, local;
	bool closed;
	bool want_write;
	bool paused;
	bool eof; /* the client sends no more; replies are still due */
	uint32_t inflight;
	uint64_t n_queries;
	uint8_t *part; /* unfinished message */
	size_t part_n;
	uint8_t *out; /* not sent yet */
	size_t out_n, out_at;
	struct query *stream;
};

/* ---- connections per client, over all workers ---- */

struct client_table {
	struct map counts; /* address bytes → count, as a pointer-sized number */
};

struct client_table *client_table_new(void)
{
	return xcalloc(1, sizeof(struct client_table));
}

void client_table_free(struct client_table *t)
{
	if (t != NULL)
		map_done(&t->counts);
	free(t);
}

static uintptr_t client_count(struct server *s, const union net_addr *a, int delta)
{
	size_t n;
	struct slice key = { .p = (const char *)net_addr_bytes(a, &n) };
	key.n = n;
	pthread_mutex_lock(&s->clients_lock);
	uintptr_t count = (uintptr_t)map_get(&s->clients->counts, key);
	count = delta < 0 ? count - 1 : count + 1;
	if (count == 0)
		map_del(&s->clients->counts, key);
	else
		map_set(&s->clients->counts, key, (void *)count); // NOLINT: a number, not a pointer
	pthread_mutex_unlock(&s->clients_lock);
	return count;
}

/* ---- the worker's list, oldest activity first ---- */

static void list_remove(struct tcp_conn *c)
{
	struct conn_list *l = &c->worker->conns;
	*(c->older != NULL ? &c->older->newer : &l->oldest) = c->newer;
	*(c->newer != NULL ? &c->newer->older : &l->newest) = c->older;
	c->older = c->newer = NULL;
	l->n--;
}

static void list_append(struct tcp_conn *c)
{
	struct conn_list *l = &c->worker->conns;
	c->older = l->newest;
	c->newer = NULL;
	*(l->newest != NULL ? &l->newest->newer : &l->oldest) = c;
	l->newest = c;
	l->n++;
}

static const struct block_timeouts *timeouts(const struct tcp_conn *c)
{
	static const struct block_timeouts none;
	return c->sock->route != NULL ? &c->sock->route->timeouts : &none;
}

static void set_timeout(struct tcp_conn *c, int64_t ns, uint64_t default_s)
{
	uint64_t d = ns != 0 ? (uint64_t)ns : default_s * NS_PER_S;
	loop_timer_set(c->worker->loop, &c->timer, loop_now(c->worker->loop) + d);
}

static void conn_free(struct tcp_conn *c)
{
	free(c->part);
	free(c->out);
	free(c);
}

/* Queries in flight keep the struct alive; the last of them frees it. */
static void conn_close(struct tcp_conn *c)
{
	if (c->closed)
		return;
	c->closed = true;
	loop_fd_del(c->worker->loop, &c->io);
	close(c->io.fd);
	loop_timer_stop(c->worker->loop, &c->timer);
	list_remove(c);
	atomic_fetch_sub_explicit(&c->worker->srv->n_conns, 1, memory_order_relaxed);
	client_count(c->worker->srv, &c->client, -1);
	struct query *s = c->stream;
	c->stream = NULL;
	if (s != NULL)
		chain_stream_end(s);
	else if (c->inflight == 0)
		conn_free(c);
}

bool tcp_conn_gone(const struct tcp_conn *c)
{
	return c->closed;
}

void tcp_close_all(struct worker *w, const struct listener_sock *only)
{
	for (struct tcp_conn *c = w->conns.oldest, *next; c != NULL; c = next) {
		next = c->newer;
		if (only == NULL || c->sock == only)
			conn_close(c);
	}
}

static void on_timeout(struct loop_timer *t)
{
	struct tcp_conn *c = CONTAINER_OF(t, struct tcp_conn, timer);
	if (c->inflight > 0 && c->out_n == 0) {
		set_timeout(c, timeouts(c)->idle_ns, 10); /* waiting for us, not for the client */
		return;
	}
	conn_close(c);
}

/* ---- writing ---- */

static void update_events(struct tcp_conn *c)
{
	uint32_t ev = (c->paused || c->eof ? 0 : (uint32_t)EPOLLIN) |
		      (c->want_write ? (uint32_t)EPOLLOUT : 0);
	if (loop_fd_mod(c->worker->loop, &c->io, ev) < 0)
		conn_close(c);
}

static void keep_unsent(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	if (c->out_n - c->out_at + n > MAX_OUT_BYTES) {
		conn_close(c);
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
	if (!c->want_write) {
		c->want_write = true;
		set_timeout(c, timeouts(c)->write_ns, 5);
		update_events(c);
	}
}

void tcp_send(struct query *q, const uint8_t *msg, size_t n)
{
	struct tcp_conn *c = q->conn;
	if (c->closed)
		return;
	ssize_t sent = 0;
	if (c->out_n == 0) {
		sent = send(c->io.fd, msg, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			conn_close(c);
			return;
		}
		sent = MAX(sent, 0);
	}
	if ((size_t)sent < n)
		keep_unsent(c, msg + sent, n - (size_t)sent);
}

static void write_more(struct tcp_conn *c)
{
	ssize_t n = send(c->io.fd, c->out + c->out_at, c->out_n - c->out_at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			conn_close(c);
		return;
	}
	c->out_at += (size_t)n;
	set_timeout(c, timeouts(c)->write_ns, 5);
	if (c->out_at < c->out_n)
		return;
	free(c->out);
	c->out = NULL;
	c->out_n = c->out_at = 0;
	c->want_write = false;
	set_timeout(c, timeouts(c)->idle_ns, 10);
	update_events(c);
	if (c->closed)
		return;
	struct query *s = c->stream;
	c->stream = NULL;
	if (s != NULL)
		tcp_stream(s);
	else if (c->eof && c->inflight == 0)
		conn_close(c);
}

/* One message after another until the client's buffer is full; then on when it is writable. */
void tcp_stream(struct query *q)
{
	struct tcp_conn *c = q->conn;
	struct plugin_inst *p = q->block->chain[q->at];
	for (;;) {
		if (c == NULL || c->closed) {
			chain_stream_end(q);
			return;
		}
		if (c->out_n - c->out_at > STREAM_HIGH_BYTES) {
			c->stream = q;
			return;
		}
		int r = q->stream_next(p, q);
		if (r >= 0) {
			reply_complete(q);
			reply_send(q);
		} else {
			conn_close(c);
		}
		if (r <= 0) {
			chain_stream_end(q);
			return;
		}
	}
}

void tcp_query_done(struct query *q)
{
	struct tcp_conn *c = q->conn;
	c->inflight--;
	if (c->closed) {
		if (c->inflight == 0)
			conn_free(c);
		return;
	}
	if (c->eof && c->inflight == 0 && c->out_n == 0) {
		conn_close(c);
		return;
	}
	if (c->paused && c->inflight <= MAX_INFLIGHT / 2) {
		c->paused = false;
		update_events(c);
	}
}

/* ---- reading ---- */

static void serve_message(struct tcp_conn *c, const uint8_t *msg, size_t n)
{
	struct worker *w = c->worker;
	struct query *q = slot_take(w);
	if (q == NULL)
		return; /* at the hard cap: the client's own time-out tells it */
	uint8_t *at = q->buf;
	if (n > REQUEST_MAX) {
		q->big = big_take(w);
		if (q->big == NULL) {
			slot_release(w, q);
			return;
		}
		q->big->next = NULL;
		at = q->big->data;
	}
	memcpy(at, msg, n);
	q->conn = c;
	q->sock = c->sock;
	q->proto = QUERY_TCP;
	q->client = c->client;
	q->local = c->local;
	q->start_ns = loop_now(w->loop);
	c->inflight++;
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

/* Serves all whole messages of p[0..n); returns the bytes used. The connection may be closed (but
 * not freed: the caller holds a count) when this returns. */
static size_t serve_messages(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	size_t used = 0;
	int64_t max = timeouts(c)->max_tcp_queries;
	while (!c->closed && n - used >= 2) {
		size_t len = dns_get16(p + used);
		if (n - used < 2 + len)
			break;
		serve_message(c, p + used + 2, len);
		used += 2 + len;
		if (max > 0 && c->n_queries >= (uint64_t)max) {
			c->eof = true;
			break;
		}
	}
	return used;
}

static void keep_part(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	uint8_t *copy = n != 0 ? xmemdup(p, n) : NULL;
	free(c->part);
	c->part = copy;
	c->part_n = n;
}

static void after_read(struct tcp_conn *c, bool progress)
{
	if (progress) {
		list_remove(c);
		list_append(c);
	}
	if (!c->want_write && (progress || c->timer.heap_at == 0)) {
		const struct block_timeouts *t = timeouts(c);
		set_timeout(c, c->part_n != 0 ? t->read_ns : t->idle_ns, c->part_n != 0 ? 3 : 10);
	}
	if (c->eof && c->inflight == 0 && c->out_n == 0) {
		conn_close(c);
		return;
	}
	bool pause = c->inflight >= MAX_INFLIGHT;
	if (pause != c->paused || c->eof) {
		c->paused = pause;
		update_events(c);
	}
}

static void read_some(struct tcp_conn *c)
{
	uint8_t *buf = c->worker->tcp_in;
	if (c->part_n != 0)
		memcpy(buf, c->part, c->part_n);
	ssize_t n = recv(c->io.fd, buf + c->part_n, READ_SCRATCH - c->part_n, MSG_DONTWAIT);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			conn_close(c);
		return;
	}
	if (n == 0) {
		if (c->inflight == 0 && c->out_n == 0) {
			conn_close(c);
			return;
		}
		c->eof = true;
		update_events(c);
		return;
	}
	size_t have = c->part_n + (size_t)n;
	c->inflight++; /* keeps the struct while messages are served */
	size_t used = serve_messages(c, buf, have);
	c->inflight--;
	if (c->closed) {
		if (c->inflight == 0)
			conn_free(c);
		return;
	}
	bool first_bytes = c->part_n == 0 && used < have;
	keep_part(c, buf + used, have - used);
	after_read(c, used > 0 || first_bytes);
}

static void on_io(struct loop_fd *f, uint32_t events)
{
	struct tcp_conn *c = CONTAINER_OF(f, struct tcp_conn, io);
	if ((events & EPOLLERR) != 0) {
		conn_close(c);
		return;
	}
	if ((events & EPOLLOUT) != 0) {
		write_more(c);
		return; /* the read side comes with the next turn */
	}
	if ((events & (EPOLLIN | EPOLLHUP)) != 0)
		read_some(c);
}

/* ---- accepting ---- */

/* A new connection is never refused: the one idle longest makes room, first among those of a client
 * that holds more than half of all. */
static void make_room(struct worker *w, const struct tcp_conn *fresh, uintptr_t of_client)
{
	uint32_t max = w->srv->opts.max_tcp;
	uint32_t n = atomic_load_explicit(&w->srv->n_conns, memory_order_relaxed);
	bool greedy = of_client > max / 2;
	if (n <= max && !greedy)
		return;
	for (struct tcp_conn *c = w->conns.oldest; c != NULL; c = c->newer) {
		if (c != fresh && (!greedy || net_addr_same_ip(&c->client, &fresh->client))) {
			conn_close(c);
			return;
		}
	}
}

static void add_conn(struct listener_sock *s, int fd, const union net_addr *client)
{
	struct worker *w = s->worker;
	struct tcp_conn *c = xcalloc(1, sizeof(*c));
	c->io = (struct loop_fd){ .fd = fd, .cb = on_io };
	c->timer.cb = on_timeout;
	c->sock = s;
	c->worker = w;
	c->client = *client;
	net_addr_unmap(&c->client);
	socklen_t len = sizeof(c->local);
	if (getsockname(fd, &c->local.sa, &len) != 0)
		c->local = s->listener->addr;
	net_addr_unmap(&c->local);
	if (loop_fd_add(w->loop, &c->io, EPOLLIN) < 0) {
		close(fd);
		free(c);
		return;
	}
	list_append(c);
	atomic_fetch_add_explicit(&w->srv->n_conns, 1, memory_order_relaxed);
	uintptr_t of_client = client_count(w->srv, &c->client, 1);
	set_timeout(c, timeouts(c)->read_ns, 3);
	make_room(w, c, of_client);
}

/* Out of descriptors: the longest-idle connection gives up its own. With none here (others hold
 * them all) new ones stay in the kernel's queue for a while, as looking again at once would spin.
 */
static void make_descriptor(struct listener_sock *s)
{
	struct worker *w = s->worker;
	if (w->conns.oldest != NULL) {
		conn_close(w->conns.oldest);
		return;
	}
	if (loop_fd_mod(w->loop, &s->tcp, 0) == 0)
		loop_timer_set(w->loop, &s->accept_timer, loop_now(w->loop) + ACCEPT_PAUSE_NS);
}

void tcp_accept_again(struct loop_timer *t)
{
	struct listener_sock *s = CONTAINER_OF(t, struct listener_sock, accept_timer);
	if (loop_fd_mod(s->worker->loop, &s->tcp, EPOLLIN) < 0)
		loop_timer_set(s->worker->loop, t, loop_now(s->worker->loop) + ACCEPT_PAUSE_NS);
}

void tcp_acceptable(struct loop_fd *f, uint32_t events)
{
	struct listener_sock *s = CONTAINER_OF(f, struct listener_sock, tcp);
	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		union net_addr client = { 0 };
		socklen_t len = sizeof(client);
		int fd = accept4(f->fd, &client.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				make_descriptor(s);
			return;
		}
		add_conn(s, fd, &client);
	}
}

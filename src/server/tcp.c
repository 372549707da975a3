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
	HIGH_BYTES = 128 * 1024,    /* unsent; then nothing is read and streams pause */
	STREAM_BURST = 16,	    /* messages before others have their turn */
	ACCEPTS_PER_TURN = 32,
	ACCEPT_PAUSE_NS = 100 * 1000 * 1000, /* when there is no descriptor to be had */
};

struct tcp_conn {
	struct loop_fd io;
	struct loop_timer timer;
	struct listener_sock *sock; /* NULL: given up */
	struct worker *worker;
	struct tcp_conn *older, *newer; /* worker's list by last activity */
	union net_addr client, local;
	bool closed;
	bool want_write;
	bool paused; /* too much in flight or unsent: not read from */
	bool eof;    /* nothing more is read; replies are still due */
	uint32_t events;
	uint32_t inflight; /* queries, and one for who works on the struct */
	uint64_t n_queries;
	uint8_t *part; /* unfinished message; when paused, also whole ones */
	size_t part_n;
	uint8_t *out; /* not sent yet */
	size_t out_n, out_at;
	struct query *stream; /* one after the other, by `next` */
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
	const struct route *r = c->sock != NULL ? c->sock->route : NULL;
	return r != NULL ? &r->timeouts : &none;
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
static void let_go(struct tcp_conn *c)
{
	if (--c->inflight == 0 && c->closed)
		conn_free(c);
}

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
	c->inflight++;
	while (c->stream != NULL) {
		struct query *s = c->stream;
		c->stream = s->next;
		chain_stream_end(s);
	}
	let_go(c);
}

bool tcp_conn_gone(const struct tcp_conn *c)
{
	return c->closed;
}

void tcp_close_all(struct worker *w)
{
	while (w->conns.oldest != NULL)
		conn_close(w->conns.oldest);
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

static size_t unsent(const struct tcp_conn *c)
{
	return c->out_n - c->out_at;
}

static bool is_whole(const uint8_t *p, size_t n)
{
	return n >= 2 && n - 2 >= dns_get16(p);
}

/* What could go on at once (a message kept aside, a stream that let others pass) is called by
 * writability, in the next turn. */
static uint32_t wanted_events(const struct tcp_conn *c)
{
	bool kept = !c->paused && is_whole(c->part, c->part_n);
	bool in = !c->paused && !c->eof && !kept;
	bool out = c->want_write || c->stream != NULL || kept;
	return (in ? (uint32_t)EPOLLIN : 0) | (out ? (uint32_t)EPOLLOUT : 0);
}

static void update_events(struct tcp_conn *c)
{
	uint32_t ev = wanted_events(c);
	if (ev == c->events)
		return;
	c->events = ev;
	if (loop_fd_mod(c->worker->loop, &c->io, ev) < 0)
		conn_close(c);
}

static void keep_unsent(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	if (unsent(c) + n > MAX_OUT_BYTES) {
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

static void stream_run(struct tcp_conn *c)
{
	c->inflight++;
	for (int i = 0; i < STREAM_BURST && c->stream != NULL && unsent(c) <= HIGH_BYTES; i++)
		stream_step(c);
	if (!c->closed)
		update_events(c);
	let_go(c);
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
		stream_run(c);
}

/* ---- going on ---- */

static void settle(struct tcp_conn *c)
{
	bool idle = c->inflight == 0 && c->out_n == 0;
	if (c->eof && idle) {
		conn_close(c);
		return;
	}
	/* Once paused, it stays so until half of it is done. */
	uint32_t max = c->paused ? MAX_INFLIGHT / 2 : MAX_INFLIGHT - 1;
	c->paused = c->inflight > max || unsent(c) > HIGH_BYTES;
	update_events(c);
}

void tcp_query_done(struct query *q)
{
	struct tcp_conn *c = q->conn;
	c->inflight--;
	if (!c->closed)
		settle(c);
	else if (c->inflight == 0)
		conn_free(c);
}

static void write_more(struct tcp_conn *c)
{
	ssize_t n = send(c->io.fd, c->out + c->out_at, unsent(c), MSG_NOSIGNAL | MSG_DONTWAIT);
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
	settle(c);
}

void tcp_leave(struct worker *w, const struct listener_sock *s)
{
	for (struct tcp_conn *c = w->conns.oldest, *newer; c != NULL; c = newer) {
		newer = c->newer;
		if (c->sock != s)
			continue;
		c->sock = NULL;
		c->eof = true;
		c->part_n = 0;
		settle(c);
	}
}

/* ---- reading ---- */

/* No memory for a long request: its header is enough for SERVFAIL. */
static void refuse_large(struct query *q, const uint8_t *msg)
{
	q->req = (struct dns_request){ .id = dns_get16(msg), .flags = dns_get16(msg + 2) };
	q->req.opcode = (uint8_t)(q->req.flags >> 11 & 15);
	if ((q->req.flags & DNS_FLAG_QR) == 0)
		reply_bare(q, DNS_RCODE_SERVFAIL);
}

static void serve_message(struct tcp_conn *c, const uint8_t *msg, size_t n)
{
	struct worker *w = c->worker;
	struct query *q = slot_take(w);
	if (q == NULL)
		return; /* at the hard cap: the client's own time-out tells it */
	uint8_t *at = q->buf;
	q->conn = c;
	if (n > REQUEST_MAX) {
		q->big = big_take(w);
		if (q->big == NULL) {
			refuse_large(q, msg);
			slot_release(w, q);
			return;
		}
		q->big->next = NULL;
		at = q->big->data;
	}
	memcpy(at, msg, n);
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

/* Serves whole messages of p[0..n) until too much is in flight; returns the bytes used. The
 * connection may be closed (but not freed: the caller holds a count) when this returns. */
static size_t serve_messages(struct tcp_conn *c, const uint8_t *p, size_t n)
{
	size_t used = 0;
	int64_t max = timeouts(c)->max_tcp_queries;
	while (!c->closed && is_whole(p + used, n - used)) {
		if (c->inflight > MAX_INFLIGHT || unsent(c) > HIGH_BYTES)
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
	settle(c);
}

/* Serves what is in the worker's scratch and keeps the rest. */
static void serve_scratch(struct tcp_conn *c, size_t have)
{
	const uint8_t *buf = c->worker->tcp_in;
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
		c->eof = true;
		settle(c);
		return;
	}
	serve_scratch(c, c->part_n + (size_t)n);
}

/* Nothing is unsent, or it is being sent: what else was put off? */
static void on_writable(struct tcp_conn *c)
{
	if (c->out_n != 0) {
		write_more(c);
	} else if (c->stream != NULL) {
		stream_run(c);
	} else if (!c->paused && is_whole(c->part, c->part_n)) {
		memcpy(c->worker->tcp_in, c->part, c->part_n);
		serve_scratch(c, c->part_n);
	} else {
		update_events(c);
	}
}

static void on_io(struct loop_fd *f, uint32_t events)
{
	struct tcp_conn *c = CONTAINER_OF(f, struct tcp_conn, io);
	/* Hung up means both directions: no reply can be sent any more. */
	if ((events & (EPOLLERR | EPOLLHUP)) != 0)
		conn_close(c);
	else if ((events & EPOLLOUT) != 0)
		on_writable(c); /* the read side comes with the next turn */
	else if ((events & EPOLLIN) != 0)
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
	c->events = EPOLLIN;
	if (loop_fd_add(w->loop, &c->io, c->events) < 0) {
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

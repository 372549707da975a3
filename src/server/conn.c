/* Connections: their life, how many there may be, and accepting them. An idle connection costs its
 * struct and nothing else. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/tls.h"
#include "server/conn_priv.h"

enum {
	ACCEPTS_PER_TURN = 32,
	ACCEPT_PAUSE_NS = 100 * 1000 * 1000, /* when there is no descriptor to be had */
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

static uintptr_t client_count(struct conn_pool *s, const union net_addr *a, int delta)
{
	size_t n;
	struct slice key = { .p = (const char *)net_addr_bytes(a, &n) };
	key.n = n;
	pthread_mutex_lock(&s->lock);
	uintptr_t count = (uintptr_t)map_get(&s->clients->counts, key);
	count = delta < 0 ? count - 1 : count + 1;
	if (count == 0)
		map_del(&s->clients->counts, key);
	else
		map_set(&s->clients->counts, key, (void *)count); // NOLINT: a number, not a pointer
	pthread_mutex_unlock(&s->lock);
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

void conn_touch(struct tcp_conn *c)
{
	list_remove(c);
	list_append(c);
}

/* ---- life ---- */

const struct block_timeouts *conn_timeouts(const struct tcp_conn *c)
{
	static const struct block_timeouts none;
	const struct route *r = c->sock != NULL ? c->sock->route : NULL;
	return r != NULL ? &r->timeouts : &none;
}

void conn_set_timeout(struct tcp_conn *c, int64_t ns, uint64_t default_s)
{
	uint64_t d = ns != 0 ? (uint64_t)ns : default_s * NS_PER_S;
	loop_timer_set(c->worker->loop, &c->timer, loop_now(c->worker->loop) + d);
}

static void conn_free(struct tcp_conn *c)
{
	if (c->proto->free != NULL)
		c->proto->free(c);
	net_tls_free(c->tls);
	free(c->part);
	free(c->out);
	free(c);
}

void conn_hold(struct tcp_conn *c)
{
	c->holds++;
}

void conn_let_go(struct tcp_conn *c)
{
	if (--c->holds == 0 && c->inflight == 0 && c->closed)
		conn_free(c);
}

static void leave_listener(struct tcp_conn *c)
{
	if (c->sock != NULL)
		atomic_fetch_sub_explicit(&c->sock->listener->n_conns, 1, memory_order_relaxed);
	c->sock = NULL;
}

void conn_close(struct tcp_conn *c)
{
	if (c->closed)
		return;
	c->closed = true;
	if (c->tls != NULL && !c->handshaking)
		net_tls_bye(c->tls);
	loop_fd_del(c->worker->loop, &c->io);
	close(c->io.fd);
	loop_timer_stop(c->worker->loop, &c->timer);
	list_remove(c);
	leave_listener(c);
	atomic_fetch_sub_explicit(&c->worker->pool->n, 1, memory_order_relaxed);
	client_count(c->worker->pool, &c->client, -1);
	conn_hold(c);
	while (c->stream != NULL) {
		struct query *s = c->stream;
		c->stream = s->next;
		chain_stream_end(s);
	}
	conn_let_go(c);
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

void tcp_leave(struct worker *w, const struct listener_sock *s)
{
	for (struct tcp_conn *c = w->conns.oldest, *newer; c != NULL; c = newer) {
		newer = c->newer;
		if (c->sock != s)
			continue;
		leave_listener(c);
		c->eof = true;
		c->part_n = 0;
		conn_hold(c);
		if (c->proto->end != NULL)
			c->proto->end(c);
		if (!c->closed)
			conn_settle(c);
		conn_let_go(c);
	}
}

/* ---- accepting ---- */

/* A new connection is never refused: the one idle longest makes room, first among those of a client
 * that holds more than half of all. */
static void make_room(struct worker *w, const struct tcp_conn *fresh, uintptr_t of_client)
{
	const struct listener_sock *s = fresh->sock;
	uint32_t max = w->pool->max, own_max = s->route->https.max_connections;
	uint32_t n = atomic_load_explicit(&w->pool->n, memory_order_relaxed);
	bool greedy = of_client > max / 2;
	bool full = own_max != 0 &&
		    atomic_load_explicit(&s->listener->n_conns, memory_order_relaxed) > own_max;
	if (n <= max && !greedy && !full)
		return;
	for (struct tcp_conn *c = w->conns.oldest; c != NULL; c = c->newer) {
		if (c != fresh && (!greedy || net_addr_same_ip(&c->client, &fresh->client)) &&
		    (!full || c->sock == s)) {
			conn_close(c);
			return;
		}
	}
}

static void add_conn(struct listener_sock *s, int fd, const union net_addr *client)
{
	struct worker *w = s->worker;
	struct tcp_conn *c = xcalloc(1, sizeof(*c));
	c->io = (struct loop_fd){ .fd = fd, .cb = conn_io_ready };
	c->timer.cb = conn_on_timeout;
	c->how = &conn_io_plain;
	c->proto = &tcp_proto;
	c->sock = s;
	c->worker = w;
	c->client = *client;
	net_addr_unmap(&c->client);
	socklen_t len = sizeof(c->local);
	if (getsockname(fd, &c->local.sa, &len) != 0)
		c->local = s->listener->addr;
	net_addr_unmap(&c->local);
	c->events = EPOLLIN;
	struct certs *certs = s->route->certs;
	if (certs == NULL && s->listener->transport == TRANSPORT_HTTPS)
		doh_start(c, HTTP_1_1);
	if ((certs != NULL && conn_tls_start(c, certs) < 0) ||
	    loop_fd_add(w->loop, &c->io, c->events) < 0) {
		close(fd);
		conn_free(c);
		return;
	}
	list_append(c);
	atomic_fetch_add_explicit(&w->pool->n, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->listener->n_conns, 1, memory_order_relaxed);
	uintptr_t of_client = client_count(w->pool, &c->client, 1);
	conn_set_timeout(c, conn_timeouts(c)->read_ns, 3);
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
			/* The kernel looks for a descriptor before it looks for a client: only the
			 * first failure of a turn means that somebody waits. */
			if (i == 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				       errno == ENOMEM))
				make_descriptor(s);
			return;
		}
		add_conn(s, fd, &client);
	}
}

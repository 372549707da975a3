/* How many connections there may be: in all, of one client, and on one listener (`https` with
 * max_connections). A new one is never refused: the one idle longest makes room, on whichever
 * worker it is. Workers tell each other how long their oldest has been idle (an atomic), and the
 * one that has to close a connection is sent a message.
 *
 * Who closes one for a limit first takes it off the counter that is too high, so that two workers
 * do not close two where one was too many. */
#include <assert.h>

#include "server/conn_priv.h"

/* ---- lists, oldest activity first ---- */

void conn_list_init(struct conn_list *l)
{
	l->oldest_ns = UINT64_MAX;
}

static void publish_oldest(struct conn_list *l)
{
	uint64_t ns = l->oldest != NULL ? l->oldest->active_ns : UINT64_MAX;
	atomic_store_explicit(&l->oldest_ns, ns, memory_order_relaxed);
}

static void list_remove(struct conn_list *l, struct tcp_conn *c, enum conn_list_kind kind)
{
	struct conn_link *link = &c->link[kind];
	*(link->older != NULL ? &link->older->link[kind].newer : &l->oldest) = link->newer;
	*(link->newer != NULL ? &link->newer->link[kind].older : &l->newest) = link->older;
	link->older = link->newer = NULL;
	l->n--;
	publish_oldest(l);
}

static void list_append(struct conn_list *l, struct tcp_conn *c, enum conn_list_kind kind)
{
	struct conn_link *link = &c->link[kind];
	link->older = l->newest;
	link->newer = NULL;
	*(l->newest != NULL ? &l->newest->link[kind].newer : &l->oldest) = c;
	l->newest = c;
	l->n++;
	publish_oldest(l);
}

static void append_to_both(struct tcp_conn *c)
{
	c->active_ns = loop_now(c->worker->loop);
	list_append(&c->worker->conns, c, CONN_OF_WORKER);
	if (c->sock != NULL)
		list_append(&c->sock->conns, c, CONN_OF_SOCK);
}

void conn_touch(struct tcp_conn *c)
{
	list_remove(&c->worker->conns, c, CONN_OF_WORKER);
	if (c->sock != NULL)
		list_remove(&c->sock->conns, c, CONN_OF_SOCK);
	append_to_both(c);
}

/* ---- counting ---- */

static void count_down(_Atomic uint32_t *n)
{
	atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
}

void conn_leave_listener(struct tcp_conn *c)
{
	if (c->sock == NULL)
		return;
	list_remove(&c->sock->conns, c, CONN_OF_SOCK);
	if (c->uncounted != &c->sock->listener->n_conns)
		count_down(&c->sock->listener->n_conns);
	c->sock = NULL;
}

void conn_leave_room(struct tcp_conn *c)
{
	struct conn_pool *pool = c->worker->pool;
	conn_leave_listener(c);
	list_remove(&c->worker->conns, c, CONN_OF_WORKER);
	atomic_fetch_sub_explicit(&c->of->bytes, c->kept_bytes, memory_order_relaxed);
	c->kept_bytes = 0;
	if (c->uncounted != &pool->n)
		count_down(&pool->n);
	if (c->uncounted != &c->of->n_conns)
		count_down(&c->of->n_conns);
	client_leave(pool, c->of);
}

/* Takes one off a counter that is above its limit; false when it is not. */
static bool claim(_Atomic uint32_t *n, uint32_t max)
{
	uint32_t now = atomic_load_explicit(n, memory_order_relaxed);
	while (now > max) {
		if (atomic_compare_exchange_weak_explicit(n, &now, now - 1, memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

static bool is_above(_Atomic uint32_t *n, uint32_t max)
{
	return atomic_load_explicit(n, memory_order_relaxed) > max;
}

static bool close_for(struct tcp_conn *c, _Atomic uint32_t *n, uint32_t max)
{
	if (!claim(n, max))
		return false;
	c->uncounted = n;
	conn_close(c);
	return true;
}

/* ---- making room ---- */

static void ask_for_room(struct worker *w)
{
	if (!atomic_exchange(&w->room_asked, true))
		loop_post(w->loop, &w->room_msg);
}

/* The worker whose connection has been idle longest, of those of a listener or (NULL) of the pool;
 * itself only if no other has one as old. */
static struct worker *find_oldest(struct worker *self, struct listener *l)
{
	struct server *srv = self->srv;
	unsigned first = l != NULL ? l->first : self->is_stream ? srv->n_workers : 0;
	unsigned n = l != NULL ? l->n : self->is_stream ? srv->n_stream : srv->n_workers;
	struct worker *found = NULL;
	uint64_t oldest_ns = UINT64_MAX;
	for (unsigned i = 0; i < n; i++) {
		struct worker *w = &srv->worker[first + i];
		struct conn_list *list = l != NULL ? &l->sock[i].conns : &w->conns;
		uint64_t ns = atomic_load_explicit(&list->oldest_ns, memory_order_relaxed);
		if (ns < oldest_ns || (ns == oldest_ns && found == self)) {
			oldest_ns = ns;
			found = ns != UINT64_MAX ? w : found;
		}
	}
	return found;
}

/* Closes the oldest ones of this worker while too many are there and no other worker has older. */
static void shed(struct worker *self, struct listener_sock *s, _Atomic uint32_t *n, uint32_t max)
{
	struct conn_list *own = s != NULL ? &s->conns : &self->conns;
	while (is_above(n, max)) {
		struct worker *w = find_oldest(self, s != NULL ? s->listener : NULL);
		if (w != NULL && w != self)
			ask_for_room(w);
		if (w != self || own->oldest == NULL || !close_for(own->oldest, n, max))
			return;
	}
}

static void shed_limits(struct worker *w)
{
	for (size_t i = 0; w->gen != NULL && i < w->gen->n_route; i++) {
		struct route *r = w->gen->route[i];
		struct listener_sock *s = listener_on(r->listener, w);
		if (s != NULL && r->https.max_connections != 0)
			shed(w, s, &r->listener->n_conns, r->https.max_connections);
	}
	shed(w, NULL, &w->pool->n, w->pool->max);
}

/* A client has half of all connections at most: its own oldest one here goes. False: it has none
 * here, but for the fresh one. */
static bool shed_client(struct worker *w, const struct tcp_conn *fresh, uint32_t max)
{
	for (struct tcp_conn *c = w->conns.oldest; c != NULL; c = c->link[CONN_OF_WORKER].newer) {
		if (c != fresh && is_above(&c->of->n_conns, max))
			return close_for(c, &c->of->n_conns, max);
	}
	return false;
}

/* The next worker of the pool looks for a client that has too many; once round. */
static void pass_on(struct worker *w, unsigned hops)
{
	struct server *srv = w->srv;
	unsigned first = w->is_stream ? srv->n_workers : 0;
	unsigned n = w->is_stream ? srv->n_stream : srv->n_workers;
	if (hops == 0 || n < 2)
		return;
	struct worker *next = &srv->worker[first + (w->index - first + 1) % n];
	atomic_store_explicit(&next->room_hops, hops, memory_order_relaxed);
	ask_for_room(next);
}

void conn_room_asked(struct loop_msg *m)
{
	struct worker *w = CONTAINER_OF(m, struct worker, room_msg);
	atomic_store(&w->room_asked, false);
	unsigned hops = atomic_exchange_explicit(&w->room_hops, 0, memory_order_relaxed);
	if (hops != 0 && !shed_client(w, NULL, w->pool->max / 2))
		pass_on(w, hops - 1);
	shed_limits(w);
}

void conn_enter_room(struct tcp_conn *c)
{
	struct worker *w = c->worker;
	struct listener_sock *s = c->sock;
	uint32_t own_max = s->route->https.max_connections;
	append_to_both(c);
	atomic_fetch_add_explicit(&w->pool->n, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->listener->n_conns, 1, memory_order_relaxed);
	c->of = client_enter(w->pool, &c->client);
	uint32_t client_max = w->pool->max / 2;
	if (is_above(&c->of->n_conns, client_max) && !shed_client(w, c, client_max))
		pass_on(w, (w->is_stream ? w->srv->n_stream : w->srv->n_workers) - 1);
	if (own_max != 0)
		shed(w, s, &s->listener->n_conns, own_max);
	shed(w, NULL, &w->pool->n, w->pool->max);
}

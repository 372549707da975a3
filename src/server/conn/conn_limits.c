/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many connections there may be: in all, of one client, and on one listener (`https` with
 * max_connections). A new one is never refused: the one idle longest makes room, on whichever
 * worker it is. Workers publish how long their oldest has been idle (an atomic), and the one that
 * has to close a connection is sent a message. A worker that closes one for a limit first subtracts
 * it from the counter that is too high, so that two workers do not close two where one was too
 * many. */
#include "server/conn/conn_limits.h"

#include <assert.h>

#include "server/conn/client.h"
#include "server/conn/conn.h"
#include "server/conn/listener.h"
#include "server/generation.h"
#include "server/route.h"
#include "server/server_state.h"
#include "server/worker.h"

/* ---- lists, oldest activity first ---- */

void conn_list_init(struct conn_list *list)
{
	list->oldest_ns = UINT64_MAX;
}

static void publish_oldest(struct conn_list *list)
{
	uint64_t ns = list->oldest != NULL ? list->oldest->active_ns : UINT64_MAX;
	atomic_store_explicit(&list->oldest_ns, ns, memory_order_relaxed);
}

static void list_remove(struct conn_list *list, struct tcp_conn *conn, enum conn_list_kind kind)
{
	struct conn_link *link = &conn->link[kind];
	*(link->older != NULL ? &link->older->link[kind].newer : &list->oldest) = link->newer;
	*(link->newer != NULL ? &link->newer->link[kind].older : &list->newest) = link->older;
	link->older = link->newer = NULL;
	assert(list->n_conns > 0);
	list->n_conns--;
	publish_oldest(list);
}

static void list_append(struct conn_list *list, struct tcp_conn *conn, enum conn_list_kind kind)
{
	struct conn_link *link = &conn->link[kind];
	link->older = list->newest;
	link->newer = NULL;
	*(list->newest != NULL ? &list->newest->link[kind].newer : &list->oldest) = conn;
	list->newest = conn;
	list->n_conns++;
	publish_oldest(list);
}

static void append_to_both(struct tcp_conn *conn)
{
	conn->active_ns = loop_now(conn->worker->loop);
	list_append(&conn->worker->conns, conn, CONN_OF_WORKER);
	if (conn->sock != NULL)
		list_append(&conn->sock->conns, conn, CONN_OF_SOCK);
}

void conn_touch(struct tcp_conn *conn)
{
	list_remove(&conn->worker->conns, conn, CONN_OF_WORKER);
	if (conn->sock != NULL)
		list_remove(&conn->sock->conns, conn, CONN_OF_SOCK);
	append_to_both(conn);
}

/* ---- counting ---- */

static void count_down(_Atomic uint32_t *counter)
{
	atomic_fetch_sub_explicit(counter, 1, memory_order_relaxed);
}

void conn_limits_remove_from_listener(struct tcp_conn *conn)
{
	if (conn->sock == NULL)
		return;
	list_remove(&conn->sock->conns, conn, CONN_OF_SOCK);
	if (conn->uncounted != &conn->sock->listener->n_conns)
		count_down(&conn->sock->listener->n_conns);
	conn->sock = NULL;
}

void conn_limits_remove(struct tcp_conn *conn)
{
	struct conn_pool *pool = conn->worker->pool;
	assert(conn->closed && conn->owner != NULL);
	conn_limits_remove_from_listener(conn);
	list_remove(&conn->worker->conns, conn, CONN_OF_WORKER);
	atomic_fetch_sub_explicit(&conn->owner->bytes, conn->kept_bytes, memory_order_relaxed);
	conn->kept_bytes = 0;
	if (conn->uncounted != &pool->n_conns)
		count_down(&pool->n_conns);
	if (conn->uncounted != &conn->owner->n_conns)
		count_down(&conn->owner->n_conns);
	client_leave(pool, conn->owner);
}

/* Subtracts one from a counter that is above its limit; false when it is not. */
static bool claim_excess(_Atomic uint32_t *counter, uint32_t max)
{
	uint32_t now = atomic_load_explicit(counter, memory_order_relaxed);
	while (now > max) {
		if (atomic_compare_exchange_weak_explicit(
			    counter, &now, now - 1, memory_order_relaxed, memory_order_relaxed))
			return true;
	}
	return false;
}

static bool is_above(_Atomic uint32_t *counter, uint32_t max)
{
	return atomic_load_explicit(counter, memory_order_relaxed) > max;
}

static bool close_for(struct tcp_conn *conn, _Atomic uint32_t *counter, uint32_t max)
{
	if (!claim_excess(counter, max))
		return false;
	conn->uncounted = counter;
	conn_close(conn);
	return true;
}

/* ---- making room ---- */

static void ask_for_room(struct worker *worker)
{
	if (!atomic_exchange(&worker->room_asked, true))
		loop_post(worker->loop, &worker->make_room_msg);
}

/* The worker whose connection has been idle longest, of those of a listener or (NULL) of the pool;
 * itself only if no other has one as old. */
static struct worker *find_oldest(struct worker *self, struct listener *listener)
{
	struct server *srv = self->srv;
	unsigned first = listener != NULL  ? listener->first_worker
			 : self->is_stream ? srv->n_workers
					   : 0;
	unsigned n = listener != NULL  ? listener->n_workers
		     : self->is_stream ? srv->n_stream
				       : srv->n_workers;
	struct worker *found = NULL;
	uint64_t oldest_ns = UINT64_MAX;
	for (unsigned i = 0; i < n; i++) {
		struct worker *w = &srv->worker[first + i];
		struct conn_list *list = listener != NULL ? &listener->sock[i].conns : &w->conns;
		uint64_t ns = atomic_load_explicit(&list->oldest_ns, memory_order_relaxed);
		if (ns < oldest_ns || (ns == oldest_ns && found == self)) {
			oldest_ns = ns;
			found = ns != UINT64_MAX ? w : found;
		}
	}
	return found;
}

/* Closes the oldest ones of this worker while there are too many and no other worker has an older
 * one. */
static void close_oldest(struct worker *self, struct listener_sock *sock, _Atomic uint32_t *counter,
			 uint32_t max)
{
	struct conn_list *own = sock != NULL ? &sock->conns : &self->conns;
	while (is_above(counter, max)) {
		struct worker *w = find_oldest(self, sock != NULL ? sock->listener : NULL);
		if (w != NULL && w != self)
			ask_for_room(w);
		if (w != self || own->oldest == NULL || !close_for(own->oldest, counter, max))
			return;
	}
}

static void close_above_limits(struct worker *worker)
{
	for (size_t i = 0; worker->gen != NULL && i < worker->gen->n_route; i++) {
		struct route *route = worker->gen->route[i];
		struct listener_sock *sock = listener_sock_of(route->listener, worker);
		if (sock != NULL && route->https.max_connections != 0)
			close_oldest(worker, sock, &route->listener->n_conns,
				     route->https.max_connections);
	}
	close_oldest(worker, NULL, &worker->pool->n_conns, worker->pool->max);
}

/* A client has half of all connections at most: its own oldest one here goes. False: it has none
 * here, but for the fresh one. */
static bool close_of_client(struct worker *worker, const struct tcp_conn *fresh, uint32_t max)
{
	for (struct tcp_conn *conn = worker->conns.oldest; conn != NULL;
	     conn = conn->link[CONN_OF_WORKER].newer) {
		if (conn != fresh && is_above(&conn->owner->n_conns, max))
			return close_for(conn, &conn->owner->n_conns, max);
	}
	return false;
}

/* The next worker of the pool looks for a client that has too many; once round. */
static void ask_next_worker(struct worker *worker, unsigned hops)
{
	struct server *srv = worker->srv;
	unsigned first = worker->is_stream ? srv->n_workers : 0;
	unsigned n = worker->is_stream ? srv->n_stream : srv->n_workers;
	if (hops == 0 || n < 2)
		return;
	struct worker *next = &srv->worker[first + (worker->index - first + 1) % n];
	atomic_store_explicit(&next->room_hops, hops, memory_order_relaxed);
	ask_for_room(next);
}

void conn_limits_make_room(struct loop_msg *msg)
{
	struct worker *w = CONTAINER_OF(msg, struct worker, make_room_msg);
	atomic_store(&w->room_asked, false);
	unsigned hops = atomic_exchange_explicit(&w->room_hops, 0, memory_order_relaxed);
	if (hops != 0 && !close_of_client(w, NULL, w->pool->max / 2))
		ask_next_worker(w, hops - 1);
	close_above_limits(w);
}

void conn_limits_add(struct tcp_conn *conn)
{
	struct worker *w = conn->worker;
	struct listener_sock *sock = conn->sock;
	uint32_t own_max = sock->route->https.max_connections;
	assert(conn->owner == NULL);
	append_to_both(conn);
	atomic_fetch_add_explicit(&w->pool->n_conns, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sock->listener->n_conns, 1, memory_order_relaxed);
	conn->owner = client_enter(w->pool, &conn->client);
	uint32_t client_max = w->pool->max / 2;
	if (is_above(&conn->owner->n_conns, client_max) && !close_of_client(w, conn, client_max))
		ask_next_worker(w, (w->is_stream ? w->srv->n_stream : w->srv->n_workers) - 1);
	if (own_max != 0)
		close_oldest(w, sock, &sock->listener->n_conns, own_max);
	close_oldest(w, NULL, &w->pool->n_conns, w->pool->max);
}

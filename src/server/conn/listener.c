/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing listeners: all sockets of a new listener are open before any worker learns
 * of it, and one that is no longer used closes after the workers have left it. */
#include "server/conn/listener.h"
#include "server/conn/listener_test.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/conn/conn.h"
#include "server/conn/conn_limits.h"
#include "server/conn/udp.h"
#include "server/generation.h"
#include "server/route.h"
#include "server/server_state.h"
#include "server/worker.h"

enum { BACKLOG = 4096 };

struct listener *listener_find(struct server *srv, const char *label)
{
	struct listener *listener = srv->listeners;
	while (listener != NULL && strcmp(listener->label, label) != 0)
		listener = listener->next;
	return listener;
}

struct listener_sock *listener_sock_of(struct listener *listener, const struct worker *worker)
{
	unsigned i = worker->index - listener->first_worker; /* wraps below the first */
	return i < listener->n_workers ? &listener->sock[i] : NULL;
}

static void close_sockets(struct listener *listener)
{
	for (unsigned i = 0; i < listener->n_workers; i++) {
		struct listener_sock *sock = &listener->sock[i];
		int *fds[] = { &sock->udp[0].io.fd, &sock->udp[1].io.fd, &sock->tcp.fd };
		for (size_t k = 0; k < ARRAY_LEN(fds); k++) {
			if (*fds[k] >= 0)
				close(*fds[k]);
			*fds[k] = -1;
		}
	}
}

static void listener_free(struct listener *listener)
{
	close_sockets(listener);
	free(listener->label);
	free(listener);
}

static bool is_wildcard(const union net_addr *addr)
{
	return addr->family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&addr->v6.sin6_addr)
					: addr->v4.sin_addr.s_addr == 0;
}

static int open_udp(struct udp_sock *sock, const union net_addr *addr)
{
	sock->io.fd = net_sock_udp(addr);
	return MIN(sock->io.fd, 0);
}

/* All addresses: a socket of each family, as far as the machine has them. */
static int open_udp_wildcard(struct listener *listener, struct listener_sock *sock)
{
	union net_addr v4 = { .v4 = { .sin_family = AF_INET } };
	net_addr_set_port(&v4, net_addr_port(&listener->addr));
	int r4 = open_udp(&sock->udp[0], &v4);
	if (r4 < 0 && r4 != -EAFNOSUPPORT)
		return r4;
	int r6 = open_udp(&sock->udp[1], &listener->addr);
	if (r6 == -EAFNOSUPPORT || r6 == -EADDRNOTAVAIL)
		return r4;
	return r6;
}

static int open_sock(struct listener *listener, struct listener_sock *sock)
{
	bool both = sock->wildcard && listener->addr.family == AF_INET6;
	int r = 0;
	if (listener->transport == TRANSPORT_DNS)
		r = both ? open_udp_wildcard(listener, sock)
			 : open_udp(&sock->udp[0], &listener->addr);
	if (r < 0)
		return r;
	sock->tcp.fd = net_sock_tcp(&listener->addr, BACKLOG);
	return MIN(sock->tcp.fd, 0);
}

static int open_all(struct listener *listener)
{
	int r = 0;
	for (unsigned i = 0; i < listener->n_workers && r == 0; i++)
		r = open_sock(listener, &listener->sock[i]);
	return r;
}

/* Port 0: one that is free. Somebody may take it in the moment before it is opened. */
static int open_drawn(struct listener *listener)
{
	enum { DRAWS = 64 };
	int r = -EADDRINUSE;
	for (int draw = 0; draw < DRAWS && r == -EADDRINUSE; draw++) {
		close_sockets(listener);
		r = net_sock_draw(&listener->addr);
		if (r == 0)
			r = open_all(listener);
	}
	return r;
}

static int listener_open(struct server *srv, const struct route *route, struct listener **ret)
{
	bool plain = route->transport == TRANSPORT_DNS;
	unsigned n = plain ? srv->n_workers : srv->n_stream;
	struct listener *listener = xcalloc(1, sizeof(*listener) + n * sizeof(listener->sock[0]));
	int r = 0;
	listener->transport = route->transport;
	listener->first_worker = plain ? 0 : srv->n_workers;
	listener->n_workers = n;
	listener->label = xstrdup(route->label);
	listener->addr = route->addr;
	for (unsigned i = 0; i < n; i++) {
		struct listener_sock *sock = &listener->sock[i];
		for (size_t k = 0; k < ARRAY_LEN(sock->udp); k++)
			sock->udp[k] = (struct udp_sock){ .io = { .fd = -1, .cb = udp_readable },
							  .parent = sock };
		sock->tcp = (struct loop_fd){ .fd = -1, .cb = conn_accept };
		sock->accept_timer.cb = conn_accept_again;
		conn_list_init(&sock->conns);
		sock->listener = listener;
		sock->worker = &srv->worker[listener->first_worker + i];
		sock->wildcard = is_wildcard(&route->addr);
	}
	if (srv->opts.ops == NULL)
		r = net_addr_port(&route->addr) == 0 ? open_drawn(listener) : open_all(listener);
	if (r < 0) {
		listener_free(listener);
		return r;
	}
	*ret = listener;
	return 0;
}

/* Opens what this generation needs and is not open yet; all or nothing. */
int listeners_open(struct server *srv, struct generation *generation, struct srcerr *err)
{
	struct listener *before = srv->listeners;
	int r = 0;
	for (size_t i = 0; i < generation->n_route && r == 0; i++) {
		struct route *route = generation->route[i];
		struct listener *listener = listener_find(srv, route->label);
		route->listener = listener;
		if (listener != NULL)
			continue;
		r = listener_open(srv, route, &listener);
		if (r < 0) {
			srcerr_set(err, (struct srcpos){ 0 }, "cannot listen on %s: %s",
				   route->label, err_str(r));
			break;
		}
		assert(listener != NULL);
		route->listener = listener;
		listener->next = srv->listeners;
		srv->listeners = listener;
	}
	while (r < 0 && srv->listeners != before) {
		struct listener *listener = srv->listeners;
		srv->listeners = listener->next;
		listener_free(listener);
	}
	return r;
}

static bool has_route(const struct generation *generation, const struct listener *listener)
{
	for (size_t i = 0; generation != NULL && i < generation->n_route; i++) {
		if (generation->route[i]->listener == listener)
			return true;
	}
	return false;
}

static bool in_use(const struct server *srv, const struct listener *listener)
{
	if (has_route(srv->gen, listener))
		return true;
	for (const struct generation *generation = srv->retired; generation != NULL;
	     generation = generation->next) {
		if (has_route(generation, listener))
			return true; /* a query that waits replies through its socket */
	}
	return false;
}

void listeners_close_unused(struct server *srv)
{
	struct listener **listener = &srv->listeners;
	while (*listener != NULL) {
		struct listener *l = *listener;
		if (in_use(srv, l)) {
			listener = &l->next;
			continue;
		}
		*listener = l->next;
		listener_free(l);
	}
}

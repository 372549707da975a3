/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listeners: addresses that stay open over generations, with sockets of their own on every worker
 * that serves them. The control thread opens and closes them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "net/addr.h"
#include "net/loop.h"
#include "server/conn/conn_limits.h"
#include "server/conn/transport.h"

struct generation;
struct route;
struct server;
struct srcerr;
struct worker;

struct udp_sock {
	struct loop_fd io;
	struct listener_sock *parent;
};

/* The sockets of a listener on one worker. */
struct listener_sock {
	struct udp_sock udp[2]; /* a wildcard has one for each family; fd -1: none */
	struct loop_fd tcp;
	struct loop_timer accept_timer; /* runs while new connections have to wait */
	struct conn_list conns;
	struct listener *listener;
	struct worker *worker;
	struct route *route; /* of the worker's current generation; NULL: not serving */
	bool registered;
	bool wildcard;
};

struct listener {
	struct listener *next;
	char *label;
	enum transport transport;
	union net_addr addr;
	unsigned first_worker, n_workers; /* workers that serve it */
	_Atomic uint32_t n_conns;
	struct listener_sock sock[]; /* one for each of them */
};

/* Opens those of `generation` that are not open yet; on failure none of these stays. */
MUST_CHECK int listeners_open(struct server *srv, struct generation *generation,
			      struct srcerr *err);
/* Closes those that neither the live generation nor a retired one uses. */
void listeners_close_unused(struct server *srv);
/* Its sockets on this worker; NULL: it is served by others. */
struct listener_sock *listener_sock_of(struct listener *listener, const struct worker *worker);

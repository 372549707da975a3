/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients: who counts as one to all limits, and what each holds in connections.
 *
 * A client is an IPv4 address, or the /56 of an IPv6 one: what one customer or one site commonly
 * has. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "net/addr.h"

struct conn_pool;

static inline uint64_t client_key(const union net_addr *addr)
{
	enum { V6_BYTES = 7 };
	uint64_t key = 0;
	if (addr->family == AF_INET)
		return addr->v4.sin_addr.s_addr;
	if (addr->family != AF_INET6)
		return 0;
	memcpy(&key, &addr->v6.sin6_addr, V6_BYTES);
	((uint8_t *)&key)[V6_BYTES] = 6; /* no IPv4 address has this */
	return key;
}

/* A client with connections of one pool, on any of its workers. */
struct conn_client {
	uint64_t key;
	unsigned refs;		  /* connections; guarded by the pool's lock */
	_Atomic uint32_t n_conns; /* of these, not chosen to be closed */
	_Atomic size_t bytes;	  /* kept for them: unsent, or not whole yet */
};

struct client_table;
struct client_table *client_table_new(void);
void client_table_free(struct client_table *table);

/* Another connection of the client; to be left when it closes. Any thread. */
struct conn_client *client_enter(struct conn_pool *pool, const union net_addr *addr);
void client_leave(struct conn_pool *pool, struct conn_client *client);

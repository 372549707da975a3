/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many connections there may be, of all, of a listener and of a client; where there are too
 * many the longest-idle one is closed, by a message to its worker if that is another one. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct client_table;
struct loop_msg;
struct tcp_conn;

/* Connections by the time of their last activity. */
struct conn_list {
	struct tcp_conn *oldest, *newest; /* by time of last activity */
	size_t n_conns;
	_Atomic uint64_t oldest_ns; /* when the oldest was active, for other workers; or
				       UINT64_MAX */
};

/* Connections of one kind, over all workers that serve it. */
struct conn_pool {
	uint32_t max;
	_Atomic uint32_t n_conns;
	pthread_mutex_t lock; /* guards clients */
	struct client_table *clients;
};

void conn_list_init(struct conn_list *list);
/* Another worker needs room: closes what is too much here. */
void conn_limits_make_room(struct loop_msg *msg);

/* A new connection: counted and listed, and others closed where there are too many. */
void conn_limits_add(struct tcp_conn *conn);
void conn_limits_remove(struct tcp_conn *conn);
void conn_limits_remove_from_listener(struct tcp_conn *conn);
/* It did something: it is now the one idle shortest. */
void conn_touch(struct tcp_conn *conn);

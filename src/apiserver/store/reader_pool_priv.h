/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct store_pool: connections for readers. */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "apiserver/store/db_priv.h"
#include "apiserver/store/store.h"
#include "base/compiler.h"

/* Connections kept open; more are opened when all are lent, and closed when they come back. */
enum { STORE_READERS_KEPT = 4 };

struct store_pool {
	pthread_mutex_t lock; /* guards all below */
	struct store_db *free;
	size_t n_free;
};

/* Lends a connection without an open transaction; give it back by store_pool_return. Any thread. */
MUST_CHECK int store_pool_lend(struct apiserver_store *store, struct store_db **ret);
/* Ends the reader's transaction. */
void store_pool_return(struct apiserver_store *store, struct store_db *db);
/* Closes all; none may be lent. */
void store_pool_close(struct apiserver_store *store);

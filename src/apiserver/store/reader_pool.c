/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections for readers. Each reader has one to itself, so readers wait neither for each other nor
 * for the writer; a few stay open between reads. */
#include "apiserver/store/reader_pool_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "apiserver/store/db_priv.h"
#include "apiserver/store/store_priv.h"
#include "base/mem.h"

int store_pool_lend(struct apiserver_store *store, struct store_db **ret)
{
	struct store_pool *p = &store->pool;
	pthread_mutex_lock(&p->lock);
	struct store_db *db = p->free;
	if (db != NULL) {
		assert(p->n_free > 0);
		p->free = db->next;
		p->n_free--;
	}
	pthread_mutex_unlock(&p->lock);
	if (db == NULL) {
		db = xmalloc(sizeof(*db));
		int r = store_db_open(store->file, STORE_DB_READER, db);
		if (r < 0) {
			free(db);
			return r;
		}
	}
	*ret = db;
	return 0;
}

void store_pool_return(struct apiserver_store *store, struct store_db *db)
{
	struct store_pool *p = &store->pool;
	store_db_rollback(db);
	pthread_mutex_lock(&p->lock);
	bool keep = p->n_free < STORE_READERS_KEPT;
	if (keep) {
		db->next = p->free;
		p->free = db;
		p->n_free++;
		assert(p->n_free <= STORE_READERS_KEPT);
	}
	pthread_mutex_unlock(&p->lock);
	if (!keep) {
		store_db_close(db);
		free(db);
	}
}

void store_pool_close(struct apiserver_store *store)
{
	while (store->pool.free != NULL) {
		struct store_db *db = store->pool.free;
		store->pool.free = db->next;
		store->pool.n_free--;
		store_db_close(db);
		free(db);
	}
	assert(store->pool.n_free == 0);
}

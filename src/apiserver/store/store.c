/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing a store: the order in which its parts start and stop. */
#include "apiserver/store/store_priv.h"

#include <stdlib.h>
#include <unistd.h>

#include "apiserver/store/compact_priv.h"
#include "apiserver/store/damage_priv.h"
#include "apiserver/store/data_dir_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/reader_pool_priv.h"
#include "apiserver/store/ring_priv.h"
#include "apiserver/store/database_file_priv.h"
#include "apiserver/store/spare_file_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/writer_priv.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

/* Passes the revisions in the database on to the parts that continue from them. */
static int read_revisions(struct apiserver_store *store)
{
	uint64_t revision = 0, compacted = 0;
	struct store_writer *writer = &store->writer;
	int r = store_db_revisions(&writer->db, &revision, &compacted);
	if (r == 0 &&
	    (store_bound_read(store->dir, &writer->bound) < 0 || writer->bound < revision))
		r = store_bound_reserve(store->dir, revision, &writer->bound);
	if (r < 0)
		return r;
	writer->last_revision = revision;
	atomic_store(&store->compacted, compacted);
	store_ring_init(&store->ring, revision);
	return 0;
}

static int start_store(struct apiserver_store *store, struct err_text err)
{
	int r = store_dir_lock(store->dir, &store->lock_fd, err);
	if (r == 0)
		r = store_database_open(store->dir, store->file, &store->writer.db, err);
	if (r < 0)
		return r;
	r = read_revisions(store);
	store_spare_make(store, 0);
	if (r == 0)
		r = store_writer_start(store);
	if (r == 0)
		r = store_compact_start(store);
	return r < 0 ? store_database_error(r, store->file, err_str(r), err) : 0;
}

int apiserver_store_open(const struct apiserver_store_conf *conf, struct apiserver_store **ret,
			 struct err_text err)
{
	struct apiserver_store *store = xcalloc(1, sizeof(*store));
	store->conf = *conf;
	store->dir = xstrdup(conf->dir);
	store->file = xasprintf("%s/store.db", conf->dir);
	store->lock_fd = -1;
	pthread_mutex_init(&store->pool.lock, NULL);
	pthread_mutex_init(&store->damage.lock, NULL);
	store_read_cache_init(&store->read_cache);
	int r = start_store(store, err);
	if (r < 0) {
		apiserver_store_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

void apiserver_store_close(struct apiserver_store *store)
{
	if (store == NULL)
		return;
	store_compact_stop(store);
	/* The last connection that closes moves the log into the file; that must be the writer's. */
	store_pool_close(store);
	store_writer_stop(store);
	store_compact_done(store);
	store_ring_done(&store->ring);
	store_read_cache_done(&store->read_cache);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	pthread_mutex_destroy(&store->pool.lock);
	store_damage_clear(store);
	pthread_mutex_destroy(&store->damage.lock);
	free(store->file);
	free(store->dir);
	free(store);
}

bool apiserver_store_has_space(const struct apiserver_store *store, struct strbuf *why)
{
	/* Nobody may have tried to write since space was made. */
	if (!atomic_load(&store->refused) || store_spare_disk_free(store) >= 2 * STORE_SPARE_BYTES)
		return true;
	if (why != NULL)
		strbuf_addf(why,
			    "the disk of '%s' is full, and writes are refused: delete objects, or "
			    "make space on the disk",
			    store->dir);
	return false;
}

uint64_t apiserver_store_revision(const struct apiserver_store *store)
{
	return atomic_load(&store->ring.revision);
}

uint64_t apiserver_store_compacted(const struct apiserver_store *store)
{
	return atomic_load(&store->compacted);
}

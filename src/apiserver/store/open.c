/* Start and end of a store. */
#include <stdio.h>
#include <unistd.h>

#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

/* What the database says of itself goes to those who count on from there. */
static int take_over(struct apiserver_store *store)
{
	uint64_t revision = 0, compacted = 0;
	struct store_writer *wr = &store->writer;
	int r = store_db_view(&wr->db, &revision, &compacted);
	if (r == 0 && (store_high_read(store->dir, &wr->high) < 0 || wr->high < revision))
		r = store_high_reserve(store->dir, revision, &wr->high);
	if (r < 0)
		return r;
	wr->last = revision;
	atomic_store(&store->compacted, compacted);
	store_ring_init(&store->ring, revision);
	return 0;
}

static int start(struct apiserver_store *store, char *err, size_t err_n)
{
	int r = store_lock_take(store->dir, &store->lock_fd, err, err_n);
	if (r == 0)
		r = store_schema_open(store->dir, store->file, &store->writer.db, err, err_n);
	if (r < 0)
		return r;
	r = take_over(store);
	store_spare_make(store, 0);
	if (r == 0)
		r = store_write_start(store);
	if (r == 0)
		r = store_compact_start(store);
	return r < 0 ? store_schema_refuse(r, store->file, err_str(r), err, err_n) : 0;
}

int apiserver_store_open(const struct apiserver_store_conf *conf, struct apiserver_store **ret,
			 char *err, size_t err_n)
{
	struct apiserver_store *s = xcalloc(1, sizeof(*s));
	s->conf = *conf;
	s->dir = xstrdup(conf->dir);
	s->file = xasprintf("%s/store.db", conf->dir);
	s->lock_fd = -1;
	pthread_mutex_init(&s->pool.lock, NULL);
	pthread_mutex_init(&s->damage.lock, NULL);
	int r = start(s, err, err_n);
	if (r < 0) {
		apiserver_store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void apiserver_store_close(struct apiserver_store *store)
{
	if (store == NULL)
		return;
	store_compact_stop(store);
	/* The last connection to close puts the log into the file: the writer's. */
	store_read_close(store);
	store_write_stop(store);
	store_compact_done(store);
	store_ring_done(&store->ring);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	pthread_mutex_destroy(&store->pool.lock);
	store_damage_clear(store);
	pthread_mutex_destroy(&store->damage.lock);
	free(store->file);
	free(store->dir);
	free(store);
}

uint64_t apiserver_store_revision(const struct apiserver_store *store)
{
	return atomic_load(&store->ring.revision);
}

uint64_t apiserver_store_compacted(const struct apiserver_store *store)
{
	return atomic_load(&store->compacted);
}

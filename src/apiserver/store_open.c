/* Start and end of a store. */
#include <stdio.h>
#include <unistd.h>

#include "apiserver/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

/* What the database says of itself goes to those who count on from there. */
static int take_over(struct apiserver_store *s)
{
	uint64_t revision = 0, compacted = 0;
	struct store_writer *wr = &s->writer;
	int r = store_db_view(&wr->db, &revision, &compacted);
	if (r == 0 && (store_high_read(s->dir, &wr->high) < 0 || wr->high < revision))
		r = store_high_reserve(s->dir, revision, &wr->high);
	if (r < 0)
		return r;
	wr->last = revision;
	atomic_store(&s->compacted, compacted);
	store_ring_init(&s->ring, revision);
	return 0;
}

static int start(struct apiserver_store *s, char *err, size_t err_n)
{
	int r = store_lock_take(s->dir, &s->lock_fd, err, err_n);
	if (r == 0)
		r = store_schema_open(s->dir, s->file, &s->writer.db, err, err_n);
	if (r < 0)
		return r;
	r = take_over(s);
	store_spare_make(s, 0);
	if (r == 0)
		r = store_write_start(s);
	if (r == 0)
		r = store_compact_start(s);
	return r < 0 ? store_schema_refuse(r, s->file, err_str(r), err, err_n) : 0;
}

int apiserver_store_open(const struct apiserver_store_conf *c, struct apiserver_store **ret,
			 char *err, size_t err_n)
{
	struct apiserver_store *s = xcalloc(1, sizeof(*s));
	s->conf = *c;
	s->dir = xstrdup(c->dir);
	s->file = xasprintf("%s/store.db", c->dir);
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

void apiserver_store_close(struct apiserver_store *s)
{
	if (s == NULL)
		return;
	store_compact_stop(s);
	/* The last connection to close puts the log into the file: the writer's. */
	store_read_close(s);
	store_write_stop(s);
	store_compact_done(s);
	store_ring_done(&s->ring);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_mutex_destroy(&s->pool.lock);
	store_damage_clear(s);
	pthread_mutex_destroy(&s->damage.lock);
	free(s->file);
	free(s->dir);
	free(s);
}

uint64_t apiserver_store_revision(const struct apiserver_store *s)
{
	return atomic_load(&s->ring.revision);
}

uint64_t apiserver_store_compacted(const struct apiserver_store *s)
{
	return atomic_load(&s->compacted);
}

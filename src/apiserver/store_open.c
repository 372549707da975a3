/* Start and end of a store. */
#include <stdio.h>
#include <unistd.h>

#include "apiserver/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

static int start(struct apiserver_store *s, char *err, size_t err_n)
{
	uint64_t revision, compacted;
	int r = store_lock_take(s->dir, &s->lock_fd, err, err_n);
	if (r == 0)
		r = store_schema_open(s->file, &s->writer.db, err, err_n);
	if (r < 0)
		return r;
	r = store_db_view(&s->writer.db, &revision, &compacted);
	if (r == 0) {
		s->writer.last = revision;
		atomic_store(&s->compacted, compacted);
		store_ring_init(&s->ring, revision);
		r = store_write_start(s);
	}
	if (r == 0)
		r = store_compact_start(s);
	if (r < 0)
		snprintf(err, err_n, "cannot open '%s': %s", s->file, err_str(r));
	return r;
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
	store_write_stop(s);
	store_compact_done(s);
	store_read_close(s);
	/* The last connection to close puts the log into the file. */
	store_db_close(&s->writer.db);
	store_ring_done(&s->ring);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_mutex_destroy(&s->pool.lock);
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

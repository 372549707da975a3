/* Watches. One that starts in the past, or has fallen out of the ring, reads the table in chunks
 * until what follows is in the ring; then it takes from there. What it holds is bounded: a chunk,
 * and the event handed out. */
#include <string.h>

#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

enum {
	/* Rows looked at in one go, and bytes of events after which it ends. */
	CHUNK_ROWS = 512,
	CHUNK_BYTES = 1 << 20,
	/* Events of the ring looked at before others get the lock. */
	RING_STEPS = 256,
};

static bool wanted(const struct apiserver_watch *watch, const char *key)
{
	return strncmp(key, watch->prefix, watch->prefix_n) == 0;
}

/* ---- from the table ---- */

/* Appends the event of the row that `st` stands on. */
static int read_event(struct apiserver_watch *watch, struct store_db *db, sqlite3_stmt *st,
		      struct store_event ***end, size_t *bytes)
{
	struct store_event_parts p = {
		.key = (const char *)sqlite3_column_text(st, 1),
		.revision = (uint64_t)sqlite3_column_int64(st, 0),
		.removed = sqlite3_column_int(st, 4) != 0,
		.head = store_db_blob(st, 5),
		.whole = true,
	};
	if (p.key == NULL)
		return ERR_PARSE;
	struct store_sum_row row = { .id = p.revision,
				     .key = p.key,
				     .created = (uint64_t)sqlite3_column_int64(st, 2),
				     .prev = (uint64_t)sqlite3_column_int64(st, 3),
				     .removed = p.removed,
				     .value = p.head };
	/* Also of others' keys: what is damaged may be the key. */
	int r = store_sum_check(watch->store, &row, st, 6);
	if (r < 0)
		return r;
	watch->at = p.revision;
	if (!wanted(watch, p.key))
		return 0;
	sqlite3_stmt *before = NULL;
	if ((uint64_t)sqlite3_column_int64(st, 2) != p.revision) {
		p.replaced = (uint64_t)sqlite3_column_int64(st, 3);
		before = store_db_stmt(db, SQL_ROW);
		sqlite3_bind_int64(before, 1, (sqlite3_int64)p.replaced);
		/* Compaction keeps what was replaced behind its point. */
		int rc = sqlite3_step(before);
		if (rc != SQLITE_ROW)
			return rc == SQLITE_DONE ? ERR_PARSE : store_db_error(db, rc);
		p.before = store_db_blob(before, 2);
		r = store_sum_check(watch->store,
				    &(struct store_sum_row){
					    .id = p.replaced,
					    .key = p.key,
					    .created = (uint64_t)sqlite3_column_int64(before, 0),
					    .prev = (uint64_t)sqlite3_column_int64(before, 3),
					    .removed = sqlite3_column_int(before, 1) != 0,
					    .value = p.before },
				    before, 4);
		if (r < 0) {
			sqlite3_reset(before);
			return r;
		}
	}
	**end = store_event_new(&p);
	*bytes += (**end)->bytes;
	*end = &(**end)->next;
	sqlite3_reset(before);
	return 0;
}

static int read_rows(struct apiserver_watch *watch, struct store_db *db)
{
	uint64_t newest = 0, compacted = 0;
	int r = store_db_run(db, SQL_BEGIN_READ);
	if (r == 0)
		r = store_db_view(db, &newest, &compacted);
	if (r < 0)
		return r;
	if (watch->at < compacted)
		return ERR_GONE;
	sqlite3_stmt *st = store_db_stmt(db, SQL_CHANGES);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)watch->at);
	struct store_event **end = &watch->chunk;
	size_t rows = 0, bytes = 0;
	int rc = SQLITE_ROW;
	while (r == 0 && rows++ < CHUNK_ROWS && bytes < CHUNK_BYTES &&
	       (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = read_event(watch, db, st, &end, &bytes);
	sqlite3_reset(st);
	if (r == 0 && rc == SQLITE_DONE)
		watch->at = MAX(watch->at, newest);
	else if (r == 0 && rc != SQLITE_ROW)
		r = store_db_error(db, rc);
	return r;
}

int apiserver_watch_read(struct apiserver_watch *watch)
{
	struct store_db *db;
	int r = store_read_lend(watch->store, &db);
	if (r < 0)
		return r;
	r = read_rows(watch, db);
	store_read_return(watch->store, db);
	return store_damage_of(watch->store, r);
}

/* ---- from the ring ---- */

/* Number of the first event behind the revision. */
static uint64_t find(const struct store_ring *ring, uint64_t revision)
{
	uint64_t low = ring->first, high = ring->end;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (ring->slot[mid % APISERVER_RING_EVENTS]->e.revision <= revision)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Under lock. 1: w->current is the next event; 0: nothing yet; ERR_BUSY: looked at enough for now;
 * ERR_NOTFOUND: what follows is not in the ring. */
static int take(struct apiserver_watch *watch, struct store_ring *ring)
{
	if (!watch->joined || watch->number < ring->first) {
		watch->joined = watch->at >= ring->evicted;
		if (!watch->joined)
			return ERR_NOTFOUND;
		watch->number = find(ring, watch->at);
	}
	for (size_t steps = 0; watch->number < ring->end; steps++) {
		if (steps == RING_STEPS)
			return ERR_BUSY;
		struct store_event *e = ring->slot[watch->number++ % APISERVER_RING_EVENTS];
		if (e->e.revision <= watch->at)
			continue;
		watch->at = e->e.revision;
		if (wanted(watch, e->e.key)) {
			watch->current = store_event_ref(e);
			return 1;
		}
	}
	watch->idle = true;
	return 0;
}

static int take_from_ring(struct apiserver_watch *watch)
{
	struct store_ring *ring = &watch->store->ring;
	int r;
	do {
		pthread_mutex_lock(&ring->lock);
		r = take(watch, ring);
		pthread_mutex_unlock(&ring->lock);
	} while (r == ERR_BUSY);
	return r;
}

int apiserver_watch_take(struct apiserver_watch *watch, const struct apiserver_event **ret,
			 uint64_t *ret_at)
{
	int r = 1;
	store_event_unref(TAKE_PTR(watch->current));
	if (watch->chunk != NULL) {
		watch->current = watch->chunk;
		watch->chunk = watch->current->next;
	} else {
		r = take_from_ring(watch);
	}
	if (r == 0)
		*ret_at = watch->at;
	else if (r == 1)
		*ret = &watch->current->e;
	return r;
}

int apiserver_watch_next(struct apiserver_watch *watch, const struct apiserver_event **ret,
			 uint64_t *ret_at)
{
	int r;
	while ((r = apiserver_watch_take(watch, ret, ret_at)) == ERR_NOTFOUND) {
		r = apiserver_watch_read(watch);
		if (r < 0)
			break;
	}
	return r;
}

/* ---- life ---- */

int apiserver_watch_new(struct apiserver_store *store, const char *prefix, uint64_t after,
			void (*wake)(void *ctx), void *ctx, struct apiserver_watch **ret)
{
	if (after < apiserver_store_compacted(store))
		return ERR_GONE;
	struct apiserver_watch *w = xcalloc(1, sizeof(*w));
	w->store = store;
	w->prefix = xstrdup(prefix);
	w->prefix_n = strlen(prefix);
	w->at = after;
	w->wake = wake;
	w->ctx = ctx;
	w->idle = true;
	pthread_mutex_lock(&store->ring.lock);
	w->next = store->ring.watches;
	w->link = &store->ring.watches;
	if (w->next != NULL)
		w->next->link = &w->next;
	store->ring.watches = w;
	pthread_mutex_unlock(&store->ring.lock);
	*ret = w;
	return 0;
}

void apiserver_watch_free(struct apiserver_watch *watch)
{
	if (watch == NULL)
		return;
	struct store_ring *r = &watch->store->ring;
	pthread_mutex_lock(&r->lock);
	*watch->link = watch->next;
	if (watch->next != NULL)
		watch->next->link = watch->link;
	struct apiserver_watch **at = &r->to_wake;
	while (watch->due && *at != watch)
		at = &(*at)->wake_next;
	if (watch->due)
		*at = watch->wake_next;
	/* From inside its own wake there is nothing to wait for. */
	while (r->waking == watch && !pthread_equal(r->waker, pthread_self()))
		pthread_cond_wait(&r->waked, &r->lock);
	pthread_mutex_unlock(&r->lock);
	store_event_unref(watch->current);
	while (watch->chunk != NULL) {
		struct store_event *e = watch->chunk;
		watch->chunk = e->next;
		store_event_unref(e);
	}
	free(watch->prefix);
	free(watch);
}

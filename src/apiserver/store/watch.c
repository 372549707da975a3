/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches. A watch that starts in the past, or is slower than the ring, reads the table in chunks
 * until the ring has everything that follows; then it takes events from the ring. Its memory is
 * bounded: one chunk, and the event that it handed out last. */
#include "apiserver/store/watch_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/store/checksum_priv.h"
#include "apiserver/store/damage_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/event_priv.h"
#include "apiserver/store/reader_pool_priv.h"
#include "apiserver/store/ring_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/store_priv.h"
#include "apiserver/store/watch.h"
#include "base/err.h"
#include "base/mem.h"

enum {
	/* Limits of one chunk: rows read, and bytes of events. */
	CHUNK_ROWS = 512,
	CHUNK_BYTES = 1 << 20,
	/* Events of the ring examined before the lock is released once. */
	RING_STEPS = 256,
};

static bool is_wanted_key(const struct apiserver_watch *watch, const char *key)
{
	return strncmp(key, watch->prefix, watch->prefix_n) == 0;
}

bool store_watch_wants(const struct apiserver_watch *watch, const struct apiserver_event *event)
{
	return is_wanted_key(watch, event->key) && (watch->wants == NULL || watch->wants(event));
}

/* ---- from the table ---- */

/* Appends the event of the current row of `st`, if the watch wants it. */
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
	/* Unwanted keys too: the damaged byte may be in the key. */
	int r = store_sum_check(watch->store, &row, st, 6);
	if (r < 0)
		return r;
	watch->seen = p.revision;
	if (!is_wanted_key(watch, p.key))
		return 0;
	sqlite3_stmt *before = NULL;
	if ((uint64_t)sqlite3_column_int64(st, 2) != p.revision) {
		p.replaced = (uint64_t)sqlite3_column_int64(st, 3);
		before = store_db_stmt(db, SQL_ROW);
		sqlite3_bind_int64(before, 1, (sqlite3_int64)p.replaced);
		/* Compaction keeps the versions that changes after its point replaced. */
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
	struct store_event *event = store_event_new(&p);
	sqlite3_reset(before);
	if (!store_watch_wants(watch, &event->change)) {
		store_event_unref(event);
		return 0;
	}
	*bytes += event->bytes;
	**end = event;
	*end = &event->next;
	return 0;
}

static int read_rows(struct apiserver_watch *watch, struct store_db *db)
{
	uint64_t newest = 0, compacted = 0;
	int r = store_db_run(db, SQL_BEGIN_READ);
	if (r == 0)
		r = store_db_revisions(db, &newest, &compacted);
	if (r < 0)
		return r;
	if (watch->seen < compacted)
		return ERR_GONE;
	sqlite3_stmt *st = store_db_stmt(db, SQL_CHANGES);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)watch->seen);
	assert(watch->chunk == NULL);
	struct store_event **end = &watch->chunk;
	size_t rows = 0, bytes = 0;
	int rc = SQLITE_ROW;
	while (r == 0 && rows++ < CHUNK_ROWS && bytes < CHUNK_BYTES &&
	       (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = read_event(watch, db, st, &end, &bytes);
	sqlite3_reset(st);
	if (r == 0 && rc == SQLITE_DONE)
		watch->seen = MAX(watch->seen, newest);
	else if (r == 0 && rc != SQLITE_ROW)
		r = store_db_error(db, rc);
	return r;
}

int apiserver_watch_read(struct apiserver_watch *watch)
{
	struct store_db *db;
	int r = store_pool_lend(watch->store, &db);
	if (r < 0)
		return r;
	r = read_rows(watch, db);
	store_pool_return(watch->store, db);
	return store_damage_note_error(watch->store, r);
}

/* ---- from the ring ---- */

/* Number of the first event after the revision. Under lock. */
static uint64_t find_first_after(const struct store_ring *ring, uint64_t revision)
{
	uint64_t low = ring->first, high = ring->end;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (ring->slots[mid % STORE_RING_EVENTS]->change.revision <= revision)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* 1: watch->current is the next event; 0: none yet; ERR_BUSY: release the lock and go on;
 * ERR_NOTFOUND: the ring does not have the next change any more. Under lock. */
static int take_next(struct apiserver_watch *watch, struct store_ring *ring)
{
	if (!watch->joined || watch->ring_number < ring->first) {
		watch->joined = watch->seen >= ring->evicted;
		if (!watch->joined)
			return ERR_NOTFOUND;
		watch->ring_number = find_first_after(ring, watch->seen);
	}
	assert(ring->first <= watch->ring_number && watch->ring_number <= ring->end);
	for (size_t steps = 0; watch->ring_number < ring->end; steps++) {
		if (steps == RING_STEPS)
			return ERR_BUSY;
		struct store_event *event = ring->slots[watch->ring_number++ % STORE_RING_EVENTS];
		if (event->change.revision <= watch->seen)
			continue;
		watch->seen = event->change.revision;
		if (store_watch_wants(watch, &event->change)) {
			assert(watch->current == NULL);
			watch->current = store_event_ref(event);
			return 1;
		}
	}
	watch->idle = true;
	return 0;
}

static int take_from_ring(struct apiserver_watch *watch, uint64_t *ret_at)
{
	struct store_ring *ring = &watch->store->ring;
	int r;
	do {
		pthread_mutex_lock(&ring->lock);
		r = take_next(watch, ring);
		if (r == 0)
			*ret_at = watch->seen;
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
		r = take_from_ring(watch, ret_at);
	}
	if (r == 1)
		*ret = &watch->current->change;
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

/* ---- start and end ---- */

int apiserver_watch_new(struct apiserver_store *store, const char *prefix, uint64_t after,
			void (*wake)(void *ctx), void *ctx, struct apiserver_watch **ret)
{
	if (after < apiserver_store_compacted(store))
		return ERR_GONE;
	struct apiserver_watch *watch = xcalloc(1, sizeof(*watch));
	watch->store = store;
	watch->prefix = xstrdup(prefix);
	watch->prefix_n = strlen(prefix);
	watch->seen = after;
	watch->wake = wake;
	watch->ctx = ctx;
	watch->idle = true;
	pthread_mutex_lock(&store->ring.lock);
	watch->next = store->ring.watches;
	watch->link = &store->ring.watches;
	if (watch->next != NULL)
		watch->next->link = &watch->next;
	store->ring.watches = watch;
	pthread_mutex_unlock(&store->ring.lock);
	*ret = watch;
	return 0;
}

void apiserver_watch_only(struct apiserver_watch *watch,
			  bool (*wants)(const struct apiserver_event *event))
{
	pthread_mutex_lock(&watch->store->ring.lock);
	watch->wants = wants;
	pthread_mutex_unlock(&watch->store->ring.lock);
}

void apiserver_watch_free(struct apiserver_watch *watch)
{
	if (watch == NULL)
		return;
	struct store_ring *ring = &watch->store->ring;
	pthread_mutex_lock(&ring->lock);
	assert(*watch->link == watch);
	*watch->link = watch->next;
	if (watch->next != NULL)
		watch->next->link = watch->link;
	struct apiserver_watch **at = &ring->to_wake;
	while (watch->due && *at != watch)
		at = &(*at)->wake_next;
	if (watch->due)
		*at = watch->wake_next;
	/* A watch that is freed by its own `wake` must not wait for the end of that. */
	while (ring->waking == watch && !pthread_equal(ring->waker, pthread_self()))
		pthread_cond_wait(&ring->wake_done, &ring->lock);
	pthread_mutex_unlock(&ring->lock);
	store_event_unref(watch->current);
	store_event_unref_list(watch->chunk);
	free(watch->prefix);
	free(watch);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Get and list. A get takes an object that was written or read lately from memory; everything else runs in a
 * read transaction of its own, on a connection from the pool. A list walks the index of keys and
 * versions, and reads the value of the newest version of each key. */
#include "apiserver/store/read.h"

#include <string.h>

#include "apiserver/store/checksum_priv.h"
#include "apiserver/store/damage_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/event_priv.h"
#include "apiserver/store/read_cache_priv.h"
#include "apiserver/store/reader_pool_priv.h"
#include "apiserver/store/ring_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/store_priv.h"
#include "base/err.h"

/* ---- get ---- */

static int read_newest(struct apiserver_store *store, struct store_db *db, const char *key,
		       struct strbuf *out, uint64_t *ret)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_NEWEST);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	int rc = sqlite3_step(st);
	int r = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? ERR_NOTFOUND : store_db_error(db, rc);
	if (r == 0)
		r = store_sum_check(
			store,
			&(struct store_sum_row){ .id = (uint64_t)sqlite3_column_int64(st, 0),
						 .key = key,
						 .created = (uint64_t)sqlite3_column_int64(st, 1),
						 .prev = (uint64_t)sqlite3_column_int64(st, 4),
						 .removed = sqlite3_column_int(st, 2) != 0,
						 .value = store_db_blob(st, 3) },
			st, 5);
	if (r == 0 && sqlite3_column_int(st, 2) != 0)
		r = ERR_NOTFOUND;
	if (r == 0) {
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
		strbuf_add_slice(out, store_db_blob(st, 3));
	}
	sqlite3_reset(st);
	return r;
}

/* The version in the event, which is the key's newest durable one. */
static int read_event(struct store_event *event, struct strbuf *out, uint64_t *ret)
{
	int r = event->change.removed ? ERR_NOTFOUND : 0;
	if (r == 0) {
		*ret = event->change.revision;
		strbuf_add_slice(out, event->change.value);
	}
	store_event_unref(event);
	return r;
}

int apiserver_store_get(struct apiserver_store *store, const char *key, struct strbuf *out,
			uint64_t *ret_revision)
{
	struct store_db *db;
	uint64_t revision = 0, evicted;
	const size_t begin = out->n;
	struct store_event *event = store_ring_find(&store->ring, key, &evicted);
	if (event != NULL)
		return read_event(event, out, ret_revision);
	if (store_read_cache_get(&store->read_cache, key, evicted, out, ret_revision))
		return 0;
	const uint64_t known_at = atomic_load(&store->ring.revision);
	int r = store_pool_lend(store, &db);
	if (r < 0)
		return r;
	r = read_newest(store, db, key, out, &revision);
	store_pool_return(store, db);
	if (r < 0)
		return store_damage_note_error(store, r);
	/* The client may start a watch at this revision: the ring must know it. */
	store_ring_await(&store->ring, revision);
	store_read_cache_put(&store->read_cache, key, slice_from(strbuf_slice(out), begin),
			     revision, known_at);
	*ret_revision = revision;
	return 0;
}

/* ---- list ---- */

/* A list in progress. */
struct walk {
	struct apiserver_store *store;
	struct store_db *db;
	const struct apiserver_range *range;
	apiserver_row_fn fn;
	void *ctx;
	uint64_t at;
	size_t delivered;
	bool full;			       /* enough delivered, `key` was the last */
	char key[APISERVER_KEY_MAX_BYTES + 1]; /* the current key */
	size_t key_n;
	uint64_t id; /* newest version of `key` that is not after `at`; 0: none */
	char end[APISERVER_KEY_MAX_BYTES + 1]; /* first string after all keys of the prefix */
	size_t end_n;			       /* 0: there is none */
};

/* Computes the end of the range: the prefix with its last byte increased. */
static int init_walk(struct walk *walk)
{
	const char *prefix = walk->range->prefix;
	walk->end_n = strlen(prefix);
	if (walk->end_n > APISERVER_KEY_MAX_BYTES)
		return ERR_LIMIT;
	memcpy(walk->end, prefix, walk->end_n);
	while (walk->end_n > 0 && (unsigned char)walk->end[walk->end_n - 1] == 0xff)
		walk->end_n--;
	if (walk->end_n > 0)
		walk->end[walk->end_n - 1]++;
	return 0;
}

static void bind_bounds(const struct walk *walk, sqlite3_stmt *st, const char *from)
{
	sqlite3_bind_text(st, 1, from, -1, SQLITE_STATIC);
	if (walk->end_n > 0)
		sqlite3_bind_text(st, 2, walk->end, (int)walk->end_n, SQLITE_STATIC);
	else
		sqlite3_bind_blob(st, 2, "", 0, SQLITE_STATIC); /* a blob sorts after all text */
}

/* Passes the current key's version to the callback, unless it is a tombstone. */
static int deliver_row(struct walk *walk)
{
	if (walk->id == 0)
		return 0;
	sqlite3_stmt *st = store_db_stmt(walk->db, SQL_ROW);
	if (st == NULL)
		return store_db_error(walk->db, sqlite3_errcode(walk->db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)walk->id);
	int rc = sqlite3_step(st);
	int r = rc == SQLITE_ROW    ? 0
		: rc == SQLITE_DONE ? ERR_DAMAGED
				    : store_db_error(walk->db, rc);
	if (r == ERR_DAMAGED)
		store_damage_note(walk->store, walk->key);
	else if (r == 0)
		r = store_sum_check(
			walk->store,
			&(struct store_sum_row){ .id = walk->id,
						 .key = walk->key,
						 .created = (uint64_t)sqlite3_column_int64(st, 0),
						 .prev = (uint64_t)sqlite3_column_int64(st, 3),
						 .removed = sqlite3_column_int(st, 1) != 0,
						 .value = store_db_blob(st, 2) },
			st, 4);
	if (r == ERR_DAMAGED && walk->range->skip_damaged) {
		sqlite3_reset(st);
		return 0;
	}
	if (r == 0 && sqlite3_column_int(st, 1) == 0) {
		struct apiserver_row row = {
			.key = walk->key,
			.revision = walk->id,
			.created = (uint64_t)sqlite3_column_int64(st, 0),
			.value = store_db_blob(st, 2),
		};
		r = walk->fn(walk->ctx, &row);
		walk->delivered++;
		walk->full = r > 0 || walk->delivered == walk->range->limit;
	}
	sqlite3_reset(st);
	return MIN(r, 0);
}

/* Handles one row of the walk. Rows come by key, then by version: the last one up to `at` counts. */
static int step_walk(struct walk *walk, sqlite3_stmt *st)
{
	const char *key = (const char *)sqlite3_column_text(st, 0);
	size_t n = (size_t)sqlite3_column_bytes(st, 0);
	uint64_t id = (uint64_t)sqlite3_column_int64(st, 1);
	if (key == NULL || n > APISERVER_KEY_MAX_BYTES)
		return ERR_PARSE;
	if (n != walk->key_n || memcmp(key, walk->key, n) != 0) {
		int r = deliver_row(walk);
		if (r < 0 || walk->full)
			return r;
		memcpy(walk->key, key, n + 1);
		walk->key_n = n;
		walk->id = 0;
	}
	if (id <= walk->at && (walk->range->after == NULL || strcmp(key, walk->range->after) != 0))
		walk->id = id;
	return 0;
}

static int walk_keys(struct walk *walk)
{
	sqlite3_stmt *st = store_db_stmt(walk->db, SQL_WALK);
	if (st == NULL)
		return store_db_error(walk->db, sqlite3_errcode(walk->db->db));
	const char *from = walk->range->prefix;
	if (walk->range->after != NULL && strcmp(walk->range->after, from) > 0)
		from = walk->range->after;
	bind_bounds(walk, st, from);
	int r = 0, rc = SQLITE_ROW;
	while (r == 0 && !walk->full && (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = step_walk(walk, st);
	if (r == 0 && rc == SQLITE_DONE)
		r = deliver_row(walk);
	else if (r == 0 && !walk->full)
		r = store_db_error(walk->db, rc);
	sqlite3_reset(st);
	return r;
}

/* Counts the objects after the last one delivered. */
static int count_left(struct walk *walk, uint64_t *ret)
{
	*ret = 0;
	if (!walk->full)
		return 0;
	sqlite3_stmt *st = store_db_stmt(walk->db, SQL_COUNT);
	if (st == NULL)
		return store_db_error(walk->db, sqlite3_errcode(walk->db->db));
	bind_bounds(walk, st, walk->key);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)walk->at);
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rc == SQLITE_ROW ? 0 : store_db_error(walk->db, rc);
}

static int list_keys(struct walk *walk, uint64_t *ret_left)
{
	uint64_t newest_revision = 0, compacted = 0;
	int r = store_db_run(walk->db, SQL_BEGIN_READ);
	if (r == 0)
		r = store_db_revisions(walk->db, &newest_revision, &compacted);
	if (r < 0)
		return r;
	walk->at = walk->range->at != 0 ? walk->range->at : newest_revision;
	if (walk->at < compacted)
		return ERR_GONE;
	if (walk->at > newest_revision)
		return ERR_RANGE;
	r = walk_keys(walk);
	return r == 0 && ret_left != NULL ? count_left(walk, ret_left) : r;
}

int apiserver_store_list(struct apiserver_store *store, const struct apiserver_range *range,
			 apiserver_row_fn fn, void *ctx, uint64_t *ret_at, uint64_t *ret_left)
{
	struct walk w = { .store = store, .range = range, .fn = fn, .ctx = ctx };
	int r = init_walk(&w);
	if (r < 0)
		return r;
	r = store_pool_lend(store, &w.db);
	if (r < 0)
		return r;
	r = list_keys(&w, ret_left);
	store_pool_return(store, w.db);
	if (r < 0)
		return store_damage_note_error(store, r);
	/* The client may start a watch at this revision: the ring must know it. */
	store_ring_await(&store->ring, w.at);
	*ret_at = w.at;
	return 0;
}

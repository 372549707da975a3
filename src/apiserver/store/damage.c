/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Damaged rows: reading one fails with ERR_DAMAGED and names its key. Each is reported once, and
 * health checks fail until a verification finds none. Verification reads all rows, a few at a time,
 * and compares their checksums, so that damage is found in rows that nobody reads. It also finds rows
 * that are missing in the index, which lists would leave out. */
#include "apiserver/store/damage_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/store/checksum_priv.h"
#include "apiserver/store/compact_priv.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/reader_pool_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/store_priv.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#define PAUSE_NS (2 * NS_PER_MS)

enum { CHUNK_ROWS = 200, CHUNK_BYTES = 1 << 20 };

/* The key that belongs to the last ERR_DAMAGED of this thread. */
static _Thread_local char last_key[APISERVER_KEY_MAX_BYTES + 1];

void store_damage_note(struct apiserver_store *store, const char *key)
{
	struct store_damage *d = &store->damage;
	bool is_new = true;
	snprintf(last_key, sizeof(last_key), "%s", key);
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->count && is_new; i++)
		is_new = strcmp(d->key[i], key) != 0;
	is_new = is_new && d->count < STORE_DAMAGE_KEYS;
	if (is_new)
		d->key[d->count++] = xstrdup(key);
	assert(d->count <= STORE_DAMAGE_KEYS);
	pthread_mutex_unlock(&d->lock);
	if (!is_new || store->conf.on_failure == NULL)
		return;
	CLEANUP(freep)
	char *text = xasprintf("%s%s%s in '%s' is damaged: restore a backup with `fairlead "
			       "restore`",
			       *key != '\0' ? "object '" : "data", key, *key != '\0' ? "'" : "",
			       store->file);
	store->conf.on_failure(store->conf.ctx, text);
}

int store_damage_note_error(struct apiserver_store *store, int error)
{
	if (error == ERR_PARSE)
		store_damage_note(store, "");
	return error;
}

void store_damage_clear(struct apiserver_store *store)
{
	struct store_damage *d = &store->damage;
	pthread_mutex_lock(&d->lock);
	while (d->count > 0)
		free(d->key[--d->count]);
	pthread_mutex_unlock(&d->lock);
}

int apiserver_store_damaged(struct apiserver_store *store, const char *key)
{
	store_damage_note(store, key);
	return ERR_DAMAGED;
}

const char *apiserver_store_damaged_key(void)
{
	return last_key;
}

bool apiserver_store_is_sound(struct apiserver_store *store, struct strbuf *why)
{
	struct store_damage *d = &store->damage;
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->count && why != NULL; i++)
		strbuf_addf(why, "%s%s", i > 0 ? ", " : "damaged in the database: ",
			    d->key[i][0] != '\0' ? d->key[i] : "the file");
	bool sound = d->count == 0;
	pthread_mutex_unlock(&d->lock);
	return sound;
}

/* ---- verification ---- */

/* Checks the current row of `st`. */
static int verify_row(struct apiserver_store *store, sqlite3_stmt *st, uint64_t *at, size_t *bytes)
{
	struct store_sum_row row = { .id = (uint64_t)sqlite3_column_int64(st, 0),
				     .key = (const char *)sqlite3_column_text(st, 1),
				     .created = (uint64_t)sqlite3_column_int64(st, 2),
				     .prev = (uint64_t)sqlite3_column_int64(st, 3),
				     .removed = sqlite3_column_int(st, 4) != 0,
				     .value = store_db_blob(st, 5) };
	*at = row.id;
	*bytes += row.value.n;
	if (row.key == NULL)
		return store_damage_note_error(store, ERR_PARSE);
	int r = store_sum_check(store, &row, st, 6);
	if (r == 0 && (uint64_t)sqlite3_column_int64(st, 7) != row.id) {
		store_damage_note(store, row.key);
		r = ERR_DAMAGED;
	}
	return r;
}

/* Checks the next rows after *at. 1: there are more; 0: that was the last one. */
static int verify_chunk(struct apiserver_store *store, struct store_db *db, uint64_t *at,
			bool *sound)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_VERIFY);
	size_t bytes = 0;
	int rc = SQLITE_ROW;
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)*at);
	sqlite3_bind_int(st, 2, CHUNK_ROWS);
	int rows = 0;
	while (bytes < CHUNK_BYTES && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		*sound &= verify_row(store, st, at, &bytes) == 0;
		rows++;
	}
	sqlite3_reset(st);
	if (rc == SQLITE_ROW)
		return 1;
	return rc != SQLITE_DONE ? store_db_error(db, rc) : rows == CHUNK_ROWS;
}

int apiserver_store_verify(struct apiserver_store *store)
{
	uint64_t at = 0;
	bool sound = true;
	int r = 1;
	while (r == 1) {
		struct store_db *db;
		r = store_pool_lend(store, &db);
		if (r < 0)
			return r;
		r = verify_chunk(store, db, &at, &sound);
		store_pool_return(store, db);
		if (r == 1 && store_compact_wait(store, PAUSE_NS))
			return 0; /* it is closing */
	}
	if (r < 0)
		return store_damage_note_error(store, r);
	if (!sound)
		return ERR_DAMAGED;
	store_damage_clear(store);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checksums of rows. SQLite detects damage to its own structures, but not a changed byte inside a key
 * or a value. So each row has a checksum of all its columns, and every reader checks it. */
#include "apiserver/store/checksum_priv.h"

#include <string.h>

#include "apiserver/store/damage_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/store.h"
#include "base/err.h"
#include "base/hash.h"

int64_t store_sum_of(const struct store_sum_row *row)
{
	/* Part of the file format: never changes. */
	static const struct hash_key fixed = { 0x6661697266616972, 0x6c6561646c656164 };
	struct {
		uint64_t id, created, prev, removed, value;
		char key[APISERVER_KEY_MAX_BYTES];
	} all = { .id = row->id,
		  .created = row->created,
		  .prev = row->prev,
		  .removed = row->removed,
		  .value = hash_bytes(&fixed, row->value.n > 0 ? row->value.p : "", row->value.n) };
	size_t n = MIN(strlen(row->key), sizeof(all.key));
	memcpy(all.key, row->key, n);
	uint64_t sum = hash_bytes(&fixed, &all, offsetof(__typeof__(all), key) + n);
	return (int64_t)sum;
}

int store_sum_check(struct apiserver_store *store, const struct store_sum_row *row,
		    sqlite3_stmt *st, int column)
{
	/* NULL: a row of the older schema, which had no space on the disk for the upgrade. */
	if (sqlite3_column_type(st, column) == SQLITE_NULL ||
	    sqlite3_column_int64(st, column) == store_sum_of(row))
		return 0;
	store_damage_note(store, row->key);
	return ERR_DAMAGED;
}

/* ---- rows of the older schema ---- */

static int add_sum(struct store_db *db, sqlite3_stmt *from)
{
	struct store_sum_row row = { .id = (uint64_t)sqlite3_column_int64(from, 0),
				     .key = (const char *)sqlite3_column_text(from, 1),
				     .created = (uint64_t)sqlite3_column_int64(from, 2),
				     .prev = (uint64_t)sqlite3_column_int64(from, 3),
				     .removed = sqlite3_column_int(from, 4) != 0,
				     .value = store_db_blob(from, 5) };
	if (row.key == NULL)
		return ERR_PARSE;
	sqlite3_stmt *st = store_db_stmt(db, SQL_SET_SUM);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)row.id);
	sqlite3_bind_int64(st, 2, store_sum_of(&row));
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : store_db_error(db, rc);
}

/* Adds the checksum of the next row after *at; 1: there may be more. One row per query, because a
 * query that still runs may or may not see the update. */
static int add_next_sum(struct store_db *db, uint64_t *at)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_UNSUMMED);
	if (st == NULL)
		return store_db_error(db, sqlite3_errcode(db->db));
	sqlite3_bind_int64(st, 1, (sqlite3_int64)*at);
	sqlite3_bind_int(st, 2, 1);
	int rc = sqlite3_step(st);
	int r = rc == SQLITE_ROW ? add_sum(db, st) : rc == SQLITE_DONE ? 0 : store_db_error(db, rc);
	if (r == 0 && rc == SQLITE_ROW) {
		*at = (uint64_t)sqlite3_column_int64(st, 0);
		r = 1;
	}
	sqlite3_reset(st);
	return r;
}

int store_sum_add_missing(struct store_db *db)
{
	enum { TOGETHER = 500 };
	uint64_t at = 0;
	int r = 1;
	while (r == 1) {
		r = store_db_run(db, SQL_BEGIN_WRITE);
		for (int i = 0; i < TOGETHER && r >= 0; i++) {
			r = add_next_sum(db, &at);
			if (r == 0)
				break;
		}
		int done = r < 0 ? r : store_db_run(db, SQL_COMMIT);
		if (done < 0) {
			store_db_rollback(db);
			return done;
		}
	}
	return store_db_exec(db, "DELETE FROM meta WHERE name = 'unsummed'");
}

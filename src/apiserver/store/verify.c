/* Reads all rows, a few at a time, and checks them: what nobody asks for is looked at, too. Each is
 * also looked for in the index, without which lists would leave it out. */
#include "apiserver/store/store_priv.h"
#include "base/clock.h"
#include "base/err.h"

#define PAUSE_NS (2 * NS_PER_MS)

enum { CHUNK_ROWS = 200, CHUNK_BYTES = 1 << 20 };

/* The row that `st` stands on. */
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
		return store_damage_of(store, ERR_PARSE);
	int r = store_sum_check(store, &row, st, 6);
	if (r == 0 && (uint64_t)sqlite3_column_int64(st, 7) != row.id) {
		store_damage_note(store, row.key);
		r = ERR_DAMAGED;
	}
	return r;
}

/* 1: there are more; 0: that was the last one. */
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
		r = store_read_lend(store, &db);
		if (r < 0)
			return r;
		r = verify_chunk(store, db, &at, &sound);
		store_read_return(store, db);
		if (r == 1 && store_compact_pause(store, PAUSE_NS))
			return 0; /* it is closing */
	}
	if (r < 0)
		return store_damage_of(store, r);
	if (!sound)
		return ERR_DAMAGED;
	store_damage_clear(store);
	return 0;
}

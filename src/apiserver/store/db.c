/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One connection to SQLite: its settings, statements that are prepared on first use and kept, and the
 * translation of SQLite's errors into ERR_ codes and -errno. */
#include "apiserver/store/db_priv.h"

#include <assert.h>
#include <errno.h>

#include "base/err.h"

/* Each version names the one before in `prev`, so the versions of a key have the same order by `prev`
 * as by `id`. That is why the index of the constraint (key, prev), whose last column is the id, also
 * serves SQL_NEWEST and SQL_WALK. */
static const char *const sql[STORE_SQL_COUNT] = {
	[SQL_BEGIN_READ] = "BEGIN",
	[SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_SAVE] = "SAVEPOINT one",
	[SQL_SAVE_DONE] = "RELEASE one",
	[SQL_SAVE_UNDO] = "ROLLBACK TO one",
	[SQL_NEWEST] = "SELECT id, created, removed, value, prev, sum FROM row WHERE key = ?1"
		       " ORDER BY prev DESC LIMIT 1",
	[SQL_INSERT] = "INSERT INTO row (id, key, created, prev, removed, value, sum)"
		       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_VIEW] = "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'row'),"
		     " (SELECT value FROM meta WHERE name = 'compacted')",
	[SQL_WALK] = "SELECT key, id FROM row WHERE key >= ?1 AND key < ?2 ORDER BY key, prev",
	[SQL_ROW] = "SELECT created, removed, value, prev, sum FROM row WHERE id = ?1",
	/* Keys, minus those whose newest version is a tombstone; indexes suffice for both. */
	[SQL_COUNT] = "SELECT (SELECT count(*) FROM (SELECT 1 FROM row"
		      " WHERE key > ?1 AND key < ?2 AND id <= ?3 GROUP BY key))"
		      " - (SELECT count(*) FROM row AS t INDEXED BY row_removed"
		      " WHERE t.removed = 1 AND t.key > ?1 AND t.key < ?2 AND t.id <= ?3"
		      " AND NOT EXISTS (SELECT 1 FROM row AS n"
		      " WHERE n.key = t.key AND n.prev = t.id AND n.id <= ?3))",
	[SQL_CHANGES] = "SELECT id, key, created, prev, removed, value, sum FROM row"
			" WHERE id > ?1 ORDER BY id",
	[SQL_VERIFY] = "SELECT id, key, created, prev, removed, value, sum,"
		       " (SELECT i.id FROM row AS i INDEXED BY sqlite_autoindex_row_1"
		       " WHERE i.key = row.key AND i.prev = row.prev)"
		       " FROM row WHERE id > ?1 ORDER BY id LIMIT ?2",
	[SQL_UNSUMMED] = "SELECT id, key, created, prev, removed, value FROM row"
			 " WHERE id > ?1 AND sum IS NULL ORDER BY id LIMIT ?2",
	[SQL_SET_SUM] = "UPDATE row SET sum = ?2 WHERE id = ?1",
	[SQL_SET_COMPACTED] = "UPDATE meta SET value = ?1 WHERE name = 'compacted'",
	[SQL_SET_SWEPT] = "UPDATE meta SET value = ?1 WHERE name = 'swept'",
	[SQL_BATCH] = "WITH m(swept) AS (SELECT value FROM meta WHERE name = 'swept')"
		      " SELECT (SELECT swept FROM m), max(id), count(*) FROM"
		      " (SELECT id FROM row WHERE id > (SELECT swept FROM m) AND id <= ?1"
		      " ORDER BY id LIMIT ?2)",
	[SQL_DELETE_REPLACED] = "DELETE FROM row WHERE id IN"
				" (SELECT prev FROM row WHERE id > ?1 AND id <= ?2)",
	[SQL_DELETE_REMOVED] = "DELETE FROM row WHERE id > ?1 AND id <= ?2 AND removed = 1",
};

/* Caches are small because the kernel's page cache is behind them. The data for undoing a transaction
 * stays in memory, so that a full disk fails in one place only, the log. Freed pages are not
 * overwritten with zeros, which would be most of what compaction writes. */
static const char writer[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
			     "PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY;"
			     "PRAGMA wal_autocheckpoint = 1000;"
			     "PRAGMA journal_size_limit = 16777216; PRAGMA mmap_size = 0;"
			     "PRAGMA secure_delete = FAST;";
static const char reader[] = "PRAGMA query_only = 1; PRAGMA cache_size = -512;"
			     "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;";
static const char copy[] = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
			   "PRAGMA cache_size = -2048;";

static const char *const settings[] = {
	[STORE_DB_BARE] = "",
	[STORE_DB_WRITER] = writer,
	[STORE_DB_READER] = reader,
	[STORE_DB_COPY] = copy,
	[STORE_DB_FOREIGN] = "PRAGMA query_only = 1;",
};

/* The errno of the last failure. After a failed commit only the log's file knows it. */
static int system_error(struct store_db *db)
{
	int e = sqlite3_system_errno(db->db);
	sqlite3_file *log = NULL;
	if (e == 0 && sqlite3_file_control(db->db, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &log) == 0 &&
	    log != NULL && log->pMethods != NULL)
		log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &e);
	return e;
}

int store_db_error(struct store_db *db, int rc)
{
	int sys = 0;
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return ERR_SPACE;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return ERR_PARSE;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERR_BUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		sys = system_error(db);
		if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
			return ERR_SPACE;
		return sys > 0 ? -sys : -EIO;
	default:
		return ERR_INTERNAL;
	}
}

int store_db_exec(struct store_db *db, const char *text)
{
	int rc = sqlite3_exec(db->db, text, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : store_db_error(db, rc);
}

void store_db_keep_log(struct store_db *db, bool keep)
{
	sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, NULL);
}

int store_db_configure(struct store_db *db, enum store_db_mode mode)
{
	if (mode == STORE_DB_BARE || mode == STORE_DB_WRITER)
		store_db_keep_log(db, mode == STORE_DB_BARE);
	return store_db_exec(db, settings[mode]);
}

int store_db_open(const char *file, enum store_db_mode mode, struct store_db *ret)
{
	*ret = (struct store_db){ 0 };
	int flags = mode == STORE_DB_FOREIGN ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	int rc = sqlite3_open_v2(file, &ret->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	int r = rc == SQLITE_OK ? 0 : store_db_error(ret, rc);
	if (r == 0) {
		sqlite3_extended_result_codes(ret->db, 1);
		sqlite3_busy_timeout(ret->db, STORE_BUSY_MS);
		r = store_db_configure(ret, mode);
	}
	if (r < 0)
		store_db_close(ret);
	return r;
}

int store_db_query_number(struct store_db *db, const char *text, int64_t *ret)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db, text, -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	int r = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? ERR_NOTFOUND : store_db_error(db, rc);
	if (r == 0)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return r;
}

void store_db_close(struct store_db *db)
{
	for (size_t i = 0; i < ARRAY_LEN(db->stmt); i++)
		sqlite3_finalize(db->stmt[i]);
	sqlite3_close(db->db);
	*db = (struct store_db){ 0 };
}

sqlite3_stmt *store_db_stmt(struct store_db *db, enum store_sql which)
{
	assert((unsigned)which < STORE_SQL_COUNT);
	sqlite3_stmt **st = &db->stmt[which];
	if (*st == NULL)
		sqlite3_prepare_v3(db->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, st, NULL);
	else
		sqlite3_reset(*st);
	return *st;
}

int store_db_run(struct store_db *db, enum store_sql which)
{
	sqlite3_stmt *st = store_db_stmt(db, which);
	int rc = st != NULL ? sqlite3_step(st) : sqlite3_errcode(db->db);
	int r = rc == SQLITE_DONE ? 0 : store_db_error(db, rc);
	sqlite3_reset(st);
	return r;
}

void store_db_rollback(struct store_db *db)
{
	/* After some failures SQLite has already rolled back by itself. */
	if (sqlite3_get_autocommit(db->db) == 0)
		IGNORE(store_db_run(db, SQL_ROLLBACK)); /* the next BEGIN fails then */
}

int store_db_truncate_log(struct store_db *db)
{
	sqlite3_busy_timeout(db->db, 0);
	int rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(db->db, STORE_BUSY_MS);
	return rc == SQLITE_OK || rc == SQLITE_BUSY ? 0 : store_db_error(db, rc);
}

int store_db_revisions(struct store_db *db, uint64_t *ret_revision, uint64_t *ret_compacted)
{
	sqlite3_stmt *st = store_db_stmt(db, SQL_VIEW);
	int rc = st != NULL ? sqlite3_step(st) : sqlite3_errcode(db->db);
	if (rc != SQLITE_ROW) {
		int r = rc == SQLITE_DONE ? ERR_PARSE : store_db_error(db, rc);
		sqlite3_reset(st);
		return r;
	}
	*ret_revision = (uint64_t)sqlite3_column_int64(st, 0);
	*ret_compacted = (uint64_t)sqlite3_column_int64(st, 1);
	sqlite3_reset(st);
	return 0;
}

struct slice store_db_blob(sqlite3_stmt *st, int column)
{
	const char *p = sqlite3_column_blob(st, column);
	return (struct slice){ p, p != NULL ? (size_t)sqlite3_column_bytes(st, column) : 0 };
}

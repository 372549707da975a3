/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One connection to SQLite: its settings, prepared statements and error codes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/compiler.h"
#include "base/slice.h"

enum { STORE_BUSY_MS = 5000 };

enum store_sql {
	SQL_BEGIN_READ,
	SQL_BEGIN_WRITE,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_SAVE,
	SQL_SAVE_DONE,
	SQL_SAVE_UNDO,
	SQL_NEWEST,   /* ?1 key -> id, created, removed, value, prev, sum */
	SQL_INSERT,   /* ?1 id ?2 key ?3 created ?4 prev ?5 removed ?6 value ?7 sum */
	SQL_VIEW,     /* -> newest revision, compacted */
	SQL_WALK,     /* ?1 <= key < ?2 -> key, id; by key, then id */
	SQL_ROW,      /* ?1 id -> created, removed, value, prev, sum */
	SQL_COUNT,    /* ?1 < key < ?2, as of ?3 -> number of objects */
	SQL_CHANGES,  /* ?1 < id -> id, key, created, prev, removed, value, sum; by id */
	SQL_VERIFY,   /* likewise, at most ?2, and the id that the index has for the row */
	SQL_UNSUMMED, /* likewise, without the id: rows without a checksum */
	SQL_SET_SUM,  /* ?1 id ?2 sum */
	SQL_SET_COMPACTED,
	SQL_SET_SWEPT,
	SQL_BATCH,	     /* id <= ?1, at most ?2 -> swept, last id, number */
	SQL_DELETE_REPLACED, /* by changes ?1 < id <= ?2 */
	SQL_DELETE_REMOVED,  /* ?1 < id <= ?2 */
};
enum { STORE_SQL_COUNT = SQL_DELETE_REMOVED + 1 };

/* Used by one thread at a time. */
struct store_db {
	sqlite3 *db;
	sqlite3_stmt *stmt[STORE_SQL_COUNT]; /* prepared on first use */
	struct store_db *next;		     /* in the pool */
};

enum store_db_mode {
	STORE_DB_BARE, /* changes nothing and keeps the log: the file may be damaged, or not a store */
	STORE_DB_WRITER,
	STORE_DB_READER,
	STORE_DB_COPY,	  /* a new file that a crash may destroy: its creator syncs it at the end */
	STORE_DB_FOREIGN, /* read-only */
};

/* Opens an existing file. */
MUST_CHECK int store_db_open(const char *file, enum store_db_mode mode, struct store_db *ret);
/* Finalizes all statements and closes the connection. */
void store_db_close(struct store_db *db);
/* Applies the settings of a mode. */
MUST_CHECK int store_db_configure(struct store_db *db, enum store_db_mode mode);
/* `keep`: closing the last connection does not move the log into the file. */
void store_db_keep_log(struct store_db *db, bool keep);
/* Moves the log into the file and truncates it. Does nothing, successfully, while a reader needs it. */
MUST_CHECK int store_db_truncate_log(struct store_db *db);
/* Runs SQL text that returns no rows. */
MUST_CHECK int store_db_exec(struct store_db *db, const char *text);
/* The first column of the first row that the SQL text returns. ERR_NOTFOUND: no row. */
MUST_CHECK int store_db_query_number(struct store_db *db, const char *text, int64_t *ret);
/* The statement, reset, with its old bindings; NULL if it cannot be prepared. */
sqlite3_stmt *store_db_stmt(struct store_db *db, enum store_sql which);
/* Runs a statement without parameters that returns no rows. */
MUST_CHECK int store_db_run(struct store_db *db, enum store_sql which);
/* Rolls back the transaction, if one is open. */
void store_db_rollback(struct store_db *db);
/* The ERR_ code or -errno for the SQLite failure `rc` of this connection. */
int store_db_error(struct store_db *db, int rc);
/* Newest revision and compaction point in the view of the current transaction. */
MUST_CHECK int store_db_revisions(struct store_db *db, uint64_t *ret_revision,
				  uint64_t *ret_compacted);
/* A column's bytes, valid until the statement is stepped or reset. */
struct slice store_db_blob(sqlite3_stmt *st, int column);

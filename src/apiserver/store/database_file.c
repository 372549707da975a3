/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The database file: creating its tables, upgrading them from the version before, and checking it
 * after a crash. Files of a newer version and damaged files are refused unchanged. */
#include "apiserver/store/database_file_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/store/backup.h"
#include "apiserver/store/checksum_priv.h"
#include "apiserver/store/data_dir_priv.h"
#include "apiserver/store/db_priv.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

/* Revisions start at 2: an empty store is at revision 1, because 0 means "any" to clients. */
static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE row ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" key TEXT NOT NULL,"
	" created INTEGER NOT NULL,"
	" prev INTEGER NOT NULL,"
	" removed INTEGER NOT NULL,"
	" value BLOB NOT NULL,"
	" sum INTEGER,"
	" UNIQUE (key, prev));"
	"CREATE INDEX row_removed ON row (key) WHERE removed = 1;"
	"CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
	"INSERT INTO meta VALUES ('compacted', 0), ('swept', 0);"
	"INSERT INTO sqlite_sequence VALUES ('row', 1);"
	"PRAGMA application_id = 1179406916;"
	"PRAGMA user_version = 2;"
	"COMMIT;";

/* Version 2 added checksums to rows. Old rows get theirs afterwards, a few at a time; until then, or
 * while the disk is full, it is NULL. */
static const char upgrade[] = "BEGIN IMMEDIATE;"
			      "ALTER TABLE row ADD COLUMN sum INTEGER;"
			      "INSERT INTO meta VALUES ('unsummed', 1);"
			      "PRAGMA user_version = 2;"
			      "COMMIT;";

_Static_assert(STORE_APPLICATION_ID == 1179406916, "as in the schema");
_Static_assert(STORE_SCHEMA_VERSION == 2, "as in the schema");

int store_database_error(int error, const char *file, const char *why, struct err_text err)
{
	/* SQLite's message may have several lines; the last one has the reason. */
	const char *last = strrchr(why, '\n');
	if (error == ERR_PARSE)
		err_text_set(err, "'%s' is damaged (%s): restore a backup with `fairlead restore`",
			     file, last != NULL ? last + 1 : why);
	else
		err_text_set(err, "cannot open '%s': %s", file, err_str(error));
	return error;
}

int store_database_identify(struct store_db *db, const char *file, struct err_text err)
{
	int64_t id = 0, version = 0, tables = 0;
	int r = store_db_query_number(db, "PRAGMA application_id", &id);
	if (r == 0)
		r = store_db_query_number(db, "PRAGMA user_version", &version);
	if (r == 0)
		r = store_db_query_number(db, "SELECT count(*) FROM sqlite_master", &tables);
	if (r < 0)
		return store_database_error(r, file, sqlite3_errmsg(db->db), err);
	if (id == 0 && version == 0 && tables == 0)
		return 1;
	if (id != STORE_APPLICATION_ID || version == 0)
		return store_database_error(ERR_PARSE, file, "it is not a database of Fairlead",
					    err);
	if (version > STORE_SCHEMA_VERSION) {
		err_text_set(err,
			     "'%s' was written by a newer version (schema %lld, this program "
			     "supports %d): run that version, or go back with `fairlead restore` "
			     "and the copy from before its upgrade, %s.schema-%d-REVISION",
			     file, (long long)version, STORE_SCHEMA_VERSION, file,
			     STORE_SCHEMA_VERSION);
		return ERR_UNSUPPORTED;
	}
	return 0;
}

int store_database_check(struct store_db *db, const char *file, struct err_text err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db, "PRAGMA quick_check(1)", -1, &st, NULL), r = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
	if (rc != SQLITE_ROW)
		r = store_db_error(db, rc);
	else if (text == NULL || strcmp(text, "ok") != 0)
		r = ERR_PARSE;
	if (r < 0)
		store_database_error(r, file, text != NULL ? text : sqlite3_errmsg(db->db), err);
	sqlite3_finalize(st);
	return r;
}

/* True if the last process did not close the file: SQLite removes the log when it does. Only then is
 * the whole file checked, which takes time in proportion to its size. */
static bool was_not_closed(const char *file)
{
	CLEANUP(freep) char *log = xasprintf("%s-wal", file);
	struct stat st;
	return stat(log, &st) == 0 && st.st_size > 0;
}

static int upgrade_schema(struct store_db *db)
{
	int64_t version = 0, unsummed = 0;
	int r = store_db_query_number(db, "PRAGMA user_version", &version);
	if (r == 0 && version == 1)
		r = store_db_exec(db, upgrade);
	if (r < 0)
		store_db_rollback(db);
	if (r == 0 && store_db_query_number(db, "SELECT value FROM meta WHERE name = 'unsummed'",
					    &unsummed) == 0)
		r = store_sum_add_missing(db);
	/* Start even if the disk is full: the next start tries again. */
	return r == ERR_SPACE ? 0 : r;
}

/* An older program refuses the tables of a newer one: the copy is the way back. */
static int keep_old_version(struct store_db *db, const char *file, struct err_text err)
{
	int64_t version = 0;
	int r = store_db_query_number(db, "PRAGMA user_version", &version);
	if (r < 0)
		return store_database_error(r, file, sqlite3_errmsg(db->db), err);
	return version < STORE_SCHEMA_VERSION ? store_backup_keep(db, file, version, err) : 0;
}

static int prepare_file(struct store_db *db, const char *dir, const char *file, struct err_text err)
{
	bool check = was_not_closed(file);
	uint64_t high;
	int fresh = store_database_identify(db, file, err);
	if (fresh < 0)
		return fresh;
	/* SQLite would accept an emptied file, and all objects would be lost without an error. */
	if (fresh == 1 && store_bound_read(dir, &high) != ERR_NOTFOUND)
		return store_database_error(ERR_PARSE, file, "it was in use and is empty now", err);
	if (fresh == 0 && check) {
		int r = store_database_check(db, file, err);
		if (r < 0)
			return r;
	}
	int kept = fresh == 0 ? keep_old_version(db, file, err) : 0;
	if (kept < 0)
		return kept;
	int r = store_db_configure(db, STORE_DB_WRITER);
	if (r == 0)
		r = fresh == 1 ? store_db_exec(db, schema) : upgrade_schema(db);
	return r < 0 ? store_database_error(r, file, sqlite3_errmsg(db->db), err) : 0;
}

/* SQLite itself would create it readable for all; it copies the mode to its log. */
static int create_file(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int store_database_open(const char *dir, const char *file, struct store_db *ret,
			struct err_text err)
{
	int r = create_file(file);
	if (r == 0)
		r = store_dir_sync(dir);
	if (r == 0)
		r = store_db_open(file, STORE_DB_BARE, ret);
	if (r < 0)
		return store_database_error(r, file, err_str(r), err);
	r = prepare_file(ret, dir, file, err);
	if (r < 0)
		store_db_close(ret);
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Backup: a consistent copy of a database that is in use. SQLite's online backup copies all pages in
 * one step, in one read transaction, so that no writer makes it start again. The copy is checked, and
 * gets its final name only when it is complete and durable.
 *
 * Restore: the new database is prepared beside the old one, then one rename replaces it; the old one
 * is kept under another name. Revisions continue after the highest one ever assigned in the directory,
 * and everything before counts as compacted: clients that have seen a later state than the backup's
 * must list again. */
#include "apiserver/store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "apiserver/store/data_dir_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/database_file_priv.h"
#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

/* ---- backup ---- */

enum { RETRIES = 500, RETRY_MS = 10 };

/* Makes the copy one file that needs no log beside it, now and during the changes that follow. */
static const char single_file[] = "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = MEMORY";

static int copy_pages(struct store_db *from, struct store_db *to)
{
	sqlite3_backup *b = sqlite3_backup_init(to->db, "main", from->db, "main");
	if (b == NULL)
		return store_db_error(to, sqlite3_errcode(to->db));
	int rc = SQLITE_OK;
	for (int i = 0; i < RETRIES; i++) {
		rc = sqlite3_backup_step(b, -1);
		if ((rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_LOCKED)
			break;
		sqlite3_sleep(RETRY_MS);
	}
	/* Of errors in reading only the code is known; those in writing are the connection's. */
	int r = rc == SQLITE_DONE ? 0 : store_db_error(to, rc);
	sqlite3_backup_finish(b);
	return r;
}

static int sync_file(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return r;
}

/* Creates an empty file, and deletes logs beside it that SQLite would take for its own. */
static int make_empty_file(const char *file)
{
	static const char *const beside[] = { "-wal", "-shm", "-journal" };
	for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
		CLEANUP(freep) char *path = xasprintf("%s%s", file, beside[i]);
		unlink(path);
	}
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int copy_database(struct store_db *from, const char *file, const char *then,
			 struct err_text err)
{
	struct store_db to = { 0 };
	int r = make_empty_file(file);
	if (r == 0)
		r = store_db_open(file, STORE_DB_COPY, &to);
	if (r == 0)
		r = copy_pages(from, &to);
	if (r == 0)
		r = store_db_exec(&to, single_file);
	if (r == 0 && then != NULL)
		r = store_db_exec(&to, then);
	if (r < 0)
		err_text_set(err, "cannot write '%s': %s", file, err_str(r));
	else
		r = store_database_check(&to, file, err);
	store_db_close(&to);
	if (r == 0) {
		r = sync_file(file);
		if (r < 0)
			err_text_set(err, "cannot write '%s': %s", file, err_str(r));
	}
	if (r < 0)
		unlink(file);
	return r;
}

static int sync_dir_of(const char *file)
{
	CLEANUP(freep) char *path = xstrdup(file);
	return store_dir_sync(dirname(path));
}

/* Gives the copy its name, unless such a file exists by now. Some file systems know only link(). */
static int rename_partial(const char *partial, const char *file)
{
	if (renameat2(AT_FDCWD, partial, AT_FDCWD, file, RENAME_NOREPLACE) == 0)
		return 0;
	int r = -errno;
	if (r == -EINVAL || r == -ENOSYS)
		r = link(partial, file) < 0 ? -errno : 0;
	unlink(partial);
	return r;
}

static int write_backup(struct store_db *from, const char *file, struct err_text err)
{
	if (access(file, F_OK) == 0) {
		err_text_set(err, "'%s' exists already", file);
		return -EEXIST;
	}
	CLEANUP(freep) char *partial = xasprintf("%s.%d.partial", file, (int)getpid());
	int r = copy_database(from, partial, NULL, err);
	if (r < 0)
		return r;
	r = rename_partial(partial, file);
	if (r == 0)
		r = sync_dir_of(file);
	if (r < 0)
		err_text_set(err, "cannot write '%s': %s", file, err_str(r));
	return r;
}

int store_backup_keep(struct store_db *db, const char *file, int64_t version, struct err_text err)
{
	uint64_t revision = 0, compacted = 0;
	int r = store_db_revisions(db, &revision, &compacted);
	if (r < 0)
		return store_database_error(r, file, sqlite3_errmsg(db->db), err);
	CLEANUP(freep)
	char *copy = xasprintf("%s.schema-%" PRId64 "-%" PRIu64, file, version, revision);
	char why[512] = "";
	r = write_backup(db, copy, ERR_TEXT(why));
	if (r == -EEXIST) /* of an upgrade that was interrupted: no revision has two states */
		return 0;
	if (r < 0)
		err_text_set(err,
			     "'%s' was not changed, because the copy that is made before an "
			     "upgrade failed: %s",
			     file, why);
	return r;
}

int apiserver_backup(const char *dir, const char *file, struct err_text err)
{
	CLEANUP(freep) char *from = xasprintf("%s/store.db", dir);
	struct store_db db;
	int r = store_db_open(from, STORE_DB_BARE, &db);
	if (r < 0)
		return store_database_error(r, from, err_str(r), err);
	r = store_database_identify(&db, from, err);
	if (r == 1)
		r = store_database_error(ERR_PARSE, from, "it is empty", err);
	if (r == 0)
		r = write_backup(&db, file, err);
	store_db_close(&db);
	return r;
}

/* ---- restore ---- */

/* The files of one restore. */
struct replacement {
	const char *dir;
	char *file, *new_file, *kept_file;
	bool had_file; /* `file` existed, and is kept as `kept_file` */
};

/* The highest revision of the old database. If that cannot be read, the bound beside it; without
 * both it is assumed that many revisions were assigned after the backup. */
static uint64_t highest_revision(const struct replacement *files, uint64_t backup)
{
	struct store_db db;
	char ignored[256];
	uint64_t revision, compacted;
	int r = access(files->file, F_OK) == 0 ? store_db_open(files->file, STORE_DB_BARE, &db)
					       : ERR_NOTFOUND;
	if (r == 0) {
		r = store_database_identify(&db, files->file, ERR_TEXT(ignored));
		r = r == 0 ? store_db_revisions(&db, &revision, &compacted) : ERR_NOTFOUND;
		/* A sound database absorbs its log; otherwise both files are kept unchanged. */
		store_db_keep_log(&db, r < 0);
		store_db_close(&db);
	}
	if (r < 0)
		r = store_bound_read(files->dir, &revision);
	return r == 0 ? revision : backup + STORE_BOUND_STEP;
}

/* The first unused name. The caller frees it. */
static char *choose_kept_name(const char *file)
{
	for (int i = 1;; i++) {
		char *name = xasprintf("%s.replaced-%d", file, i);
		if (access(name, F_OK) < 0)
			return name;
		free(name);
	}
}

/* SQLite must not apply the log of a lost or damaged database to the new one. */
static int move_log(const struct replacement *files)
{
	CLEANUP(freep) char *log = xasprintf("%s-wal", files->file);
	CLEANUP(freep) char *kept = xasprintf("%s-wal", files->kept_file);
	CLEANUP(freep) char *shm = xasprintf("%s-shm", files->file);
	unlink(shm);
	return rename(log, kept) < 0 && errno != ENOENT ? -errno : 0;
}

static int swap_files(struct replacement *files)
{
	files->kept_file = choose_kept_name(files->file);
	int r = link(files->file, files->kept_file) < 0 ? -errno : 0;
	files->had_file = r == 0;
	if (r == 0 || r == -ENOENT)
		r = move_log(files);
	if (r == 0)
		r = store_dir_sync(files->dir);
	if (r == 0 && rename(files->new_file, files->file) < 0)
		r = -errno;
	return r == 0 ? store_dir_sync(files->dir) : r;
}

static int put_in_place(struct replacement *files, struct store_db *from, struct err_text err)
{
	uint64_t backup = 0, compacted = 0, bound = 0;
	int r = store_db_revisions(from, &backup, &compacted);
	if (r < 0)
		return r;
	uint64_t highest = highest_revision(files, backup), next = MAX(highest, backup) + 1;
	CLEANUP(freep)
	char *sql =
		xasprintf("BEGIN; UPDATE sqlite_sequence SET seq = %" PRIu64 " WHERE name = 'row';"
			  "UPDATE meta SET value = %" PRIu64 " WHERE name = 'compacted'; COMMIT",
			  next, next);
	r = copy_database(from, files->new_file, sql, err);
	/* Raise the bound first: it may be too high, but never too low. */
	if (r == 0 && (store_bound_read(files->dir, &bound) < 0 || bound < next))
		r = store_bound_reserve(files->dir, next, &bound);
	return r == 0 ? swap_files(files) : r;
}

static int restore_into(const char *dir, struct store_db *from, struct err_text err)
{
	int lock = -1;
	int r = store_dir_lock(dir, &lock, err);
	if (r < 0)
		return r;
	struct replacement p = { .dir = dir, .file = xasprintf("%s/store.db", dir) };
	p.new_file = xasprintf("%s.new", p.file);
	err.text[0] = '\0';
	r = put_in_place(&p, from, err);
	if (r < 0 && err.text[0] == '\0')
		err_text_set(err, "cannot restore into '%s': %s", dir, err_str(r));
	if (r == 0 && p.had_file)
		err_text_set(err, "the previous database is kept as '%s'", p.kept_file);
	close(lock);
	free(p.kept_file);
	free(p.new_file);
	free(p.file);
	return r;
}

int apiserver_restore(const char *dir, const char *file, struct err_text err)
{
	struct store_db from;
	int r = store_db_open(file, STORE_DB_FOREIGN, &from);
	if (r < 0) {
		err_text_set(err, "cannot open '%s': %s", file, err_str(r));
		return r;
	}
	r = store_database_identify(&from, file, err);
	if (r == 0)
		r = store_database_check(&from, file, err);
	if (r == 1 || r == ERR_PARSE) {
		err_text_set(err, "'%s' is not a complete backup: choose another one", file);
		r = ERR_PARSE;
	}
	if (r == 0)
		r = restore_into(dir, &from, err);
	store_db_close(&from);
	return r;
}

/* Restoring a backup. The new database is prepared beside the old one, then one rename replaces it;
 * the old one is kept under another name.
 *
 * Revisions continue after the highest one ever assigned in the directory, and everything before
 * counts as compacted: clients that have seen a later state than the backup's must list again. */
#include "apiserver/store/restore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "apiserver/store/backup_priv.h"
#include "apiserver/store/data_dir_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/revision_bound_priv.h"
#include "apiserver/store/schema_priv.h"
#include "base/err.h"
#include "base/mem.h"

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
		r = store_schema_identify(&db, files->file, ignored, sizeof(ignored));
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

static int put_in_place(struct replacement *files, struct store_db *from, char *err, size_t err_n)
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
	r = store_backup_copy(from, files->new_file, sql, err, err_n);
	/* Raise the bound first: it may be too high, but never too low. */
	if (r == 0 && (store_bound_read(files->dir, &bound) < 0 || bound < next))
		r = store_bound_reserve(files->dir, next, &bound);
	return r == 0 ? swap_files(files) : r;
}

static int restore_into(const char *dir, struct store_db *from, char *err, size_t err_n)
{
	int lock = -1;
	int r = store_dir_lock(dir, &lock, err, err_n);
	if (r < 0)
		return r;
	struct replacement p = { .dir = dir, .file = xasprintf("%s/store.db", dir) };
	p.new_file = xasprintf("%s.new", p.file);
	err[0] = '\0';
	r = put_in_place(&p, from, err, err_n);
	if (r < 0 && err[0] == '\0')
		snprintf(err, err_n, "cannot restore into '%s': %s", dir, err_str(r));
	if (r == 0 && p.had_file)
		snprintf(err, err_n, "the previous database is kept as '%s'", p.kept_file);
	close(lock);
	free(p.kept_file);
	free(p.new_file);
	free(p.file);
	return r;
}

int apiserver_restore(const char *dir, const char *file, char *err, size_t err_n)
{
	struct store_db from;
	int r = store_db_open(file, STORE_DB_FOREIGN, &from);
	if (r < 0) {
		snprintf(err, err_n, "cannot open '%s': %s", file, err_str(r));
		return r;
	}
	r = store_schema_identify(&from, file, err, err_n);
	if (r == 0)
		r = store_schema_check(&from, file, err, err_n);
	if (r == 1 || r == ERR_PARSE) {
		snprintf(err, err_n, "'%s' is not a complete backup: choose another one", file);
		r = ERR_PARSE;
	}
	if (r == 0)
		r = restore_into(dir, &from, err, err_n);
	store_db_close(&from);
	return r;
}

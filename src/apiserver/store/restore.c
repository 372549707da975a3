/* A backup takes the place of a database. It is made ready beside it; then one rename decides. What
 * was there stays under another name.
 *
 * Revisions go on behind the highest the directory has ever given out, and all before that is
 * compacted: whoever has seen a later state than the backup's is told to read anew. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

struct place {
	const char *dir;
	char *file, *new, *kept;
	bool was_there;
};

/* How far the database that is there has come. When it cannot tell, the bound beside it can; and
 * without that it is taken to have gone on from the backup for long. */
static uint64_t highest_there(const struct place *place, uint64_t backup)
{
	struct store_db db;
	char ignored[256];
	uint64_t revision, compacted;
	int r = access(place->file, F_OK) == 0 ? store_db_open(place->file, STORE_DB_BARE, &db)
					       : ERR_NOTFOUND;
	if (r == 0) {
		r = store_schema_look(&db, place->file, ignored, sizeof(ignored));
		r = r == 0 ? store_db_view(&db, &revision, &compacted) : ERR_NOTFOUND;
		/* One that is well gets its log; of another one both are kept as they are. */
		store_db_keep_log(&db, r < 0);
		store_db_close(&db);
	}
	if (r < 0)
		r = store_high_read(place->dir, &revision);
	return r == 0 ? revision : backup + STORE_RESERVE;
}

/* The first free name. */
static char *kept_name(const char *file)
{
	for (int i = 1;; i++) {
		char *name = xasprintf("%s.replaced-%d", file, i);
		if (access(name, F_OK) < 0)
			return name;
		free(name);
	}
}

/* A log that is left, because its database is gone or damaged, must not meet the new one. */
static int move_log(const struct place *place)
{
	CLEANUP(freep) char *log = xasprintf("%s-wal", place->file);
	CLEANUP(freep) char *kept = xasprintf("%s-wal", place->kept);
	CLEANUP(freep) char *shm = xasprintf("%s-shm", place->file);
	unlink(shm);
	return rename(log, kept) < 0 && errno != ENOENT ? -errno : 0;
}

static int swap(struct place *place)
{
	place->kept = kept_name(place->file);
	int r = link(place->file, place->kept) < 0 ? -errno : 0;
	place->was_there = r == 0;
	if (r == 0 || r == -ENOENT)
		r = move_log(place);
	if (r == 0)
		r = store_sync_dir(place->dir);
	if (r == 0 && rename(place->new, place->file) < 0)
		r = -errno;
	return r == 0 ? store_sync_dir(place->dir) : r;
}

static int put_in_place(struct place *place, struct store_db *from, char *err, size_t err_n)
{
	uint64_t backup = 0, compacted = 0, bound = 0;
	int r = store_db_view(from, &backup, &compacted);
	if (r < 0)
		return r;
	uint64_t there = highest_there(place, backup), next = MAX(there, backup) + 1;
	CLEANUP(freep)
	char *sql =
		xasprintf("BEGIN; UPDATE sqlite_sequence SET seq = %" PRIu64 " WHERE name = 'row';"
			  "UPDATE meta SET value = %" PRIu64 " WHERE name = 'compacted'; COMMIT",
			  next, next);
	r = store_backup_copy(from, place->new, sql, err, err_n);
	/* The bound first: it may be too high, but never too low. */
	if (r == 0 && (store_high_read(place->dir, &bound) < 0 || bound < next))
		r = store_high_reserve(place->dir, next, &bound);
	return r == 0 ? swap(place) : r;
}

static int restore(const char *dir, struct store_db *from, char *err, size_t err_n)
{
	int lock = -1;
	int r = store_lock_take(dir, &lock, err, err_n);
	if (r < 0)
		return r;
	struct place p = { .dir = dir, .file = xasprintf("%s/store.db", dir) };
	p.new = xasprintf("%s.new", p.file);
	err[0] = '\0';
	r = put_in_place(&p, from, err, err_n);
	if (r < 0 && err[0] == '\0')
		snprintf(err, err_n, "cannot restore into '%s': %s", dir, err_str(r));
	if (r == 0 && p.was_there)
		snprintf(err, err_n, "what was there is kept as '%s'", p.kept);
	close(lock);
	free(p.kept);
	free(p.new);
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
	r = store_schema_look(&from, file, err, err_n);
	if (r == 0)
		r = store_schema_check(&from, file, err, err_n);
	if (r == 1 || r == ERR_PARSE) {
		snprintf(err, err_n, "'%s' is not a complete backup: choose another one", file);
		r = ERR_PARSE;
	}
	if (r == 0)
		r = restore(dir, &from, err, err_n);
	store_db_close(&from);
	return r;
}

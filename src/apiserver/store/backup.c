/* A consistent copy of a database that is in use. SQLite's online backup copies all pages in one
 * step, in one read transaction, so that no writer makes it start again. The copy is checked, and
 * gets its final name only when it is complete and durable. */
#include "apiserver/store/backup_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include "apiserver/store/backup.h"
#include "apiserver/store/data_dir_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/reader_pool_priv.h"
#include "apiserver/store/schema_priv.h"
#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

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

int store_backup_copy(struct store_db *from, const char *file, const char *then, char *err,
		      size_t err_n)
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
		snprintf(err, err_n, "cannot write '%s': %s", file, err_str(r));
	else
		r = store_schema_check(&to, file, err, err_n);
	store_db_close(&to);
	if (r == 0) {
		r = sync_file(file);
		if (r < 0)
			snprintf(err, err_n, "cannot write '%s': %s", file, err_str(r));
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

static int write_backup(struct store_db *from, const char *file, char *err, size_t err_n)
{
	if (access(file, F_OK) == 0) {
		snprintf(err, err_n, "'%s' exists already", file);
		return -EEXIST;
	}
	CLEANUP(freep) char *partial = xasprintf("%s.%d.partial", file, (int)getpid());
	int r = store_backup_copy(from, partial, NULL, err, err_n);
	if (r < 0)
		return r;
	r = rename_partial(partial, file);
	if (r == 0)
		r = sync_dir_of(file);
	if (r < 0)
		snprintf(err, err_n, "cannot write '%s': %s", file, err_str(r));
	return r;
}

int apiserver_store_backup(struct apiserver_store *store, const char *file, char *err, size_t err_n)
{
	struct store_db *db;
	int r = store_pool_lend(store, &db);
	if (r < 0)
		return store_schema_error(r, store->file, err_str(r), err, err_n);
	r = write_backup(db, file, err, err_n);
	store_pool_return(store, db);
	return r;
}

int apiserver_backup(const char *dir, const char *file, char *err, size_t err_n)
{
	CLEANUP(freep) char *from = xasprintf("%s/store.db", dir);
	struct store_db db;
	int r = store_db_open(from, STORE_DB_BARE, &db);
	if (r < 0)
		return store_schema_error(r, from, err_str(r), err, err_n);
	r = store_schema_identify(&db, from, err, err_n);
	if (r == 1)
		r = store_schema_error(ERR_PARSE, from, "it is empty", err, err_n);
	if (r == 0)
		r = write_backup(&db, file, err, err_n);
	store_db_close(&db);
	return r;
}

/* The spare: a file that does nothing but take up room, `store.spare`. A full disk refuses all that
 * is written, and removing objects is writing, too, as is forgetting history; so that both still
 * work, the spare's room is given to them, and to them alone, until the disk has as much again.
 *
 * The database's file never shrinks: what removals leave are free pages inside it. These count as
 * room, too. A removal that finds them lets no file grow but the log, so the spare may be smaller
 * by as much; otherwise a store that removals have grown into the spare's room would stay tight for
 * ever, however much was removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apiserver/store/store_priv.h"
#include "base/err.h"
#include "base/mem.h"

enum {
	/* Of the disk, left to the log of other writes: SQLite empties it when it is so long. */
	LOG_ROOM_BYTES = 4 << 20,
};

static uint64_t file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

uint64_t store_spare_disk(const struct apiserver_store *store)
{
	struct statvfs fs;
	return statvfs(store->dir, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
}

/* Free pages inside the database. */
static uint64_t inner_bytes(struct apiserver_store *store)
{
	int64_t pages = 0, page_bytes = 0;
	if (store_db_number(&store->writer.db, "PRAGMA freelist_count", &pages) < 0 ||
	    store_db_number(&store->writer.db, "PRAGMA page_size", &page_bytes) < 0)
		return 0;
	return (uint64_t)pages * (uint64_t)page_bytes;
}

/* What the spare should be, given all that it can be made of. */
static uint64_t wanted_bytes(uint64_t disk_bytes, uint64_t inner)
{
	uint64_t least = STORE_SPARE_BYTES - MIN(inner, STORE_SPARE_BYTES - STORE_SPARE_MIN_BYTES);
	uint64_t room = disk_bytes > LOG_ROOM_BYTES ? disk_bytes - LOG_ROOM_BYTES : 0;
	return MAX(MIN(room, STORE_SPARE_BYTES), least);
}

/* Blocks are taken for it, not only a length. */
static bool set_bytes(const char *path, uint64_t there, uint64_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool ok = bytes > there ? posix_fallocate(fd, 0, (off_t)bytes) == 0
				: ftruncate(fd, (off_t)bytes) == 0;
	/* One that could not grow stays as it was. */
	if (!ok && (there == 0 || ftruncate(fd, (off_t)there) < 0))
		unlink(path);
	close(fd);
	return ok;
}

/* A limit of file sizes below it is no full disk. */
static bool is_allowed(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= STORE_SPARE_BYTES;
}

static void set_tight(struct apiserver_store *store, bool tight)
{
	if (atomic_exchange(&store->tight, tight) || !tight || store->conf.trouble == NULL)
		return;
	char text[512];
	snprintf(text, sizeof(text),
		 "the disk of '%s' is full: only deletions are taken until there is space",
		 store->dir);
	store->conf.trouble(store->conf.ctx, text);
}

bool store_spare_make(struct apiserver_store *store, uint64_t more_bytes)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", store->dir);
	uint64_t there = file_bytes(path), inner = 0;
	if (is_allowed() && there < STORE_SPARE_BYTES) {
		inner = inner_bytes(store);
		inner -= MIN(inner, more_bytes);
		uint64_t bytes = wanted_bytes(store_spare_disk(store) + there, inner);
		if (bytes > there && set_bytes(path, there, bytes))
			there = bytes;
	} else {
		there = STORE_SPARE_BYTES;
	}
	store->lean = there < STORE_SPARE_BYTES;
	set_tight(store, store->lean && (there < STORE_SPARE_MIN_BYTES ||
					 there + inner < STORE_SPARE_BYTES));
	return !atomic_load(&store->tight);
}

void store_spare_shrink(struct apiserver_store *store)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", store->dir);
	uint64_t there = file_bytes(path);
	uint64_t bytes = wanted_bytes(store_spare_disk(store) + there, inner_bytes(store));
	if (bytes < there && set_bytes(path, there, bytes))
		store->lean = true;
}

void store_spare_give(struct apiserver_store *store)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", store->dir);
	unlink(path);
	set_tight(store, true);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The spare file, `store.spare`, does nothing but occupy disk space. Removing objects and compacting
 * are writes too, which a full disk refuses. So that both still work, the store then deletes the file
 * and lets only such writes use its space, until the disk has as much space again.
 *
 * The database's file never shrinks: removals leave free pages inside it. Free pages count as space:
 * a removal that finds them lets only the log grow, so the spare may be smaller by as much. Otherwise
 * a store whose removals have grown into the spare's space would accept nothing but removals for
 * ever, however much was removed. */
#include "apiserver/store/spare_file_priv.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apiserver/store/db_priv.h"
#include "apiserver/store/store_priv.h"
#include "base/mem.h"

enum {
	/* Disk space left for the log of other writes, which SQLite truncates at this length. */
	LOG_ROOM_BYTES = 4 << 20,
};

static uint64_t file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

uint64_t store_spare_disk_free(const struct apiserver_store *store)
{
	struct statvfs fs;
	return statvfs(store->dir, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
}

/* Bytes of free pages inside the database. */
static uint64_t free_page_bytes(struct apiserver_store *store)
{
	int64_t pages = 0, page_bytes = 0;
	if (store_db_query_number(&store->writer.db, "PRAGMA freelist_count", &pages) < 0 ||
	    store_db_query_number(&store->writer.db, "PRAGMA page_size", &page_bytes) < 0)
		return 0;
	return (uint64_t)pages * (uint64_t)page_bytes;
}

/* Size that the spare should have. `disk_bytes` includes its present size. */
static uint64_t wanted_bytes(uint64_t disk_bytes, uint64_t page_bytes)
{
	uint64_t least =
		STORE_SPARE_BYTES - MIN(page_bytes, STORE_SPARE_BYTES - STORE_SPARE_MIN_BYTES);
	assert(STORE_SPARE_MIN_BYTES <= least && least <= STORE_SPARE_BYTES);
	uint64_t room = disk_bytes > LOG_ROOM_BYTES ? disk_bytes - LOG_ROOM_BYTES : 0;
	return MAX(MIN(room, STORE_SPARE_BYTES), least);
}

/* Allocates blocks, not only a length. `now` is the present size. */
static bool resize_file(const char *path, uint64_t now, uint64_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool ok = bytes > now ? posix_fallocate(fd, 0, (off_t)bytes) == 0
			      : ftruncate(fd, (off_t)bytes) == 0;
	/* A file that could not grow keeps its size. */
	if (!ok && (now == 0 || ftruncate(fd, (off_t)now) < 0))
		unlink(path);
	close(fd);
	return ok;
}

/* If the file size limit (RLIMIT_FSIZE) forbids the spare, the disk is not regarded as full. */
static bool fits_size_limit(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= STORE_SPARE_BYTES;
}

static void set_removals_only(struct apiserver_store *store, bool removals_only)
{
	if (atomic_exchange(&store->removals_only, removals_only) || !removals_only ||
	    store->conf.on_failure == NULL)
		return;
	char text[512];
	snprintf(text, sizeof(text),
		 "the disk of '%s' is full: only deletions are accepted until space is free",
		 store->dir);
	store->conf.on_failure(store->conf.ctx, text);
}

bool store_spare_make(struct apiserver_store *store, uint64_t more_bytes)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", store->dir);
	uint64_t size = file_bytes(path), page_bytes = 0;
	if (fits_size_limit() && size < STORE_SPARE_BYTES) {
		page_bytes = free_page_bytes(store);
		page_bytes -= MIN(page_bytes, more_bytes);
		uint64_t bytes = wanted_bytes(store_spare_disk_free(store) + size, page_bytes);
		if (bytes > size && resize_file(path, size, bytes))
			size = bytes;
	} else {
		size = STORE_SPARE_BYTES;
	}
	store->spare_short = size < STORE_SPARE_BYTES;
	set_removals_only(store, store->spare_short && (size < STORE_SPARE_MIN_BYTES ||
							size + page_bytes < STORE_SPARE_BYTES));
	return !atomic_load(&store->removals_only);
}

void store_spare_shrink(struct apiserver_store *store)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", store->dir);
	uint64_t size = file_bytes(path);
	uint64_t bytes = wanted_bytes(store_spare_disk_free(store) + size, free_page_bytes(store));
	if (bytes < size && resize_file(path, size, bytes))
		store->spare_short = true;
}

void store_spare_release(struct apiserver_store *store)
{
	CLEANUP(freep) char *path = xasprintf("%s/store.spare", store->dir);
	unlink(path);
	set_removals_only(store, true);
}

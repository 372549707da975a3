/* The store of the embedded API: SQLite with one append-only table.
 *
 * Glossary
 *	key		where an object lives: "core/services/default/web", "apps.example/things//x"
 *			(group, plural, namespace or nothing, name)
 *	revision	number of a change, one counter for all: what the API calls resourceVersion
 *	row		one version of an object, or its tombstone, with the revision that made it
 *	ring		the latest changes in memory, for watchers
 *
 * Values are JSON texts that carry their own revision: a writer gives the text before and behind
 * it, the store writes the number between. So a read is a read, nothing is parsed or patched in.
 *
 * One thread writes (group commit: all writes that wait share one fsync); reads come from any
 * thread and never wait for it. A change is visible to reads and ring only when it is durable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	APISERVER_KEY_MAX_BYTES = 1024,
	APISERVER_VALUE_MAX_BYTES = 4 << 20,
	/* What the ring holds at most; what is older is read from the table. */
	APISERVER_RING_EVENTS = 16384,
	APISERVER_RING_BYTES = 8 << 20,
};

struct apiserver_store;

struct apiserver_store_conf {
	const char *dir; /* made when it is not there, 0700 */
	/* Compaction: history is kept at least so long and at least so many changes. */
	uint64_t keep_ns;	   /* 0: 5 minutes */
	uint64_t keep_revisions;   /* 0: 1000 */
	uint64_t compact_every_ns; /* 0: a minute; UINT64_MAX: only when told */
	/* Something has failed and will be tried again; on a thread of the store's. May be NULL. */
	void (*trouble)(void *ctx, const char *text);
	void *ctx;
};

/* ERR_BUSY: another process has it, `err` names its pid. ERR_UNSUPPORTED: written by a newer
 * version. ERR_PARSE: damaged. -errno. `err` gets one sentence that says what to do. */
MUST_CHECK int apiserver_store_open(const struct apiserver_store_conf *conf,
				    struct apiserver_store **ret, char *err, size_t err_n);
/* Writes that wait are finished first. NULL is fine. */
void apiserver_store_close(struct apiserver_store *store);

/* The newest durable revision, and the oldest one from which changes can still be told. */
uint64_t apiserver_store_revision(const struct apiserver_store *store);
uint64_t apiserver_store_compacted(const struct apiserver_store *store);

/* --- reading --- */

struct apiserver_row {
	const char *key;
	uint64_t revision; /* of this version */
	uint64_t created;  /* of the object's first version */
	struct slice value;
};

/* Reading fails with ERR_DAMAGED where a row is not what was written; ERR_PARSE: the file is not
 * what it should be. */

/* The key of the row, when this thread was given ERR_DAMAGED last. */
const char *apiserver_store_damaged_key(void);
/* A value that its reader cannot read: noted, ERR_DAMAGED. */
int apiserver_store_damaged(struct apiserver_store *store, const char *key);
/* Has nobody found anything damaged? Else `why` (may be NULL) gets what it is. Any thread. */
bool apiserver_store_is_sound(struct apiserver_store *store, struct strbuf *why);
/* Checks all there is; ERR_DAMAGED, ERR_PARSE. Done in the background at the start, and every six
 * hours. */
MUST_CHECK int apiserver_store_verify(struct apiserver_store *store);

/* The newest version; its value is put into `out`. ERR_NOTFOUND. */
MUST_CHECK int apiserver_store_get(struct apiserver_store *store, const char *key,
				   struct strbuf *out, uint64_t *ret_revision);

struct apiserver_range {
	const char *prefix; /* all keys that begin so */
	const char *after;  /* only keys behind this one; NULL: from the first */
	uint64_t at;	    /* as of this revision; 0: the newest */
	size_t limit;	    /* rows; 0: all */
	bool skip_damaged;  /* leave them out, instead of ERR_DAMAGED */
};

/* Called in the order of keys; the row is the callee's until it returns. Positive: enough, this row
 * was the last; negative: stop, and this is the result. */
typedef int (*apiserver_row_fn)(void *ctx, const struct apiserver_row *r);

/* One consistent view. *ret_at is its revision, *ret_left how many rows of the range come behind
 * the last one given (may be NULL: not counted). ERR_GONE: `at` is compacted away; ERR_RANGE: it is
 * in the future. `fn` may read and write the store, but should not wait for anybody: history read
 * by a list cannot be cleaned up meanwhile. */
MUST_CHECK int apiserver_store_list(struct apiserver_store *store,
				    const struct apiserver_range *range, apiserver_row_fn fn,
				    void *ctx, uint64_t *ret_at, uint64_t *ret_left);

/* --- writing --- */

struct apiserver_write {
	const char *key;
	uint64_t expect;	 /* the version it replaces; 0: there must be none */
	bool remove;		 /* a tombstone: its value is the object as it was, with the new
				    revision, for watchers */
	bool frees;		 /* leads to a removal: written even when the disk is full, as
				    removals are, while the room kept for them lasts */
	struct slice head, tail; /* the value, less its revision between them */
};

/* All or none, each with a revision of its own, in order; returns when they are durable. *ret is
 * the revision of the last one. ERR_CONFLICT: another version is there than expected, *ret_conflict
 * (may be NULL) says which write. ERR_SPACE: the disk is full: nothing was written, try later.
 * ERR_LIMIT: key or value too long. */
MUST_CHECK int apiserver_store_write(struct apiserver_store *store,
				     const struct apiserver_write *write, size_t count,
				     uint64_t *ret, size_t *ret_conflict);

/* --- watching --- */

/* A change, shared by all who look at it. */
struct apiserver_event {
	uint64_t revision;
	uint64_t replaced; /* revision of the version before; 0: it is a new object */
	bool removed;
	const char *key;
	struct slice value;  /* as it is now; of a removed one as it was, with the new revision */
	struct slice before; /* the version before, or empty */
};

struct apiserver_watch;

/* Watches changes behind revision `after` of keys that begin with prefix. `wake` (may be NULL) is
 * called on the writer's thread when there may be something to take after next gave 0 (or was not
 * called yet); it must not wait, nor write to the store. ERR_GONE: history does not reach back that
 * far. */
MUST_CHECK int apiserver_watch_new(struct apiserver_store *store, const char *prefix,
				   uint64_t after, void (*wake)(void *ctx), void *ctx,
				   struct apiserver_watch **ret);
/* When it has returned, wake is not running and not called any more; so a lock that wake takes must
 * not be held here. Wake itself may free its watch. NULL is fine. */
void apiserver_watch_free(struct apiserver_watch *watch);
/* As next, but only what is in memory: ERR_NOTFOUND when the table must be read first. */
MUST_CHECK int apiserver_watch_take(struct apiserver_watch *watch,
				    const struct apiserver_event **ret, uint64_t *ret_at);
/* Reads a part of the table, which may have nothing for the watch. ERR_GONE. */
MUST_CHECK int apiserver_watch_read(struct apiserver_watch *watch);
/* The next change of the watch's keys, in order: 1 and the event, which stays valid until the next
 * call; 0: none now, *ret_at is the revision up to which the watch has seen all (for bookmarks).
 * ERR_GONE: the watcher fell behind what is kept. Any thread, one at a time. */
MUST_CHECK int apiserver_watch_next(struct apiserver_watch *watch,
				    const struct apiserver_event **ret, uint64_t *ret_at);

/* --- keeping --- */

/* Forgets history below the revision. */
MUST_CHECK int apiserver_store_compact(struct apiserver_store *store, uint64_t below);
/* A consistent copy of the database in a new file, while all goes on. -EEXIST: it is there already.
 */
MUST_CHECK int apiserver_store_backup(struct apiserver_store *store, const char *file, char *err,
				      size_t err_n);
/* The same of a data directory that may be in use by another process. */
MUST_CHECK int apiserver_backup(const char *dir, const char *file, char *err, size_t err_n);
/* Puts a backup into a data directory nobody uses; what was there is kept beside it. Revisions go
 * on behind the highest ever given out there, and watches from before get ERR_GONE, so that no
 * watcher takes old for new. ERR_BUSY: it is in use. ERR_PARSE: the file is not a complete backup.
 * On success `err` says where that which was there is kept, or is "". */
MUST_CHECK int apiserver_restore(const char *dir, const char *file, char *err, size_t err_n);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches: all changes of a key prefix after a revision, in order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/slice.h"

/* One change, shared by all watches that deliver it. */
struct apiserver_event {
	uint64_t revision;
	uint64_t replaced; /* revision of the version before; 0: the object is new */
	bool removed;
	const char *key;
	struct slice
		value; /* the new version; of a removed object the last one, with the new revision */
	struct slice before; /* the version before, or empty */
	/* The part of `value` that watches may leave out; empty: not known. */
	struct slice optional;
};

struct apiserver_watch;

/* Starts a watch of changes after revision `after`. `wake` (may be NULL) runs on the writer's thread
 * when there may be a new event, once after each time that next or take returned 0 (and once before
 * the first call); it must not block, nor write to the store. ERR_GONE: `after` is compacted. */
MUST_CHECK int apiserver_watch_new(struct apiserver_store *store, const char *prefix,
				   uint64_t after, void (*wake)(void *ctx), void *ctx,
				   struct apiserver_watch **ret);
/* From now on events for which `wants` returns false are neither delivered nor wake the watch, which
 * counts them as seen. `wants` runs under the ring's lock, also on the writer's thread: it looks at the
 * event and does nothing else. */
void apiserver_watch_only(struct apiserver_watch *watch,
			  bool (*wants)(const struct apiserver_event *event));
/* Waits until `wake` is not running; it is not called afterwards. So the caller must not hold a lock
 * that `wake` acquires. `wake` itself may free its watch. NULL is allowed. */
void apiserver_watch_free(struct apiserver_watch *watch);
/* The next event: 1 and *ret, which stays valid until the next call; or 0, then *ret_at is the
 * revision up to which the watch has delivered everything (for bookmarks). ERR_GONE: the watch fell
 * behind the compaction point. Any thread, one at a time. */
MUST_CHECK int apiserver_watch_next(struct apiserver_watch *watch,
				    const struct apiserver_event **ret, uint64_t *ret_at);
/* The same without reading the table: ERR_NOTFOUND if that is needed first, by apiserver_watch_read. */
MUST_CHECK int apiserver_watch_take(struct apiserver_watch *watch,
				    const struct apiserver_event **ret, uint64_t *ret_at);
/* Reads the next part of the table, which may contain no event for this watch. ERR_GONE. */
MUST_CHECK int apiserver_watch_read(struct apiserver_watch *watch);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The embedded API's store: objects and their history in one append-only SQLite table. This header
 * opens and closes it; read.h, writer.h, watch.h, compact.h, damage.h and backup.h use it.
 *
 * Glossary
 *	key		where an object lives: "core/services/default/web", "apps.example/things//x"
 *			(group, plural, namespace or nothing, name)
 *	revision	number of a change, one counter for all objects: the API's resourceVersion
 *	row		one version of an object, or its tombstone, with the revision that made it
 *	tombstone	the row that says that an object was removed
 *	ring		the latest changes in memory, for watches
 *	compaction	deleting replaced versions up to a revision, the compaction point
 *	spare		a file that reserves disk space, so that removals work on a full disk
 *
 * Values are JSON documents that contain their own revision: a writer passes the text before and
 * after it, the store writes the number between. A read returns the bytes as they are stored.
 *
 * One thread writes (group commit: all waiting writes share one fsync). Reads may come from any
 * thread and never wait for the writer. Reads and the ring show a change only once it is durable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"

enum {
	APISERVER_KEY_MAX_BYTES = 1024,
	APISERVER_VALUE_MAX_BYTES = 4 << 20,
};

struct apiserver_store;

struct apiserver_store_conf {
	const char *dir; /* created with mode 0700 if it is missing */
	/* Compaction keeps history for at least this time and this many changes. */
	uint64_t keep_ns;	   /* 0: 5 minutes */
	uint64_t keep_revisions;   /* 0: 1000 */
	uint64_t compact_every_ns; /* 0: a minute; UINT64_MAX: only by apiserver_store_compact */
	/* Reports a failure that the store will retry, from one of its threads. May be NULL. */
	void (*on_failure)(void *ctx, const char *message);
	void *ctx;
};

/* ERR_BUSY: another process uses the directory, `err` names its pid. ERR_UNSUPPORTED: written by a
 * newer version. ERR_PARSE: damaged. -errno. `err` gets one sentence that says what to do. */
MUST_CHECK int apiserver_store_open(const struct apiserver_store_conf *conf,
				    struct apiserver_store **ret, struct err_text err);
/* Finishes queued writes first. All watches must be freed before. `store` may be NULL. */
void apiserver_store_close(struct apiserver_store *store);

/* False when the last write was refused because the disk is full, and still has no space: `why` (may
 * be NULL) gets a sentence. Reads and removals work meanwhile. Any thread. */
bool apiserver_store_has_space(const struct apiserver_store *store, struct strbuf *why);
/* The newest durable revision. Any thread. */
uint64_t apiserver_store_revision(const struct apiserver_store *store);
/* The compaction point: the oldest revision that a watch or a list can start from. Any thread. */
uint64_t apiserver_store_compacted(const struct apiserver_store *store);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Our own writes that a watch may not have shown yet. A watch's copy of an object is always a little
 * older than the cluster. It must not be older than our own last write, though: we would write
 * twice, or fall back to what has been replaced. The same record counts repairs, so that a writer
 * who wants something else is not fought for ever. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/* What is known about one object. */
struct own_write {
	bool known; /* the server has returned the object, or that it is missing */
	bool exists;
	uint64_t least_version; /* a copy with a lower resourceVersion is outdated */
	bool begun;		/* a reconcile began since then */
	/* What was last applied, by its hash, and when the next repair of it is due. */
	uint64_t applied;
	uint64_t due_ns;
	/* Another writer keeps changing it: from the first repair that had to wait until a minute
	 * passed without a repair. */
	bool contested;
	uint64_t repaired_ns;
	/* For objects without a watch: when it was read, and which hash was applied or found. */
	uint64_t read_ns;
	uint64_t settled;
};

/* All of them. For one thread at a time. */
struct own_writes {
	struct map by_key; /* "Kind namespace/name" -> struct own_write */
};

void own_writes_init(struct own_writes *writes);
void own_writes_done(struct own_writes *writes);
/* The record of an object, made at first use; valid until own_write_forget() or own_writes_done(). */
struct own_write *own_write_of(struct own_writes *writes, const char *kind, const char *ns,
			       const char *name);
/* The object is not wanted any more. */
void own_write_forget(struct own_writes *writes, const char *kind, const char *ns,
		      const char *name);

/* Does the watch's copy include our last write? `rv` is its resourceVersion; NULL: no copy. */
bool own_write_shown(const struct own_write *write, const char *rv);
/* Is `rv` our last write, or older? */
bool own_write_is_last(const struct own_write *write, const char *rv);
/* A reconcile begins; it reads the store after this. */
void own_write_begin(struct own_write *write);
/* The watch has put `rv` into the store: does that need no reconcile, because it is what the last one
 * wrote? False also if another reconcile began since: that one may have read an older copy, and then
 * waits for this one. */
bool own_write_is_echo(const struct own_write *write, const char *rv);
/* The server returned this version (NULL: the object is missing) while the copy had another. */
void own_write_note(struct own_write *write, const char *rv, const char *copy_rv);
/* Before an apply of what has the hash `applied`. 0: go on; else nanoseconds to wait, because the
 * same was applied several times in a few minutes. */
uint64_t own_write_repair(struct own_write *write, uint64_t applied, uint64_t now_ns);
/* The apply failed: nobody contradicted us, so it does not count. */
void own_write_failed(struct own_write *write);
/* The object is as wanted. Nanoseconds until it no longer counts as contested; 0: it does not. */
uint64_t own_write_quiet(struct own_write *write, uint64_t now_ns);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing objects: sets of creations, replacements and removals, each set atomic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/slice.h"

struct apiserver_write {
	const char *key;
	uint64_t expect;	 /* revision of the version it replaces; 0: none may exist */
	bool remove;		 /* writes a tombstone; its value is the object as it was, with the
				    new revision, for watches */
	bool frees;		 /* leads to a removal (say, drops a finalizer): on a full disk it
				    may use the space reserved for removals */
	struct slice head, tail; /* the value before and after its revision */
	struct slice optional; /* a part of `tail` that watches may leave out; empty: none known */
};

/* Writes all or none, each with its own revision, in order; returns when they are durable. *ret is
 * the revision of the last one. ERR_CONFLICT: the stored version is not the expected one,
 * *ret_conflict (may be NULL) is the index of that write. ERR_SPACE: the disk is full, nothing was
 * written. ERR_LIMIT: a key or value is too long. Any thread but the store's own. */
MUST_CHECK int apiserver_store_write(struct apiserver_store *store,
				     const struct apiserver_write *write, size_t count,
				     uint64_t *ret, size_t *ret_conflict);

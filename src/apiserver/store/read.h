/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading objects: one by its key, or all of a key prefix as of one revision. Both fail with
 * ERR_DAMAGED if a row's checksum is wrong (see damage.h), with ERR_PARSE if SQLite finds the file
 * damaged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct apiserver_row {
	const char *key;
	uint64_t revision; /* of this version */
	uint64_t created;  /* of the object's first version */
	struct slice value;
};

/* Appends the value of the newest version to `out`. ERR_NOTFOUND. */
MUST_CHECK int apiserver_store_get(struct apiserver_store *store, const char *key,
				   struct strbuf *out, uint64_t *ret_revision);

struct apiserver_range {
	const char *prefix; /* keys that begin with it */
	const char *after;  /* only keys after this one; NULL: from the first */
	uint64_t at;	    /* as of this revision; 0: the newest */
	size_t limit;	    /* rows; 0: all */
	bool skip_damaged;  /* leave damaged rows out instead of failing with ERR_DAMAGED */
};

/* Called in key order; `row` is valid until the callback returns. Positive: enough, this row was the
 * last; negative: stop, the list returns it. */
typedef int (*apiserver_row_fn)(void *ctx, const struct apiserver_row *row);

/* Lists one consistent view. *ret_at is its revision, *ret_left the number of rows of the range after
 * the last one delivered (NULL: not counted). ERR_GONE: `at` is compacted; ERR_RANGE: `at` is in the
 * future. `fn` may read and write the store, but should not block: while a list runs, SQLite cannot
 * reuse the space of the history it reads. */
MUST_CHECK int apiserver_store_list(struct apiserver_store *store,
				    const struct apiserver_range *range, apiserver_row_fn fn,
				    void *ctx, uint64_t *ret_at, uint64_t *ret_left);

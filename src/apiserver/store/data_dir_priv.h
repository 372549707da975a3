/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data directory: its lock, and the file with an upper bound of all revisions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"

/* Creates the directory if it is missing and locks it; *ret is the lock's descriptor, which the
 * caller closes. ERR_BUSY: another process has the lock. */
MUST_CHECK int store_dir_lock(const char *dir, int *ret, struct err_text err);
/* Makes the directory's entries durable. */
MUST_CHECK int store_dir_sync(const char *dir);

enum { STORE_BOUND_STEP = 1 << 20 }; /* revisions by which the bound is ahead */

/* ERR_NOTFOUND, ERR_PARSE, -errno. */
MUST_CHECK int store_bound_read(const char *dir, uint64_t *ret);
/* Writes a bound of STORE_BOUND_STEP above the revision; *ret is set when it is durable. */
MUST_CHECK int store_bound_reserve(const char *dir, uint64_t above, uint64_t *ret);

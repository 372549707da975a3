/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checksums of rows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "apiserver/store/db_priv.h"
#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/slice.h"

/* The columns that a checksum covers. */
struct store_sum_row {
	uint64_t id, created, prev;
	bool removed;
	const char *key;
	struct slice value;
};

int64_t store_sum_of(const struct store_sum_row *row);
/* Compares with the checksum in the statement's column, where NULL matches. ERR_DAMAGED: they
 * differ, and the key was recorded as damaged. */
MUST_CHECK int store_sum_check(struct apiserver_store *store, const struct store_sum_row *row,
			       sqlite3_stmt *st, int column);
/* Adds checksums to rows of an older schema. ERR_SPACE: some rows still have none. */
MUST_CHECK int store_sum_add_missing(struct store_db *db);

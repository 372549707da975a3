/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The spare file, `store.spare`: disk space reserved for removals. All functions run on the writer's
 * thread, or before it is started. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/store/store.h"

enum {
	/* More than the part of the log that SQLite cannot move into a file that cannot grow. */
	STORE_SPARE_BYTES = 8 << 20,
	/* The log of the largest object's removal fits. */
	STORE_SPARE_MIN_BYTES = 5 << 20,
};

/* Creates or enlarges the file. True: removals stay possible after `more_bytes` more are written.
 * False: from now on the store accepts only writes that lead to removals. */
bool store_spare_make(struct apiserver_store *store, uint64_t more_bytes);
/* Gives space to the log, if the database has free pages but the disk is full. */
void store_spare_shrink(struct apiserver_store *store);
/* Gives up all of the space, for removals alone. */
void store_spare_release(struct apiserver_store *store);
/* Bytes free on the disk. Any thread. */
uint64_t store_spare_disk_free(const struct apiserver_store *store);

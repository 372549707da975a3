/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Backups: a consistent copy of the database, written while the store is in use; and restoring one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct store_db;

/* Copies the database of a data directory, which may be in use, into a new file. -EEXIST: the file
 * exists already. */
MUST_CHECK int apiserver_backup(const char *dir, const char *file, struct err_text err);

/* Replaces the database of a directory that no process uses; the old file is kept beside it.
 * Revisions continue after the highest one ever assigned in the directory, and watches from before
 * get ERR_GONE, so that no client mistakes old objects for new ones. ERR_BUSY: the directory is in
 * use. ERR_PARSE: the file is not a complete backup. On success `err` names the file that keeps the
 * old database, or is "". */
MUST_CHECK int apiserver_restore(const char *dir, const char *file, struct err_text err);

/* For the store itself, before it upgrades tables of this version: copies the database of `file` to
 * FILE.schema-VERSION-REVISION, which an older program can restore; a copy that exists is kept. Negative
 * with a sentence in `err`. */
MUST_CHECK int store_backup_keep(struct store_db *db, const char *file, int64_t version,
				 struct err_text err);

/* Copying a database, for backup.c and restore.c. */
#pragma once

#include <stddef.h>

#include "apiserver/store/backup.h"
#include "apiserver/store/db_priv.h"
#include "base/compiler.h"

/* Copies into the file, runs the SQL text `then` (may be NULL) on the copy, checks and syncs it. */
MUST_CHECK int store_backup_copy(struct store_db *from, const char *file, const char *then,
				 char *err, size_t err_n);

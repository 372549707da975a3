/* Backups: a consistent copy of the database, written while the store is in use. */
#pragma once

#include <stddef.h>

#include "apiserver/store/store.h"
#include "base/compiler.h"

/* Writes the copy into a new file. -EEXIST: the file exists already. */
MUST_CHECK int apiserver_store_backup(struct apiserver_store *store, const char *file, char *err,
				      size_t err_n);
/* The same for a data directory that another process may use. */
MUST_CHECK int apiserver_backup(const char *dir, const char *file, char *err, size_t err_n);

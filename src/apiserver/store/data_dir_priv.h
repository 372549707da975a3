/* The data directory and its lock. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/* Creates the directory if it is missing and locks it; *ret is the lock's descriptor, which the
 * caller closes. ERR_BUSY: another process has the lock. */
MUST_CHECK int store_dir_lock(const char *dir, int *ret, char *err, size_t err_n);
/* Makes the directory's entries durable. */
MUST_CHECK int store_dir_sync(const char *dir);

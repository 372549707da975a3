/* Restoring a backup into a data directory. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/* Replaces the database of a directory that no process uses; the old file is kept beside it.
 * Revisions continue after the highest one ever assigned in the directory, and watches from before
 * get ERR_GONE, so that no client mistakes old objects for new ones. ERR_BUSY: the directory is in
 * use. ERR_PARSE: the file is not a complete backup. On success `err` names the file that keeps the
 * old database, or is "". */
MUST_CHECK int apiserver_restore(const char *dir, const char *file, char *err, size_t err_n);

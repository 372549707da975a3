/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small files of the data directory that only their owner may read: tokens, keys, kubeconfigs. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"

enum { APISERVER_ATOMIC_FILE_MAX_BYTES = 256 * 1024 };

/* Appends the content. ERR_NOTFOUND: the file is missing. -errno, ERR_LIMIT with a message in
 * `err`. */
MUST_CHECK int apiserver_atomic_file_read(const char *dir, const char *name, struct strbuf *out,
					  struct err_text err);
/* Replaces the file atomically, mode 0600, synced to disk. -errno with a message in `err`. */
MUST_CHECK int apiserver_atomic_file_write(const char *dir, const char *name, struct slice text,
					   struct err_text err);

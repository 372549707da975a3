/* Small files of the data directory that nobody else may read: tokens, keys, kubeconfigs. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum { APISERVER_ATOMIC_FILE_MAX_BYTES = 256 * 1024 };

/* Appends the text. ERR_NOTFOUND: there is no such file. -errno, ERR_LIMIT with a sentence. */
MUST_CHECK int apiserver_atomic_file_read(const char *dir, const char *name, struct strbuf *out,
					  char *err, size_t err_n);
/* Whole or not at all, mode 0600, kept over a power cut. -errno with a sentence. */
MUST_CHECK int apiserver_atomic_file_write(const char *dir, const char *name, struct slice text,
					   char *err, size_t err_n);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files into memory, up to a limit the caller names. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/strbuf.h"

/* Appends all that can be read from fd. -errno; ERR_LIMIT when it is more than `max` bytes. */
MUST_CHECK int readfile_fd(int fd, size_t max, struct strbuf *out);
/* The same of a path. Of a pipe, what its writers send within `wait_ms`: -ETIMEDOUT when they do
 * not come to an end by then, or never come. So no file keeps the caller for good. */
MUST_CHECK int readfile_path(const char *path, size_t max, unsigned wait_ms, struct strbuf *out);

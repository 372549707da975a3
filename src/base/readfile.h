/* Whole files into memory, up to a limit the caller names. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/strbuf.h"

/* Appends all that can be read from fd. -errno; ERR_LIMIT when it is more than `max` bytes. */
MUST_CHECK int readfile_fd(int fd, size_t max, struct strbuf *out);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Durations as Go writes them: `300ms`, `1h30m`, `-1.5s`, `0`; a bare number other than 0 is an
 * error. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

/* Nanoseconds, may be negative; ERR_PARSE or ERR_RANGE. */
MUST_CHECK int duration_parse(struct slice text, int64_t *ret_ns);
/* As Go prints it (`1m30s`, `1.5s`, `250ms`, `0s`); returns `out`. */
const char *duration_str(int64_t ns, char *out, size_t len);

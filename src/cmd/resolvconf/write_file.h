/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pod's resolv.conf in a file that is changed in place: where it is mounted into containers that run,
 * these see the change, and C libraries read it again. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

/* Whether two paths lead to one file; false if one of them leads nowhere. */
bool write_file_is_same(const char *left, const char *right);
/* Makes the file, or changes it if its text is another one, in one write (hook/rewrite.h). 1 if it was
 * written, 0 if not; ERR_LIMIT: one of the texts is too long for that, ERR_DENIED: it is no regular
 * file, ERR_BUSY: another process keeps it locked, -errno. */
MUST_CHECK int write_file_put(const char *path, struct slice text, struct err_text err);

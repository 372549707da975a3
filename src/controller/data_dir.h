/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory in which a controller keeps files that are no objects: of `fairlead up`,
 * DATA/controllers/NAME. In a cluster there is none: pods come and go. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"

struct controller_ctx;

/* An open descriptor (close-on-exec) of the controller's directory, for openat() and its like; the
 * caller closes it. The directory is created on the first call, with mode 0700. ERR_NOTFOUND when
 * this process has no place for files, else -errno; a sentence in `err` in both cases. Any thread. */
MUST_CHECK int controller_data_dir(const struct controller_ctx *ctx, struct err_text err);

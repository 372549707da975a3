/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes a file's content in place. The other containers of a pod have the same file mounted: a
 * new file under the old name would not reach them, so none of the usual ways to replace a file
 * whole can be used.
 *
 * Old and new content are at most a page. If the new one is longer, the space is reserved and empty lines are
 * written behind the old one first. Then the new content is one write, padded with empty lines to the old
 * length, and the file is cut. So after a kill at any moment the file holds the old text or the new one, each
 * perhaps with empty lines behind it. Only who reads in the middle of the one write can get a part of both, where
 * the file system lets reads pass writes (ext4, tmpfs). If the write fails the old text is written back. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"

/* Locks the file against other instances of the hook until it is closed; waits a second at most
 * (the container itself can hold the lock for ever). ERR_BUSY, -errno. */
MUST_CHECK int hook_rewrite_lock(int fd, struct err_text err);
/* Appends the whole content. ERR_LIMIT past HOOK_RESOLV_BYTES_MAX, -errno. */
MUST_CHECK int hook_rewrite_read(int fd, struct strbuf *out, struct err_text err);
/* Replaces the content `before` by `after`; both at most HOOK_RESOLV_BYTES_MAX. On failure the
 * file is as before, or the reason says that it is not. -errno. */
MUST_CHECK int hook_rewrite_content(int fd, struct slice before, struct slice after,
				    struct err_text err);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modes of the files of a data directory, which hold tokens, keys and Secrets. */
#pragma once

/* Sets mode 0600 on files that other users may read (after a copy or a restore by hand), and
 * reports each to `on_error` (may be NULL), since their content may have leaked. Also removes the
 * write permission of other users from the directory. Files of other owners, links and missing
 * files are left alone. */
void apiserver_file_modes_restrict(const char *dir, void (*on_error)(void *ctx, const char *text),
				   void *ctx);

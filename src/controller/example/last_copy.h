/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of the example controller, to show its data directory. */
#pragma once

struct controller_ctx;

/* Replaces the file `last-copy`, which names the namespace of the newest copy. Without a data
 * directory nothing is written. An error is logged: the copy itself was made. */
void example_save_last_copy(const struct controller_ctx *ctx, const char *ns);

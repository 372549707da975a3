/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rule is next: exact names are found by their hash, however many rules there are, and only
 * the others are tried one by one. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

/* When all rules were read. */
void rewrite_index_init(struct rewrite_conf *conf, struct arena *arena);
void rewrite_index_start(struct rewrite_run *run);
/* The question has another name now. */
void rewrite_index_renamed(struct rewrite_run *run);
/* The next rule that may be about the name; NULL: none. */
const struct rewrite_rule *rewrite_index_next(struct rewrite_run *run);

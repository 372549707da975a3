/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools of one network that have addresses in common (PR-13): what one of them uses, the others lack. */
#pragma once

#include "base/strbuf.h"
#include "controller/controller.h"

/* Appends a sentence that names the other pools with usable addresses of this one and the first common
 * address of each; nothing if there are none. The allocator knows all pools (ipam_state_sync_all_pools). */
void ipam_find_overlaps(const struct controller_ctx *ctx, const char *pool_key, struct strbuf *out);
/* The same, and how many addresses are in use both by this pool and by one of those: such as were in use
 * before the pools became ones of one network. */
void ipam_find_overlaps_and_doubles(const struct controller_ctx *ctx, const char *pool_key,
				    struct strbuf *out);

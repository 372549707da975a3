/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds IPAddress objects that have addresses in common: two of one block, or one whose block lies in that of
 * the other. */
#pragma once

#include "controller/controller.h"
#include "controller/ipam/allocation/block.h"

/* Calls `fn` with each IPAddress that has this very block, of whichever pool, provider and network, and with each one
 * of the pool's network that has a part of the block, or more than the block. `fn` is called without a lock: it
 * may ask the allocator and the stores, and stops with false. */
void ipam_each_address_touching(const struct controller_ctx *ctx, const char *pool_key,
				struct ipam_block block, kube_store_fn fn, void *arg);

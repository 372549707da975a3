/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which claims may get an address now: those that have none, are not being deleted, and are not held
 * back by a pause, by their Cluster or by a refusal of the API that is not long ago. The pool's own pause is
 * left to the caller. */
#pragma once

#include <stdint.h>

#include "controller/controller.h"
#include "controller/ipam/records.h"

enum ipam_cluster_state {
	IPAM_CLUSTER_FINE, /* also if the claim has none */
	IPAM_CLUSTER_PAUSED,
	IPAM_CLUSTER_MISSING,
};

enum ipam_cluster_state ipam_cluster_state_of(const struct controller_ctx *ctx,
					      const struct ipam_claim *claim);

/* For the allocator (struct ipam_used): each claim of the pool that needs an address and may get one, as
 * the watches show it. `ctx` is a struct controller_ctx. */
void ipam_each_open_claim(void *ctx, const char *pool_key,
			  void (*fn)(void *arg, const char *claim, int64_t created_s), void *arg);

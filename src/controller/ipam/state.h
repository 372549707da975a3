/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the controller remembers between two passes: the allocator, and for each pool which generation
 * of its spec the allocator works with. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err_text.h"
#include "controller/controller.h"
#include "controller/ipam/allocation/allocator.h"
#include "controller/ipam/pruned_field.h"
#include "net/addr.h"

struct ipam_state {
	struct ipam_allocator *allocator;
	struct ipam_known_pools *known;
	struct ipam_backlog *backlog;
	struct ipam_default_memory *defaults; /* default_nameservers.h */
	struct ipam_rival *rival;	      /* rival_check.h */
	struct ipam_refusals *refusals;	      /* refusals.h */
	_Atomic(enum ipam_pruning) pruning;   /* does the API keep spec.nameservers? */
};

int ipam_state_start(void **ret_state, struct err_text err);
void ipam_state_stop(void *state);

static inline struct ipam_state *ipam_state_of(const struct controller_ctx *ctx)
{
	return ctx->state;
}

/* What a claim needs to know of its pool. */
struct ipam_pool_facts {
	sa_family_t family;
	unsigned prefix;
	int64_t grace_s;
	bool paused, deleting;
	bool empty; /* none of its addresses may be allocated; `err` has the reason */
};

enum ipam_pool_state {
	IPAM_POOL_READY,
	IPAM_POOL_MISSING,
	IPAM_POOL_INVALID, /* `err` has the reason */
};

/* Makes the allocator work with the pool's spec as it is now. `pool` is its object, NULL if it does
 * not exist. *ret_news: the allocator worked with another spec or network before, or with none, or the pool was
 * paused or is no longer so; claims of the pool may have waited for that. Any worker. */
enum ipam_pool_state ipam_state_sync_pool(const struct controller_ctx *ctx, const char *pool_key,
					  const struct kube_obj *pool, struct ipam_pool_facts *ret,
					  bool *ret_news, struct err_text err);

/* Does the same with all pools of the watch, the first time that it is called, and queues their open claims;
 * later each pool has its own pass. Any worker. */
void ipam_state_sync_all_pools(const struct controller_ctx *ctx);

/* The pool's conditions were written, with this knowledge of pruning. */
void ipam_state_pool_written(const struct controller_ctx *ctx, const char *pool_key,
			     enum ipam_pruning pruning);
/* Were they, for this generation of the pool? */
bool ipam_state_is_pool_written(const struct controller_ctx *ctx, const char *pool_key,
				enum ipam_pruning pruning);

/* Nanoseconds until the pool's status may be written; 0 means now, and counts as written. Claims
 * come in thousands: the status follows at most once a second, at once after `news`. */
uint64_t ipam_state_pool_pause(const struct controller_ctx *ctx, const char *pool_key, bool news);

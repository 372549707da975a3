/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the controller watches, and the keys that its changes put into the queue:
 *
 *	claim NAMESPACE/NAME
 *	backlog
 *	pool InClusterIPPool/NAMESPACE/NAME
 *	pool GlobalInClusterIPPool//NAME
 *	pool InClusterPrefixPool/NAMESPACE/NAME
 *	pool GlobalInClusterPrefixPool//NAME
 *	rival (rival_check.h)
 *
 * The part after "pool " is the pool's key, here and in the allocator. */
#pragma once

#include <stddef.h>

#include "controller/controller.h"
#include "controller/ipam/allocation/allocator.h"
#include "controller/ipam/records.h"

enum {
	IPAM_CLAIMS,
	IPAM_ADDRESSES,
	IPAM_POOLS,
	IPAM_GLOBAL_POOLS,
	IPAM_PREFIX_POOLS,
	IPAM_GLOBAL_PREFIX_POOLS,
	IPAM_CLUSTERS,
	IPAM_CONFIG,
	IPAM_RIVAL
};
enum { IPAM_WATCHES = IPAM_RIVAL + 1 };
/* Those of pools, side by side. */
enum { IPAM_FIRST_POOLS = IPAM_POOLS, IPAM_LAST_POOLS = IPAM_GLOBAL_PREFIX_POOLS };

extern const struct controller_watch ipam_watches[IPAM_WATCHES];

#define IPAM_CLAIM_KEY	 "claim "
#define IPAM_POOL_KEY	 "pool "
#define IPAM_CONFIG_NAME "fairlead-ipam"

enum { IPAM_KEY_MAX = 640 }; /* kind, namespace and name */

/* The kinds in the version that the server has. */
const struct api_kind *ipam_claim_kind(const struct controller_ctx *ctx);
const struct api_kind *ipam_address_kind(const struct controller_ctx *ctx);

/* The key of a pool; `ns` is ignored for cluster-wide pools. */
void ipam_pool_key(char out[IPAM_KEY_MAX], const char *kind, const char *ns, const char *name);
/* The pool of a claim or of an address. */
void ipam_pool_key_of_claim(char out[IPAM_KEY_MAX], const struct ipam_claim *claim);
void ipam_pool_key_of_address(char out[IPAM_KEY_MAX], const struct ipam_address *address);
/* The pool's object by its key, with a reference of the caller's; NULL: it does not exist. */
struct kube_obj *ipam_find_pool(const struct controller_ctx *ctx, const char *pool_key);

/* Each claim of the pool that has no address yet or is being deleted; `fn` always returns true. */
void ipam_each_unsettled_claim(const struct controller_ctx *ctx, const char *pool_key,
			       kube_store_fn fn, void *arg);
/* Each IPAddress of the pool; `fn` always returns true. */
void ipam_each_address(const struct controller_ctx *ctx, const char *pool_key, kube_store_fn fn,
		       void *arg);
/* Each IPAddress of other providers; `fn` always returns true. */
void ipam_each_foreign_address(const struct controller_ctx *ctx, kube_store_fn fn, void *arg);
/* Each IPAddress that has this very block, of whichever pool and provider. */
void ipam_each_address_with(const struct controller_ctx *ctx, struct ipam_block block,
			    kube_store_fn fn, void *arg);

/* Queues the claims of the pool that have no address yet or are being deleted. */
void ipam_queue_open_claims(const struct controller_ctx *ctx, const char *pool_key);
/* Queues all pools. */
void ipam_queue_pools(const struct controller_ctx *ctx);
/* Queues all pools, and all claims and addresses that have something to do. */
void ipam_queue_everything(const struct controller_ctx *ctx);

/* For the allocator: looks addresses up in the watch. Its ctx is a struct controller_ctx. */
extern const struct ipam_used ipam_used_by_watch;

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the claims of a pool that may get an address, in the copies of the watches. */
#include "controller/ipam/open_claims.h"

#include <stdio.h>

#include "api/meta.h"
#include "controller/ipam/allocation/refusals.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "kube/decode/tree.h"

/* CT-2 */
enum ipam_cluster_state ipam_cluster_state_of(const struct controller_ctx *ctx,
					      const struct ipam_claim *claim)
{
	const char *name = claim->cluster;
	enum ipam_cluster_state state = IPAM_CLUSTER_FINE;
	if (name[0] == '\0')
		return state;
	struct kube_obj *cluster =
		kube_store_get(ctx->stores[IPAM_CLUSTERS], slice_of(claim->o.ns), slice_of(name));
	if (cluster == NULL)
		return IPAM_CLUSTER_MISSING;
	const json_t *tree = kube_tree_of(cluster);
	if (json_is_true(api_get(tree, "spec.paused")) ||
	    api_annotation(tree, IPAM_PAUSED_ANNOTATION) != NULL)
		state = IPAM_CLUSTER_PAUSED;
	kube_obj_unref(cluster);
	return state;
}

struct open_call {
	const struct controller_ctx *ctx;
	void (*fn)(void *arg, const char *claim, int64_t created_s);
	void *arg;
};

/* Has it an IPAddress, which may not be bound yet? */
static bool has_object(const struct controller_ctx *ctx, const struct ipam_claim *claim)
{
	struct kube_obj *address = kube_store_get(ctx->stores[IPAM_ADDRESSES],
						  slice_of(claim->o.ns), slice_of(claim->o.name));
	bool found = address != NULL;
	kube_obj_unref(address);
	return found;
}

static bool call_with_claim(void *ctx, struct kube_obj *obj)
{
	const struct open_call *call = ctx;
	const struct ipam_claim *claim = ipam_claim_of(obj);
	char key[IPAM_KEY_MAX];
	if (claim->is_bound || claim->deleted_s != 0 || claim->is_paused ||
	    has_object(call->ctx, claim) ||
	    ipam_cluster_state_of(call->ctx, claim) != IPAM_CLUSTER_FINE)
		return true;
	snprintf(key, sizeof(key), "%s/%s", obj->ns, obj->name);
	if (ipam_refusals_left_ns(ipam_state_of(call->ctx)->refusals, key) != 0)
		return true;
	call->fn(call->arg, key, claim->created_s);
	return true;
}

void ipam_each_open_claim(void *ctx, const char *pool_key,
			  void (*fn)(void *arg, const char *claim, int64_t created_s), void *arg)
{
	struct open_call call = { ctx, fn, arg };
	ipam_each_unsettled_claim(ctx, pool_key, call_with_claim, &call);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides between two IPAddress objects that have an address in common, alone or in a prefix. A bound one stays: a machine may
 * use it; so does one whose claim is held back, since nobody works on it. Of two others the later one gives
 * way, and the earlier one waits for that. */
#include "controller/ipam/conflict.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "controller/ipam/address_search.h"
#include "controller/ipam/open_claims.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "controller/ipam/request_error.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"

struct other_search {
	const struct controller_ctx *ctx;
	const struct ipam_address *own;
	const char *pool_key;
	struct kube_obj *found; /* a reference, or NULL */
};

static bool is_other(const struct controller_ctx *ctx, const struct kube_obj *obj,
		     const struct ipam_address *own, const char *pool_key)
{
	const struct ipam_address *address = ipam_address_of(obj);
	char uid[IPAM_UID_TEXT_MAX], other_key[IPAM_KEY_MAX];
	ipam_pool_key_of_address(other_key, address);
	return !ipam_uid_is(&own->uid, ipam_uid_text(&address->uid, uid)) &&
	       ipam_allocator_share_network(ipam_state_of(ctx)->allocator, other_key, pool_key);
}

static bool find_other(void *ctx, struct kube_obj *obj)
{
	struct other_search *search = ctx;
	if (!is_other(search->ctx, obj, search->own, search->pool_key))
		return true;
	search->found = kube_obj_ref(obj);
	return false;
}

/* Equal times are common: they have seconds only. */
static bool comes_before(const struct ipam_address *left, const struct ipam_address *right)
{
	char left_uid[IPAM_UID_TEXT_MAX], right_uid[IPAM_UID_TEXT_MAX];
	if (left->created_s != right->created_s)
		return left->created_s < right->created_s;
	return strcmp(ipam_uid_text(&left->uid, left_uid), ipam_uid_text(&right->uid, right_uid)) <
	       0;
}

/* The claim of the address; *ret is NULL if it does not exist. */
static int read_claim(struct controller_ctx *ctx, const struct ipam_address *address, json_t **ret)
{
	struct kube_ref ref = { .kind = ipam_claim_kind(ctx),
				.ns = address->o.ns,
				.name = ipam_claim_name_of(address) };
	struct kube_status st = { 0 };
	*ret = NULL;
	int r = kube_get(ctx->conn, &ref, ret, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	r = ipam_note_error(ctx, "read of the claim", r, &st);
	kube_status_done(&st);
	return r;
}

static bool is_bound(const json_t *claim, const struct ipam_address *address)
{
	return strcmp(api_get_string(claim, "status.addressRef.name"), address->o.name) == 0;
}

static bool is_pool_paused(const struct controller_ctx *ctx, const struct ipam_address *address)
{
	char pool_key[IPAM_KEY_MAX];
	ipam_pool_key_of_address(pool_key, address);
	struct kube_obj *pool = ipam_find_pool(ctx, pool_key);
	bool paused =
		pool != NULL && api_annotation(kube_tree_of(pool), IPAM_PAUSED_ANNOTATION) != NULL;
	kube_obj_unref(pool);
	return paused;
}

/* Does the Cluster of the address's claim hold it back (CT-2)? */
static bool is_held_by_cluster(const struct controller_ctx *ctx, const struct ipam_address *address)
{
	struct kube_obj *claim = kube_store_get(ctx->stores[IPAM_CLAIMS], slice_of(address->o.ns),
						slice_of(ipam_claim_name_of(address)));
	bool held = claim != NULL &&
		    ipam_cluster_state_of(ctx, ipam_claim_of(claim)) != IPAM_CLUSTER_FINE;
	kube_obj_unref(claim);
	return held;
}

/* 1: the object will not give way; 0: it does. A claim that is held back does nothing, for nobody knows how
 * long. An object without a claim may be one that a person made. Other providers do not know ours. */
static int does_stay(struct controller_ctx *ctx, const struct ipam_address *other)
{
	json_t *claim;
	if (!ipam_is_our_address(other))
		return 1;
	int r = read_claim(ctx, other, &claim);
	if (r == 0)
		r = claim == NULL || is_bound(claim, other) ||
		    api_annotation(claim, IPAM_PAUSED_ANNOTATION) != NULL ||
		    is_pool_paused(ctx, other) || is_held_by_cluster(ctx, other);
	json_decref(claim);
	return r;
}

/* From here on nobody binds the address. ERR_CONFLICT: the claim has changed since it was read. */
static int reject_address(struct controller_ctx *ctx, const json_t *claim,
			  const struct ipam_address *address)
{
	struct kube_ref ref = { .kind = ipam_claim_kind(ctx),
				.ns = address->o.ns,
				.name = ipam_claim_name_of(address) };
	struct kube_status st = { 0 };
	char uid[IPAM_UID_TEXT_MAX];
	json_t *patch = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "resourceVersion",
				  api_resource_version(claim), "annotations",
				  IPAM_REJECTED_ANNOTATION, ipam_uid_text(&address->uid, uid));
	int r = kube_merge(ctx->conn, &ref, NULL, patch, NULL, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	r = ipam_note_error(ctx, "rejection of an address", r, &st);
	kube_status_done(&st);
	json_decref(patch);
	return r;
}

static int decide(struct controller_ctx *ctx, const json_t *claim, const struct ipam_address *own,
		  const struct ipam_address *other, enum ipam_conflict *ret)
{
	int stays = 1;
	if (is_bound(claim, own)) {
		*ret = IPAM_NO_CONFLICT;
		return 0;
	}
	if (other != NULL && own->deleted_s == 0)
		stays = does_stay(ctx, other);
	if (stays < 0)
		return stays;
	if (stays == 0 && comes_before(own, other)) {
		*ret = IPAM_MUST_WAIT;
		return 0;
	}
	*ret = IPAM_MUST_GO;
	return claim != NULL ? reject_address(ctx, claim, own) : 0;
}

int ipam_find_conflict(struct controller_ctx *ctx, const struct ipam_claim *claim,
		       const struct ipam_address *address, const char *pool_key,
		       enum ipam_conflict *ret)
{
	struct other_search search = { ctx, address, pool_key, NULL };
	struct ipam_block block;
	json_t *now;
	*ret = IPAM_NO_CONFLICT;
	if (claim->is_bound || !ipam_block_of(address, &block))
		return 0;
	if (ipam_is_rejected(claim, address)) {
		*ret = IPAM_MUST_GO; /* decided before; its removal failed */
		return 0;
	}
	ipam_each_address_touching(ctx, pool_key, block, find_other, &search);
	struct kube_obj *other = search.found;
	if (other == NULL && address->deleted_s == 0)
		return 0;
	int r = read_claim(ctx, address, &now);
	if (r == 0)
		r = decide(ctx, now, address, other != NULL ? ipam_address_of(other) : NULL, ret);
	json_decref(now);
	kube_obj_unref(other);
	return r;
}

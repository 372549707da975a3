/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks pools before they are stored, changed or deleted: with the pool's spec alone, and with the
 * addresses that were allocated from it. */
#include "controller/ipam/admission.h"

#include <string.h>

#include "api/meta.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "controller/controller.h"
#include "controller/ipam/allocation/pool_spec.h"
#include "controller/ipam/records.h"
#include "controller/ipam/watches.h"

#define SKIP_DELETE_CHECK "ipam.cluster.x-k8s.io/skip-validate-delete-webhook"

enum { CODE_INVALID = 422, CODE_CONFLICT = 409, CODE_UNAVAILABLE = 503, STRANDED_NAMED_MAX = 5 };

/* ---- addresses in use ---- */

/* Allocated addresses that the pool has now and would not have any more. */
struct stranded {
	const struct ipam_pool_spec *old, *new;
	struct strbuf named;
	size_t n;
};

static bool find_stranded(void *ctx, struct kube_obj *obj)
{
	struct stranded *stranded = ctx;
	const struct ipam_address *address = ipam_address_of(obj);
	struct ipam_block block;
	if (!ipam_block_of(address, &block) || !ipam_pool_spec_has(stranded->old, block) ||
	    ipam_pool_spec_has(stranded->new, block))
		return true;
	if (stranded->n++ < STRANDED_NAMED_MAX)
		strbuf_addf(&stranded->named, "%s%s %s", stranded->n > 1 ? ", " : "",
			    address->address, ipam_pool_spec_why_unusable(stranded->new, block));
	return true;
}

/* Before the first list of addresses is complete, a pool would seem to have none. */
static bool are_addresses_known(const struct controller_ctx *ctx, struct admission_reply *reply)
{
	if (controller_is_synced(ctx, ipam_watches, IPAM_WATCHES))
		return true;
	admission_refuse(reply, "the addresses of the pool are still being listed; try again");
	reply->code = CODE_UNAVAILABLE;
	return false;
}

/* The deletion of a collection is reviewed for each object, but with no name beside it. */
static void pool_key_of(char out[IPAM_KEY_MAX], const struct admission_request *req)
{
	ipam_pool_key(out, req->kind, req->ns, api_name(req->old));
}

static void check_stranded(const struct controller_ctx *ctx, const struct admission_request *req,
			   struct admission_reply *reply)
{
	struct ipam_pool_spec old, new;
	char key[IPAM_KEY_MAX], why[256];
	if (!are_addresses_known(ctx, reply) ||
	    ipam_pool_spec_read(json_object_get(req->old, "spec"), &old, ERR_TEXT(why)) < 0)
		return; /* an invalid pool had no usable address */
	if (ipam_pool_spec_read(json_object_get(req->object, "spec"), &new, ERR_TEXT(why)) < 0) {
		ipam_pool_spec_done(&old);
		return;
	}
	struct stranded stranded = { .old = &old, .new = &new, .named = STRBUF_INIT };
	pool_key_of(key, req);
	ipam_each_address(ctx, key, find_stranded, &stranded);
	if (stranded.n > 0) {
		bool one = stranded.n == 1;
		admission_refuse(
			reply, "the pool would lose %zu allocated address%s: %s%s; delete %s first",
			stranded.n, one ? "" : "es", stranded.named.s,
			stranded.n > STRANDED_NAMED_MAX ? ", ..." : "",
			one ? "its claim" : "their claims");
		reply->code = CODE_CONFLICT;
	}
	strbuf_done(&stranded.named);
	ipam_pool_spec_done(&old);
	ipam_pool_spec_done(&new);
}

static bool count_address(void *ctx, struct kube_obj *obj)
{
	size_t *n = ctx;
	(void)obj;
	(*n)++;
	return true;
}

typedef VEC(struct kube_obj *) object_list;

static bool collect_deleted(void *ctx, struct kube_obj *claim)
{
	object_list *list = ctx;
	if (ipam_claim_of(claim)->deleted_s != 0)
		vec_push(list, kube_obj_ref(claim));
	return true;
}

/* The number of addresses whose claim was deleted: they wait for the grace period only. */
static size_t count_resting(const struct controller_ctx *ctx, const char *pool_key)
{
	object_list deleted = { 0 };
	size_t n = 0;
	ipam_each_unsettled_claim(ctx, pool_key, collect_deleted, &deleted);
	for (size_t i = 0; i < deleted.n; i++) {
		struct kube_obj *address =
			kube_store_get(ctx->stores[IPAM_ADDRESSES], slice_of(deleted.v[i]->ns),
				       slice_of(deleted.v[i]->name));
		char own_key[IPAM_KEY_MAX] = "";
		if (address != NULL)
			ipam_pool_key_of_address(own_key, ipam_address_of(address));
		n += strcmp(own_key, pool_key) == 0;
		kube_obj_unref(address);
		kube_obj_unref(deleted.v[i]);
	}
	vec_done(&deleted);
	return n;
}

/* PR-11: the pool's deletion ends the rest of its addresses. If it were refused meanwhile, a namespace that is
 * being deleted would stay for the grace period. */
static void check_delete(const struct controller_ctx *ctx, const struct admission_request *req,
			 struct admission_reply *reply)
{
	const json_t *grace = api_get(req->old, "spec.addressReuseGracePeriodSeconds");
	char key[IPAM_KEY_MAX];
	size_t n = 0, resting;
	if (api_annotation(req->old, SKIP_DELETE_CHECK) != NULL || !are_addresses_known(ctx, reply))
		return;
	pool_key_of(key, req);
	ipam_each_address(ctx, key, count_address, &n);
	resting = n > 0 && json_integer_value(grace) > 0 ? count_resting(ctx, key) : 0;
	if (n <= resting)
		return;
	n -= resting;
	admission_refuse(
		reply,
		"%zu address%s of the pool %s allocated; delete the claims first, or set the "
		"annotation " SKIP_DELETE_CHECK,
		n, n == 1 ? "" : "es", n == 1 ? "is" : "are");
	reply->code = CODE_CONFLICT;
}

/* ---- the spec ---- */

static void check_spec(const struct admission_request *req, struct admission_reply *reply)
{
	CLEANUP(api_errors_done) struct api_errors errors = { 0 };
	CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT, text = STRBUF_INIT;
	ipam_pool_spec_validate(json_object_get(req->object, "spec"), &errors);
	if (errors.n == 0)
		return;
	strbuf_addf(&kind, "%s.%s", req->kind, req->group);
	api_errors_text(&errors, kind.s, req->name, &text);
	admission_refuse(reply, "%s", text.s);
	reply->code = CODE_INVALID;
}

static bool spec_changed(const struct admission_request *req)
{
	const json_t *now = json_object_get(req->object, "spec");
	const json_t *was = json_object_get(req->old, "spec");
	return was == NULL || now == NULL || !json_equal(now, was);
}

static void review_pool(void *ctx, const struct admission_request *req,
			struct admission_reply *reply)
{
	if (strcmp(req->operation, "DELETE") == 0) {
		check_delete(ctx, req, reply);
		return;
	}
	/* A pool from before the hook may keep its spec: finalizers must come off. */
	if (!spec_changed(req))
		return;
	check_spec(req, reply);
	if (reply->allowed && strcmp(req->operation, "UPDATE") == 0)
		check_stranded(ctx, req, reply);
}

enum { OPERATIONS = ADMISSION_CREATE | ADMISSION_UPDATE | ADMISSION_DELETE };

const struct admission_hook ipam_hooks[IPAM_HOOKS] = {
	{ ADMISSION_VALIDATE, "pools.ipam.fairlead.dev", IPAM_GROUP, IPAM_POOL_KIND,
	  .operations = OPERATIONS, .review = review_pool },
	{ ADMISSION_VALIDATE, "pools.ipam.fairlead.dev", IPAM_GROUP, IPAM_GLOBAL_POOL_KIND,
	  .operations = OPERATIONS, .review = review_pool },
	{ ADMISSION_VALIDATE, "pools.ipam.fairlead.dev", IPAM_GROUP, IPAM_PREFIX_POOL_KIND,
	  .operations = OPERATIONS, .review = review_pool },
	{ ADMISSION_VALIDATE, "pools.ipam.fairlead.dev", IPAM_GROUP, IPAM_GLOBAL_PREFIX_POOL_KIND,
	  .operations = OPERATIONS, .review = review_pool },
};

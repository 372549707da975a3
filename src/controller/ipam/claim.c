/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over a claim. In the order of a claim's life: paused or not, finalizer, address, status; and
 * release. An address is handed to the claim in two steps: the IPAddress object is created, and only
 * when the watch has shown it and no other object with the same address, status.addressRef is
 * written. So two processes that both believe to lead do not bind one address twice (conflict.h).
 * All writes onto the claim hold for the version that was read: where the API has a newer one, the
 * pass ends, and the watch starts the next one. */
#include "controller/ipam/reconcile.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/ipam/address_object.h"
#include "controller/ipam/allocation/refusals.h"
#include "controller/ipam/capv.h"
#include "controller/ipam/claim_status.h"
#include "controller/ipam/conflict.h"
#include "controller/ipam/default_nameservers.h"
#include "controller/ipam/open_claims.h"
#include "controller/ipam/report/overlap.h"
#include "controller/ipam/pruned_field.h"
#include "controller/ipam/release.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "controller/ipam/request_error.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"

enum {
	EXHAUSTED_AGAIN_S = 300, /* a waiting claim is woken; this is for what was missed */
	CONFLICT_AGAIN_S = 1,
	PAUSED_AGAIN_S = 60, /* for what no change of a claim announces */
};

/* What a pass works with. */
struct pass {
	struct controller_ctx *ctx;
	const char *key; /* "NAMESPACE/NAME" */
	struct kube_obj *claim_obj, *pool_obj, *address_obj;
	const struct ipam_claim *claim;
	char pool_key[IPAM_KEY_MAX];
	enum ipam_pool_state pool_state;
	struct ipam_pool_facts pool;
	char pool_error[256];
};

static void pass_done(struct pass *pass)
{
	kube_obj_unref(pass->claim_obj);
	kube_obj_unref(pass->pool_obj);
	kube_obj_unref(pass->address_obj);
}

static struct ipam_allocator *allocator_of(const struct pass *pass)
{
	return ipam_state_of(pass->ctx)->allocator;
}

static struct ipam_refusals *refusals_of(const struct pass *pass)
{
	return ipam_state_of(pass->ctx)->refusals;
}

static void forget_turn(const struct pass *pass)
{
	ipam_allocator_forget(allocator_of(pass), pass->ctx, pass->key);
}

/* After a request for the claim with the result `ret`. If the API refused it, other claims need not wait for this
 * one, which is tried again later (refusals.h). */
static int end_request(const struct pass *pass, int ret)
{
	if (ipam_is_refusal(ret)) {
		ipam_refusals_note(refusals_of(pass), pass->key);
		forget_turn(pass);
	}
	return ipam_report_refusal(pass->ctx, pass->claim, ret);
}

/* ---- may we act? ---- */

static bool is_pool_paused(const struct pass *pass)
{
	return pass->pool_state != IPAM_POOL_MISSING && pass->pool.paused;
}

static bool is_paused(const struct pass *pass, enum ipam_cluster_state cluster)
{
	return cluster == IPAM_CLUSTER_PAUSED || pass->claim->is_paused || is_pool_paused(pass);
}

/* A claim that is paused itself, or by its Cluster, is left alone (CT-2). Who waits for one of a paused pool
 * sees the reason. */
static int report_pause(const struct pass *pass, enum ipam_cluster_state cluster)
{
	if (!is_pool_paused(pass) || cluster == IPAM_CLUSTER_PAUSED || pass->claim->is_paused ||
	    pass->claim->deleted_s != 0)
		return 0;
	return ipam_report_unbound(
		pass->ctx, pass->claim, IPAM_POOL_NOT_READY,
		"%s '%s' is paused: remove its annotation " IPAM_PAUSED_ANNOTATION,
		ipam_pool_kind_text(pass->claim->pool_kind), pass->claim->pool_name);
}

/* ---- release ---- */

/* PR-11: nanoseconds that the address has to rest; 0: it may go. In an invalid pool it rests, too: another
 * pool of the network may have the same address. */
static uint64_t grace_left_ns(const struct pass *pass)
{
	if (pass->pool_state == IPAM_POOL_MISSING || pass->pool.deleting || pass->pool.grace_s <= 0)
		return 0;
	uint64_t due = (pass->claim->deleted_s + (uint64_t)pass->pool.grace_s) * NS_PER_S;
	uint64_t now = clock_wall_ns();
	return due > now ? due - now : 0;
}

/* A claim without an address has nothing that could rest, and must not keep its turn meanwhile. */
static int release(const struct pass *pass)
{
	uint64_t grace_ns = grace_left_ns(pass);
	int r = grace_ns != 0 ? ipam_has_address(pass->ctx, pass->claim) : 0;
	if (r > 0) {
		pass->ctx->again_ns = grace_ns;
		return 0;
	}
	if (r == 0)
		r = ipam_release_claim(pass->ctx, pass->claim);
	if (r == 0) {
		forget_turn(pass);
		ipam_refusals_forget(refusals_of(pass), pass->key);
	}
	return r;
}

/* ---- finalizer ---- */

static int send_json_patch(const struct pass *pass, const struct kube_ref *ref, struct slice patch,
			   struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	api_kind_path(&path, ref->kind, ref->ns, ref->name, NULL);
	struct kube_request request = { .method = "PATCH",
					.path = path.s,
					.raw = patch,
					.content_type = "application/json-patch+json" };
	return kube_call(pass->ctx->conn, &request, NULL, reterr);
}

/* Before the address: a claim that is deleted a moment later must not leave it behind. 1: added; 0: our
 * copy of the claim is old. */
static int add_finalizer(const struct pass *pass)
{
	const struct ipam_claim *claim = pass->claim;
	struct kube_ref ref = { .kind = ipam_claim_kind(pass->ctx),
				.ns = claim->o.ns,
				.name = claim->o.name };
	CLEANUP(strbuf_done) struct strbuf patch = STRBUF_INIT;
	struct kube_status st = { 0 };
	strbuf_adds(&patch, "[{\"op\":\"add\",\"path\":\"/metadata/resourceVersion\",\"value\":");
	strbuf_add_json(&patch, slice_of(claim->o.rv));
	strbuf_adds(&patch, "},{\"op\":\"add\",\"path\":\"/metadata/finalizers");
	strbuf_adds(&patch, claim->has_other_finalizers
				    ? "/-\",\"value\":\"" IPAM_RELEASE_FINALIZER "\"}]"
				    : "\",\"value\":[\"" IPAM_RELEASE_FINALIZER "\"]}]");
	int r = send_json_patch(pass, &ref, strbuf_slice(&patch), &st);
	if (r == 0)
		r = 1;
	else if (r == ERR_NOTFOUND || r == ERR_CONFLICT)
		r = 0;
	r = ipam_note_error(pass->ctx, "finalizer of the claim", r, &st);
	kube_status_done(&st);
	return r;
}

/* ---- a new address ---- */

static int create_address(const struct pass *pass, net_ip_number number)
{
	assert(pass->pool_obj != NULL); /* addresses are drawn from known pools only */
	struct ipam_default_nameservers defaults = ipam_default_nameservers_of(pass->ctx);
	const json_t *pool = kube_tree_of(pass->pool_obj);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, stored = STRBUF_INIT;
	struct kube_ref in = { .kind = ipam_address_kind(pass->ctx), .ns = pass->claim->o.ns };
	struct kube_status st = { 0 };
	struct ipam_address_input input = {
		.kind = ipam_address_kind(pass->ctx),
		.claim_kind = ipam_claim_kind(pass->ctx),
		.claim = pass->claim,
		.pool = pool,
		.number = number,
		.family = pass->pool.family,
		.prefix = pass->pool.prefix,
		.nameservers = ipam_pool_nameservers(pool, defaults.value),
	};
	ipam_detect_pruning(pass->ctx, &input);
	input.annotated = ipam_pruning_of(pass->ctx) != IPAM_FIELD_KEPT;
	ipam_write_address(&text, &input);
	int r = kube_create_text(pass->ctx->conn, &in, strbuf_slice(&text), &stored, &st);
	if (r == 0) {
		r = ipam_note_stored(pass->ctx, &input, strbuf_slice(&stored));
		/* The address exists: the claim keeps its turn until the watch shows it. */
		r = ipam_report_refusal(pass->ctx, pass->claim, r);
	} else if (r == ERR_DUPLICATE) {
		r = 0; /* ours from an attempt whose answer was lost, or a foreign one: the watch will show which */
	} else {
		r = ipam_note_error(pass->ctx, "create of the address", r, &st);
		r = end_request(pass, r);
	}
	kube_status_done(&st);
	ipam_default_nameservers_done(&defaults);
	return r;
}

/* It waits in turn. Where pools share addresses, the missing ones may be in use by another pool. */
static int report_exhausted(const struct pass *pass)
{
	CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT, shared = STRBUF_INIT;
	bool prefixes = ipam_is_prefix_claim(pass->claim);
	ipam_find_overlaps(pass->ctx, pass->pool_key, &shared);
	if (pass->pool.grace_s > 0)
		strbuf_addf(&more, "; addresses of deleted claims rest for %lld s",
			    (long long)pass->pool.grace_s);
	if (shared.n != 0)
		strbuf_addf(&more, "; %s", shared.s);
	pass->ctx->again_ns = EXHAUSTED_AGAIN_S * NS_PER_S;
	return ipam_report_unbound(pass->ctx, pass->claim, IPAM_POOL_EXHAUSTED,
				   "%s '%s' has no free %s: delete a claim or add %s to the pool%s",
				   ipam_pool_kind_text(pass->claim->pool_kind),
				   pass->claim->pool_name, prefixes ? "prefix" : "address",
				   prefixes ? "prefixes" : "addresses", more.n != 0 ? more.s : "");
}

static int allocate(const struct pass *pass)
{
	net_ip_number number;
	int64_t created_s = pass->claim->created_s;
	switch (ipam_allocator_take(allocator_of(pass), pass->ctx, pass->pool_key, pass->key,
				    created_s, &number)) {
	case IPAM_TAKEN:
		return create_address(pass, number);
	case IPAM_EXHAUSTED:
		/* Where the API would refuse an address, that is what the claim goes on to report. */
		return ipam_refusals_has(refusals_of(pass), pass->key) ? 0 : report_exhausted(pass);
	case IPAM_NO_POOL:
		break; /* its pass follows */
	}
	return 0;
}

/* ---- an existing address ---- */

static int repair_copy(void *ctx, json_t *copy)
{
	const struct pass *pass = ctx;
	if (api_is_deleting(copy) && !pass->claim->is_bound)
		return ERR_GONE;
	return ipam_repair_address(copy, ipam_claim_kind(pass->ctx), pass->claim,
				   kube_tree_of(pass->pool_obj));
}

static int repair(struct pass *pass, const struct ipam_address *address)
{
	char uid[IPAM_UID_TEXT_MAX];
	struct kube_ref ref = { .kind = ipam_address_kind(pass->ctx),
				.ns = address->o.ns,
				.name = address->o.name,
				.uid = ipam_uid_text(&address->uid, uid) };
	struct kube_status st = { 0 };
	if (pass->pool_obj == NULL ||
	    ipam_address_is_complete(address, pass->claim, api_uid(kube_tree_of(pass->pool_obj))))
		return 0;
	int r = kube_edit(pass->ctx->conn, &ref, NULL, repair_copy, pass, &st);
	if (r == ERR_NOTFOUND || r == ERR_GONE)
		r = ERR_CONFLICT; /* not the one that the watch shows: it must not be bound */
	r = ipam_note_error(pass->ctx, "repair of the address", r, &st);
	kube_status_done(&st);
	return r < 0 ? r : 0;
}

static bool is_of_claim(const struct pass *pass, const struct ipam_address *address)
{
	char pool_key[IPAM_KEY_MAX];
	struct ipam_block block;
	ipam_pool_key_of_address(pool_key, address);
	return strcmp(ipam_claim_name_of(address), pass->claim->o.name) == 0 &&
	       strcmp(pool_key, pass->pool_key) == 0 && ipam_block_of(address, &block);
}

static int bind_claim(struct pass *pass, const struct ipam_address *address)
{
	int r = ipam_report_refusal(pass->ctx, pass->claim, repair(pass, address));
	if (r == 0 && !pass->claim->is_bound)
		r = ipam_fill_vsphere_vm(pass->ctx, pass->claim);
	if (r == 0)
		r = ipam_report_bound(pass->ctx, pass->claim, address);
	return r;
}

static int use_address(struct pass *pass)
{
	const struct ipam_address *address = ipam_address_of(pass->address_obj);
	enum ipam_conflict conflict;
	char uid[IPAM_UID_TEXT_MAX];
	forget_turn(pass); /* whatever comes of it: the claim needs no further one now */
	ipam_refusals_forget(refusals_of(pass), pass->key);
	if (!is_of_claim(pass, address))
		return ipam_report_unbound(
			pass->ctx, pass->claim, IPAM_ALLOCATION_FAILED,
			"an IPAddress '%s' exists that is not of this claim and its pool",
			address->o.name);
	int r = ipam_find_conflict(pass->ctx, pass->claim, address, pass->pool_key, &conflict);
	if (r < 0)
		return ipam_report_refusal(pass->ctx, pass->claim, r);
	switch (conflict) {
	case IPAM_NO_CONFLICT:
		return bind_claim(pass, address);
	case IPAM_MUST_WAIT:
		pass->ctx->again_ns = CONFLICT_AGAIN_S * NS_PER_S;
		return 0;
	case IPAM_MUST_GO:
		break;
	}
	r = ipam_remove_address(pass->ctx, address->o.ns, address->o.name,
				ipam_uid_text(&address->uid, uid));
	return ipam_report_refusal(pass->ctx, pass->claim, r);
}

/* ---- the pass ---- */

/* Names a pool of another kind that has the name: the claim may mean that one. */
static int report_missing_pool(const struct pass *pass)
{
	char key[IPAM_KEY_MAX], hint[128] = "";
	for (size_t watch = IPAM_FIRST_POOLS; hint[0] == '\0' && watch <= IPAM_LAST_POOLS;
	     watch++) {
		const char *kind = ipam_watches[watch].kind;
		ipam_pool_key(key, kind, pass->claim->o.ns, pass->claim->pool_name);
		struct kube_obj *namesake = ipam_find_pool(pass->ctx, key);
		if (namesake != NULL)
			snprintf(hint, sizeof(hint),
				 "; a%s %s of this name does: the claim's poolRef has the wrong "
				 "kind",
				 kind[0] == 'I' ? "n" : "", kind);
		kube_obj_unref(namesake);
	}
	return ipam_report_unbound(
		pass->ctx, pass->claim, IPAM_POOL_NOT_READY, "%s '%s' does not exist%s",
		ipam_pool_kind_text(pass->claim->pool_kind), pass->claim->pool_name, hint);
}

static int check_pool(const struct pass *pass)
{
	switch (pass->pool_state) {
	case IPAM_POOL_MISSING:
		return report_missing_pool(pass);
	case IPAM_POOL_INVALID:
		return ipam_report_unbound(pass->ctx, pass->claim, IPAM_POOL_NOT_READY,
					   "%s '%s' is invalid: %s",
					   ipam_pool_kind_text(pass->claim->pool_kind),
					   pass->claim->pool_name, pass->pool_error);
	case IPAM_POOL_READY:
		break;
	}
	if (pass->pool.deleting)
		return ipam_report_unbound(
			pass->ctx, pass->claim, IPAM_POOL_NOT_READY, "%s '%s' is being deleted",
			ipam_pool_kind_text(pass->claim->pool_kind), pass->claim->pool_name);
	if (pass->pool.empty)
		return ipam_report_unbound(pass->ctx, pass->claim, IPAM_POOL_NOT_READY,
					   "%s '%s' has no address to allocate: %s",
					   ipam_pool_kind_text(pass->claim->pool_kind),
					   pass->claim->pool_name, pass->pool_error);
	return allocate(pass);
}

/* The claim refers to an address that the watch does not show: it follows in a moment, or somebody has
 * removed it by force. Then the claim is a new one again. */
static int check_lost(const struct pass *pass)
{
	struct kube_ref ref = { .kind = ipam_address_kind(pass->ctx),
				.ns = pass->claim->o.ns,
				.name = ipam_address_ref_of(pass->claim) };
	struct kube_status st = { 0 };
	int r = kube_get(pass->ctx->conn, &ref, NULL, &st);
	bool lost = r == ERR_NOTFOUND;
	if (lost)
		r = 0;
	r = ipam_note_error(pass->ctx, "read of the address", r, &st);
	kube_status_done(&st);
	return lost ? ipam_report_lost(pass->ctx, pass->claim) : r;
}

static int reconcile_alive(struct pass *pass, enum ipam_cluster_state cluster)
{
	if (cluster == IPAM_CLUSTER_MISSING) {
		forget_turn(pass); /* nobody knows for how long */
		return ipam_report_unbound(pass->ctx, pass->claim, IPAM_ALLOCATION_FAILED,
					   "Cluster '%s' does not exist", pass->claim->cluster);
	}
	const uint64_t refused_ns = ipam_refusals_left_ns(refusals_of(pass), pass->key);
	if (refused_ns != 0 && pass->address_obj == NULL) {
		pass->ctx->again_ns = refused_ns;
		return 0;
	}
	if (!pass->claim->has_finalizer) {
		int r = end_request(pass, add_finalizer(pass));
		if (r <= 0)
			return r;
	}
	if (pass->address_obj != NULL)
		return use_address(pass);
	return pass->claim->is_bound ? check_lost(pass) : check_pool(pass);
}

/* False: the claim is gone. */
static bool pass_init(struct pass *pass, struct controller_ctx *ctx, const char *key)
{
	struct slice rest = slice_of(key);
	struct slice ns = slice_cut(&rest, '/');
	bool news;
	*pass = (struct pass){ .ctx = ctx, .key = key };
	pass->address_obj = kube_store_get(ctx->stores[IPAM_ADDRESSES], ns, rest);
	pass->claim_obj = kube_store_get(ctx->stores[IPAM_CLAIMS], ns, rest);
	if (pass->claim_obj == NULL)
		return false;
	pass->claim = ipam_claim_of(pass->claim_obj);
	if (!ipam_is_our_claim(pass->claim)) {
		forget_turn(pass); /* of a claim that had this name before */
		return true;
	}
	ipam_pool_key_of_claim(pass->pool_key, pass->claim);
	ipam_state_sync_all_pools(ctx); /* addresses of other pools count in their networks */
	ipam_allocator_leave_others(allocator_of(pass), ctx, pass->pool_key, key);
	pass->pool_obj = ipam_find_pool(ctx, pass->pool_key);
	pass->pool_state = ipam_state_sync_pool(ctx, pass->pool_key, pass->pool_obj, &pass->pool,
						&news, ERR_TEXT(pass->pool_error));
	if (news)
		ipam_queue_open_claims(ctx, pass->pool_key);
	return true;
}

/* No such claim: it has neither a turn nor an address. */
static int reconcile_gone(struct pass *pass)
{
	forget_turn(pass);
	ipam_refusals_forget(refusals_of(pass), pass->key);
	if (pass->address_obj == NULL)
		return 0;
	const struct ipam_address *address = ipam_address_of(pass->address_obj);
	if (!ipam_is_our_address(address))
		return 0;
	ipam_pool_key_of_address(pass->pool_key, address);
	pass->pool_obj = ipam_find_pool(pass->ctx, pass->pool_key);
	if (pass->pool_obj != NULL &&
	    api_annotation(kube_tree_of(pass->pool_obj), IPAM_PAUSED_ANNOTATION) != NULL) {
		pass->ctx->again_ns = PAUSED_AGAIN_S * NS_PER_S;
		return 0;
	}
	return ipam_remove_orphan(pass->ctx, address);
}

int ipam_reconcile_claim(struct controller_ctx *ctx, const char *key)
{
	CLEANUP(pass_done) struct pass pass;
	if (!pass_init(&pass, ctx, key))
		return reconcile_gone(&pass);
	enum ipam_cluster_state cluster = ipam_cluster_state_of(ctx, pass.claim);
	if (!ipam_is_our_claim(pass.claim))
		return 0;
	if (is_paused(&pass, cluster)) {
		forget_turn(&pass); /* others need not wait for it */
		return report_pause(&pass, cluster);
	}
	return pass.claim->deleted_s != 0 ? release(&pass) : reconcile_alive(&pass, cluster);
}

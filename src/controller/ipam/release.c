/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Releases addresses: first the IPAddress loses its finalizer and is deleted, then the claim loses
 * its own. A process that is killed in between starts again with what is left. */
#include "controller/ipam/release.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "controller/shared/finalizer.h"
#include "controller/ipam/request_error.h"
#include "controller/ipam/watches.h"
#include "kube/client/client.h"

/* `version`: only this resourceVersion; NULL: any. */
static int delete_address(struct controller_ctx *ctx, const struct kube_ref *ref,
			  const char *version)
{
	struct kube_delete_opts opts = { .uid = ref->uid, .resource_version = version };
	struct kube_status st = { 0 };
	/* Deleted first, while the finalizer keeps it: then nothing can come between. */
	int r = kube_delete(ctx->conn, ref, &opts, &st);
	if (r == ERR_NOTFOUND || r == ERR_CONFLICT) { /* gone, or another one by now */
		kube_status_done(&st);
		return 0;
	}
	r = ipam_note_error(ctx, "delete of the address", r, &st);
	kube_status_done(&st);
	if (r < 0)
		return r;
	r = ipam_note_error(ctx, "finalizer of the address",
			    finalizer_remove(ctx->conn, ref, IPAM_ADDRESS_FINALIZER, &st), &st);
	kube_status_done(&st);
	return r;
}

int ipam_remove_address(struct controller_ctx *ctx, const char *ns, const char *name,
			const char *uid)
{
	struct kube_ref ref = { ipam_address_kind(ctx), ns, name, uid };
	return delete_address(ctx, &ref, NULL);
}

/* Reads an object; *ret is NULL if it does not exist. */
static int read_object(struct controller_ctx *ctx, const struct kube_ref *ref, json_t **ret)
{
	struct kube_status st = { 0 };
	*ret = NULL;
	int r = kube_get(ctx->conn, ref, ret, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	r = ipam_note_error(ctx, "read of an object", r, &st);
	kube_status_done(&st);
	return r;
}

/* The address that the API has under the claim's name, if it is the claim's: our copy may not show
 * one that was made a moment ago. *ret is NULL if it has none. */
static int read_address_of(struct controller_ctx *ctx, const struct ipam_claim *claim, json_t **ret)
{
	struct kube_ref ref = { .kind = ipam_address_kind(ctx),
				.ns = claim->o.ns,
				.name = claim->o.name };
	int r = read_object(ctx, &ref, ret);
	if (r == 0 && *ret != NULL &&
	    strcmp(api_get_string(*ret, "spec.claimRef.name"), claim->o.name) != 0) {
		json_decref(*ret);
		*ret = NULL;
	}
	return r;
}

int ipam_has_address(struct controller_ctx *ctx, const struct ipam_claim *claim)
{
	json_t *address;
	int r = read_address_of(ctx, claim, &address);
	if (r == 0)
		r = address != NULL;
	json_decref(address);
	return r;
}

static int remove_address_of(struct controller_ctx *ctx, const struct ipam_claim *claim)
{
	json_t *address;
	int r = read_address_of(ctx, claim, &address);
	if (r == 0 && address != NULL)
		r = ipam_remove_address(ctx, claim->o.ns, claim->o.name, api_uid(address));
	json_decref(address);
	return r;
}

int ipam_release_claim(struct controller_ctx *ctx, const struct ipam_claim *claim)
{
	char uid[IPAM_UID_TEXT_MAX];
	struct kube_ref ref = { ipam_claim_kind(ctx), claim->o.ns, claim->o.name,
				ipam_uid_text(&claim->uid, uid) };
	struct kube_status st = { 0 };
	if (!claim->has_finalizer)
		return 0;
	int r = remove_address_of(ctx, claim);
	if (r < 0)
		return r;
	r = ipam_note_error(ctx, "finalizer of the claim",
			    finalizer_remove(ctx->conn, &ref, IPAM_RELEASE_FINALIZER, &st), &st);
	kube_status_done(&st);
	return r;
}

/* ---- addresses whose claim is gone ---- */

/* Those that this controller makes have their pool as an owner. The claim is none any more where a
 * garbage collector has noticed that it is gone: it keeps objects that have another owner. */
static bool is_owned_by_pool(const json_t *address)
{
	const char *pool = api_get_string(address, "spec.poolRef.kind");
	size_t i;
	json_t *owner;
	json_array_foreach (api_tree(api_get(address, "metadata.ownerReferences")), i, owner) {
		if (strcmp(api_text(json_object_get(owner, "kind")), pool) == 0)
			return true;
	}
	return false;
}

int ipam_remove_orphan(struct controller_ctx *ctx, const struct ipam_address *address)
{
	struct kube_ref claim_ref = { .kind = ipam_claim_kind(ctx),
				      .ns = address->o.ns,
				      .name = ipam_claim_name_of(address) };
	char uid[IPAM_UID_TEXT_MAX];
	struct kube_ref ref = { ipam_address_kind(ctx), address->o.ns, address->o.name,
				ipam_uid_text(&address->uid, uid) };
	json_t *claim = NULL, *now = NULL;
	if (!address->has_finalizer)
		return 0;
	int r = read_object(ctx, &claim_ref, &claim);
	if (r == 0 && claim == NULL)
		r = read_object(ctx, &ref, &now);
	/* The version: a claim that is made under this name right now may take the address over, which
	 * changes its owners first. */
	if (r == 0 && now != NULL && strcmp(api_uid(now), ref.uid) == 0 && is_owned_by_pool(now))
		r = delete_address(ctx, &ref, api_resource_version(now));
	json_decref(claim);
	json_decref(now);
	return r;
}

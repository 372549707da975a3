/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out whether the API drops name servers of addresses, and writes the annotation where it did. */
#include "controller/ipam/pruned_field.h"

#include "api/json_text.h"
#include "api/kind.h"
#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/ipam/address_object.h"
#include "controller/ipam/request_error.h"
#include "controller/ipam/state.h"
#include "kube/client/client.h"

enum ipam_pruning ipam_pruning_of(const struct controller_ctx *ctx)
{
	return atomic_load(&ipam_state_of(ctx)->pruning);
}

/* Searches the answer as compact JSON, as servers write it; else parses it into *ret_tree. */
static bool has_nameservers(struct slice stored, json_t **ret_tree)
{
	struct slice found;
	if (api_json_member(stored, "spec", "nameservers", &found))
		return true;
	*ret_tree = api_json_load(stored, 0, NULL);
	return api_get(*ret_tree, "spec.nameservers") != NULL;
}

/* True: they are gone. What is no JSON says nothing. */
static bool note_pruning(struct controller_ctx *ctx, struct slice stored, json_t **ret_tree)
{
	bool kept = has_nameservers(stored, ret_tree);
	if (!kept && *ret_tree == NULL)
		return false;
	atomic_store(&ipam_state_of(ctx)->pruning, kept ? IPAM_FIELD_KEPT : IPAM_FIELD_PRUNED);
	return !kept;
}

void ipam_detect_pruning(struct controller_ctx *ctx, const struct ipam_address_input *address)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf stored = STRBUF_INIT;
	json_t *tree = NULL;
	if (ipam_pruning_of(ctx) != IPAM_PRUNING_UNKNOWN || address->nameservers == NULL)
		return;
	api_kind_path(&path, address->kind, address->claim->o.ns, NULL, NULL);
	strbuf_adds(&path, "?dryRun=All");
	ipam_write_address(&text, address);
	struct kube_request request = {
		.method = "POST", .path = path.s, .raw = strbuf_slice(&text), .answer_text = &stored
	};
	/* What is wrong shows when the address is created. */
	if (kube_call(ctx->conn, &request, NULL, NULL) == 0)
		note_pruning(ctx, strbuf_slice(&stored), &tree);
	json_decref(tree);
}

static int annotate_stored(struct controller_ctx *ctx, const struct ipam_address_input *sent)
{
	CLEANUP(freep) char *text = ipam_nameservers_text(sent->nameservers);
	struct kube_ref ref = { .kind = sent->kind,
				.ns = sent->claim->o.ns,
				.name = sent->claim->o.name };
	struct kube_status st = { 0 };
	json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
				  MACHINE_NAMESERVERS_ANNOTATION, text);
	int r = kube_merge(ctx->conn, &ref, NULL, patch, NULL, &st);
	r = r == ERR_NOTFOUND ? 0 : ipam_note_error(ctx, "annotation of the address", r, &st);
	kube_status_done(&st);
	json_decref(patch);
	return r;
}

int ipam_note_stored(struct controller_ctx *ctx, const struct ipam_address_input *sent,
		     struct slice stored)
{
	json_t *tree = NULL;
	bool lost = sent->nameservers != NULL && note_pruning(ctx, stored, &tree) &&
		    api_annotation(tree, MACHINE_NAMESERVERS_ANNOTATION) == NULL;
	json_decref(tree);
	return lost ? annotate_stored(ctx, sent) : 0;
}

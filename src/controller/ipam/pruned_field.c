/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out whether the API drops name servers of addresses, and writes the annotation in their place. */
#include "controller/ipam/pruned_field.h"

#include <stdlib.h>

#include "api/kind.h"
#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "base/err.h"
#include "controller/ipam/request_error.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "kube/client/client.h"

enum ipam_pruning ipam_pruning_of(const struct controller_ctx *ctx)
{
	return atomic_load(&ipam_state_of(ctx)->pruning);
}

/* False: nothing can be said, since nothing was sent. */
static bool compare_stored(const struct controller_ctx *ctx, const json_t *sent,
			   const json_t *stored)
{
	if (api_get(sent, "spec.nameservers") == NULL)
		return false;
	atomic_store(&ipam_state_of(ctx)->pruning, api_get(stored, "spec.nameservers") != NULL
							   ? IPAM_FIELD_KEPT
							   : IPAM_FIELD_PRUNED);
	return true;
}

void ipam_detect_pruning(struct controller_ctx *ctx, const json_t *address)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	json_t *stored = NULL;
	if (ipam_pruning_of(ctx) != IPAM_PRUNING_UNKNOWN ||
	    api_get(address, "spec.nameservers") == NULL)
		return;
	api_kind_path(&path, ipam_address_kind(ctx), api_namespace(address), NULL, NULL);
	strbuf_adds(&path, "?dryRun=All");
	struct kube_request request = { .method = "POST", .path = path.s, .body = address };
	/* What is wrong shows when the address is created. */
	if (kube_call(ctx->conn, &request, &stored, NULL) == 0)
		compare_stored(ctx, address, stored);
	json_decref(stored);
}

/* As the annotation has them. */
static char *print_nameservers(const json_t *nameservers)
{
	return json_dumps(nameservers, JSON_COMPACT | JSON_SORT_KEYS);
}

void ipam_annotate_nameservers(json_t *address)
{
	const json_t *nameservers = api_get(address, "spec.nameservers");
	if (nameservers == NULL)
		return;
	char *text = print_nameservers(nameservers);
	json_object_set_new(json_object_get(address, "metadata"), "annotations",
			    json_pack("{s:s}", MACHINE_NAMESERVERS_ANNOTATION, text));
	free(text);
}

int ipam_note_stored(struct controller_ctx *ctx, const json_t *sent, const json_t *stored)
{
	struct kube_ref ref = { .kind = ipam_address_kind(ctx),
				.ns = api_namespace(stored),
				.name = api_name(stored) };
	struct kube_status st = { 0 };
	if (!compare_stored(ctx, sent, stored) || ipam_pruning_of(ctx) == IPAM_FIELD_KEPT ||
	    api_annotation(stored, MACHINE_NAMESERVERS_ANNOTATION) != NULL)
		return 0;
	char *text = print_nameservers(api_get(sent, "spec.nameservers"));
	json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
				  MACHINE_NAMESERVERS_ANNOTATION, text);
	int r = kube_merge(ctx->conn, &ref, NULL, patch, NULL, &st);
	r = r == ERR_NOTFOUND ? 0 : ipam_note_error(ctx, "annotation of the address", r, &st);
	kube_status_done(&st);
	json_decref(patch);
	free(text);
	return r;
}

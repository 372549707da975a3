/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out whether the API drops name servers of addresses, and writes the annotation where it did. */
#include "controller/ipam/pruned_field.h"

#include "api/json_text.h"
#include "api/kind.h"
#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/ipam/address_object.h"
#include "controller/ipam/allocation/pool_spec.h"
#include "controller/ipam/request_error.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "kube/client/client.h"

#define LOG_AREA "controller/ipam"

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
	const enum ipam_pruning pruning = kept ? IPAM_FIELD_KEPT : IPAM_FIELD_PRUNED;
	if (atomic_exchange(&ipam_state_of(ctx)->pruning, pruning) != pruning)
		ipam_queue_pools(ctx); /* each of them reports it */
	return !kept;
}

/* Sends the JSON of an address; nothing is stored. */
static void send_dry_run(struct controller_ctx *ctx, const char *ns, struct slice address)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT, stored = STRBUF_INIT;
	json_t *tree = NULL;
	api_kind_path(&path, ipam_address_kind(ctx), ns, NULL, NULL);
	strbuf_adds(&path, "?dryRun=All");
	struct kube_request request = {
		.method = "POST", .path = path.s, .raw = address, .answer_text = &stored
	};
	struct kube_status st = { 0 };
	/* Nothing depends on it: what the API refuses is reported when an address is created. */
	if (kube_call(ctx->conn, &request, NULL, &st) == 0)
		note_pruning(ctx, strbuf_slice(&stored), &tree);
	else
		log_debug(LOG_AREA, "dry run of an address: %s", st.message);
	kube_status_done(&st);
	json_decref(tree);
}

void ipam_detect_pruning(struct controller_ctx *ctx, const struct ipam_address_input *address)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (ipam_pruning_of(ctx) != IPAM_PRUNING_UNKNOWN || address->nameservers == NULL)
		return;
	ipam_write_address(&text, address);
	send_dry_run(ctx, address->claim->o.ns, strbuf_slice(&text));
}

/* Without owners and finalizer, as there is no claim. NULL: the pool has no address to allocate. */
static json_t *make_example(const struct controller_ctx *ctx, const json_t *pool,
			    const struct ipam_pool_spec *spec, const json_t *nameservers)
{
	static const char name[] = "fairlead-ipam-dry-run";
	CLEANUP(freep) char *servers = ipam_nameservers_text(nameservers);
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	net_ip_number lowest;
	char text[NET_ADDR_TEXT_MAX];
	if (!net_ip_ranges_lowest(&spec->usable, &lowest))
		return NULL;
	union net_addr address = net_ip_from_number(spec->family, lowest);
	net_addr_ip_str(&address, text);
	api_kind_api_version(&version, ipam_address_kind(ctx));
	return json_pack("{s:s, s:s, s:{s:s}, s:{s:{s:s}, s:{s:s, s:s, s:s}, s:s, s:i, s:o}}",
			 "apiVersion", version.s, "kind", "IPAddress", "metadata", "name", name,
			 "spec", "claimRef", "name", name, "poolRef", "apiGroup", IPAM_GROUP,
			 "kind", api_kind(pool), "name", api_name(pool), "address", text, "prefix",
			 (int)spec->prefix, "nameservers",
			 api_json_load(slice_of(servers), 0, NULL));
}

void ipam_detect_pruning_of_pool(struct controller_ctx *ctx, const json_t *pool,
				 const struct ipam_pool_spec *spec, const json_t *nameservers)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const char *ns = api_namespace(pool); /* a pool of the cluster has none */
	if (ipam_pruning_of(ctx) != IPAM_PRUNING_UNKNOWN || nameservers == NULL)
		return;
	json_t *example = make_example(ctx, pool, spec, nameservers);
	if (example == NULL)
		return;
	api_json_add(&text, example);
	send_dry_run(ctx, ns[0] != '\0' ? ns : ctx->ns, strbuf_slice(&text));
	json_decref(example);
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

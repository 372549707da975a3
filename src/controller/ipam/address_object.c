/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the IPAddress object of a claim, and completes one that lacks owners or finalizer. */
#include "controller/ipam/address_object.h"

#include <string.h>

#include "api/json_text.h"
#include "api/kind.h"
#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/mem.h"

enum { LABEL_VALUE_MAX = 63 };

static void add_version(struct strbuf *out, const struct api_kind *kind)
{
	strbuf_adds(out, "\"apiVersion\":\"");
	api_kind_api_version(out, kind);
	strbuf_addc(out, '"');
}

/* ---- owners ---- */

/* CT-3: the claim controls the address, the pool only keeps it; neither goes before it. */
static void add_claim_owner(struct strbuf *out, const struct api_kind *kind,
			    const struct ipam_claim *claim)
{
	char uid[IPAM_UID_TEXT_MAX];
	strbuf_addc(out, '{');
	add_version(out, kind);
	api_json_add_member(out, "kind", kind->kind);
	api_json_add_member(out, "name", claim->o.name);
	api_json_add_member(out, "uid", ipam_uid_text(&claim->uid, uid));
	strbuf_adds(out, ",\"controller\":true,\"blockOwnerDeletion\":true}");
}

static void add_pool_owner(struct strbuf *out, const json_t *pool)
{
	strbuf_addc(out, '{');
	api_json_add_member(out, "apiVersion", api_version(pool));
	api_json_add_member(out, "kind", api_kind(pool));
	api_json_add_member(out, "name", api_name(pool));
	api_json_add_member(out, "uid", api_uid(pool));
	strbuf_adds(out, ",\"controller\":false,\"blockOwnerDeletion\":true}");
}

/* ---- name servers ---- */

static const char *const nameserver_lists[] = { "addresses", "search" };

const json_t *ipam_pool_nameservers(const json_t *pool, const json_t *otherwise)
{
	const json_t *own = api_get(pool, "spec.nameservers");
	for (size_t i = 0; i < ARRAY_LEN(nameserver_lists); i++) {
		if (json_array_size(json_object_get(own, nameserver_lists[i])) > 0)
			return own;
	}
	return otherwise;
}

/* Without empty lists (IP-13). */
static void add_nameservers(struct strbuf *out, const json_t *nameservers)
{
	char before = '{';
	for (size_t i = 0; i < ARRAY_LEN(nameserver_lists); i++) {
		const json_t *list = json_object_get(nameservers, nameserver_lists[i]);
		if (json_array_size(list) == 0)
			continue;
		strbuf_addf(out, "%c\"%s\":", before, nameserver_lists[i]);
		api_json_add(out, list);
		before = ',';
	}
	strbuf_adds(out, before == '{' ? "{}" : "}");
}

char *ipam_nameservers_text(const json_t *nameservers)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	add_nameservers(&text, nameservers);
	return xstrdup(text.s);
}

/* ---- label ---- */

/* The claim's label, or else the Cluster that its spec names; NULL: none, also where no label
 * can hold the name. */
static const char *cluster_label_of(const struct ipam_claim *claim)
{
	const char *name = claim->has_cluster_label ? ipam_cluster_label_of(claim) : claim->cluster;
	return name[0] != '\0' && strlen(name) <= LABEL_VALUE_MAX ? name : NULL;
}

/* False: it has one. */
static bool add_cluster_label(json_t *meta, const struct ipam_claim *claim)
{
	const char *name = cluster_label_of(claim);
	json_t *labels = json_object_get(meta, "labels");
	if (name == NULL || api_text(json_object_get(labels, IPAM_CLUSTER_LABEL))[0] != '\0')
		return false;
	if (json_is_object(labels))
		json_object_set_new(labels, IPAM_CLUSTER_LABEL, json_string(name));
	else
		json_object_set_new(meta, "labels", json_pack("{s:s}", IPAM_CLUSTER_LABEL, name));
	return true;
}

/* ---- the object ---- */

/* An address without name servers has an empty object there: a machine that is configured later must
 * not get those that its pool lists by then (IP-11). */
static void add_annotation(struct strbuf *out, const json_t *nameservers)
{
	CLEANUP(freep) char *text = ipam_nameservers_text(nameservers);
	strbuf_adds(out, ",\"annotations\":{");
	api_json_add_member(out, MACHINE_NAMESERVERS_ANNOTATION, text);
	strbuf_addc(out, '}');
}

static void add_metadata(struct strbuf *out, const struct ipam_address_input *input)
{
	const struct ipam_claim *claim = input->claim;
	const char *cluster = cluster_label_of(claim);
	strbuf_adds(out, ",\"metadata\":{");
	api_json_add_member(out, "name", claim->o.name);
	api_json_add_member(out, "namespace", claim->o.ns);
	if (cluster != NULL) {
		strbuf_adds(out, ",\"labels\":{");
		api_json_add_member(out, IPAM_CLUSTER_LABEL, cluster);
		strbuf_addc(out, '}');
	}
	if (input->annotated || input->nameservers == NULL)
		add_annotation(out, input->nameservers);
	strbuf_adds(out, ",\"ownerReferences\":[");
	add_claim_owner(out, input->claim_kind, claim);
	strbuf_addc(out, ',');
	add_pool_owner(out, input->pool);
	strbuf_adds(out, "],\"finalizers\":[\"" IPAM_ADDRESS_FINALIZER "\"]}");
}

static void add_spec(struct strbuf *out, const struct ipam_address_input *input)
{
	const struct ipam_claim *claim = input->claim;
	const char *gateway = api_get_string(input->pool, "spec.gateway");
	union net_addr addr = net_ip_from_number(input->family, input->number);
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(&addr, text);
	strbuf_adds(out, ",\"spec\":{\"claimRef\":{");
	api_json_add_member(out, "name", claim->o.name);
	strbuf_adds(out, "},\"poolRef\":{");
	api_json_add_member(out, "apiGroup", IPAM_GROUP);
	api_json_add_member(out, "kind", ipam_pool_kind_text(claim->pool_kind));
	api_json_add_member(out, "name", claim->pool_name);
	strbuf_addc(out, '}');
	api_json_add_member(out, "address", text);
	strbuf_addf(out, ",\"prefix\":%u", input->prefix);
	if (gateway[0] != '\0')
		api_json_add_member(out, "gateway", gateway);
	if (input->nameservers != NULL) {
		strbuf_adds(out, ",\"nameservers\":");
		add_nameservers(out, input->nameservers);
	}
	strbuf_addc(out, '}');
}

void ipam_write_address(struct strbuf *out, const struct ipam_address_input *input)
{
	strbuf_addc(out, '{');
	add_version(out, input->kind);
	api_json_add_member(out, "kind", "IPAddress");
	add_metadata(out, input);
	add_spec(out, input);
	strbuf_addc(out, '}');
}

/* ---- repair ---- */

static json_t *list_of(json_t *meta, const char *key)
{
	json_t *list = json_object_get(meta, key);
	if (json_is_array(list))
		return list;
	list = json_array();
	json_object_set_new(meta, key, list);
	return list;
}

static bool has_owner(const json_t *owners, const char *uid)
{
	size_t i;
	json_t *owner;
	json_array_foreach (api_tree(owners), i, owner) {
		if (strcmp(api_text(json_object_get(owner, "uid")), uid) == 0)
			return true;
	}
	return false;
}

/* Claims of that name that existed before: an object has one controlling owner. */
static bool remove_other_claims(json_t *owners, const char *uid)
{
	bool changed = false;
	for (size_t i = json_array_size(owners); i-- > 0;) {
		const json_t *owner = json_array_get(owners, i);
		if (strcmp(api_text(json_object_get(owner, "kind")), "IPAddressClaim") != 0 ||
		    strcmp(api_text(json_object_get(owner, "uid")), uid) == 0)
			continue;
		json_array_remove(owners, i);
		changed = true;
	}
	return changed;
}

bool ipam_address_is_complete(const struct ipam_address *address, const struct ipam_claim *claim,
			      const char *pool_uid)
{
	char uid[IPAM_UID_TEXT_MAX];
	return address->has_finalizer &&
	       (address->has_cluster_label || cluster_label_of(claim) == NULL) &&
	       ipam_is_owned_by(address, ipam_uid_text(&claim->uid, uid)) &&
	       ipam_is_owned_by(address, pool_uid);
}

bool ipam_repair_address(json_t *address, const struct api_kind *claim_kind,
			 const struct ipam_claim *claim, const json_t *pool)
{
	json_t *meta = json_object_get(address, "metadata");
	json_t *owners = list_of(meta, "ownerReferences");
	char buf[IPAM_UID_TEXT_MAX];
	const char *uid = ipam_uid_text(&claim->uid, buf);
	bool changed = add_cluster_label(meta, claim);
	changed = remove_other_claims(owners, uid) || changed;
	if (!has_owner(owners, uid)) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		add_claim_owner(&text, claim_kind, claim);
		json_array_append_new(owners, api_json_load(strbuf_slice(&text), 0, NULL));
		changed = true;
	}
	if (!has_owner(owners, api_uid(pool))) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		add_pool_owner(&text, pool);
		json_array_append_new(owners, api_json_load(strbuf_slice(&text), 0, NULL));
		changed = true;
	}
	if (!api_has_finalizer(address, IPAM_ADDRESS_FINALIZER) && !api_is_deleting(address)) {
		json_array_append_new(list_of(meta, "finalizers"),
				      json_string(IPAM_ADDRESS_FINALIZER));
		changed = true;
	}
	return changed;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the IPAddress object of a claim, and completes one that lacks owners or finalizer. */
#include "controller/ipam/address_object.h"

#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"

enum { LABEL_VALUE_MAX = 63 };

/* CT-3: the claim controls the address, the pool only keeps it; neither goes before it. */
static json_t *owner_entry(const char *version, const char *kind, const char *name, const char *uid,
			   bool controls)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion", version, "kind", kind,
			 "name", name, "uid", uid, "controller", controls, "blockOwnerDeletion", 1);
}

static json_t *claim_owner(const struct api_kind *kind, const struct ipam_claim *claim)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	char uid[IPAM_UID_TEXT_MAX];
	api_kind_api_version(&version, kind);
	return owner_entry(version.s, kind->kind, claim->o.name, ipam_uid_text(&claim->uid, uid),
			   true);
}

static json_t *pool_owner(const json_t *pool)
{
	return owner_entry(api_version(pool), api_kind(pool), api_name(pool), api_uid(pool), false);
}

const json_t *ipam_pool_nameservers(const json_t *pool, const json_t *otherwise)
{
	const json_t *own = api_get(pool, "spec.nameservers");
	return json_object_size(own) > 0 ? own : otherwise;
}

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

json_t *ipam_make_address(const struct ipam_address_input *input)
{
	const struct ipam_claim *claim = input->claim;
	const char *gateway = api_get_string(input->pool, "spec.gateway");
	union net_addr addr = net_ip_from_number(input->family, input->number);
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(&addr, text);
	api_kind_api_version(&version, input->kind);
	json_t *object = json_pack(
		"{s:s, s:s, s:{s:s, s:s, s:[o, o], s:[s]}, s:{s:{s:s}, s:{s:s, s:s, "
		"s:s}, s:s, s:i}}",
		"apiVersion", version.s, "kind", "IPAddress", "metadata", "name", claim->o.name,
		"namespace", claim->o.ns, "ownerReferences", claim_owner(input->claim_kind, claim),
		pool_owner(input->pool), "finalizers", IPAM_ADDRESS_FINALIZER, "spec", "claimRef",
		"name", claim->o.name, "poolRef", "apiGroup", IPAM_GROUP, "kind",
		ipam_pool_kind_text(claim->pool_kind), "name", claim->pool_name, "address", text,
		"prefix", (int)input->prefix);
	if (gateway[0] != '\0')
		json_object_set_new(json_object_get(object, "spec"), "gateway",
				    json_string(gateway));
	add_cluster_label(json_object_get(object, "metadata"), claim);
	if (input->nameservers != NULL)
		json_object_set_new(json_object_get(object, "spec"), "nameservers",
				    json_deep_copy(input->nameservers));
	return object;
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
		json_array_append_new(owners, claim_owner(claim_kind, claim));
		changed = true;
	}
	if (!has_owner(owners, api_uid(pool))) {
		json_array_append_new(owners, pool_owner(pool));
		changed = true;
	}
	if (!api_has_finalizer(address, IPAM_ADDRESS_FINALIZER) && !api_is_deleting(address)) {
		json_array_append_new(list_of(meta, "finalizers"),
				      json_string(IPAM_ADDRESS_FINALIZER));
		changed = true;
	}
	return changed;
}

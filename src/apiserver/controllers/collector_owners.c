/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Owners and dependents, by the rules of Kubernetes' garbage collector: background, foreground and
 * orphan deletion. */
#include "apiserver/controllers/collector_owners.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/request/object.h"
#include "apiserver/verb/write.h"

enum owner {
	OWNER_THERE,
	OWNER_WAITING, /* is being deleted and waits for its dependents */
	OWNER_GONE,
};

static bool waits_for_dependents(const json_t *object)
{
	return api_is_deleting(object) && api_has_finalizer(object, "foregroundDeletion");
}

static enum owner state_of_deleted_owner(struct apiserver_collector *collector, const char *ns,
					 const struct apiserver_resource *resource,
					 const char *name)
{
	json_t *object;
	int e = apiserver_object_read_identity(collector->api->store, resource, ns, name, &object);
	if (e == ERR_NOTFOUND)
		return OWNER_GONE;
	bool waits = e == 0 && waits_for_dependents(object);
	if (e == 0)
		json_decref(object);
	return waits ? OWNER_WAITING : OWNER_THERE;
}

/* An owner counts as present if that cannot be decided: its kind is not stored here, or it is
 * namespaced and the object is not. */
static enum owner state_of_owner(struct apiserver_collector *collector, const char *ns,
				 const json_t *ref)
{
	const struct apiserver_resource *r = apiserver_resource_of(ref);
	struct apiserver_object_state state;
	const char *name = api_get_string(ref, "name");
	if (r == NULL || r->never_kept || (r->kind->namespaced && ns[0] == '\0'))
		return OWNER_THERE;
	int e = apiserver_object_read_state(collector->api->store, r, ns, name, &state);
	if (e == ERR_NOTFOUND)
		return OWNER_GONE;
	if (e < 0)
		return OWNER_THERE;
	if (strcmp(state.uid, api_get_string(ref, "uid")) != 0)
		return OWNER_GONE;
	return state.deleting ? state_of_deleted_owner(collector, ns, r, name) : OWNER_THERE;
}

static bool has_blocking(const struct apiserver_collector *collector, const char *uid)
{
	size_t n;
	const struct apiserver_dependent *d =
		apiserver_owner_index_dependents(&collector->owners, uid, &n);
	for (size_t i = 0; i < n; i++) {
		if (d[i].blocking)
			return true;
	}
	return false;
}

static const char *policy_of(const json_t *object)
{
	if (api_has_finalizer(object, "orphan"))
		return "Orphan";
	return api_has_finalizer(object, "foregroundDeletion") ? "Foreground" : "Background";
}

/* Writes the object with only the references in `left`. */
static bool drop_references(struct apiserver_collector *collector, struct collector_item *item,
			    const json_t *left)
{
	json_t *meta = apiserver_object_meta(item->object);
	if (json_array_size(left) != 0)
		json_object_set(meta, "ownerReferences", (json_t *)(uintptr_t)left);
	else
		json_object_del(meta, "ownerReferences");
	return apiserver_write_plain(collector->api, item->resource, item->object, item->revision,
				     NULL) == 0;
}

/* ---- circles ---- */

static bool is_waiting(struct apiserver_collector *collector, const char *key)
{
	struct collector_item item = { 0 };
	bool waits =
		collector_read(collector, key, &item) == 0 && waits_for_dependents(item.object);
	collector_item_done(&item);
	return waits;
}

/* If a dependent of the object waits, too, both would wait for each other: then the object no
 * longer blocks its owners. */
static bool break_circle(struct apiserver_collector *collector, struct collector_item *item)
{
	json_t *ref;
	size_t k, n;
	bool circle = false;
	const struct apiserver_dependent *d =
		apiserver_owner_index_dependents(&collector->owners, api_uid(item->object), &n);
	for (k = 0; k < n && !circle; k++)
		circle = is_waiting(collector, d[k].key);
	if (!circle)
		return true;
	json_array_foreach (api_get(item->object, "metadata.ownerReferences"), k, ref)
		json_object_set_new(ref, "blockOwnerDeletion", json_false());
	return apiserver_write_plain(collector->api, item->resource, item->object, item->revision,
				     NULL) == 0;
}

bool collector_has_all_owners(struct apiserver_collector *collector, const char *ns,
			      const json_t *refs)
{
	for (size_t i = 0; i < json_array_size(refs); i++) {
		if (state_of_owner(collector, ns, json_array_get(refs, i)) != OWNER_THERE)
			return false;
	}
	return true;
}

bool collector_check_owners(struct apiserver_collector *collector, struct collector_item *item)
{
	const json_t *refs = api_get(item->object, "metadata.ownerReferences");
	json_t *left = json_array(), *ref;
	size_t k, gone = 0, waiting = 0, n;
	bool fine = true;
	json_array_foreach (refs, k, ref) {
		enum owner is = state_of_owner(collector, item->ns, ref);
		gone += is == OWNER_GONE;
		waiting += is == OWNER_WAITING;
		if (is == OWNER_THERE)
			json_array_append(left, ref);
	}
	apiserver_owner_index_dependents(&collector->owners, api_uid(item->object), &n);
	if (json_array_size(left) != 0 && gone + waiting != 0)
		fine = drop_references(collector, item, left);
	else if (json_array_size(left) == 0 && waiting != 0 && n != 0)
		fine = break_circle(collector, item) &&
		       collector_delete(collector, item->resource, item->ns, item->name,
					api_uid(item->object), "Foreground");
	else if (json_array_size(left) == 0 && gone + waiting != 0)
		fine = collector_delete(collector, item->resource, item->ns, item->name,
					api_uid(item->object), policy_of(item->object));
	json_decref(left);
	return fine;
}

/* ---- an owner that is being deleted ---- */

static bool release_dependent(struct apiserver_collector *collector, const char *key,
			      const char *uid)
{
	struct collector_item item = { 0 };
	json_t *left, *ref;
	size_t k;
	int e = collector_read(collector, key, &item);
	if (e < 0)
		return e == ERR_NOTFOUND;
	left = json_array();
	json_array_foreach (api_get(item.object, "metadata.ownerReferences"), k, ref) {
		if (strcmp(api_get_string(ref, "uid"), uid) != 0)
			json_array_append(left, ref);
	}
	bool fine = drop_references(collector, &item, left);
	json_decref(left);
	collector_item_done(&item);
	return fine;
}

static bool orphan_dependents(struct apiserver_collector *collector, struct collector_item *item)
{
	size_t n;
	bool fine = true;
	const struct apiserver_dependent *d =
		apiserver_owner_index_dependents(&collector->owners, api_uid(item->object), &n);
	for (size_t k = 0; k < n; k++)
		fine = release_dependent(collector, d[k].key, api_uid(item->object)) && fine;
	return fine && collector_drop_finalizer(collector, item, "orphan");
}

/* Queues the dependents for deletion, and waits for those that block. */
static bool delete_dependents_first(struct apiserver_collector *collector,
				    struct collector_item *item)
{
	size_t n;
	const struct apiserver_dependent *d =
		apiserver_owner_index_dependents(&collector->owners, api_uid(item->object), &n);
	if (!has_blocking(collector, api_uid(item->object)))
		return collector_drop_finalizer(collector, item, "foregroundDeletion");
	for (size_t k = 0; k < n; k++) {
		/* A dependent that waits itself is queued when what it waits for changes. */
		if (!is_waiting(collector, d[k].key))
			collector_push(collector, d[k].key);
	}
	return true;
}

bool collector_finish_deletion(struct apiserver_collector *collector, struct collector_item *item)
{
	if (api_has_finalizer(item->object, "orphan"))
		return orphan_dependents(collector, item);
	if (api_has_finalizer(item->object, "foregroundDeletion"))
		return delete_dependents_first(collector, item);
	return true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collector: follows all objects, keeps an index of owners, and queues the keys of objects that
 * may have to be deleted, released or emptied. */
#include "apiserver/controllers/collector.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/controllers/bootstrap.h"
#include "apiserver/controllers/collector_events.h"
#include "apiserver/controllers/collector_namespace.h"
#include "apiserver/controllers/collector_owners.h"
#include "apiserver/controllers/collector_priv.h"
#include "apiserver/request/object.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "apiserver/store/watch.h"
#include "apiserver/verb/delete.h"
#include "apiserver/verb/write.h"
#include "base/clock.h"
#include "base/mem.h"

enum { SWEEPS_PER_TTL = 8, SWEEP_MAX_S = 60 };

void collector_push(struct apiserver_collector *collector, const char *key)
{
	map_set(&collector->due, slice_of(key), collector);
}

/* ---- objects ---- */

static const struct apiserver_resource *resource_of_key(const char *key, struct slice *ret_ns,
							const char **ret_name)
{
	struct slice group, plural;
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	apiserver_key_split(key, &group, &plural, ret_ns, ret_name);
	for (size_t i = 0; i < n; i++) {
		if (rows[i]->stored == rows[i] && slice_is(group, rows[i]->kind->group) &&
		    slice_is(plural, rows[i]->kind->plural))
			return rows[i];
	}
	return NULL;
}

/* Finds out of the key what the object is. */
static int identify_item(const char *key, struct collector_item *ret)
{
	struct slice ns;
	const char *name;
	ret->key = key;
	ret->resource = resource_of_key(key, &ns, &name);
	if (ret->resource == NULL || ns.n >= sizeof(ret->ns) || strlen(name) >= sizeof(ret->name))
		return ERR_NOTFOUND;
	memcpy(ret->ns, ns.p, ns.n);
	ret->ns[ns.n] = '\0';
	memcpy(ret->name, name, strlen(name) + 1);
	return 0;
}

int collector_read(struct apiserver_collector *collector, const char *key,
		   struct collector_item *ret)
{
	int e = identify_item(key, ret);
	if (e < 0)
		return e;
	return apiserver_object_read(collector->api->store, ret->resource, ret->ns, ret->name,
				     &ret->object, &ret->revision);
}

void collector_item_done(struct collector_item *item)
{
	json_decref(item->object);
}

bool collector_delete(struct apiserver_collector *collector,
		      const struct apiserver_resource *resource, const char *ns, const char *name,
		      const char *uid, const char *policy)
{
	return apiserver_delete_as_system(collector->api, resource, ns, name, uid, policy);
}

bool collector_drop_finalizer(struct apiserver_collector *collector, struct collector_item *item,
			      const char *finalizer)
{
	json_t *meta = apiserver_object_meta(item->object),
	       *list = json_object_get(meta, "finalizers"), *v;
	json_t *left = json_array();
	size_t k;
	json_array_foreach (list, k, v) {
		if (strcmp(api_text(v), finalizer) != 0)
			json_array_append(left, v);
	}
	json_t *before = json_deep_copy(item->object);
	if (json_array_size(left) != 0)
		json_object_set_new(meta, "finalizers", left);
	else
		json_decref(left), json_object_del(meta, "finalizers");
	int e = apiserver_write_is_finalized(item->resource, item->object)
			? apiserver_write_removal(collector->api, item->resource, before,
						  item->revision, NULL)
			: apiserver_write_plain(collector->api, item->resource, item->object,
						item->revision, NULL);
	json_decref(before);
	return e == 0;
}

/* ---- following changes ---- */

static bool has_text(struct slice text, const char *word)
{
	return text.p != NULL && memmem(text.p, text.n, word, strlen(word)) != NULL;
}

/* Queues the owners of an object: they may wait for it. */
static void push_owners(struct apiserver_collector *collector, const json_t *object,
			const json_t *refs)
{
	for (size_t i = 0; i < json_array_size(refs); i++) {
		CLEANUP(strbuf_done) struct strbuf owner = STRBUF_INIT;
		const json_t *ref = json_array_get(refs, i);
		const struct apiserver_resource *of = apiserver_resource_of(ref);
		if (of == NULL)
			continue;
		apiserver_key(&owner, of->stored->kind, api_namespace(object),
			      api_get_string(ref, "name"));
		collector_push(collector, owner.s);
	}
}

/* What the object is, and its metadata. */
static json_t *read_identity(struct slice text)
{
	json_t *object = api_json_load_identity(text);
	return object != NULL ? object : api_json_load(text, 0, NULL);
}

/* The same of an object with owners, else NULL. Most objects have none, which is checked without
 * parsing them. */
static json_t *read_owned(struct slice text)
{
	return has_text(text, "\"ownerReferences\":") ? read_identity(text) : NULL;
}

/* Queues owners whose references were removed or changed. */
static void note_released_owners(struct apiserver_collector *collector, struct slice before,
				 const json_t *refs)
{
	json_t *was = read_owned(before);
	const json_t *old = api_get(was, "metadata.ownerReferences");
	if (old != NULL && !json_equal(old, refs))
		push_owners(collector, was, old);
	json_decref(was);
}

/* What the collector reads of an object. */
struct ownership {
	json_t *owners; /* its ownerReferences; NULL: it has none */
	bool deleting;
};

/* The text of a member of the metadata; empty for none. The word alone may be missing in the whole
 * text, as in most, which is seen faster. */
static struct slice find_in_metadata(struct slice text, const char *word, const char *name)
{
	struct slice value = { 0 };
	if (has_text(text, word))
		(void)api_json_member(text, "metadata", name, &value);
	return value;
}

/* The text of the owners; empty for none. */
static struct slice owners_of_text(struct slice text)
{
	return find_in_metadata(text, "\"ownerReferences\":", "ownerReferences");
}

/* As api_is_deleting of the object. */
static bool is_deleting_text(struct slice text)
{
	struct slice since = find_in_metadata(text, "\"deletionTimestamp\":", "deletionTimestamp");
	return since.n > strlen("\"\"") && since.p[0] == '"';
}

/* Of the text only the owners become a tree. */
static struct ownership read_ownership(struct slice text)
{
	struct slice owners = owners_of_text(text);
	return (struct ownership){
		.owners = owners.n != 0 ? api_json_load(owners, 0, NULL) : NULL,
		.deleting = is_deleting_text(text),
	};
}

static void ownership_done(struct ownership *ownership)
{
	json_decref(ownership->owners);
}

/* Notes the owners of an object; returns whether there may be work because of it. */
static bool note_owners(struct apiserver_collector *collector, const char *key,
			const struct ownership *ownership)
{
	apiserver_owner_index_set(&collector->owners, key, ownership->owners);
	return json_array_size(ownership->owners) != 0 || ownership->deleting;
}

/* Queues the owners that may wait for a removed object, and its dependents. */
static void note_removal(struct apiserver_collector *collector, const char *key,
			 const json_t *object)
{
	size_t n;
	const struct apiserver_dependent *d =
		apiserver_owner_index_dependents(&collector->owners, api_uid(object), &n);
	struct slice ns;
	const char *name;
	const struct apiserver_resource *r = resource_of_key(key, &ns, &name);
	for (size_t i = 0; i < n; i++)
		collector_push(collector, d[i].key);
	push_owners(collector, object, api_get(object, "metadata.ownerReferences"));
	if (r != NULL && r->kind->namespaced) {
		CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
		apiserver_key(&place, apiserver_resource_find("", "v1", "namespaces")->kind, NULL,
			      api_namespace(object));
		collector_push(collector, place.s);
	}
	apiserver_owner_index_set(&collector->owners, key, NULL);
	if (apiserver_bootstrap_owns(key))
		collector_push(collector, key);
}

static void see_object(void *ctx, const struct apiserver_row *row)
{
	struct ownership ownership = read_ownership(row->value);
	if (note_owners(ctx, row->key, &ownership))
		collector_push(ctx, row->key);
	ownership_done(&ownership);
}

/* Of most writes there is nothing to note: no deletion, and no owners or the same as before, which
 * were noted then. */
static bool concerns_collector(const struct apiserver_event *event)
{
	return event->removed || has_text(event->value, "\"deletionTimestamp\":") ||
	       !slice_eq(owners_of_text(event->value), owners_of_text(event->before));
}

/* Is it an object whose owners all exist, as most are? A later removal of one of them is another
 * change. */
static bool is_settled(struct apiserver_collector *collector, const struct collector_item *item,
		       const struct ownership *ownership)
{
	return !ownership->deleting &&
	       collector_has_all_owners(collector, item->ns, ownership->owners);
}

static void see_change(void *ctx, const struct apiserver_event *event)
{
	if (event->removed) {
		json_t *removed = read_identity(event->value);
		note_removal(ctx, event->key, removed);
		json_decref(removed);
		return;
	}
	struct ownership ownership = read_ownership(event->value);
	struct collector_item item;
	if (note_owners(ctx, event->key, &ownership) &&
	    (identify_item(event->key, &item) < 0 || !is_settled(ctx, &item, &ownership)))
		collector_push(ctx, event->key);
	note_released_owners(ctx, event->before, ownership.owners);
	ownership_done(&ownership);
}

static void forget_all(void *ctx)
{
	struct apiserver_collector *collector = ctx;
	apiserver_owner_index_done(&collector->owners);
	apiserver_owner_index_init(&collector->owners);
	/* One may have been deleted before the list, which shows no removals. */
	for (size_t i = 0; apiserver_bootstrap_keys[i] != NULL; i++)
		collector_push(collector, apiserver_bootstrap_keys[i]);
}

/* ---- work ---- */

/* Seen without reading the whole object. */
static bool is_settled_key(struct apiserver_collector *collector, const char *key)
{
	struct collector_item item;
	json_t *object;
	if (identify_item(key, &item) < 0 ||
	    apiserver_object_read_identity(collector->api->store, item.resource, item.ns, item.name,
					   &object) < 0)
		return false;
	const struct ownership ownership = {
		.owners = api_get(object, "metadata.ownerReferences"), /* the object's */
		.deleting = api_is_deleting(object),
	};
	bool settled = is_settled(collector, &item, &ownership);
	json_decref(object);
	return settled;
}

/* False: try again. */
static bool process_key(void *ctx, const char *key, void *value)
{
	struct apiserver_collector *collector = ctx;
	(void)value;
	struct collector_item item = { 0 };
	if (is_settled_key(collector, key))
		return true;
	int e = collector_read(collector, key, &item);
	if (e == ERR_NOTFOUND && apiserver_bootstrap_owns(key))
		return apiserver_bootstrap_remake(collector->api) == 0;
	if (e < 0)
		return e == ERR_NOTFOUND;
	bool fine;
	if (api_is_deleting(item.object) && strcmp(item.resource->kind->kind, "Namespace") == 0 &&
	    item.resource->kind->group[0] == '\0')
		fine = collector_empty_namespace(collector, &item);
	else if (api_is_deleting(item.object))
		fine = collector_finish_deletion(collector, &item);
	else
		fine = collector_check_owners(collector, &item);
	collector_item_done(&item);
	return fine;
}

static void sweep_if_due(struct apiserver_collector *collector)
{
	uint64_t now = clock_mono_ns();
	if (now < collector->sweep_ns)
		return;
	collector_sweep_events(collector);
	collector->sweep_ns = now + MIN(collector->api->conf.event_ttl_ns / SWEEPS_PER_TTL,
					SWEEP_MAX_S * NS_PER_S);
}

/* True: something failed and must be tried again. */
static bool process_due(void *ctx, const struct apiserver_follower *follower)
{
	struct apiserver_collector *collector = ctx;
	collector->running = follower;
	bool again = apiserver_follower_process(follower, &collector->due, process_key, collector);
	sweep_if_due(collector);
	return again;
}

static uint64_t next_sweep_ns(void *ctx)
{
	const struct apiserver_collector *collector = ctx;
	return collector->sweep_ns;
}

static const struct apiserver_follower_ops collector_ops = {
	.reset = forget_all,
	.see = see_object,
	.concerns = concerns_collector,
	.change = see_change,
	.act = process_due,
	.next_ns = next_sweep_ns,
};

struct apiserver_collector *apiserver_collector_new(struct apiserver_api *api)
{
	struct apiserver_collector *collector = xcalloc(1, sizeof(*collector));
	collector->api = api;
	apiserver_owner_index_init(&collector->owners);
	map_init(&collector->due);
	collector->follower = apiserver_follower_new(api->store, &collector_ops, collector);
	return collector;
}

void apiserver_collector_free(struct apiserver_collector *collector)
{
	if (collector == NULL)
		return;
	apiserver_follower_free(collector->follower);
	apiserver_owner_index_done(&collector->owners);
	map_done(&collector->due);
	free(collector);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DELETE of one object or a collection. An object with finalizers gets a deletionTimestamp and
 * stays until they are gone; any other object is removed at once. */
#include "apiserver/verb/delete.h"

#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "apiserver/request/list_answer.h"
#include "apiserver/request/object.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/request/respond.h"
#include "apiserver/request/selection.h"
#include "apiserver/request/stream.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "apiserver/verb/admission.h"
#include "apiserver/verb/write.h"
#include "base/clock.h"

enum { REMOVE_TRIES = 20 };

static const char orphan_finalizer[] = "orphan";
static const char foreground_finalizer[] = "foregroundDeletion";

static bool is_kind(const struct apiserver_resource *resource, const char *kind)
{
	return resource->built_in && resource->kind->group[0] == '\0' &&
	       strcmp(resource->kind->kind, kind) == 0;
}

static int check_preconditions(const struct apiserver_resource *resource, const json_t *old,
			       const struct apiserver_delete_options *options,
			       struct apiserver_status *status)
{
	if (options->uid != NULL && strcmp(options->uid, api_uid(old)) != 0)
		return apiserver_status_conflict_kind(
			status, resource, api_name(old),
			"the UID in the precondition (%s) does not match the UID "
			"in record (%s). The object might have been deleted and "
			"then recreated",
			options->uid, api_uid(old));
	if (options->resource_version != NULL &&
	    strcmp(options->resource_version, api_resource_version(old)) != 0)
		return apiserver_status_conflict_kind(
			status, resource, api_name(old),
			"the ResourceVersion in the precondition (%s) does not "
			"match the ResourceVersion in record (%s). The object "
			"might have been modified",
			options->resource_version, api_resource_version(old));
	return 0;
}

/* ---- finalizers ---- */

static void set_finalizer(json_t *object, const char *name, bool there)
{
	json_t *meta = apiserver_object_meta(object), *list = json_object_get(meta, "finalizers"),
	       *v;
	size_t i;
	if (api_has_finalizer(object, name) == there)
		return;
	if (list == NULL) {
		list = json_array();
		json_object_set_new(meta, "finalizers", list);
	}
	if (there) {
		json_array_append_new(list, json_string(name));
		return;
	}
	json_array_foreach (list, i, v) {
		if (strcmp(api_text(v), name) == 0) {
			json_array_remove(list, i);
			break;
		}
	}
	if (json_array_size(list) == 0)
		json_object_del(meta, "finalizers");
}

/* The propagation policy is stored as a finalizer, which the collector acts on. A delete without a
 * policy keeps the one of an earlier delete. */
static void set_propagation(json_t *object, const struct apiserver_delete_options *opt)
{
	bool orphan = strcmp(opt->policy, "Orphan") == 0 || opt->orphan == 1;
	bool foreground = strcmp(opt->policy, "Foreground") == 0;
	if (opt->policy[0] == '\0' && opt->orphan < 0)
		return;
	set_finalizer(object, orphan_finalizer, orphan);
	set_finalizer(object, foreground_finalizer, foreground);
}

/* Kinds whose deletion is answered with the object instead of a Status. */
static bool answers_with_object(const struct apiserver_resource *resource)
{
	return is_kind(resource, "Pod") || is_kind(resource, "Service") ||
	       is_kind(resource, "ServiceAccount");
}

static void mark_deleting(const struct apiserver_resource *resource, json_t *object)
{
	char now[API_TIME_TEXT_MAX];
	json_t *meta = apiserver_object_meta(object);
	if (api_is_deleting(object))
		return;
	json_object_set_new(meta, "deletionTimestamp",
			    json_string(api_time_format(clock_wall_ns(), now)));
	if (is_kind(resource, "Namespace")) {
		json_t *status = json_object_get(object, "status");
		if (!json_is_object(status)) {
			status = json_object();
			json_object_set_new(object, "status", status);
		}
		json_object_set_new(status, "phase", json_string("Terminating"));
		return;
	}
	json_object_set_new(meta, "deletionGracePeriodSeconds", json_integer(0));
	if (api_generation(object) > 0)
		json_object_set_new(meta, "generation", json_integer(api_generation(object) + 1));
}

static int check_immortal(const struct apiserver_resource *resource, const char *name,
			  struct apiserver_status *status)
{
	static const char *const names[] = { "default", "kube-system", "kube-public" };
	for (size_t i = 0; is_kind(resource, "Namespace") && i < ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return apiserver_status_forbidden(status, resource, name,
							  "this namespace may not be deleted");
	}
	if (resource->built_in && strcmp(resource->kind->kind, "CustomResourceDefinition") == 0)
		return apiserver_status_forbidden(
			status, resource, name,
			"this server has a fixed set of kinds: none can be removed");
	return 0;
}

/* ---- one object ---- */

static int store_mark(struct apiserver_api *api, const struct apiserver_resource *resource,
		      json_t *object, uint64_t revision)
{
	json_t *stored = apiserver_object_to_stored(resource, object);
	uint64_t now;
	int e = apiserver_write_plain(api, resource, stored, revision, &now);
	json_decref(stored);
	if (e == 0)
		apiserver_object_set_revision(object, now);
	return e;
}

static int store_removal(struct apiserver_api *api, const struct apiserver_resource *resource,
			 json_t *object, const json_t *old, uint64_t revision)
{
	json_t *stored =
		apiserver_object_to_stored(resource, is_kind(resource, "Pod") ? object : old);
	uint64_t now;
	int e = apiserver_write_removal(api, resource, stored, revision, &now);
	json_decref(stored);
	if (e == 0)
		apiserver_object_set_revision(object, now);
	return e;
}

static int try_remove(struct apiserver_api *api, const struct apiserver_resource *resource,
		      const json_t *old, uint64_t revision,
		      const struct apiserver_delete_options *opt, struct apiserver_deletion *ret)
{
	json_t *o = api_tree_copy(old);
	int e = 0;
	set_propagation(o, opt);
	ret->gone = apiserver_write_is_finalized(resource, o);
	/* A Pod is marked even if it goes at once: watchers see its deletionTimestamp. */
	if (!ret->gone || is_kind(resource, "Pod"))
		mark_deleting(resource, o);
	if (!opt->dry_run && ret->gone)
		e = store_removal(api, resource, o, old, revision);
	else if (!opt->dry_run && !json_equal(o, old))
		e = store_mark(api, resource, o, revision);
	if (e == 0)
		ret->last_state = o;
	else
		json_decref(o);
	return e;
}

/* Deletes an object or marks it as being deleted. The caller owns ret->was. */
static int delete_object(const struct apiserver_writing *writing, const char *name,
			 const struct apiserver_delete_options *options,
			 struct apiserver_deletion *ret)
{
	const struct apiserver_resource *resource = writing->resource;
	struct apiserver_status *status = writing->status;
	int e = check_immortal(resource, name, status);
	if (e < 0)
		return e;
	for (int i = 0; i < REMOVE_TRIES; i++) {
		json_t *old;
		uint64_t revision;
		e = apiserver_object_read(writing->api->store, resource, writing->ns, name, &old,
					  &revision);
		if (e == ERR_NOTFOUND)
			return apiserver_status_not_found(status, resource, name);
		if (e < 0)
			return apiserver_status_store_failed(status, e);
		e = check_preconditions(resource, old, options, status);
		if (e == 0)
			e = apiserver_admission_delete(writing, old);
		if (e == 0)
			e = try_remove(writing->api, resource, old, revision, options, ret);
		json_decref(old);
		if (e == 0 || e == ERR_DENIED)
			return e;
		if (e != ERR_CONFLICT)
			return apiserver_status_store_failed(status, e);
	}
	return apiserver_status_modified(status, resource, name);
}

static struct apiserver_writing writing_of(struct apiserver_request *req,
					   const struct apiserver_delete_options *options)
{
	return (struct apiserver_writing){ .api = req->api,
					   .resource = req->resource,
					   .ns = req->route.ns,
					   .subresource = "",
					   .user = req->call->who->user,
					   .dry_run = options->dry_run,
					   .warnings = &req->answer->warnings,
					   .status = req->status };
}

int apiserver_verb_delete(struct apiserver_request *req)
{
	struct apiserver_delete_options o = { .policy = "", .orphan = -1 };
	struct apiserver_deletion done = { 0 };
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_delete_options(req->call, &o, req->status);
	if (e < 0)
		return e;
	const struct apiserver_writing writing = writing_of(req, &o);
	e = delete_object(&writing, req->route.name, &o, &done);
	apiserver_delete_options_done(&o);
	if (e < 0)
		return e;
	if (!done.gone || answers_with_object(req->resource))
		return apiserver_respond_object(req, 200, done.last_state);
	apiserver_respond_tree(req, 200, apiserver_status_success(req->resource, done.last_state));
	json_decref(done.last_state);
	return 0;
}

/* ---- collections ---- */

/* Objects are read and deleted page by page; only the answer's text is kept for all of them. */
struct collection {
	struct apiserver_request *req;
	const struct apiserver_selection *selection;
	struct apiserver_range range;
	struct apiserver_list_answer out;
	struct strbuf last; /* key of the page's last row */
	json_t *found;	    /* of the page */
	size_t rows, bytes;
	bool has_more; /* the page ended before the range did */
};

static int collect_row(void *ctx, const struct apiserver_row *row)
{
	struct collection *collection = ctx;
	json_t *o = apiserver_object_parse(collection->req->resource, row->value);
	if (o != NULL && apiserver_selection_match(collection->selection, o))
		json_array_append(collection->found, o);
	json_decref(o);
	strbuf_reset(&collection->last);
	strbuf_adds(&collection->last, row->key);
	collection->rows++;
	collection->bytes += row->value.n;
	collection->has_more = collection->rows == APISERVER_PIECE_ROWS ||
			       collection->bytes >= APISERVER_PIECE_BYTES;
	return collection->has_more;
}

/* Another client may delete the same objects: one that is gone already is no error. */
static int remove_found(struct collection *collection,
			const struct apiserver_delete_options *options)
{
	const struct apiserver_writing writing = writing_of(collection->req, options);
	size_t i;
	json_t *v;
	json_array_foreach (collection->found, i, v) {
		struct apiserver_deletion done = { 0 };
		int e = delete_object(&writing, api_name(v), options, &done);
		if (e == 0)
			json_decref(done.last_state);
		else if (collection->req->status->code != 404)
			return e;
		apiserver_list_answer_add_object(&collection->out, v);
	}
	return 0;
}

static int remove_page(struct collection *collection,
		       const struct apiserver_delete_options *options, uint64_t *ret_at)
{
	CLEANUP(strbuf_done) struct strbuf after = STRBUF_INIT;
	strbuf_adds(&after, collection->last.s);
	collection->range.after = after.n != 0 ? after.s : NULL;
	collection->rows = collection->bytes = 0;
	collection->has_more = false;
	collection->found = json_array();
	int e = apiserver_store_list(collection->req->api->store, &collection->range, collect_row,
				     collection, ret_at, NULL);
	/* On a full disk old revisions are compacted at once: then the newest one is read. */
	if (e == ERR_GONE) {
		collection->range.at = 0;
		e = apiserver_store_list(collection->req->api->store, &collection->range,
					 collect_row, collection, ret_at, NULL);
	}
	e = e < 0 ? apiserver_status_store_failed(collection->req->status, e)
		  : remove_found(collection, options);
	json_decref(collection->found);
	return e;
}

static int remove_pages(struct collection *collection,
			const struct apiserver_delete_options *options)
{
	uint64_t first, at;
	int e = remove_page(collection, options, &first);
	collection->range.at = first;
	while (e == 0 && collection->has_more)
		e = remove_page(collection, options, &at);
	return e < 0 ? e
		     : apiserver_list_answer_end(collection->req, &collection->out, first, "", -1);
}

static int remove_all(struct apiserver_request *req, const struct apiserver_selection *sel,
		      const struct apiserver_delete_options *options)
{
	CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
	struct collection collection = { .req = req, .selection = sel, .last = STRBUF_INIT };
	int e = apiserver_list_answer_begin(req, &collection.out);
	if (e < 0)
		return e;
	apiserver_key(&prefix, req->resource->stored->kind, req->route.ns, NULL);
	collection.range.prefix = prefix.s;
	e = remove_pages(&collection, options);
	apiserver_list_answer_done(&collection.out);
	strbuf_done(&collection.last);
	return e;
}

int apiserver_verb_delete_collection(struct apiserver_request *req)
{
	struct apiserver_list_options list_options = { 0 };
	struct apiserver_delete_options o = { .policy = "", .orphan = -1 };
	struct apiserver_selection sel;
	uint64_t at;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_list_options(req->call, &list_options, req->status);
	if (e == 0 && !apiserver_resource_version_parse(list_options.resource_version, &at))
		e = apiserver_resource_version_refuse(req->status, list_options.resource_version);
	if (e == 0)
		e = apiserver_delete_options(req->call, &o, req->status);
	if (e < 0)
		return e;
	e = apiserver_selection_parse(req->resource, list_options.label, list_options.field, &sel,
				      req->status);
	if (e == 0)
		e = remove_all(req, &sel, &o);
	apiserver_selection_done(&sel);
	apiserver_delete_options_done(&o);
	return e;
}

bool apiserver_delete_as_system(struct apiserver_api *api,
				const struct apiserver_resource *resource, const char *ns,
				const char *name, const char *uid, const char *policy)
{
	struct apiserver_delete_options o = { .policy = policy, .orphan = -1, .uid = uid };
	struct apiserver_status status = APISERVER_STATUS_INIT;
	struct apiserver_deletion done = { 0 };
	const struct apiserver_writing writing = {
		.api = api, .resource = resource, .ns = ns, .subresource = "", .status = &status
	};
	int e = delete_object(&writing, name, &o, &done);
	if (e == 0)
		json_decref(done.last_state);
	/* Gone already, replaced by another object, or not deletable: no retry would help. */
	bool fine = e == 0 || status.code == 404 || (status.code == 409 && uid != NULL) ||
		    status.code == 403;
	apiserver_status_done(&status);
	return fine;
}

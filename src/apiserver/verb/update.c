/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PUT: replaces an object; of some kinds it also creates a missing one. */
#include "apiserver/verb/update.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/object.h"
#include "apiserver/request/options.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/request/respond.h"
#include "apiserver/store/key.h"
#include "apiserver/verb/write.h"

enum { UPDATE_TRIES = 20 };

/* Kinds of which a PUT creates missing objects. */
static bool creates_missing(const struct apiserver_resource *resource)
{
	static const char *const kinds[] = { "Service", "Lease", "Event" };
	for (size_t i = 0; resource->built_in && i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], resource->kind->kind) == 0)
			return true;
	}
	return false;
}

static int refuse_missing_version(const struct apiserver_writing *writing, const char *name)
{
	struct api_errors errs = { 0 };
	api_errors_add(&errs, API_FIELD_INVALID, "metadata.resourceVersion", "0",
		       "must be specified for an update");
	/* Here the server names the resource where it names the kind elsewhere. */
	int e = apiserver_status_unprocessable(writing->status, writing->resource->kind->group,
					       writing->resource->kind->plural, name, &errs);
	api_errors_done(&errs);
	return e;
}

/* A uid in the body must be the object's. The server's message is that of its store. */
static int check_uid(const struct apiserver_writing *writing, const json_t *old,
		     const json_t *object)
{
	const char *want = api_uid(object), *ns = api_namespace(old);
	if (want[0] == '\0' || strcmp(want, api_uid(old)) == 0)
		return 0;
	CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
	strbuf_addf(&place, "/registry/%s%s%s/%s%s%s",
		    writing->resource->built_in ? "" : writing->resource->kind->group,
		    writing->resource->built_in ? "" : "/", writing->resource->kind->plural, ns,
		    ns[0] != '\0' ? "/" : "", api_name(old));
	return apiserver_status_conflict(
		writing->status, writing->resource, api_name(old),
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, "
		"AdditionalErrorMsg: Precondition failed: UID in precondition: %s, "
		"UID in object meta: %s",
		place.s, want, api_uid(old));
}

/* Kinds whose updates need a resourceVersion; custom resources always do. */
static bool needs_version(const struct apiserver_resource *resource)
{
	static const char *const kinds[] = { "Lease", "CustomResourceDefinition" };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], resource->kind->kind) == 0)
			return true;
	}
	return !resource->built_in;
}

static int check_version(const struct apiserver_writing *writing, uint64_t revision, uint64_t want,
			 const char *name)
{
	if (want == 0)
		return needs_version(writing->resource) ? refuse_missing_version(writing, name) : 0;
	return want == revision
		       ? 0
		       : apiserver_status_modified(writing->status, writing->resource, name);
}

/* The version that the body names; 0: none. */
static int read_version(const struct apiserver_writing *writing, const json_t *body, uint64_t *ret)
{
	const char *text = api_resource_version(body);
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	if (apiserver_resource_version_parse(text, ret))
		return 0;
	strbuf_add_quoted(&quoted, slice_of(text));
	return apiserver_status_refuse(writing->status, 500, "",
				       "strconv.ParseUint: parsing %s: %s", quoted.s,
				       apiserver_resource_version_error(text));
}

/* One try, which uses up the body. 1: created. ERR_CONFLICT: another write came in between. */
static int try_update(const struct apiserver_writing *writing, const char *name, json_t *body,
		      json_t **ret)
{
	json_t *old;
	uint64_t revision, want;
	int e = apiserver_object_read(writing->api->store, writing->resource, writing->ns, name,
				      &old, &revision);
	if (e == ERR_NOTFOUND && !creates_missing(writing->resource))
		return apiserver_status_not_found(writing->status, writing->resource, name);
	if (e < 0 && e != ERR_NOTFOUND)
		return apiserver_status_store_failed(writing->status, e);
	const bool exists = e == 0;
	e = read_version(writing, body, &want);
	if (!exists && e == 0) {
		json_object_del(apiserver_object_meta(body), "resourceVersion");
		e = apiserver_write_new(writing, body, ret);
		return e < 0 ? e : 1;
	}
	if (!exists)
		return e;
	if (e == 0)
		e = check_uid(writing, old, body);
	if (e == 0)
		e = check_version(writing, revision, want, name);
	if (e == 0)
		e = apiserver_write_change(writing, old, revision, body, ret);
	json_decref(old);
	return e;
}

static int decode_body(struct apiserver_request *req, const struct apiserver_write_options *options,
		       struct strbuf *warnings, json_t **ret)
{
	return apiserver_request_body_object(req->call, req->resource, options->strictness, ret,
					     warnings, req->status);
}

/* Tries again as long as other writes come in between, each time with the body as it was sent: it is
 * decoded anew then, which is rarer than a first try. */
static int update_until_stored(struct apiserver_request *req,
			       const struct apiserver_write_options *options,
			       const struct apiserver_writing *writing, json_t *body, json_t **ret)
{
	CLEANUP(strbuf_done) struct strbuf same_warnings = STRBUF_INIT;
	int e = try_update(writing, req->route.name, body, ret);
	for (int i = 1; e == ERR_CONFLICT && i < UPDATE_TRIES; i++) {
		json_t *again;
		e = decode_body(req, options, &same_warnings, &again);
		if (e < 0)
			return e;
		e = try_update(writing, req->route.name, again, ret);
		json_decref(again);
	}
	return e;
}

static int update_object(struct apiserver_request *req,
			 const struct apiserver_write_options *options, json_t *body)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const struct apiserver_writing writing = {
		.api = req->api,
		.resource = req->resource,
		.ns = req->route.ns,
		.subresource = req->route.subresource,
		.manager = options->manager,
		.user = req->call->who->user,
		.dry_run = options->dry_run,
		.warnings = &req->answer->warnings,
		.stored_text = &text,
		.status = req->status,
	};
	json_t *made = NULL;
	int e = update_until_stored(req, options, &writing, body, &made);
	if (e == ERR_CONFLICT)
		return apiserver_status_modified(req->status, req->resource, req->route.name);
	return e < 0 ? e : apiserver_respond_written(req, e == 1 ? 201 : 200, made, &text);
}

int apiserver_verb_update(struct apiserver_request *req)
{
	struct apiserver_write_options o = { 0 };
	json_t *body = NULL;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_write_options(req->call, APISERVER_WRITE_UPDATE, &o, req->status);
	if (e == 0)
		e = decode_body(req, &o, &req->answer->warnings, &body);
	if (e < 0)
		return e;
	e = apiserver_route_check_object(&req->route, body, true, req->status);
	if (e == 0)
		e = update_object(req, &o, body);
	json_decref(body);
	return e;
}

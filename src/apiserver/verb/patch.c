/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PATCH: JSON, merge and strategic merge patches, and server-side apply. A patch without a
 * resourceVersion is tried again when another write came in between. */
#include "apiserver/verb/patch.h"

#include <string.h>

#include "api/meta.h"
#include "api/patch/patch.h"
#include "api/patch/strategic.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "apiserver/codec/json_error.h"
#include "apiserver/codec/strict.h"
#include "apiserver/codec/strict_convert.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/kind/objectmeta.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/object.h"
#include "apiserver/request/options.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/request/respond.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/name_rules.h"
#include "apiserver/verb/field_managers.h"
#include "apiserver/verb/write.h"
#include "base/err_text.h"
#include "base/mem.h"

enum { PATCH_TRIES = 20 };

struct patching {
	const struct patch_type *type;
	struct apiserver_request *req;
	struct apiserver_write_options options;
	struct apiserver_writing writing;
	json_t *patch;
};

/* ---- kinds of patches ---- */

static int refuse_patch_type(struct patching *patching, const char *before, const char *into)
{
	return apiserver_status_bad_request(patching->req->status,
					    "%sjson: cannot unmarshal %s into Go value of type %s",
					    before, apiserver_json_go_type(patching->patch), into);
}

static const char into_map[] = "map[string]interface {}";

static int make_merged(struct patching *patching, const json_t *old, json_t **ret)
{
	if (json_is_null(patching->patch))
		return apiserver_status_bad_request(patching->req->status, "Invalid JSON Patch");
	if (!json_is_object(patching->patch))
		return refuse_patch_type(patching, "error decoding patch: ", into_map);
	json_t *o = api_merge_apply(old, patching->patch);
	if (o == NULL)
		return apiserver_status_bad_request(patching->req->status,
						    "the patch is nested too deeply");
	*ret = api_tree_copy_object(o, old);
	json_decref(o);
	return 0;
}

static int make_strategic(struct patching *patching, const json_t *old, json_t **ret)
{
	char err[512] = "";
	if (!json_is_object(patching->patch) && !json_is_null(patching->patch))
		return refuse_patch_type(patching, "", into_map);
	json_t *nothing = json_object();
	int e = api_strategic_apply(patching->writing.resource->openapi, old,
				    json_is_null(patching->patch) ? nothing : patching->patch, ret,
				    ERR_TEXT(err));
	json_decref(nothing);
	if (e == ERR_TYPE)
		return apiserver_status_refuse(patching->req->status, 500, "", "%s", err);
	if (e == ERR_UNSUPPORTED)
		return apiserver_status_refuse(patching->req->status, 422, "Invalid", "%s", err);
	return e < 0 ? apiserver_status_bad_request(patching->req->status, "%s", err) : 0;
}

/* The server decodes operations twice; the first time, only these three members. */
static int check_operation(struct patching *patching, const json_t *op)
{
	static const char *const texts[] = { "op", "from", "path" };
	if (!json_is_object(op) && !json_is_null(op))
		return apiserver_status_bad_request(
			patching->req->status,
			"error decoding patch: json: cannot unmarshal %s into "
			"Go value of type handlers.jsonPatchOp",
			apiserver_json_go_type(op));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const json_t *v = json_object_get(op, texts[i]);
		if (v != NULL && !json_is_null(v) && !json_is_string(v))
			return apiserver_status_bad_request(
				patching->req->status,
				"error decoding patch: json: cannot unmarshal %s into Go struct "
				"field jsonPatchOp.%s of type string",
				apiserver_json_go_type(v), texts[i]);
	}
	return 0;
}

static int make_json_patched(struct patching *patching, const json_t *old, json_t **ret)
{
	char err[512];
	json_t *op;
	size_t i;
	if (json_is_null(patching->patch)) {
		*ret = api_tree_copy(old);
		return 0;
	}
	if (!json_is_array(patching->patch))
		return refuse_patch_type(patching,
					 "error decoding patch: ", "[]handlers.jsonPatchOp");
	json_array_foreach (patching->patch, i, op) {
		if (check_operation(patching, op) < 0)
			return ERR_DENIED;
	}
	if (json_array_size(patching->patch) > API_PATCH_OPS_MAX)
		return apiserver_status_refuse(
			patching->req->status, 413, "RequestEntityTooLarge",
			"Request entity too large: The allowed maximum operations "
			"in a JSON patch is %d, got %zu",
			API_PATCH_OPS_MAX, json_array_size(patching->patch));
	int e = api_json_patch(old, patching->patch, ret, ERR_TEXT(err));
	if (e < 0)
		return apiserver_status_refuse_generic(
			patching->req->status, 422, "Invalid",
			"the server rejected our request due to an error in our request");
	return 0;
}

static int make_applied(struct patching *patching, const json_t *old, json_t **ret)
{
	return apiserver_field_managers_apply(&patching->writing, old, patching->patch,
					      patching->options.force, ret);
}

/* ---- the result ---- */

static int refuse_result(struct patching *patching, const char *value, const char *why)
{
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	struct api_errors errs = { 0 };
	strbuf_add_quoted(&shown, slice_of(value));
	api_errors_add(&errs, API_FIELD_INVALID, "patch", shown.s, why);
	int e = apiserver_status_unprocessable(patching->req->status, "", "", "", &errs);
	api_errors_done(&errs);
	return e;
}

/* The result of a strategic merge patch; the message shows the patch. */
static int check_types(struct patching *patching, const json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	char err[512];
	if (apiserver_strict_convert(patching->writing.resource, object, ERR_TEXT(err)) == 0)
		return 0;
	api_fielderr_go(&shown, patching->patch);
	return refuse_result(patching, shown.s, err);
}

/* The results of other patches are decoded like a body; the message shows the whole result. Its text is
 * made only for messages. */
static int check_result(struct patching *patching, const json_t *old, json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT, version = STRBUF_INIT;
	apiserver_object_add_version(&version, patching->writing.resource);
	strbuf_reset(&patching->req->answer->warnings);
	const char *kind = api_kind(object);
	int e;
	if (!json_is_object(object))
		return apiserver_status_refuse_generic(
			patching->req->status, 422, "Invalid",
			"the server rejected our request due to an error in our request");
	if (patching->writing.resource->built_in &&
	    (strcmp(kind, patching->writing.resource->kind->kind) != 0 ||
	     strcmp(api_version(object), version.s) != 0)) {
		strbuf_addf(&why,
			    "no kind \"%s\" is registered for version \"%s\" in scheme "
			    "\"pkg/runtime/scheme.go:111\"",
			    kind, api_version(object));
		e = ERR_TYPE;
	} else {
		e = apiserver_request_body_check_patched(patching->writing.resource, object, old,
							 patching->options.strictness,
							 &patching->req->answer->warnings, &why);
	}
	if (e == 0)
		return 0;
	CLEANUP(freep) char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	return refuse_result(patching, text, why.s);
}

static int decode_strategic(struct patching *patching, const json_t *old, json_t *object)
{
	int e = check_types(patching, object);
	if (e < 0)
		return e;
	apiserver_strict_narrow(patching->writing.resource, object);
	return check_result(patching, old, object);
}

/* An applied configuration has the schema's types already. Strings with a format (base64, times)
 * and the sizes of numbers are checked only when the result is converted to the kind's Go type. */
static int decode_applied(struct patching *patching, const json_t *old, json_t *object)
{
	(void)old;
	CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;
	const struct apiserver_resource *resource = patching->writing.resource;
	char err[512];
	if (!resource->built_in)
		return 0;
	if (apiserver_strict_convert(resource, object, ERR_TEXT(err)) == 0) {
		apiserver_strict_narrow(resource, object);
		return 0;
	}
	strbuf_addf(&kind, "%s/%s, Kind=%s", resource->kind->group, resource->version,
		    resource->kind->kind);
	return apiserver_status_refuse(
		patching->req->status, 500, "",
		"failed to convert new object (%s/%s; %s) to proper version: "
		"unable to convert unstructured object to %s: %s",
		api_namespace(patching->patch), api_name(patching->patch), kind.s, kind.s, err);
}

/* ---- the kinds of patches ---- */

static const struct patch_type {
	const char *media;
	int (*make)(struct patching *patching, const json_t *old, json_t **ret);
	int (*decode)(struct patching *patching, const json_t *old,
		      json_t *object); /* refuses values of wrong types */
	bool built_in_only;
	bool applies; /* creates missing objects, and sets managedFields itself */
} patch_types[] = {
	{ "application/json-patch+json", make_json_patched, check_result, false, false },
	{ "application/merge-patch+json", make_merged, check_result, false, false },
	{ "application/strategic-merge-patch+json", make_strategic, decode_strategic, true, false },
	{ "application/apply-patch+yaml", make_applied, decode_applied, false, true },
};

/* The patched and decoded object: valid as the body of an update. */
static int make_object(struct patching *patching, const json_t *old, json_t **ret)
{
	json_t *o;
	int e = patching->type->make(patching, old, &o);
	if (e < 0)
		return e;
	e = patching->type->decode(patching, old, o);
	if (e < 0) {
		json_decref(o);
		return e;
	}
	apiserver_go_fill_nulls(patching->writing.resource, o, old);
	*ret = o;
	return 0;
}

/* A patch cannot change apiVersion and kind of a custom resource. */
static int check_identity(struct patching *patching, const json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT, text = STRBUF_INIT;
	const struct api_kind *k = patching->writing.resource->kind;
	struct api_errors errs = { 0 };
	if (patching->writing.resource->built_in)
		return 0;
	apiserver_object_add_version(&version, patching->writing.resource);
	if (strcmp(api_version(object), version.s) != 0) {
		strbuf_addf(&text, "must be %s", version.s);
		apiserver_add_invalid(&errs, "apiVersion", json_object_get(object, "apiVersion"),
				      text.s);
	}
	strbuf_reset(&text);
	if (strcmp(api_kind(object), k->kind) != 0) {
		strbuf_addf(&text, "must be %s", k->kind);
		apiserver_add_invalid(&errs, "kind", json_object_get(object, "kind"), text.s);
	}
	int e = errs.n == 0
			? 0
			: apiserver_status_unprocessable(patching->req->status, k->group,
							 api_kind(object), api_name(object), &errs);
	api_errors_done(&errs);
	return e;
}

/* A resourceVersion in the result other than the one read comes from the patch. */
static int check_version(struct patching *patching, const json_t *object, uint64_t revision)
{
	const char *rv = api_resource_version(object);
	uint64_t want;
	if (!apiserver_resource_version_parse(rv, &want)) {
		CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
		strbuf_add_quoted(&quoted, slice_of(rv));
		return apiserver_status_refuse(patching->req->status, 500, "",
					       "strconv.ParseUint: parsing %s: %s", quoted.s,
					       apiserver_resource_version_error(rv));
	}
	return want == 0 || want == revision ? 0
					     : apiserver_status_modified(patching->req->status,
									 patching->writing.resource,
									 patching->req->route.name);
}

static int change_object(struct patching *patching, const json_t *old, uint64_t revision,
			 json_t **ret)
{
	json_t *o;
	int e = make_object(patching, old, &o);
	if (e < 0)
		return e;
	apiserver_drop_duplicate_owners(o, " after mutating admission happens",
					&patching->req->answer->warnings);
	e = check_identity(patching, o);
	if (e == 0)
		e = apiserver_route_check_object(&patching->req->route, o, true,
						 patching->req->status);
	if (e == 0)
		e = check_version(patching, o, revision);
	if (e == 0)
		e = apiserver_write_change(&patching->writing, old, revision, o, ret);
	json_decref(o);
	return e;
}

/* Server-side apply creates a missing object; other patches refuse it. 1: created. */
static int create_missing(struct patching *patching, json_t **ret)
{
	json_t *o;
	if (!patching->type->applies || patching->writing.subresource[0] != '\0')
		return apiserver_status_not_found(patching->req->status, patching->writing.resource,
						  patching->req->route.name);
	int e = make_object(patching, NULL, &o);
	if (e < 0)
		return e;
	e = apiserver_route_check_object(&patching->req->route, o, true, patching->req->status);
	if (e == 0)
		e = apiserver_write_new(&patching->writing, o, ret);
	json_decref(o);
	return e < 0 ? e : 1;
}

static int try_patch(struct patching *patching, json_t **ret)
{
	json_t *old;
	uint64_t revision;
	int e = apiserver_object_read(patching->writing.api->store, patching->writing.resource,
				      patching->writing.ns, patching->req->route.name, &old,
				      &revision);
	if (e == ERR_NOTFOUND)
		return create_missing(patching, ret);
	if (e < 0)
		return apiserver_status_store_failed(patching->req->status, e);
	e = change_object(patching, old, revision, ret);
	json_decref(old);
	return e;
}

/* ---- the request ---- */

/* Checks apiVersion and kind of an applied configuration; its name is checked in the result. */
static int check_config(struct patching *patching)
{
	const struct api_kind *k = patching->writing.resource->kind;
	const char *version = api_version(patching->patch), *kind = api_kind(patching->patch);
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
	apiserver_object_add_version(&want, patching->writing.resource);
	if (strcmp(version, want.s) != 0 || strcmp(kind, k->kind) != 0)
		return apiserver_status_bad_request(
			patching->req->status, "invalid object type: %s%s, Kind=%s",
			strchr(version, '/') != NULL ? "" : "/", version, kind);
	const json_t *given = json_object_get(patching->patch, "metadata");
	if (given != NULL && !json_is_null(given) && !json_is_object(given))
		return apiserver_status_refuse(patching->req->status, 500, "",
					       "failed to create typed patch object (%s/%s; %s%s, "
					       "Kind=%s): .metadata: expected map, got &{%s}",
					       "", "", strchr(version, '/') != NULL ? "" : "/",
					       version, kind, api_text(given));
	return apiserver_route_check_object(&patching->req->route, patching->patch, false,
					    patching->req->status);
}

static int patch_object(struct patching *patching)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	json_t *made = NULL;
	int e = ERR_CONFLICT;
	patching->writing = (struct apiserver_writing){
		.api = patching->req->api,
		.resource = patching->req->resource,
		.ns = patching->req->route.ns,
		.subresource = patching->req->route.subresource,
		.manager = patching->options.manager,
		.user = patching->req->call->who->user,
		.dry_run = patching->options.dry_run,
		.applied = patching->type->applies,
		.warnings = &patching->req->answer->warnings,
		.stored_text = &text,
		.status = patching->req->status,
	};
	if (patching->type->applies) {
		e = check_config(patching);
		if (e < 0)
			return e;
		e = ERR_CONFLICT;
	}
	for (int i = 0; e == ERR_CONFLICT && i < PATCH_TRIES; i++)
		e = try_patch(patching, &made);
	if (e == ERR_CONFLICT)
		return apiserver_status_modified(patching->req->status, patching->writing.resource,
						 patching->req->route.name);
	return e < 0 ? e
		     : apiserver_respond_written(patching->req, e == 1 ? 201 : 200, made, &text);
}

static int refuse_media_type(struct apiserver_request *req)
{
	if (req->resource->built_in)
		return apiserver_status_refuse_generic(req->status, 415, "UnsupportedMediaType",
						       "415: Unsupported Media Type");
	return apiserver_status_refuse(
		req->status, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media "
		"types include: application/json-patch+json, "
		"application/merge-patch+json, application/apply-patch+yaml");
}

/* Content types of patches are compared with their case, unlike those of other bodies. */
static bool is_media_type(const char *given, const char *type)
{
	struct slice rest = slice_of(given);
	return slice_is(slice_trim(slice_cut(&rest, ';')), type);
}

static const struct patch_type *find_patch_type(const struct apiserver_request *req)
{
	for (size_t i = 0; i < ARRAY_LEN(patch_types); i++) {
		if (is_media_type(req->call->content_type, patch_types[i].media) &&
		    (req->resource->built_in || !patch_types[i].built_in_only))
			return &patch_types[i];
	}
	return NULL;
}

int apiserver_verb_patch(struct apiserver_request *req)
{
	struct patching patching = { .req = req, .type = find_patch_type(req) };
	if (patching.type == NULL)
		return refuse_media_type(req);
	const bool applies = patching.type->applies;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_write_options(req->call,
					    applies ? APISERVER_WRITE_APPLY : APISERVER_WRITE_PATCH,
					    &patching.options, req->status);
	if (e == 0)
		e = (applies ? apiserver_request_body_apply : apiserver_request_body_patch)(
			req->call, &patching.patch, req->status);
	if (e == 0)
		e = patch_object(&patching);
	json_decref(patching.patch);
	return e;
}

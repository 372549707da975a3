/* PATCH: JSON, merge and strategic merge patches, and server-side apply. A patch that names no
 * version is tried again when somebody else was faster. */
#include <string.h>

#include "api/meta.h"
#include "api/patch/patch.h"
#include "api/patch/strategic.h"
#include "api/tree.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/verb/body.h"
#include "apiserver/verb/field_managers.h"
#include "apiserver/kind/objectmeta.h"
#include "apiserver/verb/respond.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/verb/write.h"
#include "base/mem.h"

enum { PATCH_TRIES = 20 };

struct patching {
	const struct patch_type *type;
	struct apiserver_request *q;
	struct apiserver_write_options o;
	struct apiserver_writing w;
	json_t *patch;
};

/* ---- kinds of patches ---- */

static const char *json_word(const json_t *value)
{
	return json_is_object(value)	? "object"
	       : json_is_array(value)	? "array"
	       : json_is_string(value)	? "string"
	       : json_is_boolean(value) ? "bool"
					: "number";
}

static int unmarshal_error(struct patching *patching, const char *before, const char *into)
{
	return apiserver_bad_request(patching->q->st,
				     "%sjson: cannot unmarshal %s into Go value of type %s", before,
				     json_word(patching->patch), into);
}

static const char into_map[] = "map[string]interface {}";

static int merge(struct patching *patching, const json_t *old, json_t **ret)
{
	if (json_is_null(patching->patch))
		return apiserver_bad_request(patching->q->st, "Invalid JSON Patch");
	if (!json_is_object(patching->patch))
		return unmarshal_error(patching, "error decoding patch: ", into_map);
	json_t *o = api_merge_apply(old, patching->patch);
	if (o == NULL)
		return apiserver_bad_request(patching->q->st, "the patch is nested too deeply");
	*ret = json_deep_copy(o);
	json_decref(o);
	return 0;
}

static int strategic(struct patching *patching, const json_t *old, json_t **ret)
{
	char err[512] = "";
	if (!json_is_object(patching->patch) && !json_is_null(patching->patch))
		return unmarshal_error(patching, "", into_map);
	json_t *nothing = json_object();
	int e = api_strategic_apply(patching->w.r->openapi, old,
				    json_is_null(patching->patch) ? nothing : patching->patch, ret,
				    err, sizeof(err));
	json_decref(nothing);
	if (e == ERR_TYPE)
		return apiserver_refuse(patching->q->st, 500, "", "%s", err);
	if (e == ERR_UNSUPPORTED)
		return apiserver_refuse(patching->q->st, 422, "Invalid", "%s", err);
	return e < 0 ? apiserver_bad_request(patching->q->st, "%s", err) : 0;
}

/* Operations are decoded twice; the first time only to look at their paths. */
static int check_operation(struct patching *patching, const json_t *op)
{
	static const char *const texts[] = { "op", "from", "path" };
	if (!json_is_object(op) && !json_is_null(op))
		return apiserver_bad_request(patching->q->st,
					     "error decoding patch: json: cannot unmarshal %s into "
					     "Go value of type handlers.jsonPatchOp",
					     json_word(op));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const json_t *v = json_object_get(op, texts[i]);
		if (v != NULL && !json_is_null(v) && !json_is_string(v))
			return apiserver_bad_request(
				patching->q->st,
				"error decoding patch: json: cannot unmarshal %s into Go struct "
				"field jsonPatchOp.%s of type string",
				json_word(v), texts[i]);
	}
	return 0;
}

static int operations(struct patching *patching, const json_t *old, json_t **ret)
{
	char err[512];
	json_t *o, *op;
	size_t i;
	if (json_is_null(patching->patch)) {
		*ret = json_deep_copy(old);
		return 0;
	}
	if (!json_is_array(patching->patch))
		return unmarshal_error(patching,
				       "error decoding patch: ", "[]handlers.jsonPatchOp");
	json_array_foreach (patching->patch, i, op) {
		if (check_operation(patching, op) < 0)
			return ERR_DENIED;
	}
	if (json_array_size(patching->patch) > API_PATCH_OPS_MAX)
		return apiserver_refuse(patching->q->st, 413, "RequestEntityTooLarge",
					"Request entity too large: The allowed maximum operations "
					"in a JSON patch is %d, got %zu",
					API_PATCH_OPS_MAX, json_array_size(patching->patch));
	int e = api_json_patch(old, patching->patch, &o, err, sizeof(err));
	if (e < 0)
		return apiserver_refuse_generic(
			patching->q->st, 422, "Invalid",
			"the server rejected our request due to an error in our request");
	*ret = json_deep_copy(o);
	json_decref(o);
	return 0;
}

static int apply(struct patching *patching, const json_t *old, json_t **ret)
{
	return apiserver_managers_apply(&patching->w, old, patching->patch, patching->o.force, ret);
}

/* ---- what came out ---- */

static int bad_patch(struct patching *patching, const char *value, const char *why)
{
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	struct api_errors errs = { 0 };
	strbuf_add_quoted(&shown, slice_of(value));
	api_errors_add(&errs, API_FIELD_INVALID, "patch", shown.s, why);
	int e = apiserver_unprocessable(patching->q->st, "", "", "", &errs);
	api_errors_done(&errs);
	return e;
}

/* A strategic patch is told with what is wrong with its result. */
static int check_types(struct patching *patching, const json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	char err[512];
	if (apiserver_convert(patching->w.r, object, err, sizeof(err)) == 0)
		return 0;
	api_fielderr_go(&shown, patching->patch);
	return bad_patch(patching, shown.s, err);
}

/* Another patched object is decoded as a body is; what is wrong with it is told with all of it. */
static int check_result(struct patching *patching, json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT, version = STRBUF_INIT;
	CLEANUP(freep) char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	apiserver_add_version(&version, patching->w.r);
	strbuf_reset(&patching->q->answer->warnings);
	const char *kind = api_kind(object);
	int e;
	if (!json_is_object(object))
		return apiserver_refuse_generic(
			patching->q->st, 422, "Invalid",
			"the server rejected our request due to an error in our request");
	if (patching->w.r->built_in && (strcmp(kind, patching->w.r->kind->kind) != 0 ||
					strcmp(api_version(object), version.s) != 0)) {
		strbuf_addf(&why,
			    "no kind \"%s\" is registered for version \"%s\" in scheme "
			    "\"pkg/runtime/scheme.go:111\"",
			    kind, api_version(object));
		e = ERR_TYPE;
	} else {
		e = apiserver_decode_check(patching->w.r, slice_of(text), object,
					   patching->o.strictness, &patching->q->answer->warnings,
					   &why);
	}
	return e == 0 ? 0 : bad_patch(patching, text, why.s);
}

static int decode_strategic(struct patching *patching, json_t *object)
{
	int e = check_types(patching, object);
	if (e < 0)
		return e;
	apiserver_narrow(patching->w.r, object);
	return check_result(patching, object);
}

/* What was applied is of the schema's types already; texts that stand for something else (base64,
 * times) and numbers of other sizes are found out when the result becomes the kind's own type. */
static int decode_applied(struct patching *patching, json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;
	const struct apiserver_resource *r = patching->w.r;
	char err[512];
	if (!r->built_in)
		return 0;
	if (apiserver_convert(r, object, err, sizeof(err)) == 0) {
		apiserver_narrow(r, object);
		return 0;
	}
	strbuf_addf(&kind, "%s/%s, Kind=%s", r->kind->group, r->version, r->kind->kind);
	return apiserver_refuse(patching->q->st, 500, "",
				"failed to convert new object (%s/%s; %s) to proper version: "
				"unable to convert unstructured object to %s: %s",
				api_namespace(patching->patch), api_name(patching->patch), kind.s,
				kind.s, err);
}

/* ---- the kinds of patches: how the result is made, and how it becomes an object of its kind ----
 */

static const struct patch_type {
	const char *media;
	int (*make)(struct patching *p, const json_t *old, json_t **ret);
	int (*decode)(struct patching *p, json_t *o); /* refuses values of wrong types */
	bool built_in_only;
	bool applies; /* makes objects that are not there, and manages fields itself */
} patch_types[] = {
	{ "application/json-patch+json", operations, check_result, false, false },
	{ "application/merge-patch+json", merge, check_result, false, false },
	{ "application/strategic-merge-patch+json", strategic, decode_strategic, true, false },
	{ "application/apply-patch+yaml", apply, decode_applied, false, true },
};

/* The patched object, decoded: whichever way it was made, it is one that a body could hold. */
static int make_object(struct patching *patching, const json_t *old, json_t **ret)
{
	json_t *o;
	int e = patching->type->make(patching, old, &o);
	if (e < 0)
		return e;
	e = patching->type->decode(patching, o);
	if (e < 0) {
		json_decref(o);
		return e;
	}
	apiserver_go_fill_nulls(patching->w.r, o);
	*ret = o;
	return 0;
}

/* What a custom resource is cannot be patched away. */
static int check_identity(struct patching *patching, const json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT, kind = STRBUF_INIT;
	const struct api_kind *k = patching->w.r->kind;
	struct api_errors errs = { 0 };
	int e = 0;
	strbuf_addf(&version, "must be %s/%s", k->group, patching->w.r->version);
	strbuf_addf(&kind, "must be %s", k->kind);
	if (!patching->w.r->built_in &&
	    strcmp(api_version(object), version.s + strlen("must be ")) != 0)
		apiserver_add_invalid(&errs, "apiVersion", json_object_get(object, "apiVersion"),
				      version.s);
	if (!patching->w.r->built_in && strcmp(api_kind(object), k->kind) != 0)
		apiserver_add_invalid(&errs, "kind", json_object_get(object, "kind"), kind.s);
	if (errs.n != 0)
		e = apiserver_unprocessable(patching->q->st, k->group, api_kind(object),
					    api_name(object), &errs);
	api_errors_done(&errs);
	return e;
}

/* A version in the result that is not the one read was put there by the patch. */
static int check_version(struct patching *patching, const json_t *object, uint64_t revision)
{
	const char *rv = api_resource_version(object);
	uint64_t want;
	if (!apiserver_version_parse(rv, &want)) {
		CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
		strbuf_add_quoted(&quoted, slice_of(rv));
		return apiserver_refuse(patching->q->st, 500, "",
					"strconv.ParseUint: parsing %s: %s", quoted.s,
					apiserver_version_why(rv));
	}
	return want == 0 || want == revision ? 0
					     : apiserver_modified(patching->q->st, patching->w.r,
								  patching->q->route.name);
}

static int change(struct patching *patching, const json_t *old, uint64_t revision, json_t **ret)
{
	json_t *o;
	int e = make_object(patching, old, &o);
	if (e < 0)
		return e;
	apiserver_drop_duplicate_owners(o, " after mutating admission happens",
					&patching->q->answer->warnings);
	e = check_identity(patching, o);
	if (e == 0)
		e = apiserver_check_place(&patching->q->route, o, true, patching->q->st);
	if (e == 0)
		e = check_version(patching, o, revision);
	if (e == 0)
		e = apiserver_write_change(&patching->w, old, revision, o, ret);
	json_decref(o);
	return e;
}

/* Applying to what is not there makes it; other patches have nothing to change. 1: made. */
static int absent(struct patching *patching, json_t **ret)
{
	json_t *o;
	if (!patching->type->applies || patching->w.sub[0] != '\0')
		return apiserver_not_found(patching->q->st, patching->w.r, patching->q->route.name);
	int e = make_object(patching, NULL, &o);
	if (e < 0)
		return e;
	e = apiserver_check_place(&patching->q->route, o, true, patching->q->st);
	if (e == 0)
		e = apiserver_write_new(&patching->w, o, ret);
	json_decref(o);
	return e < 0 ? e : 1;
}

static int try_patch(struct patching *patching, json_t **ret)
{
	json_t *old;
	uint64_t revision;
	int e = apiserver_object_read(patching->w.a->store, patching->w.r, patching->w.ns,
				      patching->q->route.name, &old, &revision);
	if (e == ERR_NOTFOUND)
		return absent(patching, ret);
	if (e < 0)
		return apiserver_store_failed(patching->q->st, e);
	e = change(patching, old, revision, ret);
	json_decref(old);
	return e;
}

/* ---- the request ---- */

/* apiVersion and kind of what is applied. Its name is looked at in the result. */
static int check_config(struct patching *patching)
{
	const struct api_kind *k = patching->w.r->kind;
	const char *version = api_version(patching->patch), *kind = api_kind(patching->patch);
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
	strbuf_addf(&want, "%s%s%s", k->group, k->group[0] != '\0' ? "/" : "",
		    patching->w.r->version);
	if (strcmp(version, want.s) != 0 || strcmp(kind, k->kind) != 0)
		return apiserver_bad_request(patching->q->st, "invalid object type: %s%s, Kind=%s",
					     strchr(version, '/') != NULL ? "" : "/", version,
					     kind);
	const json_t *given = json_object_get(patching->patch, "metadata");
	if (given != NULL && !json_is_null(given) && !json_is_object(given))
		return apiserver_refuse(patching->q->st, 500, "",
					"failed to create typed patch object (%s/%s; %s%s, "
					"Kind=%s): .metadata: expected map, got &{%s}",
					"", "", strchr(version, '/') != NULL ? "" : "/", version,
					kind, api_text(given));
	return apiserver_check_place(&patching->q->route, patching->patch, false, patching->q->st);
}

static int run(struct patching *patching)
{
	json_t *made = NULL;
	int e = ERR_CONFLICT;
	patching->w = (struct apiserver_writing){
		.a = patching->q->a,
		.r = patching->q->r,
		.ns = patching->q->route.ns,
		.sub = patching->q->route.sub,
		.manager = patching->o.manager,
		.dry_run = patching->o.dry_run,
		.applied = patching->type->applies,
		.warnings = &patching->q->answer->warnings,
		.st = patching->q->st,
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
		return apiserver_modified(patching->q->st, patching->w.r, patching->q->route.name);
	return e < 0 ? e : apiserver_respond_object(patching->q, e == 1 ? 201 : 200, made);
}

static int unsupported(struct apiserver_request *req)
{
	if (req->r->built_in)
		return apiserver_refuse_generic(req->st, 415, "UnsupportedMediaType",
						"415: Unsupported Media Type");
	return apiserver_refuse(req->st, 415, "UnsupportedMediaType",
				"the body of the request was in an unknown format - accepted media "
				"types include: application/json-patch+json, "
				"application/merge-patch+json, application/apply-patch+yaml");
}

/* Unlike other bodies' types, those of patches are compared as they stand. */
static bool is_type(const char *given, const char *type)
{
	struct slice rest = slice_of(given);
	return slice_is(slice_trim(slice_cut(&rest, ';')), type);
}

static const struct patch_type *find_type(const struct apiserver_request *req)
{
	for (size_t i = 0; i < ARRAY_LEN(patch_types); i++) {
		if (is_type(req->c->content_type, patch_types[i].media) &&
		    (req->r->built_in || !patch_types[i].built_in_only))
			return &patch_types[i];
	}
	return NULL;
}

int apiserver_do_patch(struct apiserver_request *req)
{
	struct patching p = { .q = req, .type = find_type(req) };
	if (p.type == NULL)
		return unsupported(req);
	const bool applies = p.type->applies;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_write_options(req->c,
					    applies ? APISERVER_WRITE_APPLY : APISERVER_WRITE_PATCH,
					    &p.o, req->st);
	if (e == 0)
		e = (applies ? apiserver_body_apply : apiserver_body_patch)(req->c, &p.patch,
									    req->st);
	if (e == 0)
		e = run(&p);
	json_decref(p.patch);
	return e;
}

/* PUT: another version of an object, and for some kinds a new one. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/body.h"
#include "apiserver/key.h"
#include "apiserver/respond.h"
#include "apiserver/write.h"

enum { UPDATE_TRIES = 20 };

/* Kinds of which a PUT makes objects that are not there. */
static bool creates(const struct apiserver_resource *r)
{
	static const char *const kinds[] = { "Service", "Lease", "Event" };
	for (size_t i = 0; r->built_in && i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], r->kind->kind) == 0)
			return true;
	}
	return false;
}

static int no_version(const struct apiserver_writing *w, const char *name)
{
	struct api_errors errs = { 0 };
	api_errors_add(&errs, API_FIELD_INVALID, "metadata.resourceVersion", "0",
		       "must be specified for an update");
	/* Here the server names the resource where it names the kind elsewhere. */
	int e = apiserver_unprocessable(w->st, w->r->kind->group, w->r->kind->plural, name, &errs);
	api_errors_done(&errs);
	return e;
}

/* The body may say which object it means; the server tells of that in its store's words. */
static int check_uid(const struct apiserver_writing *w, const json_t *old, const json_t *o)
{
	const char *want = api_uid(o), *ns = api_namespace(old);
	if (want[0] == '\0' || strcmp(want, api_uid(old)) == 0)
		return 0;
	CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
	strbuf_addf(&place, "/registry/%s%s%s/%s%s%s", w->r->built_in ? "" : w->r->kind->group,
		    w->r->built_in ? "" : "/", w->r->kind->plural, ns, ns[0] != '\0' ? "/" : "",
		    api_name(old));
	return apiserver_conflict(
		w->st, w->r, api_name(old),
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, "
		"AdditionalErrorMsg: Precondition failed: UID in precondition: %s, "
		"UID in object meta: %s",
		place.s, want, api_uid(old));
}

/* Kinds of which an update must say what it has seen; of custom resources all. */
static bool needs_version(const struct apiserver_resource *r)
{
	static const char *const kinds[] = { "Lease", "CustomResourceDefinition" };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], r->kind->kind) == 0)
			return true;
	}
	return !r->built_in;
}

static int check_version(const struct apiserver_writing *w, uint64_t revision, uint64_t want,
			 const char *name)
{
	if (want == 0)
		return needs_version(w->r) ? no_version(w, name) : 0;
	return want == revision ? 0 : apiserver_modified(w->st, w->r, name);
}

/* One try; ERR_CONFLICT: somebody was faster. */
static int try_update(const struct apiserver_writing *w, const char *name, const json_t *body,
		      uint64_t want, json_t **ret)
{
	json_t *old, *o;
	uint64_t revision;
	int e = apiserver_object_read(w->a->store, w->r, w->ns, name, &old, &revision);
	if (e == ERR_NOTFOUND && !creates(w->r))
		return apiserver_not_found(w->st, w->r, name);
	if (e < 0 && e != ERR_NOTFOUND)
		return apiserver_store_failed(w->st, e);
	o = json_deep_copy(body);
	if (e == ERR_NOTFOUND) {
		json_object_del(apiserver_object_meta(o), "resourceVersion");
		e = apiserver_write_new(w, o, ret);
		json_decref(o);
		return e < 0 ? e : 1;
	}
	e = check_uid(w, old, o);
	if (e == 0)
		e = check_version(w, revision, want, name);
	if (e == 0)
		e = apiserver_write_change(w, old, revision, o, ret);
	json_decref(o);
	json_decref(old);
	return e;
}

static int update(struct apiserver_request *q, const struct apiserver_write_options *o,
		  const json_t *body)
{
	const struct apiserver_writing w = {
		.a = q->a,
		.r = q->r,
		.ns = q->route.ns,
		.sub = q->route.sub,
		.manager = o->manager,
		.dry_run = o->dry_run,
		.warnings = &q->answer->warnings,
		.st = q->st,
	};
	const char *rv = api_resource_version(body);
	uint64_t want;
	json_t *made = NULL;
	int e = ERR_CONFLICT;
	if (!apiserver_version_parse(rv, &want)) {
		CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
		strbuf_add_quoted(&quoted, slice_of(rv));
		return apiserver_refuse(q->st, 500, "", "strconv.ParseUint: parsing %s: %s",
					quoted.s, apiserver_version_why(rv));
	}
	for (int i = 0; e == ERR_CONFLICT && i < UPDATE_TRIES; i++)
		e = try_update(&w, q->route.name, body, want, &made);
	if (e == ERR_CONFLICT)
		return apiserver_modified(q->st, q->r, q->route.name);
	return e < 0 ? e : apiserver_respond_object(q, e == 1 ? 201 : 200, made);
}

int apiserver_do_update(struct apiserver_request *q)
{
	struct apiserver_write_options o = { 0 };
	json_t *body = NULL;
	int e = apiserver_respond_begin(q, APISERVER_ACCEPT_REPLY);
	if (e == 0)
		e = apiserver_write_options(q->c, APISERVER_WRITE_UPDATE, &o, q->st);
	if (e == 0)
		e = apiserver_body_object(q->c, q->r, o.strictness, &body, &q->answer->warnings,
					  q->st);
	if (e < 0)
		return e;
	e = apiserver_check_place(&q->route, body, true, q->st);
	if (e == 0)
		e = update(q, &o, body);
	json_decref(body);
	return e;
}

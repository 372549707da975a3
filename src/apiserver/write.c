/* The write. In the order of the server: what it gives, what is wrong, what is taken from outside,
 * storing. */
#include "apiserver/write.h"

#include <stdio.h>
#include <string.h>

#include "api/managed.h"
#include "api/meta.h"
#include "api/time.h"
#include "apiserver/key.h"
#include "apiserver/managers.h"
#include "apiserver/warnings.h"
#include "base/clock.h"
#include "base/rng.h"

enum { NAME_MAX_BYTES = 63, SUFFIX_CHARS = 5, NAME_TRIES = 8 };

static const char *now_text(char out[API_TIME_TEXT_MAX])
{
	return api_time(clock_wall_ns(), out);
}

static struct apiserver_env env_of(const struct apiserver_writing *w)
{
	struct apiserver_env env = apiserver_env_of(w->a, w->dry_run);
	env.applied = w->applied;
	return env;
}

/* ---- new objects ---- */

void apiserver_write_uid(json_t *meta)
{
	uint8_t b[16];
	char text[40];
	rng_secure(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(text, sizeof(text),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
	json_object_set_new(meta, "uid", json_string(text));
}

/* Characters that make no words. */
static void generate_name(json_t *meta, const char *base)
{
	static const char chars[] = "bcdfghjklmnpqrstvwxz2456789";
	uint8_t b[SUFFIX_CHARS];
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	rng_secure(b, sizeof(b));
	strbuf_add(&name, base, MIN(strlen(base), (size_t)(NAME_MAX_BYTES - SUFFIX_CHARS)));
	for (size_t i = 0; i < sizeof(b); i++)
		strbuf_addc(&name, chars[b[i] % (sizeof(chars) - 1)]);
	json_object_set_new(meta, "name", json_string_nocheck(name.s));
}

static bool begins_to_count(const struct apiserver_resource *r, const json_t *o)
{
	return r->strategy->counts != NULL ? r->strategy->counts(o, NULL) : true;
}

/* What the server alone decides of a new object. */
static void set_system_fields(const struct apiserver_writing *w, json_t *o)
{
	static const char *const not_yours[] = { "deletionTimestamp", "deletionGracePeriodSeconds",
						 "selfLink" };
	json_t *meta = apiserver_object_meta(o);
	char now[API_TIME_TEXT_MAX];
	for (size_t i = 0; i < ARRAY_LEN(not_yours); i++)
		json_object_del(meta, not_yours[i]);
	if (w->r->kind->namespaced)
		json_object_set_new(meta, "namespace", json_string(w->ns));
	else
		json_object_del(meta, "namespace");
	json_object_set_new(meta, "creationTimestamp", json_string(now_text(now)));
	apiserver_write_uid(meta);
}

/* Is there a namespace to put it in? */
static int check_namespace(const struct apiserver_writing *w, const json_t *o)
{
	const struct apiserver_resource *namespaces =
		apiserver_resource_find("", "v1", "namespaces");
	json_t *ns;
	uint64_t revision;
	if (!w->r->kind->namespaced)
		return 0;
	int e = apiserver_object_read(w->a->store, namespaces, NULL, w->ns, &ns, &revision);
	if (e == ERR_NOTFOUND)
		return apiserver_no_namespace(w->st, w->ns);
	if (e < 0)
		return apiserver_store_failed(w->st, e);
	if (api_is_deleting(ns))
		e = apiserver_terminating(w->st, w->r, api_name(o), w->ns);
	json_decref(ns);
	return e;
}

/* ---- what is wrong ---- */

static void check_registered(const struct apiserver_writing *w, const json_t *o, const json_t *old,
			     struct api_errors *errs)
{
	for (size_t i = 0; i < w->a->conf.n_checks; i++) {
		const struct apiserver_check *c = &w->a->conf.checks[i];
		if (strcmp(c->group, w->r->kind->group) == 0 &&
		    strcmp(c->kind, w->r->kind->kind) == 0)
			c->check(o, old, errs);
	}
}

static int refuse_fields(const struct apiserver_writing *w, const json_t *o,
			 struct api_errors *errs)
{
	int e = 0;
	if (errs->n != 0)
		e = apiserver_unprocessable(w->st, w->r->kind->group, w->r->kind->kind, api_name(o),
					    errs);
	api_errors_done(errs);
	return e;
}

static int check(const struct apiserver_writing *w, const struct apiserver_env *env,
		 const json_t *o, const json_t *old)
{
	struct api_errors errs = { 0 };
	if (w->sub[0] != '\0') {
		apiserver_validate_status(w->r, o, old, &errs);
		return refuse_fields(w, o, &errs);
	}
	apiserver_validate(w->r, env, o, old, &errs);
	if (errs.n == 0)
		check_registered(w, o, old, &errs);
	return refuse_fields(w, o, &errs);
}

/* A write that is tried again warns once: of what was stored. */
static void warn(const struct apiserver_writing *w, const json_t *o)
{
	if (w->warnings != NULL && w->sub[0] == '\0')
		apiserver_warnings(w->r, o, w->warnings);
}

static int admit(const struct apiserver_writing *w, const struct apiserver_env *env, json_t *o,
		 const json_t *old)
{
	struct api_errors errs = { 0 };
	if (w->r->strategy->admit == NULL || w->sub[0] != '\0')
		return 0;
	int e = w->r->strategy->admit(env, o, old, &errs);
	if (errs.n == 0 && e < 0)
		return apiserver_store_failed(w->st, e);
	return refuse_fields(w, o, &errs);
}

static void undo(const struct apiserver_writing *w, const struct apiserver_env *env,
		 const json_t *o, const json_t *old)
{
	if (w->r->strategy->undo != NULL && w->sub[0] == '\0')
		w->r->strategy->undo(env, o, old);
}

/* ---- storing ---- */

static int put(struct apiserver_api *a, const struct apiserver_resource *r, const json_t *stored,
	       uint64_t expect, bool remove, uint64_t *ret_revision)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	CLEANUP(apiserver_text_done) struct apiserver_text text;
	uint64_t revision;
	apiserver_key(&key, r->stored->kind, api_namespace(stored), api_name(stored));
	apiserver_text_make(&text, r->stored, stored);
	struct apiserver_write write = {
		.key = key.s,
		.expect = expect,
		.remove = remove,
		.frees = api_is_deleting(stored),
		.head = apiserver_text_head(&text),
		.tail = apiserver_text_tail(&text),
	};
	int e = apiserver_store_write(a->store, &write, 1,
				      ret_revision != NULL ? ret_revision : &revision, NULL);
	return e;
}

int apiserver_write_plain(struct apiserver_api *a, const struct apiserver_resource *r,
			  const json_t *o, uint64_t revision, uint64_t *ret_revision)
{
	return put(a, r, o, revision, false, ret_revision);
}

int apiserver_write_removal(struct apiserver_api *a, const struct apiserver_resource *r,
			    const json_t *was, uint64_t revision, uint64_t *ret_revision)
{
	struct apiserver_env env = apiserver_env_of(a, false);
	int e = put(a, r, was, revision, true, ret_revision);
	if (e == 0 && r->stored->strategy->removed != NULL)
		r->stored->strategy->removed(&env, was);
	return e;
}

static int store(const struct apiserver_writing *w, json_t *o, uint64_t expect)
{
	json_t *stored = apiserver_object_to_stored(w->r, o);
	uint64_t revision;
	int e = put(w->a, w->r, stored, expect, false, &revision);
	json_decref(stored);
	if (e == 0)
		apiserver_object_set_revision(o, revision);
	return e;
}

static int exists(const struct apiserver_writing *w, const char *name)
{
	json_t *there;
	uint64_t revision;
	bool deleting = false;
	if (apiserver_object_read(w->a->store, w->r, w->ns, name, &there, &revision) == 0) {
		deleting = api_is_deleting(there);
		json_decref(there);
	}
	return apiserver_already_exists(w->st, w->r, name, deleting);
}

/* One try: ERR_DUPLICATE when the name is taken. */
static int store_new(const struct apiserver_writing *w, const struct apiserver_env *env, json_t *o)
{
	int e = admit(w, env, o, NULL);
	if (e < 0)
		return e;
	if (w->dry_run) {
		json_t *there;
		uint64_t revision;
		e = apiserver_object_read(w->a->store, w->r, w->ns, api_name(o), &there, &revision);
		if (e == 0)
			json_decref(there);
		e = e == 0 ? ERR_CONFLICT : 0;
	} else {
		e = store(w, o, 0);
	}
	if (e < 0 || w->dry_run)
		undo(w, env, o, NULL);
	if (e == ERR_CONFLICT)
		return ERR_DUPLICATE;
	return e < 0 ? apiserver_store_failed(w->st, e) : 0;
}

/* *ret is a new reference: `o` itself where apply has made its managedFields already, otherwise a
 * copy that has them. */
static int note_managers(const struct apiserver_writing *w, unsigned left, const json_t *old,
			 json_t *o, json_t **ret)
{
	if (!w->applied)
		return apiserver_managers_update(w, left, old, o, ret);
	*ret = json_incref(o);
	return 0;
}

static int make_new(const struct apiserver_writing *w, const struct apiserver_env *env, json_t *o,
		    json_t **ret)
{
	json_t *with = NULL;
	const bool has_version = api_resource_version(o)[0] != '\0';
	set_system_fields(w, o);
	if (!w->r->built_in && w->r->status)
		json_object_del(o, "status");
	if (begins_to_count(w->r, o))
		json_object_set_new(apiserver_object_meta(o), "generation", json_integer(1));
	const unsigned left = apiserver_managers_left(w->r, o);
	apiserver_prepare(w->r, env, o, NULL);
	int e = note_managers(w, left, NULL, o, &with);
	if (e == 0)
		e = check(w, env, with, NULL);
	if (e == 0 && has_version)
		e = apiserver_refuse(w->st, 500, "",
				     "resourceVersion should not be set on objects to be created");
	if (e == 0)
		e = store_new(w, env, with);
	if (e == 0)
		*ret = with;
	else
		json_decref(with);
	return e;
}

int apiserver_write_new(const struct apiserver_writing *w, json_t *o, json_t **ret)
{
	const struct apiserver_env env = env_of(w);
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	const char *base = api_get_string(o, "metadata.generateName");
	bool generate = api_name(o)[0] == '\0' && base[0] != '\0';
	int e = check_namespace(w, o);
	for (int i = 0; e == 0 || e == ERR_DUPLICATE; i++) {
		json_t *copy = json_deep_copy(o);
		if (generate)
			generate_name(apiserver_object_meta(copy), base);
		strbuf_reset(&name);
		strbuf_adds(&name, api_name(copy));
		e = make_new(w, &env, copy, ret);
		json_decref(copy);
		if (e != ERR_DUPLICATE || !generate || i + 1 == NAME_TRIES)
			break;
	}
	if (e == 0)
		warn(w, *ret);
	return e == ERR_DUPLICATE ? exists(w, name.s) : e;
}

/* ---- changes ---- */

static void take(json_t *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);
	if (v != NULL)
		json_object_set_new(to, key, json_deep_copy(v));
	else
		json_object_del(to, key);
}

/* Metadata that an update cannot change, whatever it says. */
static void keep_metadata(json_t *o, const json_t *old)
{
	json_t *meta = apiserver_object_meta(o);
	const json_t *was = json_object_get(old, "metadata");
	take(meta, was, "generation");
	if (api_namespace(o)[0] == '\0' || api_namespace(old)[0] == '\0')
		take(meta, was, "namespace");
	take(meta, was, "creationTimestamp");
	take(meta, was, "resourceVersion");
	json_object_del(meta, "selfLink");
	if (api_uid(o)[0] == '\0')
		take(meta, was, "uid");
	if (json_object_get(was, "deletionTimestamp") != NULL)
		take(meta, was, "deletionTimestamp");
	if (json_object_get(meta, "deletionGracePeriodSeconds") == NULL)
		take(meta, was, "deletionGracePeriodSeconds");
}

static bool same_but(const json_t *a, const json_t *b, const char *const *but)
{
	json_t *x = json_copy((json_t *)(uintptr_t)a), *y = json_copy((json_t *)(uintptr_t)b);
	for (; *but != NULL; but++) {
		json_object_del(x, *but);
		json_object_del(y, *but);
	}
	bool same = json_equal(x, y) != 0;
	json_decref(x);
	json_decref(y);
	return same;
}

static void count_generation(const struct apiserver_writing *w, json_t *o, const json_t *old)
{
	static const char *const with_status[] = { "metadata", "status", NULL };
	static const char *const without[] = { "metadata", NULL };
	bool counts;
	if (w->sub[0] != '\0')
		return;
	if (w->r->strategy->counts != NULL)
		counts = w->r->strategy->counts(o, old);
	else
		counts = !same_but(o, old, w->r->status ? with_status : without);
	if (counts)
		json_object_set_new(apiserver_object_meta(o), "generation",
				    json_integer(api_generation(old) + 1));
}

bool apiserver_is_finalized(const struct apiserver_resource *r, const json_t *o)
{
	if (json_array_size(api_get(o, "metadata.finalizers")) != 0)
		return false;
	return strcmp(r->kind->kind, "Namespace") != 0 ||
	       json_array_size(api_get(o, "spec.finalizers")) == 0;
}

static int store_change(const struct apiserver_writing *w, const json_t *old, uint64_t revision,
			json_t *o)
{
	if (json_equal(o, old))
		return 0;
	bool goes = api_is_deleting(o) && apiserver_is_finalized(w->r, o);
	if (w->dry_run)
		return 0;
	if (!goes)
		return store(w, o, revision);
	json_t *was = apiserver_object_to_stored(w->r, old);
	int e = apiserver_write_removal(w->a, w->r, was, revision, NULL);
	json_decref(was);
	return e;
}

static int make_change(const struct apiserver_writing *w, const struct apiserver_env *env,
		       const json_t *old, json_t *o, json_t **ret)
{
	json_t *with = NULL;
	keep_metadata(o, old);
	if (w->sub[0] == '\0' && !w->r->built_in && w->r->status)
		take(o, old, "status");
	const unsigned left = apiserver_managers_left(w->r, o);
	if (w->sub[0] == '\0')
		apiserver_prepare(w->r, env, o, old);
	else
		apiserver_prepare_status(w->r, o, old);
	int e = note_managers(w, left, old, o, &with);
	if (e == 0) {
		count_generation(w, with, old);
		e = check(w, env, with, old);
	}
	if (e == 0)
		*ret = with;
	else
		json_decref(with);
	return e;
}

int apiserver_write_change(const struct apiserver_writing *w, const json_t *old, uint64_t revision,
			   json_t *o, json_t **ret)
{
	const struct apiserver_env env = env_of(w);
	json_t *with = NULL;
	int e = make_change(w, &env, old, o, &with);
	if (e == 0) {
		e = admit(w, &env, with, old);
		if (e < 0)
			json_decref(with);
	}
	if (e < 0)
		return e;
	api_managed_keep_times(old, with);
	e = store_change(w, old, revision, with);
	if (e < 0 || w->dry_run)
		undo(w, &env, with, old);
	else
		undo(w, &env, old, with); /* what it had and has no more */
	if (e < 0) {
		json_decref(with);
		return e == ERR_CONFLICT ? e : apiserver_store_failed(w->st, e);
	}
	warn(w, with);
	*ret = with;
	return 0;
}

/* ---- places ---- */

int apiserver_check_place(const struct apiserver_route *route, const json_t *o, bool name,
			  struct apiserver_status *st)
{
	const char *ns = api_namespace(o);
	if (name && api_name(o)[0] == '\0')
		return apiserver_bad_request(st,
					     "the name of the object (%s based on URL) was "
					     "undeterminable: name must be provided",
					     route->name);
	if (name && strcmp(api_name(o), route->name) != 0)
		return apiserver_bad_request(
			st, "the name of the object (%s) does not match the name on the URL (%s)",
			api_name(o), route->name);
	if (route->ns != NULL && ns[0] != '\0' && strcmp(ns, route->ns) != 0)
		return apiserver_bad_request(st, "the namespace of the provided object does not "
						 "match the namespace sent on the request");
	return 0;
}

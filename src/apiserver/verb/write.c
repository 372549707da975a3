/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One write of an object, in the API server's order: defaulting, field ownership, mutating hooks and
 * defaulting again, validation, validating hooks, allocation of addresses and ports, storage. */
#include "apiserver/verb/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/apply/managed.h"
#include "api/meta.h"
#include "api/time.h"
#include "api/tree_copy.h"
#include "apiserver/kind/warnings.h"
#include "apiserver/kind/write_steps.h"
#include "apiserver/request/object.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/store/key.h"
#include "apiserver/store/writer.h"
#include "apiserver/verb/admission.h"
#include "apiserver/verb/allocator.h"
#include "apiserver/verb/field_managers.h"
#include "base/clock.h"
#include "base/rng.h"

enum { NAME_MAX_BYTES = 63, SUFFIX_CHARS = 5, NAME_TRIES = 8 };

static const char *format_now(char out[API_TIME_TEXT_MAX])
{
	return api_time_format(clock_wall_ns(), out);
}

struct apiserver_env apiserver_write_env(struct apiserver_api *api, bool dry_run)
{
	return (struct apiserver_env){
		.ctx = api->allocator,
		.allocate = apiserver_allocator_take_address,
		.release = apiserver_allocator_release_address,
		.allocate_port = apiserver_allocator_take_port,
		.release_port = apiserver_allocator_release_port,
		.may = api->may,
		.service_cidrs = api->conf.service_cidrs,
		.dry_run = dry_run,
	};
}

static struct apiserver_env env_of_writing(const struct apiserver_writing *writing)
{
	struct apiserver_env env = apiserver_write_env(writing->api, writing->dry_run);
	env.applied = writing->applied;
	return env;
}

/* ---- new objects ---- */

void apiserver_write_uid(json_t *meta)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t b[16];
	char text[40];
	size_t n = 0;
	rng_secure(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(b); i++) {
		if (i >= 4 && i <= 10 && i % 2 == 0)
			text[n++] = '-';
		text[n++] = digits[b[i] >> 4];
		text[n++] = digits[b[i] & 0x0f];
	}
	json_object_set_new(meta, "uid", json_stringn_nocheck(text, n));
}

/* As in Kubernetes, from characters that cannot spell words. */
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

static bool begins_to_count(const struct apiserver_resource *resource, const json_t *object)
{
	return resource->strategy->bumps_generation != NULL
		       ? resource->strategy->bumps_generation(object, NULL)
		       : true;
}

/* Fields of a new object that only the server sets. */
static void set_system_fields(const struct apiserver_writing *writing, json_t *object)
{
	static const char *const not_yours[] = { "deletionTimestamp", "deletionGracePeriodSeconds",
						 "selfLink" };
	json_t *meta = apiserver_object_meta(object);
	char now[API_TIME_TEXT_MAX];
	for (size_t i = 0; i < ARRAY_LEN(not_yours); i++)
		json_object_del(meta, not_yours[i]);
	if (writing->resource->kind->namespaced)
		json_object_set_new(meta, "namespace", json_string(writing->ns));
	else
		json_object_del(meta, "namespace");
	json_object_set_new(meta, "creationTimestamp", json_string(format_now(now)));
	apiserver_write_uid(meta);
}

/* Checks that the namespace exists and is not being deleted. */
static int check_namespace(const struct apiserver_writing *writing, const json_t *object)
{
	const struct apiserver_resource *namespaces =
		apiserver_resource_find("", "v1", "namespaces");
	struct apiserver_object_state ns;
	if (!writing->resource->kind->namespaced)
		return 0;
	int e = apiserver_object_read_state(writing->api->store, namespaces, NULL, writing->ns,
					    &ns);
	if (e == ERR_NOTFOUND)
		return apiserver_status_no_namespace(writing->status, writing->ns);
	if (e < 0)
		return apiserver_status_store_failed(writing->status, e);
	return ns.deleting ? apiserver_status_terminating(writing->status, writing->resource,
							  api_name(object), writing->ns)
			   : 0;
}

/* ---- validation and admission ---- */

static void check_registered(const struct apiserver_writing *writing, const json_t *object,
			     const json_t *old, struct api_errors *errs)
{
	for (size_t i = 0; i < writing->api->conf.n_checks; i++) {
		const struct apiserver_check *c = &writing->api->conf.checks[i];
		if (strcmp(c->group, writing->resource->kind->group) == 0 &&
		    strcmp(c->kind, writing->resource->kind->kind) == 0)
			c->check(object, old, errs);
	}
}

static int refuse_fields(const struct apiserver_writing *writing, const json_t *object,
			 struct api_errors *errs)
{
	int e = 0;
	if (errs->n != 0)
		e = apiserver_status_unprocessable(writing->status, writing->resource->kind->group,
						   writing->resource->kind->kind, api_name(object),
						   errs);
	api_errors_done(errs);
	return e;
}

static int check_object(const struct apiserver_writing *writing, const struct apiserver_env *env,
			const json_t *object, const json_t *old)
{
	struct api_errors errs = { 0 };
	if (writing->subresource[0] != '\0') {
		apiserver_validate_status(writing->resource, object, old, &errs);
		return refuse_fields(writing, object, &errs);
	}
	apiserver_validate(writing->resource, env, object, old, &errs);
	if (errs.n == 0)
		check_registered(writing, object, old, &errs);
	return refuse_fields(writing, object, &errs);
}

/* Called once per write, after it was stored, even if it was tried several times. */
static void add_warnings(const struct apiserver_writing *writing, const json_t *object,
			 const json_t *old)
{
	if (writing->warnings != NULL && writing->subresource[0] == '\0')
		apiserver_warnings(writing->resource, object, old, writing->warnings);
}

static int admit_object(const struct apiserver_writing *writing, const struct apiserver_env *env,
			json_t *object, const json_t *old)
{
	struct api_errors errs = { 0 };
	if (writing->resource->strategy->admit == NULL || writing->subresource[0] != '\0')
		return 0;
	int e = writing->resource->strategy->admit(env, object, old, &errs);
	if (errs.n == 0 && e < 0)
		return apiserver_status_store_failed(writing->status, e);
	return refuse_fields(writing, object, &errs);
}

static void undo_admission(const struct apiserver_writing *writing, const struct apiserver_env *env,
			   const json_t *object, const json_t *old)
{
	if (writing->resource->strategy->undo != NULL && writing->subresource[0] == '\0')
		writing->resource->strategy->undo(env, object, old);
}

/* ---- storing ---- */

/* The object's text with its revision, as it stands in the store now. */
static void add_stored_text(struct strbuf *out, const struct apiserver_write *write,
			    uint64_t revision)
{
	strbuf_add_slice(out, write->head);
	strbuf_addf(out, "%" PRIu64, revision);
	strbuf_add_slice(out, write->tail);
}

/* *ret_text (may be NULL) gets what was stored. */
static int put_object(struct apiserver_api *api, const struct apiserver_resource *resource,
		      const json_t *stored, uint64_t expect, bool remove, uint64_t *ret_revision,
		      struct strbuf *ret_text)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	CLEANUP(apiserver_object_text_done) struct apiserver_object_text text;
	uint64_t revision;
	apiserver_key(&key, resource->stored->kind, api_namespace(stored), api_name(stored));
	apiserver_object_text_make(&text, resource->stored, stored);
	struct apiserver_write write = {
		.key = key.s,
		.expect = expect,
		.remove = remove,
		.frees = api_is_deleting(stored),
		.head = apiserver_object_text_head(&text),
		.tail = apiserver_object_text_tail(&text),
		.optional = apiserver_object_text_managed(&text),
	};
	int e = apiserver_store_write(api->store, &write, 1, &revision, NULL);
	if (e == 0 && ret_revision != NULL)
		*ret_revision = revision;
	if (e == 0 && ret_text != NULL)
		add_stored_text(ret_text, &write, revision);
	return e;
}

int apiserver_write_plain(struct apiserver_api *api, const struct apiserver_resource *resource,
			  const json_t *object, uint64_t revision, uint64_t *ret_revision)
{
	return put_object(api, resource, object, revision, false, ret_revision, NULL);
}

int apiserver_write_removal(struct apiserver_api *api, const struct apiserver_resource *resource,
			    const json_t *was, uint64_t revision, uint64_t *ret_revision)
{
	struct apiserver_env env = apiserver_write_env(api, false);
	int e = put_object(api, resource, was, revision, true, ret_revision, NULL);
	if (e == 0 && resource->stored->strategy->removed != NULL)
		resource->stored->strategy->removed(&env, was);
	return e;
}

static int store_object(const struct apiserver_writing *writing, json_t *object, uint64_t expect)
{
	json_t *stored = apiserver_object_to_stored(writing->resource, object);
	uint64_t revision;
	int e = put_object(writing->api, writing->resource, stored, expect, false, &revision,
			   apiserver_object_is_stored_form(writing->resource) ? writing->stored_text
									      : NULL);
	json_decref(stored);
	if (e == 0)
		apiserver_object_set_revision(object, revision);
	return e;
}

static int refuse_existing(const struct apiserver_writing *writing, const char *name)
{
	json_t *there;
	uint64_t revision;
	bool deleting = false;
	if (apiserver_object_read(writing->api->store, writing->resource, writing->ns, name, &there,
				  &revision) == 0) {
		deleting = api_is_deleting(there);
		json_decref(there);
	}
	return apiserver_status_already_exists(writing->status, writing->resource, name, deleting);
}

/* One try. ERR_DUPLICATE: the name is taken. */
static int store_new(const struct apiserver_writing *writing, const struct apiserver_env *env,
		     json_t *object)
{
	int e = admit_object(writing, env, object, NULL);
	if (e < 0)
		return e;
	apiserver_object_cut_to_stored(writing->resource, object);
	if (writing->dry_run) {
		json_t *there;
		uint64_t revision;
		e = apiserver_object_read(writing->api->store, writing->resource, writing->ns,
					  api_name(object), &there, &revision);
		if (e == 0)
			json_decref(there);
		e = e == 0 ? ERR_CONFLICT : 0;
	} else {
		e = store_object(writing, object, 0);
	}
	if (e < 0 || writing->dry_run)
		undo_admission(writing, env, object, NULL);
	if (e == ERR_CONFLICT)
		return ERR_DUPLICATE;
	return e < 0 ? apiserver_status_store_failed(writing->status, e) : 0;
}

/* *ret is a new reference: `object` itself if apply has set its managedFields already, otherwise a
 * copy with managedFields. */
static int set_managers(const struct apiserver_writing *writing, unsigned unset, const json_t *old,
			json_t *object, json_t **ret)
{
	if (!writing->applied)
		return apiserver_field_managers_update(writing, unset, old, object, ret);
	*ret = json_incref(object);
	return 0;
}

static void prepare_object(const struct apiserver_writing *writing, const struct apiserver_env *env,
			   json_t *object, const json_t *old)
{
	if (writing->subresource[0] == '\0')
		apiserver_prepare(writing->resource, env, object, old);
	else
		apiserver_prepare_status(writing->resource, object, old);
}

/* Replaces *object by what the mutating hooks make of it, with the defaults of new members. */
static int mutate_object(const struct apiserver_writing *writing, const struct apiserver_env *env,
			 json_t **object, const json_t *old)
{
	json_t *mutated = NULL;
	int e = apiserver_admission_mutate(writing, *object, old, &mutated);
	if (e < 0 || mutated == NULL)
		return e;
	json_decref(*object);
	*object = mutated;
	prepare_object(writing, env, mutated, old);
	return 0;
}

static int make_new(const struct apiserver_writing *writing, const struct apiserver_env *env,
		    json_t *object, json_t **ret)
{
	json_t *managed = NULL;
	uint64_t version;
	/* The server's store ignores a version that is not a number. */
	const bool has_version =
		apiserver_resource_version_parse(api_resource_version(object), &version) &&
		version != 0;
	set_system_fields(writing, object);
	if (!writing->resource->built_in && writing->resource->status)
		json_object_del(object, "status");
	if (begins_to_count(writing->resource, object))
		json_object_set_new(apiserver_object_meta(object), "generation", json_integer(1));
	const unsigned unset = apiserver_field_managers_unset(writing->resource, object);
	apiserver_prepare(writing->resource, env, object, NULL);
	int e = set_managers(writing, unset, NULL, object, &managed);
	if (e == 0)
		e = mutate_object(writing, env, &managed, NULL);
	if (e == 0)
		e = check_object(writing, env, managed, NULL);
	if (e == 0)
		e = apiserver_admission_validate(writing, managed, NULL);
	if (e == 0 && has_version && !writing->dry_run)
		e = apiserver_status_refuse(
			writing->status, 500, "",
			"resourceVersion should not be set on objects to be created");
	if (e == 0)
		e = store_new(writing, env, managed);
	if (e == 0)
		*ret = managed;
	else
		json_decref(managed);
	return e;
}

int apiserver_write_new(const struct apiserver_writing *writing, json_t *object, json_t **ret)
{
	const struct apiserver_env env = env_of_writing(writing);
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	const char *base = api_get_string(object, "metadata.generateName");
	bool generate = api_name(object)[0] == '\0' && base[0] != '\0';
	int e = check_namespace(writing, object);
	for (int i = 0; e == 0 || e == ERR_DUPLICATE; i++) {
		/* Another try with another name begins with what was sent. */
		json_t *copy = generate ? api_tree_copy(object) : json_incref(object);
		if (generate)
			generate_name(apiserver_object_meta(copy), base);
		strbuf_reset(&name);
		strbuf_adds(&name, api_name(copy));
		e = make_new(writing, &env, copy, ret);
		json_decref(copy);
		if (e != ERR_DUPLICATE || !generate || i + 1 == NAME_TRIES)
			break;
	}
	if (e == 0)
		add_warnings(writing, *ret, NULL);
	return e == ERR_DUPLICATE ? refuse_existing(writing, name.s) : e;
}

/* ---- changes ---- */

static void copy_member(json_t *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);
	if (v != NULL)
		json_object_set_new(to, key, api_tree_copy(v));
	else
		json_object_del(to, key);
}

/* Restores the metadata that an update cannot change. */
static void keep_metadata(json_t *object, const json_t *old)
{
	json_t *meta = apiserver_object_meta(object);
	const json_t *was = json_object_get(old, "metadata");
	copy_member(meta, was, "generation");
	if (api_namespace(object)[0] == '\0' || api_namespace(old)[0] == '\0')
		copy_member(meta, was, "namespace");
	copy_member(meta, was, "creationTimestamp");
	copy_member(meta, was, "resourceVersion");
	json_object_del(meta, "selfLink");
	if (api_uid(object)[0] == '\0')
		copy_member(meta, was, "uid");
	if (json_object_get(was, "deletionTimestamp") != NULL)
		copy_member(meta, was, "deletionTimestamp");
	if (json_object_get(meta, "deletionGracePeriodSeconds") == NULL)
		copy_member(meta, was, "deletionGracePeriodSeconds");
}

static bool is_same_except(const json_t *left, const json_t *right, const char *const *except)
{
	json_t *x = json_copy((json_t *)(uintptr_t)left),
	       *y = json_copy((json_t *)(uintptr_t)right);
	for (; *except != NULL; except++) {
		json_object_del(x, *except);
		json_object_del(y, *except);
	}
	bool same = json_equal(x, y) != 0;
	json_decref(x);
	json_decref(y);
	return same;
}

static void count_generation(const struct apiserver_writing *writing, json_t *object,
			     const json_t *old)
{
	static const char *const with_status[] = { "metadata", "status", NULL };
	static const char *const without[] = { "metadata", NULL };
	bool counts;
	if (writing->subresource[0] != '\0')
		return;
	if (writing->resource->strategy->bumps_generation != NULL)
		counts = writing->resource->strategy->bumps_generation(object, old);
	else
		counts = !is_same_except(object, old,
					 writing->resource->status ? with_status : without);
	if (counts)
		json_object_set_new(apiserver_object_meta(object), "generation",
				    json_integer(api_generation(old) + 1));
}

bool apiserver_write_is_finalized(const struct apiserver_resource *resource, const json_t *object)
{
	if (json_array_size(api_get(object, "metadata.finalizers")) != 0)
		return false;
	return strcmp(resource->kind->kind, "Namespace") != 0 ||
	       json_array_size(api_get(object, "spec.finalizers")) == 0;
}

static int store_change(const struct apiserver_writing *writing, const json_t *old,
			uint64_t revision, json_t *object)
{
	apiserver_object_cut_to_stored(writing->resource, object);
	if (json_equal(object, old))
		return 0;
	bool removes =
		api_is_deleting(object) && apiserver_write_is_finalized(writing->resource, object);
	if (writing->dry_run)
		return 0;
	if (!removes)
		return store_object(writing, object, revision);
	json_t *was = apiserver_object_to_stored(writing->resource, old);
	int e = apiserver_write_removal(writing->api, writing->resource, was, revision, NULL);
	json_decref(was);
	return e;
}

static int make_change(const struct apiserver_writing *writing, const struct apiserver_env *env,
		       const json_t *old, json_t *object, json_t **ret)
{
	json_t *managed = NULL;
	keep_metadata(object, old);
	if (writing->subresource[0] == '\0' && !writing->resource->built_in &&
	    writing->resource->status)
		copy_member(object, old, "status");
	const unsigned unset = apiserver_field_managers_unset(writing->resource, object);
	prepare_object(writing, env, object, old);
	int e = set_managers(writing, unset, old, object, &managed);
	if (e == 0)
		e = mutate_object(writing, env, &managed, old);
	if (e == 0) {
		count_generation(writing, managed, old);
		e = check_object(writing, env, managed, old);
	}
	if (e == 0)
		e = apiserver_admission_validate(writing, managed, old);
	if (e == 0)
		*ret = managed;
	else
		json_decref(managed);
	return e;
}

int apiserver_write_change(const struct apiserver_writing *writing, const json_t *old,
			   uint64_t revision, json_t *object, json_t **ret)
{
	const struct apiserver_env env = env_of_writing(writing);
	json_t *managed = NULL;
	int e = make_change(writing, &env, old, object, &managed);
	if (e == 0) {
		e = admit_object(writing, &env, managed, old);
		if (e < 0)
			json_decref(managed);
	}
	if (e < 0)
		return e;
	api_managed_keep_times(old, managed);
	e = store_change(writing, old, revision, managed);
	if (e < 0 || writing->dry_run)
		undo_admission(writing, &env, managed, old);
	else
		undo_admission(writing, &env, old, managed); /* releases what only `old` had */
	if (e < 0) {
		json_decref(managed);
		return e == ERR_CONFLICT ? e : apiserver_status_store_failed(writing->status, e);
	}
	add_warnings(writing, managed, old);
	*ret = managed;
	return 0;
}

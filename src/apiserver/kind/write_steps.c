/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of a write that depend on the kind: defaulting and normalizing the object, then
 * validating it. Built-in kinds are validated by their strategies, custom resources by their schemas. */
#include "apiserver/kind/write_steps.h"

#include <assert.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "apiserver/kind/go_normalize.h"
#include "apiserver/kind/objectmeta.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/strategy.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

void apiserver_prepare(const struct apiserver_resource *resource, const struct apiserver_env *env,
		       json_t *object, const json_t *old)
{
	/* Server-side apply leaves nulls, which are values only in custom resources. */
	if (env->applied && !resource->built_in)
		api_schema_prepare_applied(resource->schema, object);
	else
		api_schema_prepare(resource->schema, object);
	if (resource->built_in)
		apiserver_go_normalize(resource, object); /* its metadata, too */
	else
		apiserver_go_normalize_metadata(object, old);
	if (resource->strategy->prepare != NULL)
		resource->strategy->prepare(env, object, old);
}

/* Some kinds validate metadata twice; kube-apiserver reports each error once. */
static void drop_repeated(struct api_errors *errs)
{
	struct api_errors once = { 0 };
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct map seen;
	if (errs->n < 2)
		return;
	map_init(&seen);
	for (size_t i = 0; i < errs->n; i++) {
		struct api_fielderr *e = &errs->v[i];
		strbuf_reset(&key);
		strbuf_addf(&key, "%s\n%s", e->field, e->body);
		if (map_set(&seen, strbuf_slice(&key), &seen) == NULL) {
			vec_push(&once, *e);
		} else {
			free(e->field);
			free(e->body);
		}
	}
	map_done(&seen);
	vec_done(errs);
	*errs = once;
}

void apiserver_validate(const struct apiserver_resource *resource, const struct apiserver_env *env,
			const json_t *object, const json_t *old, struct api_errors *errs)
{
	apiserver_objectmeta_validate(resource, object, old, errs);
	/* kube-apiserver checks updates of custom resources twice and reports both. */
	if (!resource->built_in && old != NULL)
		apiserver_objectmeta_validate_update(object, old, errs);
	if (!resource->built_in)
		api_schema_validate(resource->schema, object, old, errs);
	if (resource->strategy->validate != NULL)
		resource->strategy->validate(env, object, old, errs);
	if (resource->built_in)
		drop_repeated(errs);
}

/* A copy of `from` with these members as `own` has them, in place of its own ones. */
static json_t *copy_with_members(const json_t *from, const json_t *own, const char *const *names)
{
	json_t *copy = json_object(), *value;
	const char *key;
	json_object_foreach (api_tree(from), key, value) {
		const char *const *name = names;
		while (*name != NULL && strcmp(*name, key) != 0)
			name++;
		if (*name == NULL)
			json_object_set_new_nocheck(copy, key, api_tree_copy(value));
		else if ((value = json_object_get(own, key)) != NULL)
			json_object_set_nocheck(copy, key, value);
	}
	for (; *names != NULL; names++) {
		if ((value = json_object_get(own, *names)) != NULL)
			json_object_set_nocheck(copy, *names, value);
	}
	return copy;
}

/* Takes everything but metadata and status from the stored object. */
static void keep_all_but_status(json_t *object, const json_t *old)
{
	static const char *const own[] = { "metadata", "status", NULL };
	json_t *merged = copy_with_members(old, object, own);
	json_object_clear(object);
	json_object_update(object, merged);
	json_decref(merged);
}

/* ---- status of custom resources ---- */

/* A status write to a custom resource changes only managedFields of the metadata. The rest is shared
 * with the stored object: what happens to the object later replaces members of it and of its metadata,
 * and changes nothing inside them. */
static void keep_stored(json_t *object, const json_t *old)
{
	json_t *metadata = json_copy(json_object_get(old, "metadata"));
	json_t *status = json_incref(json_object_get(object, "status"));
	json_t *managed = api_tree(api_managed_fields(object));
	if (managed != NULL)
		json_object_set(metadata, "managedFields", managed);
	json_object_clear(object);
	json_object_update(object, api_tree(old));
	json_object_set_new(object, "metadata", metadata);
	if (status != NULL)
		json_object_set_new(object, "status", status);
	else
		json_object_del(object, "status");
}

/* Members whose values in the stored object are used: nothing has to be prepared there. */
static void drop_unused_members(json_t *object)
{
	static const char *const used[] = { "apiVersion", "kind", "metadata", "status" };
	const char *key;
	json_t *value;
	void *next;
	json_object_foreach_safe(object, next, key, value)
	{
		size_t i = 0;
		while (i < ARRAY_LEN(used) && strcmp(used[i], key) != 0)
			i++;
		if (i == ARRAY_LEN(used))
			json_object_del(object, key);
	}
}

static void prepare_custom_status(const struct apiserver_resource *resource, json_t *object,
				  const json_t *old)
{
	assert(resource->strategy->prepare_status == NULL); /* of built-in kinds */
	drop_unused_members(object);
	api_schema_prepare(resource->schema, object);
	/* Of this metadata only managedFields are used; stored ones are left as they are. */
	if (api_managed_fields(object) != api_managed_fields(old))
		apiserver_go_normalize_metadata(object, old);
	keep_stored(object, old);
}

void apiserver_prepare_status(const struct apiserver_resource *resource, json_t *object,
			      const json_t *old)
{
	if (!resource->built_in) {
		prepare_custom_status(resource, object, old);
		return;
	}
	if (resource->strategy->prepare_status == NULL)
		drop_unused_members(object);
	api_schema_prepare(resource->schema, object);
	apiserver_go_normalize_metadata(object, old);
	if (resource->strategy->prepare_status != NULL)
		resource->strategy->prepare_status(object, old);
	keep_all_but_status(object, old);
	apiserver_go_normalize(resource, object);
}

void apiserver_validate_status(const struct apiserver_resource *resource, const json_t *object,
			       const json_t *old, struct api_errors *errs)
{
	apiserver_objectmeta_validate(resource, object, old, errs);
	if (!resource->built_in)
		api_schema_validate_status(resource->schema, object, old, errs);
	if (resource->strategy->validate_status != NULL)
		resource->strategy->validate_status(object, old, errs);
	if (resource->built_in)
		drop_repeated(errs);
}

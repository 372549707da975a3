/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversion between JSON trees and the texts in the store, and between the version that a request
 * uses and the version that is stored. */
#include "apiserver/request/object.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "api/schema/prepare.h"
#include "api/tree_copy.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "base/err.h"

static void add_member(struct strbuf *out, const char *key, const json_t *value)
{
	strbuf_addc(out, ',');
	strbuf_add_json(out, slice_of(key));
	strbuf_addc(out, ':');
	api_json_add(out, value);
}

void apiserver_object_add_version(struct strbuf *out, const struct apiserver_resource *resource)
{
	if (resource->kind->group[0] != '\0')
		strbuf_addf(out, "%s/", resource->kind->group);
	strbuf_adds(out, resource->version);
}

static void add_identity(struct strbuf *out, const struct apiserver_resource *resource)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	apiserver_object_add_version(&version, resource);
	if (resource->built_in)
		strbuf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", resource->kind->kind,
			    version.s);
	else
		strbuf_addf(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",", version.s,
			    resource->kind->kind);
}

/* The members after resourceVersion. */
static void add_metadata(struct apiserver_object_text *text, const json_t *metadata)
{
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(metadata), key, value) {
		const size_t at = text->buf.n;
		if (strcmp(key, "resourceVersion") != 0)
			add_member(&text->buf, key, value);
		if (strcmp(key, "managedFields") == 0) {
			text->managed_at = at;
			text->managed_n = text->buf.n - at;
		}
	}
}

void apiserver_object_text_make(struct apiserver_object_text *text,
				const struct apiserver_resource *stored, const json_t *object)
{
	const char *key;
	json_t *v;
	strbuf_init(&text->buf);
	add_identity(&text->buf, stored);
	strbuf_adds(&text->buf, "\"metadata\":{\"resourceVersion\":\"");
	text->head_n = text->buf.n;
	text->managed_at = text->managed_n = 0;
	strbuf_addc(&text->buf, '"');
	add_metadata(text, json_object_get(object, "metadata"));
	strbuf_addc(&text->buf, '}');
	json_object_foreach (api_tree(object), key, v) {
		if (strcmp(key, "kind") != 0 && strcmp(key, "apiVersion") != 0 &&
		    strcmp(key, "metadata") != 0)
			add_member(&text->buf, key, v);
	}
	strbuf_addc(&text->buf, '}');
}

void apiserver_object_text_done(struct apiserver_object_text *text)
{
	strbuf_done(&text->buf);
}

struct slice apiserver_object_text_head(const struct apiserver_object_text *text)
{
	return (struct slice){ text->buf.s, text->head_n };
}

struct slice apiserver_object_text_tail(const struct apiserver_object_text *text)
{
	return (struct slice){ text->buf.s + text->head_n, text->buf.n - text->head_n };
}

struct slice apiserver_object_text_managed(const struct apiserver_object_text *text)
{
	return (struct slice){ text->buf.s + text->managed_at, text->managed_n };
}

struct slice apiserver_object_find_managed(struct slice text)
{
	static const char key[] = ",\"managedFields\":"; /* resourceVersion is before it */
	struct slice value;
	if (!api_json_member(text, "metadata", "managedFields", &value))
		return (struct slice){ 0 };
	const char *from = value.p - (sizeof(key) - 1);
	if (from < text.p || memcmp(from, key, sizeof(key) - 1) != 0)
		return (struct slice){ 0 };
	return (struct slice){ from, (size_t)(value.p + value.n - from) };
}

void apiserver_object_add_without(struct strbuf *out, struct slice text, struct slice part)
{
	assert(part.n == 0 || (part.p >= text.p && part.p + part.n <= text.p + text.n));
	const size_t before = part.n > 0 ? (size_t)(part.p - text.p) : text.n;
	strbuf_add(out, text.p, before);
	strbuf_add_slice(out, slice_from(text, before + part.n));
}

struct slice apiserver_object_text_inner(const struct apiserver_resource *resource,
					 struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	add_identity(&b, resource);
	return resource->built_in && slice_starts(text, strbuf_slice(&b)) ? slice_from(text, b.n)
									  : slice_from(text, 1);
}

/* ---- versions ---- */

bool apiserver_object_is_stored_form(const struct apiserver_resource *resource)
{
	return resource->stored == resource;
}

static void set_identity(json_t *object, const struct apiserver_resource *resource)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	apiserver_object_add_version(&version, resource);
	json_object_set_new(object, "kind", json_string(resource->kind->kind));
	json_object_set_new(object, "apiVersion", json_string(version.s));
}

json_t *apiserver_object_to_stored(const struct apiserver_resource *resource, const json_t *object)
{
	if (apiserver_object_is_stored_form(resource))
		return json_incref(api_tree(object));
	json_t *copy = api_tree_copy(object);
	if (resource->strategy->to_stored != NULL)
		resource->strategy->to_stored(copy, resource->version);
	if (!resource->built_in) /* fields that only the request's version has are lost */
		api_schema_prepare_applied(resource->stored->schema, copy);
	set_identity(copy, resource->stored);
	return copy;
}

static void convert_from_stored(const struct apiserver_resource *resource, json_t *object)
{
	if (resource->strategy->from_stored != NULL)
		resource->strategy->from_stored(object, resource->version);
	if (!resource->built_in)
		api_schema_prune(resource->schema, object);
	set_identity(object, resource);
}

json_t *apiserver_object_parse(const struct apiserver_resource *resource, struct slice text)
{
	json_t *o = api_json_load(text, 0, NULL);
	if (o != NULL && !apiserver_object_is_stored_form(resource))
		convert_from_stored(resource, o);
	return o;
}

void apiserver_object_cut_to_stored(const struct apiserver_resource *resource, json_t *object)
{
	if (resource->built_in || apiserver_object_is_stored_form(resource))
		return;
	json_t *cut = apiserver_object_to_stored(resource, object);
	convert_from_stored(resource, cut);
	json_object_clear(object);
	json_object_update(object, cut);
	json_decref(cut);
}

/* ---- metadata ---- */

json_t *apiserver_object_meta(json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");
	if (!json_is_object(meta)) {
		meta = json_object();
		json_object_set_new(object, "metadata", meta);
	}
	return meta;
}

void apiserver_object_set_revision(json_t *object, uint64_t revision)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, revision);
	json_object_set_new(apiserver_object_meta(object), "resourceVersion", json_string(text));
}

int apiserver_object_read_identity(struct apiserver_store *store,
				   const struct apiserver_resource *resource, const char *ns,
				   const char *name, json_t **ret)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;
	uint64_t revision;
	apiserver_key(&key, resource->stored->kind, ns, name);
	int e = apiserver_store_get(store, key.s, &text, &revision);
	if (e < 0)
		return e;
	*ret = api_json_load_identity(strbuf_slice(&text));
	if (*ret == NULL)
		*ret = api_json_load(strbuf_slice(&text), 0, NULL);
	return *ret != NULL ? 0 : apiserver_store_damaged(store, key.s);
}

/* False: the text is not as this program writes it. */
static bool read_uid(struct slice object, char uid[APISERVER_UID_TEXT_MAX])
{
	struct slice value;
	if (!api_json_member(object, "metadata", "uid", &value) || value.n < 2 ||
	    value.p[0] != '"' || value.n - 2 >= APISERVER_UID_TEXT_MAX)
		return false;
	memcpy(uid, value.p + 1, value.n - 2);
	uid[value.n - 2] = '\0';
	return true;
}

int apiserver_object_read_state(struct apiserver_store *store,
				const struct apiserver_resource *resource, const char *ns,
				const char *name, struct apiserver_object_state *ret)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;
	static const char deletion[] = "\"deletionTimestamp\":";
	uint64_t revision;
	struct slice since;
	apiserver_key(&key, resource->stored->kind, ns, name);
	int e = apiserver_store_get(store, key.s, &text, &revision);
	if (e < 0)
		return e;
	struct slice object = strbuf_slice(&text);
	if (!read_uid(object, ret->uid))
		return apiserver_store_damaged(store, key.s);
	/* Most texts do not have the word anywhere, which is seen faster than where it stands. */
	ret->deleting = memmem(object.p, object.n, deletion, sizeof(deletion) - 1) != NULL &&
			api_json_member(object, "metadata", "deletionTimestamp", &since);
	return 0;
}

int apiserver_object_read(struct apiserver_store *store, const struct apiserver_resource *resource,
			  const char *ns, const char *name, json_t **ret, uint64_t *ret_revision)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;
	apiserver_key(&key, resource->stored->kind, ns, name);
	int e = apiserver_store_get(store, key.s, &text, ret_revision);
	if (e < 0)
		return e;
	*ret = apiserver_object_parse(resource, strbuf_slice(&text));
	return *ret != NULL ? 0 : apiserver_store_damaged(store, key.s);
}

/* Objects and texts. */
#include "apiserver/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/key.h"
#include "base/err.h"

static int add_text(const char *p, size_t n, void *ctx)
{
	strbuf_add(ctx, p, n);
	return 0;
}

static void add_value(struct strbuf *b, const json_t *v)
{
	if (json_dump_callback(v, add_text, b, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
		strbuf_adds(b, "null");
}

static void add_member(struct strbuf *b, const char *key, const json_t *v)
{
	strbuf_addc(b, ',');
	strbuf_add_json(b, slice_of(key));
	strbuf_addc(b, ':');
	add_value(b, v);
}

static void add_identity(struct strbuf *b, const struct apiserver_resource *r)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	if (r->kind->group[0] != '\0')
		strbuf_addf(&version, "%s/", r->kind->group);
	strbuf_adds(&version, r->version);
	if (r->built_in)
		strbuf_addf(b, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", r->kind->kind, version.s);
	else
		strbuf_addf(b, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",", version.s, r->kind->kind);
}

void apiserver_text_make(struct apiserver_text *t, const struct apiserver_resource *stored,
			 const json_t *o)
{
	const char *key;
	json_t *v;
	strbuf_init(&t->b);
	add_identity(&t->b, stored);
	strbuf_adds(&t->b, "\"metadata\":{\"resourceVersion\":\"");
	t->head_n = t->b.n;
	strbuf_addc(&t->b, '"');
	json_object_foreach (json_object_get(api_tree(o), "metadata"), key, v) {
		if (strcmp(key, "resourceVersion") != 0)
			add_member(&t->b, key, v);
	}
	strbuf_addc(&t->b, '}');
	json_object_foreach (api_tree(o), key, v) {
		if (strcmp(key, "kind") != 0 && strcmp(key, "apiVersion") != 0 &&
		    strcmp(key, "metadata") != 0)
			add_member(&t->b, key, v);
	}
	strbuf_addc(&t->b, '}');
}

void apiserver_text_done(struct apiserver_text *t)
{
	strbuf_done(&t->b);
}

struct slice apiserver_text_head(const struct apiserver_text *t)
{
	return (struct slice){ t->b.s, t->head_n };
}

struct slice apiserver_text_tail(const struct apiserver_text *t)
{
	return (struct slice){ t->b.s + t->head_n, t->b.n - t->head_n };
}

struct slice apiserver_text_inner(const struct apiserver_resource *r, struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	add_identity(&b, r);
	return r->built_in && slice_starts(text, strbuf_slice(&b)) ? slice_from(text, b.n)
								   : slice_from(text, 1);
}

/* ---- versions ---- */

bool apiserver_object_raw(const struct apiserver_resource *r)
{
	return r->stored == r;
}

static void set_identity(json_t *o, const struct apiserver_resource *r)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	if (r->kind->group[0] != '\0')
		strbuf_addf(&version, "%s/", r->kind->group);
	strbuf_adds(&version, r->version);
	json_object_set_new(o, "kind", json_string(r->kind->kind));
	json_object_set_new(o, "apiVersion", json_string(version.s));
}

json_t *apiserver_object_to_stored(const struct apiserver_resource *r, const json_t *o)
{
	if (apiserver_object_raw(r))
		return json_incref(api_tree(o));
	json_t *copy = json_deep_copy(o);
	if (r->strategy->to_stored != NULL)
		r->strategy->to_stored(copy, r->version);
	set_identity(copy, r->stored);
	return copy;
}

json_t *apiserver_object_parse(const struct apiserver_resource *r, struct slice text)
{
	json_t *o = json_loadb(text.p, text.n, 0, NULL);
	if (o == NULL || apiserver_object_raw(r))
		return o;
	if (r->strategy->from_stored != NULL)
		r->strategy->from_stored(o, r->version);
	set_identity(o, r);
	return o;
}

/* ---- metadata ---- */

json_t *apiserver_object_meta(json_t *o)
{
	json_t *meta = json_object_get(o, "metadata");
	if (!json_is_object(meta)) {
		meta = json_object();
		json_object_set_new(o, "metadata", meta);
	}
	return meta;
}

void apiserver_object_set_revision(json_t *o, uint64_t revision)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, revision);
	json_object_set_new(apiserver_object_meta(o), "resourceVersion", json_string(text));
}

int apiserver_object_read(struct apiserver_store *s, const struct apiserver_resource *r,
			  const char *ns, const char *name, json_t **ret, uint64_t *ret_revision)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;
	apiserver_key(&key, r->stored->kind, ns, name);
	int e = apiserver_store_get(s, key.s, &text, ret_revision);
	if (e < 0)
		return e;
	*ret = apiserver_object_parse(r, strbuf_slice(&text));
	return *ret != NULL ? 0 : apiserver_store_damaged(s, key.s);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jansson trees, built from events so that what is not kept is never allocated. */
#include "kube/decode/tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kube/decode/filter.h"

static const struct kube_filter_row always[] = {
	{ "apiVersion", 0, 0 },
	{ "kind", 0, 0 },
	{ "metadata.name", 0, 0 },
	{ "metadata.namespace", 0, 0 },
	{ "metadata.uid", 0, 0 },
	{ "metadata.resourceVersion", 0, 0 },
	{ "metadata.generation", 0, 0 },
	{ "metadata.deletionTimestamp", 0, 0 },
	{ "metadata.managedFields", 0, KUBE_FILTER_DROP },
	{ "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", 0,
	  KUBE_FILTER_DROP },
};

struct tree_codec {
	struct kube_codec codec;
	const struct api_kind *kind;
	struct strbuf version;
	struct kube_filter *filter;
	/* The tree at hand: containers from the outermost in, the first one owned. */
	VEC(json_t *) stack;
	json_t *root;
	struct strbuf key;
};

static int attach_value(struct tree_codec *codec, json_t *value)
{
	if (value == NULL)
		return ERR_PARSE; /* text that jansson does not take */
	if (codec->stack.n == 0) {
		if (codec->root != NULL || !json_is_object(value)) {
			json_decref(value);
			return ERR_PARSE;
		}
		codec->root = value;
		return 0;
	}
	json_t *top = codec->stack.v[codec->stack.n - 1];
	int r = json_is_array(top) ? json_array_append_new(top, value)
				   : json_object_set_new_nocheck(top, codec->key.s, value);
	return r < 0 ? ERR_PARSE : 0;
}

static int parse_number(struct slice text, json_t **ret)
{
	char buf[64], *end;
	if (text.n >= sizeof(buf))
		return ERR_RANGE;
	memcpy(buf, text.p, text.n);
	buf[text.n] = '\0';
	errno = 0;
	if (strpbrk(buf, ".eE") != NULL) {
		double d = strtod(buf, &end);
		if (!isfinite(d))
			return ERR_RANGE;
		*ret = json_real(d);
		return 0;
	}
	long long v = strtoll(buf, &end, 10);
	if (errno != 0)
		return ERR_RANGE; /* exact, or not at all */
	*ret = json_integer(v);
	return 0;
}

static int set_key(struct tree_codec *codec, struct slice key)
{
	if (key.n != 0 && memchr(key.p, 0, key.n) != NULL)
		return ERR_PARSE;
	strbuf_reset(&codec->key);
	strbuf_add_slice(&codec->key, key);
	return 0;
}

static int on_event(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct tree_codec *c = ctx;
	json_t *v = NULL;
	int r = 0;
	(void)id;
	switch (type) {
	case KUBE_JSON_KEY:
		return set_key(c, text);
	case KUBE_JSON_END:
		c->stack.n--;
		return 0;
	case KUBE_JSON_MAP:
	case KUBE_JSON_ARRAY:
		v = type == KUBE_JSON_MAP ? json_object() : json_array();
		r = attach_value(c, v);
		if (r == 0)
			vec_push(&c->stack, v);
		return r;
	case KUBE_JSON_STRING:
		return attach_value(c, json_stringn_nocheck(text.p, text.n));
	case KUBE_JSON_NUMBER:
		r = parse_number(text, &v);
		return r < 0 ? r : attach_value(c, v);
	case KUBE_JSON_TRUE:
		return attach_value(c, json_true());
	case KUBE_JSON_FALSE:
		return attach_value(c, json_false());
	case KUBE_JSON_NULL:
		return attach_value(c, json_null());
	}
	return 0;
}

static void tree_free(struct kube_obj *obj)
{
	struct kube_tree *t = (struct kube_tree *)obj;
	json_decref(t->v);
	free(t);
}

/* Items of built-in lists have neither; an item of another kind is not ours. */
static int check_identity(const struct tree_codec *codec, json_t *value)
{
	const char *kind = api_kind(value);
	if (kind[0] != '\0' && strcmp(kind, codec->kind->kind) != 0)
		return ERR_TYPE;
	if (api_name(value)[0] == '\0')
		return ERR_PARSE;
	if (kind[0] == '\0')
		json_object_set_new_nocheck(value, "kind", json_string(codec->kind->kind));
	if (api_version(value)[0] == '\0')
		json_object_set_new_nocheck(value, "apiVersion", json_string(codec->version.s));
	return 0;
}

static int tree_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct tree_codec *c = (struct tree_codec *)codec;
	c->stack.n = 0;
	c->root = NULL;
	int r = kube_filter_parse(c->filter, json, on_event, c);
	if (r == 0)
		r = c->root != NULL ? check_identity(c, c->root) : ERR_PARSE;
	if (r < 0) {
		json_decref(c->root);
		return r;
	}
	struct kube_tree *t = xcalloc(1, sizeof(*t));
	t->v = TAKE_PTR(c->root);
	t->o.ns = api_namespace(t->v);
	t->o.name = api_name(t->v);
	t->o.rv = api_resource_version(t->v);
	t->o.free = tree_free;
	atomic_init(&t->o.refs, 1);
	*ret = &t->o;
	return 0;
}

static void tree_codec_free(struct kube_codec *codec)
{
	struct tree_codec *c = (struct tree_codec *)codec;
	kube_filter_free(c->filter);
	strbuf_done(&c->version);
	strbuf_done(&c->key);
	vec_done(&c->stack);
	free(c);
}

struct kube_codec *kube_tree_codec(const struct api_kind *kind, const char *const *paths,
				   size_t len)
{
	struct tree_codec *c = xcalloc(1, sizeof(*c));
	VEC(struct kube_filter_row) rows = { 0 };
	c->codec = (struct kube_codec){ .decode = tree_decode, .free = tree_codec_free };
	c->kind = kind;
	strbuf_init(&c->version);
	api_kind_api_version(&c->version, kind);
	strbuf_init(&c->key);
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		vec_push(&rows, always[i]);
	for (size_t i = 0; i < len; i++)
		vec_push(&rows, (struct kube_filter_row){ paths[i], 0, KUBE_FILTER_DEEP });
	if (len == 0)
		vec_push(&rows, (struct kube_filter_row){ "", 0, KUBE_FILTER_DEEP });
	c->filter = kube_filter_new(rows.v, rows.n);
	vec_done(&rows);
	return &c->codec;
}

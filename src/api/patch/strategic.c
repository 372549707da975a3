/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategic merge patches: maps and their directives. */
#include "api/patch/strategic.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/fields/fieldset.h"
#include "api/patch/objectmeta_schema.h"
#include "api/patch/patch.h"
#include "api/patch/strategic_list_priv.h"
#include "api/patch/strategic_priv.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"

static const char retain_keys[] = "$retainKeys", set_order[] = "$setElementOrder",
		  delete_from[] = "$deleteFromPrimitiveList";

int strategic_fail(const struct strategic *strategic, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_text_vset(strategic->err, fmt, ap);
	va_end(ap);
	return code;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The name behind "PREFIX/"; NULL when it is not such a directive. */
static const char *directive_name(const char *key, const char *prefix)
{
	size_t n = strlen(prefix);
	return key[n] == '/' ? key + n + 1 : NULL;
}

struct strategic strategic_below(const struct strategic *strategic, const json_t *schema)
{
	struct strategic below = *strategic;
	below.schema = schema;
	below.root = json_is_true(json_object_get(schema, "x-kubernetes-embedded-resource"));
	below.depth++;
	return below;
}

struct strategic_field strategic_field(const struct strategic *strategic, const char *name)
{
	struct strategic_field f = { .key = "" };
	f.schema = json_object_get(json_object_get(strategic->schema, "properties"), name);
	if (f.schema == NULL)
		f.schema = json_object_get(strategic->schema, "additionalProperties");
	if (strategic->root && strcmp(name, "metadata") == 0)
		f.schema = api_objectmeta_schema();
	const char *key = api_text(json_object_get(f.schema, "x-kubernetes-patch-merge-key"));
	const char *how = api_text(json_object_get(f.schema, "x-kubernetes-patch-strategy"));
	f.key = key;
	if (strstr(how, "merge") != NULL)
		f.kind = STRATEGIC_MERGE;
	else if (strstr(how, "replace") != NULL)
		f.kind = STRATEGIC_REPLACE;
	return f;
}

bool strategic_remove_directives(json_t *value)
{
	const char *k;
	json_t *item;
	void *tmp;
	if (json_is_object(value)) {
		if (json_object_get(value, strategic_directive) != NULL)
			return false;
		json_object_foreach_safe(value, tmp, k, item)
		{
			if (!strategic_remove_directives(item))
				json_object_del(value, k);
		}
	} else if (json_is_array(value)) {
		for (size_t i = json_array_size(value); i-- > 0;) {
			if (!strategic_remove_directives(json_array_get(value, i)))
				json_array_remove(value, i);
		}
	}
	return true;
}

static void discard_nulls(json_t *value)
{
	const char *k;
	json_t *item;
	void *tmp;
	size_t i;
	if (json_is_object(value)) {
		json_object_foreach_safe(value, tmp, k, item)
		{
			if (json_is_null(item))
				json_object_del(value, k);
			else
				discard_nulls(item);
		}
	} else if (json_is_array(value)) {
		json_array_foreach (value, i, item)
			discard_nulls(item);
	}
}

/* A value that there was none of, or of another type. */
static void take_new(json_t *original, const char *key, json_t *value)
{
	discard_nulls(value);
	if (strategic_remove_directives(value))
		json_object_set(original, key, value);
	else
		json_object_del(original, key);
}

/* ---- directives of a map ---- */

/* {"$patch": ...}: the map is not merged. */
static int replace_or_delete(const struct strategic *strategic, json_t **original, json_t *patch)
{
	const json_t *what = json_object_get(patch, strategic_directive);
	const char *word = api_text(what);
	if (strcmp(word, "replace") == 0) {
		json_decref(*original);
		*original = json_incref(patch);
		json_object_del(patch, strategic_directive);
		return 0;
	}
	if (strcmp(word, "delete") == 0) {
		json_decref(*original);
		*original = json_object();
		return 0;
	}
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	fieldset_go_value(&b, what);
	strbuf_adds(&b, " in map: ");
	fieldset_go_value(&b, patch);
	return strategic_fail(strategic, ERR_TYPE, "unknown patch type: %s", b.s);
}

static bool is_listed(const json_t *list, const char *name)
{
	size_t i;
	json_t *v;
	json_array_foreach (list, i, v) {
		if (json_is_string(v) && strcmp(api_text(v), name) == 0)
			return true;
	}
	return false;
}

/* Only members that the list names stay; the patch must not have others. */
static int keep_listed_keys(const struct strategic *strategic, json_t *original, json_t *patch)
{
	const char *k;
	json_t *v;
	void *tmp;
	json_t *list = json_incref(json_object_get(patch, retain_keys));
	int r = 0;
	if (list == NULL)
		return 0;
	json_object_del(patch, retain_keys);
	if (!json_is_array(list))
		r = ERR_PARSE;
	json_object_foreach (patch, k, v) {
		if (r == 0 && !json_is_null(v) && !has_prefix(k, delete_from) &&
		    !has_prefix(k, set_order) && !is_listed(list, k))
			r = ERR_PARSE;
	}
	if (r < 0)
		strategic_fail(strategic, r, "invalid patch format of retainKeys");
	json_object_foreach_safe(original, tmp, k, v)
	{
		if (r == 0 && !is_listed(list, k))
			json_object_del(original, k);
	}
	json_decref(list);
	return r;
}

static int put_in_order(const struct strategic *strategic, json_t *original, json_t *patch)
{
	const char *k;
	json_t *v;
	int r = 0;
	json_t *orders = json_object();
	json_object_foreach (patch, k, v) {
		if (has_prefix(k, set_order))
			json_object_set(orders, k, v);
	}
	json_object_foreach (orders, k, v) {
		const char *name = directive_name(k, set_order);
		if (r < 0)
			break;
		json_object_del(patch, k);
		r = name != NULL ? strategic_order(strategic, name, v, original, patch)
				 : strategic_fail(strategic, ERR_PARSE,
						  "invalid patch format of setElementOrder list");
	}
	json_decref(orders);
	return r;
}

/* ---- fields ---- */

/* Both have it, with the same type. */
static int merge_field(const struct strategic *strategic, json_t *original, const char *key,
		       json_t *value, bool deletion)
{
	struct strategic_field f = strategic_field(strategic, key);
	json_t *old = json_object_get(original, key);
	if (json_is_object(value)) {
		if (f.kind == STRATEGIC_REPLACE) {
			json_object_set(original, key, value);
			return 0;
		}
		struct strategic below = strategic_below(strategic, f.schema);
		json_t *merged = json_incref(old);
		int r = strategic_map(&below, &merged, value);
		if (r == 0)
			json_object_set(original, key, merged);
		json_decref(merged);
		return r;
	}
	if (json_is_array(value)) {
		json_t *merged;
		int r = strategic_list(strategic, &f, old, value, deletion, &merged);
		if (r == 0)
			json_object_set_new(original, key, merged);
		return r;
	}
	json_object_set(original, key, value);
	return 0;
}

static bool same_type(const json_t *left, const json_t *right)
{
	return strcmp(strategic_go_type(left), strategic_go_type(right)) == 0;
}

static int patch_field(const struct strategic *strategic, json_t *original, const char *key,
		       json_t *value)
{
	bool deletion = has_prefix(key, delete_from);
	if (deletion) {
		key = directive_name(key, delete_from);
		if (key == NULL)
			return strategic_fail(strategic, ERR_PARSE,
					      "invalid patch format of primitive list");
	}
	const json_t *old = json_object_get(original, key);
	if (json_is_null(value)) {
		json_object_del(original, key);
		return 0;
	}
	if (old != NULL && same_type(old, value))
		return merge_field(strategic, original, key, value, deletion);
	if (!deletion)
		take_new(original, key, value);
	return 0;
}

int strategic_map(const struct strategic *strategic, json_t **original, json_t *patch)
{
	const char *k;
	json_t *v;
	void *tmp;
	if (strategic->depth > API_PATCH_DEPTH_MAX)
		return strategic_fail(strategic, ERR_LIMIT, "the patch is nested deeper than %d",
				      API_PATCH_DEPTH_MAX);
	if (json_object_get(patch, strategic_directive) != NULL)
		return replace_or_delete(strategic, original, patch);
	int r = keep_listed_keys(strategic, *original, patch);
	if (r == 0)
		r = put_in_order(strategic, *original, patch);
	json_object_foreach_safe(patch, tmp, k, v)
	{
		if (r == 0)
			r = patch_field(strategic, *original, k, v);
	}
	return r;
}

int api_strategic_apply(const json_t *schema, const json_t *target, const json_t *patch,
			json_t **ret, struct err_text err)
{
	struct strategic c = { .schema = schema, .root = true, .err = err };
	if (!json_is_object(patch))
		return strategic_fail(&c, ERR_PARSE, "invalid JSON document");
	json_t *original = json_is_object(target) ? json_deep_copy(target) : json_object();
	json_t *copy = json_deep_copy(patch);
	int r = strategic_map(&c, &original, copy);
	json_decref(copy);
	if (r == 0)
		*ret = original;
	else
		json_decref(original);
	return r;
}

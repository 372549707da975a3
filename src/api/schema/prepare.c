/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the API server does to an object before it validates it: prune unknown fields, drop nulls, set
 * defaults. */
#include "api/schema/prepare.h"

#include <string.h>

#include "api/schema/node_priv.h"
#include "api/tree.h"

static bool is_meta(const char *key)
{
	return strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
	       strcmp(key, "metadata") == 0;
}

static void prune_value(const struct schema_node *node, json_t *value, bool resource);

static void prune_object(const struct schema_node *node, json_t *object, bool resource)
{
	const char *key;
	json_t *value;
	void *next;
	json_object_foreach_safe(object, next, key, value)
	{
		const struct schema_node *m = schema_node_member(node, key);
		if (resource && is_meta(key))
			continue;
		if (m != NULL)
			prune_value(m, value, m->embedded);
		else if (node == NULL || !node->preserve)
			json_object_del(object, key);
	}
}

/* What is kept whole is still pruned below the fields that are described. A list that is kept
 * passes this on to its items. */
static void prune_kept_items(const struct schema_node *node, json_t *value)
{
	size_t i;
	json_t *item;
	json_array_foreach (value, i, item) {
		if (json_is_object(item) && node != NULL) {
			struct schema_node kept = *node;
			kept.preserve = true;
			prune_object(&kept, item, node->embedded);
		} else if (json_is_array(item) && node != NULL) {
			prune_kept_items(node->items, item);
		}
	}
}

static void prune_value(const struct schema_node *node, json_t *value, bool resource)
{
	size_t i;
	json_t *item;
	if (json_is_object(value)) {
		prune_object(node, value, resource);
	} else if (json_is_array(value) && node != NULL && node->preserve) {
		prune_kept_items(node->items, value);
	} else if (json_is_array(value)) {
		const struct schema_node *items = node != NULL ? node->items : NULL;
		json_array_foreach (value, i, item)
			prune_value(items, item, items != NULL && items->embedded);
	}
}

static bool may_not_be_null(const struct schema_node *node, const json_t *value)
{
	return json_is_null(value) && node != NULL && !node->nullable;
}

static void prune_nulls(const struct schema_node *node, json_t *tree)
{
	const char *key;
	json_t *value;
	void *next;
	size_t i;
	if (node == NULL)
		return; /* the schema does not describe the values below, such as metadata */
	json_object_foreach_safe(tree, next, key, value)
	{
		const struct schema_node *m = schema_node_member(node, key);
		if (may_not_be_null(m, value) && m->default_value == NULL)
			json_object_del(tree, key);
		else
			prune_nulls(m, value);
	}
	json_array_foreach (tree, i, value)
		prune_nulls(node->items, value);
}

static json_t *default_of(const struct schema_node *node)
{
	return node->default_value != NULL ? json_deep_copy(node->default_value) : json_null();
}

static void put_defaults(const struct schema_node *node, json_t *value);

static void put_defaults_object(const struct schema_node *node, json_t *object)
{
	const char *key;
	json_t *value;
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&node->properties, &pos)) != NULL;) {
		const struct schema_node *p = e->value;
		const json_t *old = json_object_get(object, e->key);
		if (p->default_value != NULL && (old == NULL || may_not_be_null(p, old)))
			json_object_set_new(object, e->key, default_of(p));
	}
	json_object_foreach (object, key, value) {
		const struct schema_node *m = schema_node_member(node, key);
		if (m != NULL && m == node->additional && may_not_be_null(m, value)) {
			value = default_of(m);
			json_object_set_new(object, key, value);
		}
		put_defaults(m, value);
	}
}

static void put_defaults(const struct schema_node *node, json_t *value)
{
	size_t i;
	json_t *item;
	if (node == NULL)
		return;
	if (json_is_object(value)) {
		put_defaults_object(node, value);
		return;
	}
	json_array_foreach (value, i, item) {
		if (may_not_be_null(node->items, item)) {
			item = default_of(node->items);
			json_array_set_new(value, i, item);
		}
		put_defaults(node->items, item);
	}
}

void api_schema_prepare(const struct api_schema *schema, json_t *object)
{
	prune_value(schema->root, object, true);
	prune_nulls(schema->root, object);
	put_defaults(schema->root, object);
}

void api_schema_prepare_applied(const struct api_schema *schema, json_t *object)
{
	prune_value(schema->root, object, true);
	put_defaults(schema->root, object);
}

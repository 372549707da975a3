/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether an update left a value unchanged; validate.c drops errors in such values (ratcheting).
 * Items of a list of type map are compared by their keys, in any order. */
#include "api/schema/unchanged_priv.h"

#include "api/schema/node_priv.h"
#include "api/tree.h"

static bool same_keys(const struct schema_node *node, const json_t *left, const json_t *right)
{
	for (size_t i = 0; i < node->map_keys.n; i++) {
		const json_t *x = json_object_get(left, node->map_keys.v[i]);
		const json_t *y = json_object_get(right, node->map_keys.v[i]);
		if (x == NULL || y == NULL ? x != y : !json_equal(x, y))
			return false;
	}
	return true;
}

const json_t *schema_find_item(const struct schema_node *node, const json_t *list,
			       const json_t *item)
{
	if (node->list != SCHEMA_LIST_MAP || !json_is_object(item))
		return NULL;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *other = json_array_get(list, i);
		if (json_is_object(other) && same_keys(node, item, other))
			return other;
	}
	return NULL;
}

static bool unchanged_object(const struct schema_node *node, const json_t *left,
			     const json_t *right)
{
	const char *key;
	json_t *value;
	if (json_object_size(left) != json_object_size(right))
		return false;
	json_object_foreach (api_tree(left), key, value) {
		const json_t *other = json_object_get(right, key);
		const struct schema_node *m = schema_node_member(node, key);
		if (other == NULL || m == NULL || !schema_unchanged(m, value, other))
			return false;
	}
	return true;
}

static bool unchanged_map(const struct schema_node *node, const json_t *left, const json_t *right)
{
	size_t i;
	json_t *item;
	if (json_array_size(left) != json_array_size(right))
		return false;
	json_array_foreach (left, i, item) {
		const json_t *other = schema_find_item(node, right, item);
		if (other == NULL || !schema_unchanged(node->items, item, other))
			return false;
	}
	return true;
}

bool schema_unchanged(const struct schema_node *node, const json_t *left, const json_t *right)
{
	if (json_is_object(left) && json_is_object(right))
		return unchanged_object(node, left, right);
	if (json_is_array(left) && json_is_array(right) && node->list == SCHEMA_LIST_MAP &&
	    node->items != NULL)
		return unchanged_map(node, left, right);
	return json_equal(left, right) != 0;
}

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

/* What is removed from a value, and how it is reached. */
enum {
	PRUNE_FIELDS = 1, /* removes fields that the schema does not know */
	PRUNE_NULLS = 2,  /* removes nulls that the schema does not allow */
	IN_RESOURCE = 4,  /* apiVersion, kind and metadata keep their fields */
	IN_KEPT_LIST = 8, /* the list around the value keeps unknown fields */
};

static bool may_not_be_null(const struct schema_node *node, const json_t *value)
{
	return json_is_null(value) && node != NULL && !node->nullable;
}

static void prune_value(const struct schema_node *node, json_t *value, unsigned how);

/* Should the member be removed? Else it is pruned. */
static bool prune_member(const struct schema_node *member, const char *key, json_t *value,
			 unsigned how)
{
	if ((how & IN_RESOURCE) != 0 && is_meta(key))
		how &= ~(unsigned)PRUNE_FIELDS;
	if (member == NULL)
		return (how & PRUNE_FIELDS) != 0;
	if (json_is_null(value))
		return (how & PRUNE_NULLS) != 0 && !member->nullable &&
		       member->default_value == NULL;
	if (json_is_object(value) || json_is_array(value))
		prune_value(member, value,
			    (how & (PRUNE_FIELDS | PRUNE_NULLS)) |
				    (member->embedded ? IN_RESOURCE : 0));
	return false;
}

static void prune_object(const struct schema_node *node, json_t *object, unsigned how)
{
	const bool kept = node != NULL && (node->preserve || (how & IN_KEPT_LIST) != 0);
	const char *key;
	json_t *value;
	void *next;
	json_object_foreach_safe(object, next, key, value)
	{
		const struct schema_node *member = schema_node_member(node, key);
		if (member == NULL && kept)
			continue;
		if (prune_member(member, key, value, how))
			json_object_del(object, key);
	}
}

/* What is kept whole is still pruned below the fields that are described. A list that is kept
 * passes this on to its items. */
static void prune_array(const struct schema_node *node, json_t *array, unsigned how)
{
	const bool kept = node != NULL && (node->preserve || (how & IN_KEPT_LIST) != 0);
	const struct schema_node *items = node != NULL ? node->items : NULL;
	size_t i;
	json_t *item;
	if (items == NULL && kept)
		return;
	how = (how & (PRUNE_FIELDS | PRUNE_NULLS)) | (kept ? IN_KEPT_LIST : 0) |
	      (items != NULL && items->embedded ? IN_RESOURCE : 0);
	json_array_foreach (array, i, item)
		prune_value(items, item, how);
}

/* The schema does not describe the values below a node that is NULL; they have no fields that it
 * knows, and their nulls stay. */
static void prune_value(const struct schema_node *node, json_t *value, unsigned how)
{
	if ((how & PRUNE_FIELDS) == 0 && (node == NULL || !schema_node_has_members(node)))
		return; /* such as metadata */
	if (json_is_object(value))
		prune_object(node, value, how);
	else if (json_is_array(value))
		prune_array(node, value, how);
}

static json_t *default_of(const struct schema_node *node)
{
	return node->default_value != NULL ? json_deep_copy(node->default_value) : json_null();
}

static void put_defaults(const struct schema_node *node, json_t *value);

/* Members that only additionalProperties describes. */
static void put_additional_defaults(const struct schema_node *node, json_t *object)
{
	const char *key;
	json_t *value;
	json_object_foreach (object, key, value) {
		if (schema_node_property(node, key) != NULL)
			continue;
		if (may_not_be_null(node->additional, value)) {
			value = default_of(node->additional);
			json_object_set_new(object, key, value);
		}
		put_defaults(node->additional, value);
	}
}

static void put_defaults_object(const struct schema_node *node, json_t *object)
{
	for (size_t i = 0; i < node->defaulted.n; i++) {
		const struct schema_member *member = &node->defaulted.v[i];
		const struct schema_node *own = member->node;
		json_t *value = json_object_getn(object, member->key, member->key_n);
		if (own->default_value != NULL && (value == NULL || may_not_be_null(own, value))) {
			value = default_of(own);
			json_object_setn_new(object, member->key, member->key_n, value);
		}
		put_defaults(own, value);
	}
	if (node->additional != NULL && node->additional->any_defaults)
		put_additional_defaults(node, object);
}

static void put_defaults(const struct schema_node *node, json_t *value)
{
	size_t i;
	json_t *item;
	if (node == NULL || !node->any_defaults)
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

void api_schema_prune(const struct api_schema *schema, json_t *object)
{
	prune_value(schema->root, object, PRUNE_FIELDS | IN_RESOURCE);
}

void api_schema_prepare(const struct api_schema *schema, json_t *object)
{
	prune_value(schema->root, object, PRUNE_FIELDS | PRUNE_NULLS | IN_RESOURCE);
	put_defaults(schema->root, object);
}

void api_schema_prepare_applied(const struct api_schema *schema, json_t *object)
{
	prune_value(schema->root, object, PRUNE_FIELDS | IN_RESOURCE);
	put_defaults(schema->root, object);
}

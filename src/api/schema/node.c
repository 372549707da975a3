/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the schema of an object's field: the one in `properties`, or that of
 * additionalProperties. Also holds the names of the types. */
#include "api/schema/node_priv.h"

const char *const schema_type_words[] = {
	[SCHEMA_ANY] = "",
	[SCHEMA_OBJECT] = "object",
	[SCHEMA_ARRAY] = "array",
	[SCHEMA_STRING] = "string",
	[SCHEMA_INTEGER] = "integer",
	[SCHEMA_NUMBER] = "number",
	[SCHEMA_BOOLEAN] = "boolean",
	NULL,
};

struct schema_node *schema_node_property(const struct schema_node *node, const char *key)
{
	return map_get(&node->properties, slice_of(key));
}

const struct schema_node *schema_node_member(const struct schema_node *node, const char *key)
{
	const struct schema_node *p = node != NULL ? schema_node_property(node, key) : NULL;
	return p != NULL || node == NULL ? p : node->additional;
}

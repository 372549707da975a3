/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describes the nodes of a schema as types of CEL, so that rules can be checked against them. The
 * kinds, and which nodes rules cannot see, follow the API server. */
#include "api/schema/rule_type_priv.h"

#include <string.h>

#include "api/schema/node_priv.h"
#include "cel/type.h"

static enum cel_kind kind_of_string(const char *format)
{
	static const char *const others[] = { "byte", "duration", "date", "date-time" };
	for (size_t i = 0; format != NULL && i < ARRAY_LEN(others); i++) {
		if (strcmp(format, others[i]) == 0)
			return CEL_KIND_OTHER;
	}
	return CEL_KIND_STRING;
}

static enum cel_kind kind_of_node(const struct schema_node *node)
{
	if (node->int_or_string)
		return CEL_KIND_DYN;
	switch (node->type) {
	case SCHEMA_ANY:
		return CEL_KIND_DYN;
	case SCHEMA_OBJECT:
		if (node->additional != NULL)
			return CEL_KIND_MAP;
		return node->embedded ? CEL_KIND_RESOURCE : CEL_KIND_OBJECT;
	case SCHEMA_ARRAY:
		return CEL_KIND_LIST;
	case SCHEMA_STRING:
		return kind_of_string(node->format);
	case SCHEMA_INTEGER:
		return CEL_KIND_INT;
	case SCHEMA_NUMBER:
		return CEL_KIND_DOUBLE;
	case SCHEMA_BOOLEAN:
		return CEL_KIND_BOOL;
	}
	return CEL_KIND_DYN;
}

/* The API server hides nodes without a type, and lists and maps of such, from rules. */
static bool is_hidden(const struct schema_node *node)
{
	if (node->int_or_string)
		return false;
	if (node->type == SCHEMA_OBJECT && node->additional != NULL)
		return is_hidden(node->additional);
	if (node->type == SCHEMA_ARRAY)
		return node->items == NULL || is_hidden(node->items);
	return node->type == SCHEMA_ANY;
}

static void describe_node(struct schema_node *node)
{
	struct cel_type *type = node->rule_type;
	size_t pos = 0;
	type->kind = kind_of_node(node);
	type->hidden = is_hidden(node);
	type->unordered = node->list != SCHEMA_LIST_ATOMIC;
	type->items = node->items != NULL ? node->items->rule_type : NULL;
	type->values = node->additional != NULL ? node->additional->rule_type : NULL;
	for (const struct map_entry *e; (e = map_next(&node->properties, &pos)) != NULL;) {
		const struct schema_node *property = e->value;
		map_set(&type->fields, (struct slice){ e->key, e->key_n }, property->rule_type);
	}
}

void schema_rule_types_init(struct api_schema *schema)
{
	bool has_rules = false;
	for (size_t i = 0; i < schema->nodes.n; i++)
		has_rules = has_rules || schema->nodes.v[i]->rules_source != NULL;
	if (!has_rules)
		return;
	for (size_t i = 0; i < schema->nodes.n; i++) {
		struct cel_type *type = arena_calloc(&schema->arena, sizeof(*type));
		map_init(&type->fields);
		schema->nodes.v[i]->rule_type = type;
	}
	for (size_t i = 0; i < schema->nodes.n; i++)
		describe_node(schema->nodes.v[i]);
}

void schema_rule_type_done(struct schema_node *node)
{
	if (node->rule_type != NULL)
		map_done(&node->rule_type->fields);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads nodes from their schemas, each once. */
#include "api/openapi_node.h"

#include <stddef.h>
#include <string.h>

#include "api/schema_cache.h"
#include "api/tree.h"
#include "base/mem.h"

struct kept_node {
	struct api_schema_entry entry;
	struct api_openapi_node node;
};

_Static_assert(offsetof(struct kept_node, entry) == 0, "entries are cast to nodes");

static struct api_schema_cache cache;

static enum api_openapi_type type_of(const char *type)
{
	static const char *const names[] = {
		[API_OPENAPI_OBJECT] = "object",   [API_OPENAPI_ARRAY] = "array",
		[API_OPENAPI_INTEGER] = "integer", [API_OPENAPI_STRING] = "string",
		[API_OPENAPI_BOOLEAN] = "boolean",
	};
	for (unsigned i = API_OPENAPI_OBJECT; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], type) == 0)
			return (enum api_openapi_type)i;
	}
	return API_OPENAPI_OTHER;
}

static bool has_decoder(const char *go_type)
{
	static const char *const types[] = { "intstr.IntOrString", "resource.Quantity", "[]uint8",
					     "v1.Time", "v1.MicroTime" };
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (strcmp(types[i], go_type) == 0)
			return true;
	}
	return false;
}

static void add_members(struct api_openapi_node *node)
{
	const char *key;
	size_t key_n;
	json_t *member;
	api_key_table_init(&node->members, json_object_size(node->properties));
	json_object_keylen_foreach(api_tree(node->properties), key, key_n, member)
		api_key_table_add(&node->members, key, key_n, member);
}

static struct kept_node *make_node(const json_t *schema)
{
	const json_t *go = json_object_get(schema, "x-go");
	struct kept_node *kept = xmalloc(sizeof(*kept));
	kept->node = (struct api_openapi_node){
		.properties = json_object_get(schema, "properties"),
		.items = json_object_get(schema, "items"),
		.additional_properties = json_object_get(schema, "additionalProperties"),
		.type = api_text(json_object_get(schema, "type")),
		.format = api_text(json_object_get(schema, "format")),
		.go_type = api_text(json_object_get(go, "type")),
		.go_embedded = api_text(json_object_get(go, "embedded")),
		.go_keep = api_text(json_object_get(go, "keep")),
		.preserve = json_is_true(
			json_object_get(schema, "x-kubernetes-preserve-unknown-fields")),
	};
	kept->node.type_id = type_of(kept->node.type);
	kept->node.go_decodes = has_decoder(kept->node.go_type);
	add_members(&kept->node);
	return kept;
}

const struct api_openapi_node *api_openapi_node(const json_t *schema)
{
	const struct kept_node *known =
		(const struct kept_node *)api_schema_cache_find(&cache, schema);
	if (known != NULL)
		return &known->node;
	struct kept_node *made = make_node(schema);
	api_schema_cache_add(&cache, schema, &made->entry);
	return &made->node;
}

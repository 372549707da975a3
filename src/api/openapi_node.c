/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table of nodes by the addresses of their schemas. Threads add to it without a lock; nothing is
 * ever removed, as the schemas are not. */
#include "api/openapi_node.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/tree.h"
#include "base/mem.h"

enum { BUCKET_BITS = 10 };

struct entry {
	const json_t *schema;
	struct api_openapi_node node;
	struct entry *next;
};

static _Atomic(struct entry *) buckets[1 << BUCKET_BITS];

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

static struct entry *make_entry(const json_t *schema)
{
	const json_t *go = json_object_get(schema, "x-go");
	struct entry *entry = xmalloc(sizeof(*entry));
	*entry = (struct entry){ .schema = schema };
	entry->node = (struct api_openapi_node){
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
	entry->node.type_id = type_of(entry->node.type);
	entry->node.go_decodes = has_decoder(entry->node.go_type);
	add_members(&entry->node);
	return entry;
}

const struct api_openapi_node *api_openapi_node(const json_t *schema)
{
	/* Fibonacci hashing: addresses of schemas differ by multiples of a few sizes. */
	uint64_t hash = (uint64_t)(uintptr_t)schema * UINT64_C(0x9e3779b97f4a7c15);
	_Atomic(struct entry *) *bucket = &buckets[hash >> (64 - BUCKET_BITS)];
	struct entry *first = atomic_load_explicit(bucket, memory_order_acquire);
	for (const struct entry *entry = first; entry != NULL; entry = entry->next) {
		if (entry->schema == schema)
			return &entry->node;
	}
	/* Two threads may both add it: each node is as good as the other. */
	struct entry *entry = make_entry(schema);
	entry->next = first;
	while (!atomic_compare_exchange_weak_explicit(bucket, &entry->next, entry,
						      memory_order_acq_rel, memory_order_acquire)) {
	}
	return &entry->node;
}

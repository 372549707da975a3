/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each bucket is a list; a new entry becomes its head. */
#include "api/schema_cache.h"

void api_schema_cache_add(struct api_schema_cache *cache, const json_t *schema,
			  struct api_schema_entry *entry)
{
	_Atomic(struct api_schema_entry *) *bucket =
		&cache->buckets[api_schema_hash(schema, API_SCHEMA_CACHE_BITS)];
	entry->schema = schema;
	entry->next = atomic_load_explicit(bucket, memory_order_acquire);
	while (!atomic_compare_exchange_weak_explicit(bucket, &entry->next, entry,
						      memory_order_acq_rel, memory_order_acquire)) {
	}
}

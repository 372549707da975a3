/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Remembers what was read from schemas that are never freed nor changed, by their addresses, for all
 * threads. Threads add to a cache without a lock; nothing is ever removed.
 *
 *	struct facts {
 *		struct api_schema_entry entry; // first
 *		...
 *	};
 *	static struct api_schema_cache cache;
 *	const struct facts *facts = (const struct facts *)api_schema_cache_find(&cache, schema);
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <jansson.h>

enum { API_SCHEMA_CACHE_BITS = 10 };

struct api_schema_entry {
	const json_t *schema;
	struct api_schema_entry *next;
};

/* All zero: empty. */
struct api_schema_cache {
	_Atomic(struct api_schema_entry *) buckets[1 << API_SCHEMA_CACHE_BITS];
};

/* A number of this many bits. Fibonacci hashing: addresses of schemas differ by multiples of a few
 * sizes. */
static inline uint64_t api_schema_hash(const json_t *schema, unsigned bits)
{
	return ((uint64_t)(uintptr_t)schema * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits);
}

/* NULL: the schema has no entry yet. */
static inline const struct api_schema_entry *api_schema_cache_find(
	const struct api_schema_cache *cache, const json_t *schema)
{
	const struct api_schema_entry *entry = atomic_load_explicit(
		&cache->buckets[api_schema_hash(schema, API_SCHEMA_CACHE_BITS)],
		memory_order_acquire);
	while (entry != NULL && entry->schema != schema)
		entry = entry->next;
	return entry;
}

/* Adds an entry for the schema, which the cache keeps. Two threads may both add one: each is as good as
 * the other. */
void api_schema_cache_add(struct api_schema_cache *cache, const json_t *schema,
			  struct api_schema_entry *entry);

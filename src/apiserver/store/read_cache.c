/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of rows by their keys. Each key has one place, which the row that was read last has. */
#include "apiserver/store/read_cache_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void store_read_cache_init(struct store_read_cache *cache)
{
	pthread_mutex_init(&cache->lock, NULL);
	for (size_t i = 0; i < ARRAY_LEN(cache->rows); i++) {
		cache->rows[i] = (struct store_cached_row){ .key = NULL };
		strbuf_init(&cache->rows[i].value);
	}
}

void store_read_cache_done(struct store_read_cache *cache)
{
	for (size_t i = 0; i < ARRAY_LEN(cache->rows); i++) {
		free(cache->rows[i].key);
		strbuf_done(&cache->rows[i].value);
	}
	pthread_mutex_destroy(&cache->lock);
}

/* FNV-1a: keys that collide cost a read, no more. */
static struct store_cached_row *place_of(struct store_read_cache *cache, const char *key)
{
	uint32_t hash = 2166136261U;
	for (; *key != '\0'; key++)
		hash = (hash ^ (uint8_t)*key) * 16777619U;
	return &cache->rows[(hash ^ hash >> 16) % ARRAY_LEN(cache->rows)];
}

bool store_read_cache_get(struct store_read_cache *cache, const char *key, uint64_t evicted,
			  struct strbuf *out, uint64_t *ret_revision)
{
	pthread_mutex_lock(&cache->lock);
	const struct store_cached_row *row = place_of(cache, key);
	/* A change after known_at would be in the ring, or be among the evicted ones. */
	bool found = row->key != NULL && evicted <= row->known_at && strcmp(row->key, key) == 0;
	if (found) {
		*ret_revision = row->revision;
		strbuf_add_slice(out, strbuf_slice(&row->value));
	}
	pthread_mutex_unlock(&cache->lock);
	return found;
}

void store_read_cache_put(struct store_read_cache *cache, const char *key, struct slice value,
			  uint64_t revision, uint64_t known_at)
{
	if (value.n > STORE_READ_CACHE_VALUE_MAX_BYTES)
		return;
	pthread_mutex_lock(&cache->lock);
	struct store_cached_row *row = place_of(cache, key);
	if (row->key == NULL || strcmp(row->key, key) != 0) {
		free(row->key);
		row->key = xstrdup(key);
	}
	strbuf_reset(&row->value);
	strbuf_add_slice(&row->value, value);
	row->revision = revision;
	row->known_at = known_at;
	pthread_mutex_unlock(&cache->lock);
}

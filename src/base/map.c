/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash map: slots by open addressing point into an array of entries in order of insertion. */
#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum { FEW_ENTRIES = 8 };

void map_init(struct map *map)
{
	*map = (struct map){ 0 };
}

void map_done(struct map *map)
{
	for (size_t i = 0; i < map->n_e; i++)
		free(map->e[i].key);
	free(map->e);
	free(map->slot);
	map_init(map);
}

static void put_in_slot(struct map *map, uint32_t index)
{
	size_t mask = map->n_slot - 1;
	size_t i = (size_t)map->e[index].hash & mask;
	while (map->slot[i] != 0)
		i = (i + 1) & mask;
	map->slot[i] = index + 1;
}

/* Makes room for one more entry and drops deleted ones. */
static void rebuild_slots(struct map *map)
{
	size_t live = 0;
	for (size_t i = 0; i < map->n_e; i++) {
		if (map->e[i].key != NULL)
			map->e[live++] = map->e[i];
	}
	map->n_e = live;
	size_t n_slot = 16;
	/* With room for a quarter more: else a table that stays just below a power of two, since one
	 * leaves for each that comes, would be rebuilt each time. */
	while (n_slot < (live + live / 4 + 1) * 2)
		n_slot *= 2;
	map->n_slot = n_slot;
	free(map->slot);
	map->slot = xcalloc(n_slot, sizeof(*map->slot));
	map->cap_e = n_slot / 2 + 1;
	map->e = xreallocarray(map->e, map->cap_e, sizeof(*map->e));
	for (size_t i = 0; i < live; i++)
		put_in_slot(map, (uint32_t)i);
}

static struct map_entry *find_entry(const struct map *map, struct slice key, uint64_t hash)
{
	if (map->n_slot == 0)
		return NULL;
	size_t mask = map->n_slot - 1;
	for (size_t i = (size_t)hash & mask; map->slot[i] != 0; i = (i + 1) & mask) {
		struct map_entry *e = &map->e[map->slot[i] - 1];
		if (e->key != NULL && e->hash == hash &&
		    slice_eq((struct slice){ e->key, e->key_n }, key))
			return e;
	}
	return NULL;
}

static uint64_t hash_of(struct slice key)
{
	return hash_bytes(hash_process_key(), key.p, key.n);
}

/* Few are compared faster than a key is hashed. */
static const struct map_entry *find_any(const struct map *map, struct slice key)
{
	if (map->n_e > FEW_ENTRIES)
		return find_entry(map, key, hash_of(key));
	for (size_t i = 0; i < map->n_e; i++) {
		const struct map_entry *e = &map->e[i];
		if (e->key != NULL && slice_eq((struct slice){ e->key, e->key_n }, key))
			return e;
	}
	return NULL;
}

void *map_get(const struct map *map, struct slice key)
{
	const struct map_entry *e = find_any(map, key);
	return e != NULL ? e->value : NULL;
}

bool map_has(const struct map *map, struct slice key)
{
	return find_any(map, key) != NULL;
}

void *map_set(struct map *map, struct slice key, void *value)
{
	uint64_t hash = hash_of(key);
	struct map_entry *e = find_entry(map, key, hash);
	if (e != NULL) {
		void *old = e->value;
		e->value = value;
		return old;
	}
	if (map->n_e == map->cap_e)
		rebuild_slots(map);
	map->e[map->n_e] = (struct map_entry){
		.hash = hash, .key = xstrndup(key.p, key.n), .key_n = key.n, .value = value
	};
	put_in_slot(map, (uint32_t)map->n_e);
	map->n_e++;
	map->n++;
	return NULL;
}

void *map_del(struct map *map, struct slice key)
{
	struct map_entry *e = find_entry(map, key, hash_of(key));
	if (e == NULL)
		return NULL;
	free(e->key);
	e->key = NULL;
	map->n--;
	return e->value;
}

const struct map_entry *map_next(const struct map *map, size_t *pos)
{
	while (*pos < map->n_e) {
		const struct map_entry *e = &map->e[(*pos)++];
		if (e->key != NULL)
			return e;
	}
	return NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hash map from bytes to pointers; keys are copied, values are the caller's. Iteration is in order
 * of insertion (deleted entries leave no gap visible). Control code, or read-only on the hot path
 * after it was built. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct map_entry {
	uint64_t hash;
	char *key; /* terminated copy; NULL: deleted */
	size_t key_n;
	void *value;
};

struct map {
	struct map_entry *e; /* in order of insertion */
	size_t n_e, cap_e;
	uint32_t *slot; /* index into e plus one; 0: free */
	size_t n_slot;	/* power of two */
	size_t n;	/* live entries */
};

void map_init(struct map *map);
/* Frees keys and tables; not the values. */
void map_done(struct map *map);
/* The value or NULL. */
void *map_get(const struct map *map, struct slice key);
bool map_has(const struct map *map, struct slice key);
/* Sets, replacing; returns the previous value or NULL. */
void *map_set(struct map *map, struct slice key, void *value);
/* Removes; returns the value or NULL. */
void *map_del(struct map *map, struct slice key);
/* Next live entry after position *pos (start with 0); NULL at the end. */
const struct map_entry *map_next(const struct map *map, size_t *pos);

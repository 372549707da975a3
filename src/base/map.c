/* Open addressing over an array that keeps insertion order. */
#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

void map_init(struct map *m)
{
	*m = (struct map){ 0 };
}

void map_done(struct map *m)
{
	for (size_t i = 0; i < m->n_e; i++)
		free(m->e[i].key);
	free(m->e);
	free(m->slot);
	map_init(m);
}

static void place(struct map *m, uint32_t index)
{
	size_t mask = m->n_slot - 1;
	size_t i = (size_t)m->e[index].hash & mask;
	while (m->slot[i] != 0)
		i = (i + 1) & mask;
	m->slot[i] = index + 1;
}

/* Makes room for one more entry and drops deleted ones. */
static void rebuild(struct map *m)
{
	size_t live = 0;
	for (size_t i = 0; i < m->n_e; i++) {
		if (m->e[i].key != NULL)
			m->e[live++] = m->e[i];
	}
	m->n_e = live;
	size_t n_slot = 16;
	while (n_slot < (live + 1) * 2)
		n_slot *= 2;
	m->n_slot = n_slot;
	free(m->slot);
	m->slot = xcalloc(n_slot, sizeof(*m->slot));
	m->cap_e = n_slot / 2 + 1;
	m->e = xreallocarray(m->e, m->cap_e, sizeof(*m->e));
	for (size_t i = 0; i < live; i++)
		place(m, (uint32_t)i);
}

static struct map_entry *find(const struct map *m, struct slice key, uint64_t hash)
{
	if (m->n_slot == 0)
		return NULL;
	size_t mask = m->n_slot - 1;
	for (size_t i = (size_t)hash & mask; m->slot[i] != 0; i = (i + 1) & mask) {
		struct map_entry *e = &m->e[m->slot[i] - 1];
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

void *map_get(const struct map *m, struct slice key)
{
	const struct map_entry *e = find(m, key, hash_of(key));
	return e != NULL ? e->value : NULL;
}

bool map_has(const struct map *m, struct slice key)
{
	return find(m, key, hash_of(key)) != NULL;
}

void *map_set(struct map *m, struct slice key, void *value)
{
	uint64_t hash = hash_of(key);
	struct map_entry *e = find(m, key, hash);
	if (e != NULL) {
		void *old = e->value;
		e->value = value;
		return old;
	}
	if (m->n_e == m->cap_e)
		rebuild(m);
	m->e[m->n_e] = (struct map_entry){
		.hash = hash, .key = xstrndup(key.p, key.n), .key_n = key.n, .value = value
	};
	place(m, (uint32_t)m->n_e);
	m->n_e++;
	m->n++;
	return NULL;
}

void *map_del(struct map *m, struct slice key)
{
	struct map_entry *e = find(m, key, hash_of(key));
	if (e == NULL)
		return NULL;
	free(e->key);
	e->key = NULL;
	m->n--;
	return e->value;
}

const struct map_entry *map_next(const struct map *m, size_t *pos)
{
	while (*pos < m->n_e) {
		const struct map_entry *e = &m->e[(*pos)++];
		if (e->key != NULL)
			return e;
	}
	return NULL;
}

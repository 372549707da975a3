/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open addressing with at least as many free slots as keys, so that each search ends soon. Keys of
 * objects, which are not trusted, are only searched for and cannot fill the table. */
#include "api/key_table.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static size_t first_slot(const struct api_key_table *table, const char *key, size_t key_n)
{
	const unsigned char first = (unsigned char)key[0];
	const unsigned char last = key_n != 0 ? (unsigned char)key[key_n - 1] : 0;
	return (key_n * 31 + first * 7u + last) & (table->n_slots - 1);
}

void api_key_table_init(struct api_key_table *table, size_t n_keys)
{
	*table = (struct api_key_table){ 0 };
	if (n_keys == 0)
		return;
	table->n_slots = 4;
	while (table->n_slots < 2 * n_keys)
		table->n_slots *= 2;
	table->slots = xcalloc(table->n_slots, sizeof(*table->slots));
}

void api_key_table_add(struct api_key_table *table, const char *key, size_t key_n, void *value)
{
	assert(value != NULL && 2 * (table->n_keys + 1) <= table->n_slots);
	size_t i = first_slot(table, key, key_n);
	while (table->slots[i].key != NULL)
		i = (i + 1) & (table->n_slots - 1);
	table->slots[i] = (struct api_key_slot){ key, key_n, value };
	table->n_keys++;
}

void *api_key_table_get(const struct api_key_table *table, const char *key, size_t key_n)
{
	if (table->n_slots == 0)
		return NULL;
	for (size_t i = first_slot(table, key, key_n); table->slots[i].key != NULL;
	     i = (i + 1) & (table->n_slots - 1)) {
		const struct api_key_slot *slot = &table->slots[i];
		if (slot->key_n == key_n && memcmp(slot->key, key, key_n) == 0)
			return slot->value;
	}
	return NULL;
}

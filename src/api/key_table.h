/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table from the names of a schema's properties to what describes them. It is built once and read for
 * each member of each object, so finding a name costs less than in a map or a JSON object: the hash is of
 * a name's length, first and last character, in which the few names of one object mostly differ. */
#pragma once

#include <stddef.h>

struct api_key_slot {
	const char *key; /* NULL: free */
	size_t key_n;
	void *value;
};

/* All zero: an empty table. */
struct api_key_table {
	struct api_key_slot *slots;
	size_t n_slots; /* a power of two, at least twice n_keys */
	size_t n_keys;
};

/* Makes room for this many keys. `slots` is the caller's to free: tables of the program stay. */
void api_key_table_init(struct api_key_table *table, size_t n_keys);
/* Adds a key that is not in the table yet; it must outlive the table. The value is not NULL. */
void api_key_table_add(struct api_key_table *table, const char *key, size_t key_n, void *value);
/* The value or NULL. */
void *api_key_table_get(const struct api_key_table *table, const char *key, size_t key_n);

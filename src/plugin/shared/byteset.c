/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of byte strings in a query's memory. A few are compared one by one; a hash table is added
 * when there are more. */
#include "plugin/shared/byteset.h"

#include <string.h>

#include "base/hash.h"

enum {
	FIRST_CAP = 8,
	PLAIN_MAX = 16,	 /* up to here the list alone is faster */
	SET_MAX = 4096,	 /* more records do not fit into a message of 64 KB */
	TABLE_TIMES = 2, /* places per entry */
};

static bool is_equal(struct slice left, struct slice right)
{
	return left.n == right.n && memcmp(left.p, right.p, left.n) == 0;
}

static bool has_plain(const struct byteset *byteset, struct slice bytes)
{
	for (uint32_t i = 0; i < byteset->n; i++) {
		if (is_equal(byteset->v[i], bytes))
			return true;
	}
	return false;
}

/* Place of the bytes in the table: theirs, or a free one. */
static uint32_t place_of(const struct byteset *byteset, struct slice bytes)
{
	uint32_t mask = TABLE_TIMES * byteset->cap - 1;
	uint32_t at = (uint32_t)hash_bytes(hash_process_key(), bytes.p, bytes.n) & mask;
	while (byteset->table[at] != 0 && !is_equal(byteset->v[byteset->table[at] - 1], bytes))
		at = (at + 1) & mask;
	return at;
}

static bool grow_set(struct byteset *byteset)
{
	uint32_t cap = byteset->cap != 0 ? 2 * byteset->cap : FIRST_CAP;
	struct slice *v = cap <= SET_MAX ? arena_alloc(byteset->arena, cap * sizeof(*v)) : NULL;
	if (v == NULL)
		return false;
	if (byteset->n != 0)
		memcpy(v, byteset->v, byteset->n * sizeof(*v));
	byteset->v = v;
	byteset->cap = cap;
	if (cap <= PLAIN_MAX)
		return true;
	byteset->table = arena_calloc(byteset->arena, TABLE_TIMES * cap * sizeof(*byteset->table));
	for (uint32_t i = 0; byteset->table != NULL && i < byteset->n; i++)
		byteset->table[place_of(byteset, v[i])] = (uint16_t)(i + 1);
	return byteset->table != NULL;
}

bool byteset_add(struct byteset *byteset, struct slice bytes)
{
	if (byteset->full ||
	    (byteset->table == NULL ? has_plain(byteset, bytes)
				    : byteset->table[place_of(byteset, bytes)] != 0))
		return false;
	if (byteset->n == byteset->cap && !grow_set(byteset)) {
		byteset->full = true;
		return false;
	}
	if (byteset->table != NULL)
		byteset->table[place_of(byteset, bytes)] = (uint16_t)(byteset->n + 1);
	byteset->v[byteset->n++] = bytes;
	return true;
}

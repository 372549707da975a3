/* Few are compared one by one; a table of their places is added when there are more. */
#include "plugin/byteset.h"

#include <string.h>

#include "base/hash.h"

enum {
	FIRST_CAP = 8,
	PLAIN_MAX = 16,	 /* up to here the list alone is faster */
	SET_MAX = 4096,	 /* more records do not fit into a message of 64 KB */
	TABLE_TIMES = 2, /* places per entry */
};

static bool same(struct slice a, struct slice b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static bool has_plain(const struct byteset *s, struct slice bytes)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (same(s->v[i], bytes))
			return true;
	}
	return false;
}

/* Place of the bytes in the table: theirs, or a free one. */
static uint32_t place_of(const struct byteset *s, struct slice bytes)
{
	uint32_t mask = TABLE_TIMES * s->cap - 1;
	uint32_t at = (uint32_t)hash_bytes(hash_process_key(), bytes.p, bytes.n) & mask;
	while (s->table[at] != 0 && !same(s->v[s->table[at] - 1], bytes))
		at = (at + 1) & mask;
	return at;
}

static bool grow(struct byteset *s)
{
	uint32_t cap = s->cap != 0 ? 2 * s->cap : FIRST_CAP;
	struct slice *v = cap <= SET_MAX ? arena_alloc(s->arena, cap * sizeof(*v)) : NULL;
	if (v == NULL)
		return false;
	if (s->n != 0)
		memcpy(v, s->v, s->n * sizeof(*v));
	s->v = v;
	s->cap = cap;
	if (cap <= PLAIN_MAX)
		return true;
	s->table = arena_calloc(s->arena, TABLE_TIMES * cap * sizeof(*s->table));
	for (uint32_t i = 0; s->table != NULL && i < s->n; i++)
		s->table[place_of(s, v[i])] = (uint16_t)(i + 1);
	return s->table != NULL;
}

bool byteset_add(struct byteset *s, struct slice bytes)
{
	if (s->full || (s->table == NULL ? has_plain(s, bytes) : s->table[place_of(s, bytes)] != 0))
		return false;
	if (s->n == s->cap && !grow(s)) {
		s->full = true;
		return false;
	}
	if (s->table != NULL)
		s->table[place_of(s, bytes)] = (uint16_t)(s->n + 1);
	s->v[s->n++] = bytes;
	return true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copying and comparing record sets. A copy lies in one piece of memory. */
#include "provider/rrset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { ALIGNMENT = sizeof(char *) };

static size_t align_up(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t provider_rrset_bytes(const struct provider_rrset *set)
{
	size_t n = set->n_values * sizeof(char *);
	if (set->name != NULL)
		n += strlen(set->name) + 1;
	if (set->owner != NULL)
		n += strlen(set->owner) + 1;
	for (size_t i = 0; i < set->n_values; i++)
		n += strlen(set->values[i]) + 1;
	return align_up(n);
}

static const char *copy_text(char **room, const char *text)
{
	if (text == NULL)
		return NULL;
	size_t n = strlen(text) + 1;
	char *copy = memcpy(*room, text, n);
	*room += n;
	return copy;
}

char *provider_rrset_copy(struct provider_rrset *out, const struct provider_rrset *set, char *room)
{
	const char **values = (const char **)(void *)room;
	assert((uintptr_t)room % ALIGNMENT == 0);
	char *end = room + provider_rrset_bytes(set);
	struct provider_rrset copy = *set;
	room += set->n_values * sizeof(char *);
	copy.name = copy_text(&room, set->name);
	copy.owner = copy_text(&room, set->owner);
	for (size_t i = 0; i < set->n_values; i++)
		values[i] = copy_text(&room, set->values[i]);
	assert(room <= end);
	copy.values = set->n_values != 0 ? values : NULL;
	*out = copy;
	return end;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

size_t provider_values_sort(const char **values, size_t count)
{
	size_t kept = 0;
	if (count != 0)
		qsort(values, count, sizeof(*values), compare_texts);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || strcmp(values[kept - 1], values[i]) != 0)
			values[kept++] = values[i];
	}
	return kept;
}

bool provider_rrset_equal(const struct provider_rrset *left, const struct provider_rrset *right)
{
	if (left->n_values != right->n_values)
		return false;
	for (size_t i = 0; i < left->n_values; i++) {
		if (strcmp(left->values[i], right->values[i]) != 0)
			return false;
	}
	return left->n_values == 0 || left->ttl_s == right->ttl_s;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of edits in one piece of memory. */
#include "provider/edit.h"

#include <assert.h>

#include "base/mem.h"

static bool has_before(const struct provider_edit *edit)
{
	return edit->guard == PROVIDER_GUARD_EQUAL || edit->guard == PROVIDER_GUARD_OWNED;
}

size_t provider_edits_bytes(const struct provider_edit *edits, size_t count)
{
	size_t n = count * sizeof(*edits);
	for (size_t i = 0; i < count; i++) {
		n += provider_rrset_bytes(&edits[i].set);
		if (has_before(&edits[i]))
			n += provider_rrset_bytes(&edits[i].before);
	}
	return n;
}

struct provider_edit *provider_edits_copy(const struct provider_edit *edits, size_t count,
					  char *room)
{
	const char *end = room + provider_edits_bytes(edits, count);
	struct provider_edit *copies = (void *)room;
	room += count * sizeof(*copies);
	for (size_t i = 0; i < count; i++) {
		copies[i] = (struct provider_edit){ .guard = edits[i].guard,
						    .may_lack_mark = edits[i].may_lack_mark };
		room = provider_rrset_copy(&copies[i].set, &edits[i].set, room);
		if (has_before(&edits[i]))
			room = provider_rrset_copy(&copies[i].before, &edits[i].before, room);
	}
	assert(room == end);
	return copies;
}

struct provider_edit *provider_edits_dup(const struct provider_edit *edits, size_t count)
{
	return provider_edits_copy(edits, count, xmalloc(provider_edits_bytes(edits, count)));
}

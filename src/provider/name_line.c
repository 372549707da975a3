/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of entries for one name. */
#include "provider/name_line_priv.h"

#include "provider/entry_priv.h"

void name_lines_init(struct name_lines *lines)
{
	map_init(&lines->first);
}

void name_lines_done(struct name_lines *lines)
{
	map_done(&lines->first);
}

static void join_line(struct name_lines *lines, struct entry_claim *claim)
{
	struct entry_claim *at = map_get(&lines->first, slice_of(claim->name));
	claim->next = NULL;
	if (at == NULL) {
		map_set(&lines->first, slice_of(claim->name), claim);
		return;
	}
	while (at->next != NULL)
		at = at->next;
	at->next = claim;
}

static bool is_first(const struct name_lines *lines, const struct publisher_entry *entry)
{
	for (size_t i = 0; i < entry->n_claims; i++) {
		const struct entry_claim *claim = &entry->claims[i];
		if (map_get(&lines->first, slice_of(claim->name)) != claim)
			return false;
	}
	return true;
}

bool name_lines_join(struct name_lines *lines, struct publisher_entry *entry)
{
	for (size_t i = 0; i < entry->n_claims; i++)
		join_line(lines, &entry->claims[i]);
	return is_first(lines, entry);
}

/* The one that is the first now; NULL: that has not changed. */
static struct entry_claim *leave_line(struct name_lines *lines, struct entry_claim *claim)
{
	struct entry_claim *at = map_get(&lines->first, slice_of(claim->name));
	if (at == claim && claim->next == NULL) {
		map_del(&lines->first, slice_of(claim->name));
		return NULL;
	}
	if (at == claim) {
		map_set(&lines->first, slice_of(claim->name), claim->next);
		return claim->next;
	}
	while (at->next != claim)
		at = at->next;
	at->next = claim->next;
	return NULL;
}

void name_lines_leave(struct name_lines *lines, struct publisher_entry *entry,
		      void (*on_first)(struct publisher_entry *entry))
{
	struct publisher_entry *next[PROVIDER_EDITS_MAX];
	size_t n = 0;
	for (size_t i = 0; i < entry->n_claims; i++) {
		struct entry_claim *claim = leave_line(lines, &entry->claims[i]);
		/* One that stands behind it in several lines is the first after the last of them. */
		if (claim != NULL && is_first(lines, claim->entry))
			next[n++] = claim->entry;
	}
	entry->n_claims = 0;
	for (size_t i = 0; i < n; i++)
		on_first(next[i]);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of the publisher and lists of them. */
#include "provider/entry_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "provider/account_priv.h"
#include "provider/shared/job.h"

static void add_claim(struct publisher_entry *entry, const char *name)
{
	for (size_t i = 0; i < entry->n_claims; i++) {
		if (strcmp(entry->claims[i].name, name) == 0)
			return;
	}
	entry->claims[entry->n_claims++] = (struct entry_claim){ .entry = entry, .name = name };
}

/* A mark that is not kept is never found again: nothing would ever be as wanted. */
static void drop_marks(struct publisher_entry *entry)
{
	bool had_marks = entry->account->provider_account->had_owner_mark;
	for (size_t i = 0; i < entry->n_edits; i++) {
		struct provider_edit *edit = &entry->edits[i];
		if (edit->set.n_values != 0 || !had_marks)
			edit->set.owner = NULL;
		if (edit->guard == PROVIDER_GUARD_OWNED)
			edit->guard = edit->before.n_values != 0 ? PROVIDER_GUARD_EQUAL
								 : PROVIDER_GUARD_ABSENT;
	}
}

struct publisher_entry *entry_new(struct publisher_request *request, uint64_t now_ns)
{
	size_t claims_n = request->n_edits * sizeof(struct entry_claim);
	char *room = xcalloc(1, sizeof(struct publisher_entry) + claims_n +
					provider_edits_bytes(request->edits, request->n_edits));
	struct publisher_entry *entry = (void *)room;
	assert(request->n_edits != 0 && request->n_edits <= PROVIDER_EDITS_MAX);
	*entry = (struct publisher_entry){ .request = request,
					   .account = request->account,
					   .n_edits = request->n_edits,
					   .since_ns = now_ns,
					   .priority = (uint8_t)request->priority,
					   .maybe_applied = request->maybe_applied,
					   .checks_zone = request->checks_zone,
					   .only_reads = request->only_reads };
	if (request->zone != NULL)
		entry->zone_id = xstrdup(request->zone);
	room += sizeof(*entry);
	entry->claims = (void *)room;
	room += claims_n;
	entry->edits = provider_edits_copy(request->edits, request->n_edits, room);
	if (!publisher_account_has_owner_mark(entry->account))
		drop_marks(entry);
	for (size_t i = 0; i < request->n_edits; i++)
		add_claim(entry, entry->edits[i].set.name);
	return entry;
}

void entry_free(struct publisher_entry *entry)
{
	assert(entry->list == NULL);
	provider_found_free(entry->found, entry->n_edits);
	free(entry->zone_id);
	free(entry->other_zones);
	free(entry);
}

void entry_push(struct entry_list *list, struct publisher_entry *entry)
{
	assert(entry->list == NULL);
	entry->list = list;
	entry->next = NULL;
	entry->prev = list->last;
	if (list->last != NULL)
		list->last->next = entry;
	else
		list->first = entry;
	list->last = entry;
	list->n++;
}

void entry_unlink(struct publisher_entry *entry)
{
	struct entry_list *list = entry->list;
	if (list == NULL)
		return;
	if (entry->prev != NULL)
		entry->prev->next = entry->next;
	else
		list->first = entry->next;
	if (entry->next != NULL)
		entry->next->prev = entry->prev;
	else
		list->last = entry->prev;
	entry->list = NULL;
	list->n--;
}

struct publisher_entry *entry_pop(struct entry_list *list)
{
	struct publisher_entry *entry = list->first;
	if (entry != NULL)
		entry_unlink(entry);
	return entry;
}

bool entry_only_deletes(const struct publisher_entry *entry)
{
	for (size_t i = 0; i < entry->n_edits; i++) {
		if (entry->edits[i].set.n_values != 0)
			return false;
	}
	return true;
}

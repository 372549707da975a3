/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the record set of a DNSRecord and external-dns's TXT records beside it. */
#include "cmd/adopt/candidate.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "dns/types.h"
#include "provider/shared/job.h"

bool adopt_candidate_begin(struct adopt_candidate *candidate, const json_t *object,
			   struct arena *arena)
{
	*candidate = (struct adopt_candidate){ .object = object };
	dnsrecord_read(object, arena, &candidate->record);
	return !api_is_deleting(object) && candidate->record.problem == NULL &&
	       candidate->record.applied == NULL && !candidate->record.adopts;
}

void adopt_candidate_done(struct adopt_candidate *candidate)
{
	provider_change_clear(&candidate->read);
	free(candidate->zone);
	*candidate = (struct adopt_candidate){ 0 };
}

/* ---- the registry ---- */

/* The TXT set less external-dns's values; others stay. */
static void plan_removal(struct adopt_candidate *candidate, const struct provider_rrset *found,
			 struct arena *arena)
{
	const char **kept = arena_alloc(arena, (found->n_values + 1) * sizeof(*kept));
	struct provider_edit edit = { .set = *found,
				      .guard = PROVIDER_GUARD_EQUAL,
				      .before = *found };
	edit.set.n_values = 0;
	for (size_t i = 0; i < found->n_values; i++) {
		struct adopt_registration registration;
		if (adopt_registry_read(found->values[i], &registration)) {
			candidate->is_registered = true;
			candidate->registration = registration;
		} else {
			kept[edit.set.n_values++] = found->values[i];
		}
	}
	edit.set.values = kept;
	if (edit.set.n_values != found->n_values)
		candidate->edits[candidate->n_edits++] = edit;
}

/* The names at which the registry may have it; those of a TXT set itself are no registry. */
static size_t list_reads(const struct adopt_candidate *candidate,
			 const struct adopt_affixes *affixes, struct arena *arena,
			 struct provider_edit edits[1 + ADOPT_REGISTRY_NAMES])
{
	const struct provider_rrset *wanted = &candidate->record.wanted.set;
	char type[DNS_MNEMONIC_MAX], name[ADOPT_NAME_MAX];
	const char *types[ADOPT_REGISTRY_NAMES] = { dns_type_str(wanted->type, type), NULL };
	size_t n = 1;
	edits[0] = (struct provider_edit){ .set = { .name = wanted->name, .type = wanted->type } };
	for (size_t i = 0; i < ADOPT_REGISTRY_NAMES; i++) {
		if (!adopt_registry_name(affixes, wanted->name, types[i], name) ||
		    (wanted->type == DNS_TYPE_TXT && strcmp(name, wanted->name) == 0))
			continue;
		edits[n++] = (struct provider_edit){ .set = { .name = arena_strdup(arena, name),
							      .type = DNS_TYPE_TXT } };
	}
	return n;
}

int adopt_candidate_read(struct adopt_candidate *candidate, struct adopt_account *account,
			 const struct adopt_affixes *affixes, struct arena *arena,
			 struct err_text err)
{
	struct provider_edit *edits =
		arena_calloc(arena, (1 + ADOPT_REGISTRY_NAMES) * sizeof(*edits));
	const struct dnsrecord_set *wanted = &candidate->record.wanted;
	candidate->zone = wanted->zone != NULL ? xstrdup(wanted->zone)
					       : adopt_find_zone(account, wanted->set.name, err);
	if (candidate->zone == NULL)
		return -1;
	candidate->read = (struct provider_change){ .edits = edits };
	candidate->read.n_edits = list_reads(candidate, affixes, arena, edits);
	if (!adopt_read(account, candidate->zone, &candidate->read, err))
		return -1;
	candidate->now = &candidate->read.found[0];
	if (candidate->now->n_values == 0)
		return 0;
	for (size_t i = 1; i < candidate->read.n_edits; i++)
		plan_removal(candidate, &candidate->read.found[i], arena);
	return 1;
}

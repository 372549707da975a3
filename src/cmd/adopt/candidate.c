/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the record set of a DNSRecord and external-dns's TXT records beside it. */
#include "cmd/adopt/candidate.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "dns/types.h"
#include "provider/shared/job.h"

/* The set itself, the registry, and up to three that a CNAME cannot be beside. */
enum { ADOPT_READS_MAX = 1 + ADOPT_REGISTRY_NAMES + 3 };

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

/* ---- what is in the way ---- */

/* A CNAME is alone at its name. */
static bool excludes(uint16_t wanted, uint16_t other)
{
	return wanted != other && (wanted == DNS_TYPE_CNAME || other == DNS_TYPE_CNAME);
}

static bool has_edit(const struct provider_edit *edits, size_t count, const char *name,
		     uint16_t type)
{
	for (size_t i = 0; i < count; i++) {
		if (edits[i].set.type == type && strcmp(edits[i].set.name, name) == 0)
			return true;
	}
	return false;
}

/* Adds the sets that cannot be beside the wanted one; returns how many edits there are then. */
static size_t add_neighbours(const struct provider_rrset *wanted, struct provider_edit *edits,
			     size_t count)
{
	static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT, DNS_TYPE_CNAME };
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (excludes(wanted->type, types[i]) &&
		    !has_edit(edits, count, wanted->name, types[i]))
			edits[count++] = (struct provider_edit){ .set = { .name = wanted->name,
									  .type = types[i] } };
	}
	return count;
}

/* 0: nothing is; -1 with a sentence. */
static int check_neighbours(const struct adopt_candidate *candidate, struct err_text err)
{
	const struct provider_rrset *wanted = &candidate->record.wanted.set;
	char type[DNS_MNEMONIC_MAX];
	for (size_t i = 1; i < candidate->read.n_edits; i++) {
		const struct provider_rrset *set = &candidate->read.edits[i].set;
		if (candidate->read.found[i].n_values == 0 ||
		    strcmp(set->name, wanted->name) != 0 || !excludes(wanted->type, set->type))
			continue;
		err_text_set(err,
			     "'%s' has a record of type %s, and a CNAME is alone at its name: it "
			     "cannot be adopted; delete it",
			     wanted->name, dns_type_str(set->type, type));
		return -1;
	}
	return 0;
}

/* ---- reading ---- */

/* The names at which the registry may have it; those of a TXT set itself are no registry. */
static size_t list_reads(const struct adopt_candidate *candidate,
			 const struct adopt_affixes *affixes, struct arena *arena,
			 struct provider_edit edits[ADOPT_READS_MAX])
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
	struct provider_edit *edits = arena_calloc(arena, ADOPT_READS_MAX * sizeof(*edits));
	const struct dnsrecord_set *wanted = &candidate->record.wanted;
	candidate->zone = wanted->zone != NULL ? xstrdup(wanted->zone)
					       : adopt_find_zone(account, wanted->set.name, err);
	if (candidate->zone == NULL)
		return -1;
	candidate->read = (struct provider_change){ .edits = edits };
	size_t n_known = list_reads(candidate, affixes, arena, edits);
	candidate->read.n_edits = add_neighbours(&wanted->set, edits, n_known);
	if (!adopt_read(account, candidate->zone, &candidate->read, err))
		return -1;
	candidate->now = &candidate->read.found[0];
	if (candidate->now->n_values == 0)
		return check_neighbours(candidate, err);
	for (size_t i = 1; i < n_known; i++)
		plan_removal(candidate, &candidate->read.found[i], arena);
	return 1;
}

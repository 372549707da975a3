/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matching record sets of replies with those that a read asks for. */
#include "provider/powerdns/wanted_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "provider/shared/job.h"

struct powerdns_wanted_set {
	struct provider_change *change;
	size_t edit;
	bool is_found;
	struct powerdns_wanted_set *next; /* of the same key */
};

static void write_key(struct strbuf *out, const struct provider_rrset *set)
{
	strbuf_reset(out);
	strbuf_addf(out, "%u %s", set->type, set->name);
}

static void add_set(struct powerdns_wanted *wanted, struct provider_change *change, size_t edit)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	const struct provider_rrset *set = &change->edits[edit].set;
	struct powerdns_wanted_set *own = &wanted->sets[wanted->n_sets++];
	write_key(&key, set);
	*own = (struct powerdns_wanted_set){ .change = change, .edit = edit };
	own->next = map_set(&wanted->by_key, strbuf_slice(&key), own);
	map_set(&wanted->names, slice_of(set->name), own);
}

void powerdns_wanted_init(struct powerdns_wanted *wanted, struct provider_job *job)
{
	size_t n = 0;
	for (size_t i = 0; i < job->n_changes; i++)
		n += job->changes[i].n_edits;
	*wanted = (struct powerdns_wanted){ .job = job };
	wanted->sets = xcalloc(n + 1, sizeof(*wanted->sets));
	map_init(&wanted->by_key);
	map_init(&wanted->names);
	for (size_t i = 0; i < job->n_changes; i++) {
		for (size_t j = 0; j < job->changes[i].n_edits; j++)
			add_set(wanted, &job->changes[i], j);
	}
	assert(wanted->n_sets == n);
}

void powerdns_wanted_done(struct powerdns_wanted *wanted)
{
	map_done(&wanted->by_key);
	map_done(&wanted->names);
	free(TAKE_PTR(wanted->sets));
}

/* PowerDNS 4.7 lists sets without records for comments elsewhere in the zone. */
void powerdns_wanted_take(struct powerdns_wanted *wanted, const struct provider_rrset *set)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	if (set->n_values == 0 || set->type == 0)
		return;
	write_key(&key, set);
	struct powerdns_wanted_set *own = map_get(&wanted->by_key, strbuf_slice(&key));
	for (; own != NULL && !own->is_found; own = own->next) {
		own->is_found = true;
		provider_change_found(own->change, own->edit, set);
	}
}

void powerdns_wanted_finish(struct powerdns_wanted *wanted)
{
	for (size_t i = 0; i < wanted->n_sets; i++) {
		struct powerdns_wanted_set *own = &wanted->sets[i];
		const struct provider_rrset *key = &own->change->edits[own->edit].set;
		struct provider_rrset missing = { .name = key->name, .type = key->type };
		if (!own->is_found)
			provider_change_found(own->change, own->edit, &missing);
		own->is_found = true;
	}
}

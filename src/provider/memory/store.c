/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zones and record sets in memory, with the rules that every DNS server has: names within their zone,
 * valid addresses, a CNAME alone at its name; and guards. */
#include "provider/memory/store_priv.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/types.h"
#include "provider/shared/job.h"
#include "provider/memory/memory_test.h"

struct memory_set {
	struct provider_rrset set; /* its texts follow */
	bool is_foreign;
};

static const uint16_t known_types[] = { DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_CNAME, DNS_TYPE_TXT };

void memory_store_init(struct memory_store *store)
{
	*store = (struct memory_store){ 0 };
	map_init(&store->sets);
}

void memory_store_done(struct memory_store *store)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&store->sets, &pos)) != NULL)
		free(entry->value);
	map_done(&store->sets);
	for (size_t i = 0; i < store->zones.n; i++) {
		free(store->zones.v[i].id);
		free(store->zones.v[i].name);
	}
	vec_done(&store->zones);
}

void memory_store_add_zone(struct memory_store *store, const char *zone_id, const char *name,
			   bool is_private)
{
	vec_push(&store->zones, (struct memory_zone){ .id = xstrdup(zone_id),
						      .name = xstrdup(name),
						      .is_private = is_private });
}

const struct memory_zone *memory_store_zone(const struct memory_store *store, const char *zone_id)
{
	for (size_t i = 0; i < store->zones.n; i++) {
		if (strcmp(store->zones.v[i].id, zone_id) == 0)
			return &store->zones.v[i];
	}
	return NULL;
}

void memory_store_raise_serial(struct memory_store *store, const char *zone_id)
{
	for (size_t i = 0; i < store->zones.n; i++) {
		if (strcmp(store->zones.v[i].id, zone_id) == 0)
			store->zones.v[i].serial++;
	}
}

static struct memory_set *find_set(const struct memory_store *store, const char *zone_id,
				   const char *name, uint16_t type)
{
	CLEANUP(freep) char *key = xasprintf("%s %s %u", zone_id, name, (unsigned)type);
	return map_get(&store->sets, slice_of(key));
}

const struct provider_rrset *memory_store_get(const struct memory_store *store, const char *zone_id,
					      const char *name, uint16_t type)
{
	const struct memory_set *found = find_set(store, zone_id, name, type);
	return found != NULL ? &found->set : NULL;
}

void memory_store_put(struct memory_store *store, const char *zone_id,
		      const struct provider_rrset *set, bool is_foreign)
{
	CLEANUP(freep) char *key = xasprintf("%s %s %u", zone_id, set->name, (unsigned)set->type);
	struct memory_set *old = map_del(&store->sets, slice_of(key));
	if (old != NULL && old->is_foreign && !is_foreign)
		store->foreign_touched++;
	free(old);
	if (set->n_values == 0)
		return;
	struct memory_set *made = xmalloc(sizeof(*made) + provider_rrset_bytes(set));
	provider_rrset_copy(&made->set, set, (char *)(made + 1));
	made->is_foreign = is_foreign;
	map_set(&store->sets, slice_of(key), made);
}

void memory_store_each(const struct memory_store *store, const char *zone_id,
		       void (*visit)(void *ctx, const struct provider_rrset *set, bool is_foreign),
		       void *ctx)
{
	const struct map_entry *entry;
	size_t pos = 0, n = strlen(zone_id);
	while ((entry = map_next(&store->sets, &pos)) != NULL) {
		const struct memory_set *found = entry->value;
		if (strncmp(entry->key, zone_id, n) == 0 && entry->key[n] == ' ')
			visit(ctx, &found->set, found->is_foreign);
	}
}

/* ---- rules ---- */

static bool is_in_zone(const char *name, const char *zone)
{
	size_t n = strlen(name), zone_n = strlen(zone);
	if (n < zone_n || strcmp(name + n - zone_n, zone) != 0)
		return false;
	return n == zone_n || name[n - zone_n - 1] == '.';
}

static bool is_valid_value(uint16_t type, const char *value)
{
	uint8_t address[16];
	if (type == DNS_TYPE_A)
		return inet_pton(AF_INET, value, address) == 1;
	if (type == DNS_TYPE_AAAA)
		return inet_pton(AF_INET6, value, address) == 1;
	return type != DNS_TYPE_CNAME || strchr(value, ' ') == NULL;
}

static bool holds_guard(const struct provider_edit *edit, const struct provider_rrset *found)
{
	static const struct provider_rrset missing;
	const struct provider_rrset *now = found != NULL ? found : &missing;
	switch (edit->guard) {
	case PROVIDER_GUARD_NONE:
		return true;
	case PROVIDER_GUARD_ABSENT:
		return found == NULL;
	case PROVIDER_GUARD_EQUAL:
		return provider_rrset_equal(now, &edit->before);
	case PROVIDER_GUARD_OWNED:
		if (found == NULL)
			return true;
		if (found->owner == NULL)
			return edit->may_lack_mark && provider_rrset_equal(found, &edit->before);
		return edit->set.owner != NULL && strcmp(found->owner, edit->set.owner) == 0;
	}
	return false;
}

static bool deletes(const struct provider_change *change, const char *name, uint16_t type)
{
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *set = &change->edits[i].set;
		if (set->n_values == 0 && set->type == type && strcmp(set->name, name) == 0)
			return true;
	}
	return false;
}

/* Another set at the name, beside which a CNAME or as which a CNAME cannot be. */
static bool clashes(const struct memory_store *store, const char *zone_id,
		    const struct provider_change *change, const struct provider_rrset *set)
{
	for (size_t i = 0; i < ARRAY_LEN(known_types); i++) {
		uint16_t type = known_types[i];
		bool matters = set->type == DNS_TYPE_CNAME ? type != DNS_TYPE_CNAME
							   : type == DNS_TYPE_CNAME;
		if (matters && find_set(store, zone_id, set->name, type) != NULL &&
		    !deletes(change, set->name, type))
			return true;
	}
	return false;
}

static bool accepts_edit(const struct memory_store *store, const struct memory_zone *zone,
			 struct provider_change *change, const struct provider_edit *edit)
{
	const struct provider_rrset *set = &edit->set;
	for (size_t i = 0; i < set->n_values; i++) {
		if (!is_valid_value(set->type, set->values[i])) {
			provider_change_fail(change, PROVIDER_INVALID,
					     "'%s' is not a valid value of '%s'", set->values[i],
					     set->name);
			return false;
		}
	}
	if (!is_in_zone(set->name, zone->name)) {
		provider_change_fail(change, PROVIDER_INVALID, "'%s' is not in the zone '%s'",
				     set->name, zone->name);
		return false;
	}
	if (set->n_values != 0 && clashes(store, zone->id, change, set)) {
		provider_change_fail(change, PROVIDER_CONFLICT,
				     "'%s' has a CNAME, or other records", set->name);
		return false;
	}
	return true;
}

bool memory_store_accepts(const struct memory_store *store, const char *zone_id,
			  struct provider_change *change, bool has_guards)
{
	const struct memory_zone *zone = memory_store_zone(store, zone_id);
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_edit *edit = &change->edits[i];
		if (!accepts_edit(store, zone, change, edit))
			return false;
		if (has_guards &&
		    !holds_guard(edit, memory_store_get(store, zone_id, edit->set.name,
							edit->set.type))) {
			provider_change_fail(change, PROVIDER_CONFLICT,
					     "the record set '%s' exists, or has changed",
					     edit->set.name);
			return false;
		}
	}
	return true;
}

bool memory_store_apply(struct memory_store *store, const char *zone_id,
			const struct provider_change *change)
{
	static const struct provider_rrset missing;
	bool is_changed = false;
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *set = &change->edits[i].set;
		const struct provider_rrset *found =
			memory_store_get(store, zone_id, set->name, set->type);
		if (!provider_rrset_equal(found != NULL ? found : &missing, set))
			is_changed = true;
		memory_store_put(store, zone_id, set, false);
	}
	return is_changed;
}

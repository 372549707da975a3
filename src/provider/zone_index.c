/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index of an account's zones by name. */
#include "provider/zone_index_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "provider/provider.h"

static void free_choice(struct provider_zone_choice *choice)
{
	if (choice == NULL)
		return;
	free(choice->id);
	free(choice->others);
	free(choice);
}

static void clear_zones(struct map *zones)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(zones, &pos)) != NULL)
		free_choice(entry->value);
	map_done(zones);
	map_init(zones);
}

static void clear_missing(struct map *missing)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(missing, &pos)) != NULL)
		free(entry->value);
	map_done(missing);
	map_init(missing);
}

void provider_zone_index_init(struct provider_zone_index *index)
{
	*index = (struct provider_zone_index){ 0 };
	map_init(&index->zones);
	map_init(&index->building);
	map_init(&index->missing);
}

void provider_zone_index_done(struct provider_zone_index *index)
{
	clear_zones(&index->zones);
	clear_zones(&index->building);
	clear_missing(&index->missing);
}

/* The longest: the whole name, then without its first label, and so on. */
static const struct provider_zone_choice *find_suffix(const struct map *zones, const char *name)
{
	while (name != NULL && *name != '\0') {
		const struct provider_zone_choice *choice = map_get(zones, slice_of(name));
		if (choice != NULL)
			return choice;
		name = strchr(name, '.');
		name = name != NULL ? name + 1 : NULL;
	}
	return NULL;
}

static bool is_known_missing(struct provider_zone_index *index, const char *name, uint64_t now_ns)
{
	const uint64_t *since = map_get(&index->missing, slice_of(name));
	return since != NULL && now_ns - *since < PROVIDER_ZONE_MISSING_S * NS_PER_S;
}

enum provider_zone_answer provider_zone_index_find(struct provider_zone_index *index,
						   const char *name, uint64_t now_ns,
						   const struct provider_zone_choice **ret)
{
	uint64_t age_ns = now_ns - index->listed_ns;
	bool is_listed = index->listed_ns != 0 && age_ns < PROVIDER_ZONE_LIST_S * NS_PER_S;
	const struct provider_zone_choice *choice = find_suffix(&index->zones, name);
	if (choice != NULL && (is_listed || index->listed_ns == 0)) {
		*ret = choice;
		return PROVIDER_ZONE_FOUND;
	}
	if (is_listed && age_ns < PROVIDER_ZONE_MISSING_S * NS_PER_S)
		return PROVIDER_ZONE_MISSING;
	return is_known_missing(index, name, now_ns) ? PROVIDER_ZONE_MISSING
						     : PROVIDER_ZONE_UNKNOWN;
}

static bool is_preferred(const struct provider_zone *zone, const struct provider_zone_choice *than)
{
	if (zone->is_private != than->is_private)
		return !zone->is_private;
	return strcmp(zone->id, than->id) < 0;
}

static void add_other(struct provider_zone_choice *choice, char *zone_id)
{
	char *old = choice->others;
	if (old == NULL) {
		choice->others = zone_id;
		return;
	}
	if (strlen(old) + strlen(zone_id) < PROVIDER_ZONE_OTHERS_MAX) {
		choice->others = xasprintf("%s %s", old, zone_id);
		free(old);
	}
	free(zone_id);
}

static void put_zone(struct map *zones, const struct provider_zone *zone)
{
	struct provider_zone_choice *choice = map_get(zones, slice_of(zone->name));
	if (choice == NULL) {
		choice = xcalloc(1, sizeof(*choice));
		*choice = (struct provider_zone_choice){ .id = xstrdup(zone->id),
							 .is_private = zone->is_private };
		map_set(zones, slice_of(zone->name), choice);
		return;
	}
	if (strcmp(choice->id, zone->id) == 0)
		return; /* a page that was sent twice */
	if (!is_preferred(zone, choice)) {
		add_other(choice, xstrdup(zone->id));
		return;
	}
	add_other(choice, choice->id);
	choice->id = xstrdup(zone->id);
	choice->is_private = zone->is_private;
}

void provider_zone_index_begin(struct provider_zone_index *index)
{
	clear_zones(&index->building);
}

void provider_zone_index_add(struct provider_zone_index *index, const struct provider_zone *zone)
{
	put_zone(&index->building, zone);
}

void provider_zone_index_complete(struct provider_zone_index *index, uint64_t now_ns)
{
	clear_zones(&index->zones);
	clear_missing(&index->missing);
	struct map empty = index->zones;
	index->zones = index->building;
	index->building = empty;
	index->listed_ns = now_ns;
}

void provider_zone_index_learn(struct provider_zone_index *index, const char *name,
			       const struct provider_zone *zone, uint64_t now_ns)
{
	if (zone != NULL) {
		put_zone(&index->zones, zone);
		return;
	}
	if (index->missing.n >= PROVIDER_ZONE_MISSING_MAX)
		clear_missing(&index->missing);
	free(map_set(&index->missing, slice_of(name), xmemdup(&now_ns, sizeof(now_ns))));
}

void provider_zone_index_forget(struct provider_zone_index *index, const char *zone_id)
{
	const struct map_entry *entry;
	size_t pos = 0;
	/* Without it a shorter zone of the list would be taken. */
	if (index->listed_ns != 0) {
		clear_zones(&index->zones);
		index->listed_ns = 0;
	}
	while ((entry = map_next(&index->zones, &pos)) != NULL) {
		struct provider_zone_choice *choice = entry->value;
		if (strcmp(choice->id, zone_id) != 0)
			continue;
		map_del(&index->zones, (struct slice){ entry->key, entry->key_n });
		free_choice(choice);
		return;
	}
}

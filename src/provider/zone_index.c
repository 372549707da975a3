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
	free(choice->private_ids);
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

static const char *name_above(const char *name)
{
	const char *dot = strchr(name, '.');
	return dot != NULL ? dot + 1 : NULL;
}

/* The longest: the whole name, then without its first label, and so on. */
static const struct provider_zone_choice *find_suffix(const struct map *zones, const char *name)
{
	for (const char *at = name; at != NULL; at = name_above(at)) {
		const struct provider_zone_choice *choice = map_get(zones, slice_of(at));
		if (choice != NULL)
			return choice;
	}
	return NULL;
}

static bool is_known_missing(struct provider_zone_index *index, const char *name, uint64_t now_ns)
{
	const uint64_t *since = map_get(&index->missing, slice_of(name));
	return since != NULL && now_ns - *since < PROVIDER_ZONE_MISSING_S * NS_PER_S;
}

/* Is there a list that is not older than that? */
static bool is_listed_since(const struct provider_zone_index *index, uint64_t age_ns,
			    uint64_t now_ns)
{
	return index->listed_ns != 0 && now_ns - index->listed_ns < age_ns;
}

enum provider_zone_answer provider_zone_index_find(struct provider_zone_index *index,
						   const char *name, uint64_t now_ns,
						   const struct provider_zone_choice **ret)
{
	const struct provider_zone_choice *choice = find_suffix(&index->zones, name);
	if (choice != NULL &&
	    (index->listed_ns == 0 || is_listed_since(index, index->use_ns, now_ns))) {
		*ret = choice;
		return PROVIDER_ZONE_FOUND;
	}
	if (choice == NULL && is_listed_since(index, PROVIDER_ZONE_MISSING_S * NS_PER_S, now_ns))
		return PROVIDER_ZONE_MISSING;
	return is_known_missing(index, name, now_ns) ? PROVIDER_ZONE_MISSING
						     : PROVIDER_ZONE_UNKNOWN;
}

/* Without the final dot. */
static struct slice trim_id(struct slice zone_id)
{
	if (zone_id.n != 0 && zone_id.p[zone_id.n - 1] == '.')
		zone_id.n--;
	return zone_id;
}

static bool lists_id(const char *list, const char *zone_id)
{
	struct slice ids = slice_of(list != NULL ? list : "");
	while (ids.n != 0) {
		if (slice_eq(trim_id(slice_cut(&ids, ' ')), trim_id(slice_of(zone_id))))
			return true;
	}
	return false;
}

/* The id of a zone of that name and kind, or several; NULL: there is none. */
static const char *ids_of_kind(const struct provider_zone_choice *choice, bool is_private)
{
	if (is_private)
		return choice->private_ids;
	return choice->is_private ? NULL : choice->id; /* public ones are preferred */
}

static const struct provider_zone_choice *find_id(const struct map *zones, const char *name,
						  const char *zone_id)
{
	for (const char *at = name; at != NULL; at = name_above(at)) {
		const struct provider_zone_choice *choice = map_get(zones, slice_of(at));
		if (choice != NULL &&
		    (lists_id(choice->id, zone_id) || lists_id(choice->others, zone_id)))
			return choice;
	}
	return NULL;
}

enum provider_zone_check provider_zone_index_check(const struct provider_zone_index *index,
						   const char *name, const char *zone_id,
						   uint64_t now_ns, const char **ret_longer)
{
	const struct provider_zone_choice *given = find_id(&index->zones, name, zone_id);
	if (!is_listed_since(index, index->use_ns, now_ns))
		return PROVIDER_ZONE_UNCHECKED;
	/* Not one that the account lists: the provider knows it, or refuses. */
	if (given == NULL)
		return PROVIDER_ZONE_FITS;
	bool is_private = lists_id(given->private_ids, zone_id);
	for (const char *at = name; at != NULL; at = name_above(at)) {
		const struct provider_zone_choice *choice = map_get(&index->zones, slice_of(at));
		if (choice == given)
			break;
		if (choice != NULL && ids_of_kind(choice, is_private) != NULL) {
			*ret_longer = ids_of_kind(choice, is_private);
			return PROVIDER_ZONE_TOO_SHORT;
		}
	}
	return PROVIDER_ZONE_FITS;
}

static bool is_preferred(const struct provider_zone *zone, const struct provider_zone_choice *than)
{
	if (zone->is_private != than->is_private)
		return !zone->is_private;
	return strcmp(zone->id, than->id) < 0;
}

static void add_id(char **list, const char *zone_id)
{
	char *old = *list;
	if (old == NULL) {
		*list = xstrdup(zone_id);
	} else if (strlen(old) + strlen(zone_id) < PROVIDER_ZONE_OTHERS_MAX) {
		*list = xasprintf("%s %s", old, zone_id);
		free(old);
	}
}

static void put_zone(struct map *zones, const struct provider_zone *zone)
{
	struct provider_zone_choice *choice = map_get(zones, slice_of(zone->name));
	if (choice != NULL &&
	    (strcmp(choice->id, zone->id) == 0 || lists_id(choice->others, zone->id)))
		return; /* a page that was sent twice */
	if (choice == NULL) {
		choice = xcalloc(1, sizeof(*choice));
		*choice = (struct provider_zone_choice){ .id = xstrdup(zone->id),
							 .is_private = zone->is_private };
		map_set(zones, slice_of(zone->name), choice);
	} else if (!is_preferred(zone, choice)) {
		add_id(&choice->others, zone->id);
	} else {
		add_id(&choice->others, choice->id);
		free(choice->id);
		choice->id = xstrdup(zone->id);
		choice->is_private = zone->is_private;
	}
	if (zone->is_private)
		add_id(&choice->private_ids, zone->id);
}

void provider_zone_index_begin(struct provider_zone_index *index, uint64_t now_ns)
{
	clear_zones(&index->building);
	index->begun_ns = now_ns;
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
	index->use_ns = (now_ns - index->begun_ns) * PROVIDER_ZONE_LIST_FACTOR;
	index->use_ns = MAX(index->use_ns, PROVIDER_ZONE_LIST_MIN_S * NS_PER_S);
	index->use_ns = MIN(index->use_ns, PROVIDER_ZONE_LIST_MAX_S * NS_PER_S);
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

/* Sets of names in a map. */
#include "apiserver/controllers/endpoints_index.h"

#include <stdlib.h>

#include "base/mem.h"

void apiserver_names_init(struct apiserver_names *names)
{
	map_init(&names->sets);
}

static void free_set(struct map *set)
{
	map_done(set);
	free(set);
}

void apiserver_names_done(struct apiserver_names *names)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&names->sets, &pos)) != NULL)
		free_set(entry->value);
	map_done(&names->sets);
}

void apiserver_names_add(struct apiserver_names *names, const char *property, const char *name)
{
	struct map *set = map_get(&names->sets, slice_of(property));
	if (set == NULL) {
		set = xcalloc(1, sizeof(*set));
		map_init(set);
		map_set(&names->sets, slice_of(property), set);
	}
	map_set(set, slice_of(name), names);
}

void apiserver_names_remove(struct apiserver_names *names, const char *property, const char *name)
{
	struct map *set = map_get(&names->sets, slice_of(property));
	if (set == NULL)
		return;
	map_del(set, slice_of(name));
	if (set->n == 0)
		free_set(map_del(&names->sets, slice_of(property)));
}

const struct map *apiserver_names_get(const struct apiserver_names *names, const char *property)
{
	return map_get(&names->sets, slice_of(property));
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index from a property (a label, a Service) to the names of the objects that have it. */
#include "apiserver/controllers/endpoints_index.h"

#include <stdlib.h>

#include "base/mem.h"

void apiserver_endpoints_index_init(struct apiserver_endpoints_index *names)
{
	map_init(&names->sets);
}

static void free_set(struct map *set)
{
	map_done(set);
	free(set);
}

void apiserver_endpoints_index_done(struct apiserver_endpoints_index *names)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&names->sets, &pos)) != NULL)
		free_set(entry->value);
	map_done(&names->sets);
}

void apiserver_endpoints_index_add(struct apiserver_endpoints_index *names, const char *property,
				   const char *name)
{
	struct map *set = map_get(&names->sets, slice_of(property));
	if (set == NULL) {
		set = xcalloc(1, sizeof(*set));
		map_init(set);
		map_set(&names->sets, slice_of(property), set);
	}
	map_set(set, slice_of(name), names);
}

void apiserver_endpoints_index_remove(struct apiserver_endpoints_index *names, const char *property,
				      const char *name)
{
	struct map *set = map_get(&names->sets, slice_of(property));
	if (set == NULL)
		return;
	map_del(set, slice_of(name));
	if (set->n == 0)
		free_set(map_del(&names->sets, slice_of(property)));
}

const struct map *apiserver_endpoints_index_get(const struct apiserver_endpoints_index *names,
						const char *property)
{
	return map_get(&names->sets, slice_of(property));
}

/* Names of objects by a property of theirs: Pods by label, EndpointSlices by Service. Without it
 * every Service would be worked on by reading all Pods and slices of its namespace.
 *
 * It says where to look, not what is there: what is found is read and checked. */
#pragma once

#include <jansson.h>

#include "base/map.h"

struct apiserver_endpoints_index {
	struct map sets; /* property → struct map of names; values mean nothing */
};

void apiserver_endpoints_index_init(struct apiserver_endpoints_index *names);
void apiserver_endpoints_index_done(struct apiserver_endpoints_index *names);
void apiserver_endpoints_index_add(struct apiserver_endpoints_index *names, const char *property,
				   const char *name);
void apiserver_endpoints_index_remove(struct apiserver_endpoints_index *names, const char *property,
				      const char *name);
/* NULL: nobody has it. */
const struct map *apiserver_endpoints_index_get(const struct apiserver_endpoints_index *names,
						const char *property);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of objects by a property: Pods by label, EndpointSlices by Service. Without it, each
 * Service would need reading all Pods and slices of its namespace.
 *
 * It is only a hint: callers read the named objects and check them. */
#pragma once

#include <jansson.h>

#include "base/map.h"

struct apiserver_endpoints_index {
	struct map sets; /* property → struct map of names, whose values are unused */
};

void apiserver_endpoints_index_init(struct apiserver_endpoints_index *names);
void apiserver_endpoints_index_done(struct apiserver_endpoints_index *names);
void apiserver_endpoints_index_add(struct apiserver_endpoints_index *names, const char *property,
				   const char *name);
void apiserver_endpoints_index_remove(struct apiserver_endpoints_index *names, const char *property,
				      const char *name);
/* The names with this property, borrowed; NULL: none. */
const struct map *apiserver_endpoints_index_get(const struct apiserver_endpoints_index *names,
						const char *property);

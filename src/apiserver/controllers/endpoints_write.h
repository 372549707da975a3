/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes of the endpoints controllers. All functions return false when a write lost against another
 * one or the store failed: process the Service again. Writes that the API refuses are not retried
 * until something changes. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/map.h"

struct apiserver_api;
struct apiserver_resource;

/* Reads an object and appends it to the list. A missing or damaged one is left out. */
int apiserver_endpoints_read(struct apiserver_api *api, const struct apiserver_resource *resource,
			     const char *ns, const char *name, json_t *list);

/* Whose slices are written. */
struct apiserver_endpoints_of {
	const json_t *service;
	const json_t *owner;	 /* the Service itself, or the Endpoints object that is mirrored */
	const struct map *names; /* of all slices with the Service's label; NULL: none */
};

/* Makes the EndpointSlices of the Service hold the groups. Slices of other managers are left
 * alone. */
bool apiserver_endpoints_write_slices(struct apiserver_api *api,
				      const struct apiserver_endpoints_of *of,
				      const json_t *groups);
/* Makes the Endpoints object of the Service hold the subsets. */
bool apiserver_endpoints_write(struct apiserver_api *api, const json_t *service,
			       const json_t *subsets);
bool apiserver_endpoints_remove(struct apiserver_api *api, const json_t *written);
/* Removes the EndpointSlices among `names` that mirror Endpoints of this name. */
bool apiserver_endpoints_remove_mirrored(struct apiserver_api *api, const char *ns,
					 const char *name, const struct map *names);

/* Whether the controllers made this Endpoints object from Pods. */
bool apiserver_endpoints_is_own(const json_t *written);
/* Whether the controllers made this EndpointSlice or Endpoints object, and would make it again. */
bool apiserver_endpoints_is_derived(const json_t *object);
/* Whether the Endpoints object is mirrored for a Service without selector. */
bool apiserver_endpoints_is_mirrored(const json_t *written);

/* Emits a Warning Event on the Service for each {"pod", "address"}, once. */
void apiserver_endpoints_report_refused(struct apiserver_api *api, const json_t *service,
					const json_t *refused);

/* Writing what the endpoints controllers worked out. All functions return false when somebody else
 * was faster or the store failed: the Service is to be worked on again. What the API refuses is not
 * tried again before something changes. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/map.h"

struct apiserver_api;
struct apiserver_resource;

/* Appends the object to the list. One that is gone, or cannot be read for damage, is left out. */
int apiserver_endpoints_read(struct apiserver_api *api, const struct apiserver_resource *resource,
			     const char *ns, const char *name, json_t *list);

/* Whose slices are written. */
struct apiserver_endpoints_of {
	const json_t *service;
	const json_t *owner;	 /* the Service itself, or the Endpoints object that is mirrored */
	const struct map *names; /* of all slices with the Service's label; NULL: none */
};

/* Makes the EndpointSlices of the Service hold the groups. Slices that others manage are left
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

/* Was this Endpoints object made from Pods? */
bool apiserver_endpoints_is_own(const json_t *written);
/* Is it an EndpointSlice or Endpoints object that the controllers made, and would make again? */
bool apiserver_endpoints_is_derived(const json_t *object);
/* Is it to be mirrored for a Service without selector: not marked to be left alone? */
bool apiserver_endpoints_is_mirrored(const json_t *written);

/* A warning Event on the Service for each {"pod", "address"}, once. */
void apiserver_endpoints_report_refused(struct apiserver_api *api, const json_t *service,
					const json_t *refused);

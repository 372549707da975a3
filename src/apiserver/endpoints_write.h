/* Writing what the endpoints controllers worked out. All functions return false when somebody else
 * was faster or the store failed: the Service is to be worked on again. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

struct apiserver_api;

/* Makes the EndpointSlices of the Service hold the groups. `owner`: the Service itself, or the
 * Endpoints object that is mirrored. Slices that others manage are left alone. */
bool apiserver_endpoints_write_slices(struct apiserver_api *api, const json_t *service,
				      const json_t *owner, const json_t *groups);
/* Makes the Endpoints object of the Service hold the subsets. */
bool apiserver_endpoints_write(struct apiserver_api *api, const json_t *service,
			       const json_t *subsets);
bool apiserver_endpoints_remove(struct apiserver_api *api, const json_t *written);

/* Was this Endpoints object made from Pods? */
bool apiserver_endpoints_is_own(const json_t *written);
/* Is it an EndpointSlice or Endpoints object that the controllers made, and would make again? */
bool apiserver_endpoints_is_derived(const json_t *object);
/* Is it to be mirrored for a Service without selector: not marked to be left alone? */
bool apiserver_endpoints_is_mirrored(const json_t *written);

/* A warning Event on the Service for each {"pod", "address"}, once. */
void apiserver_endpoints_report_refused(struct apiserver_api *api, const json_t *service,
					const json_t *refused);

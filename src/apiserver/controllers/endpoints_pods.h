/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From Pods to endpoints, without I/O: groups for EndpointSlices, subsets for Endpoints objects
 * (see endpoints.h for the terms). */
#pragma once

#include <jansson.h>

/* The groups of a Service with a selector, as a new array. `pods`: those that it selects. `zones`:
 * node name to zone. Addresses that no endpoint may have are left out and appended to `refused` as
 * {"pod", "address"}. */
json_t *apiserver_endpoints_pods_to_groups(const json_t *service, const json_t *pods,
					   const json_t *zones, json_t *refused);
/* The subsets of the Service's Endpoints object, which has one address family; a new array. */
json_t *apiserver_endpoints_pods_to_subsets(const json_t *service, const json_t *pods);

/* Endpoints of Services, made from Pods as a cluster's controllers make them: EndpointSlices and
 * the older Endpoints object for Services with a selector, and EndpointSlices for Endpoints that
 *people write by hand for Services without one.
 *
 * Glossary
 *	group	endpoints with the same kind of addresses and the same ports:
 *		{"addressType": "IPv4", "ports": [...], "endpoints": [...]}; a slice holds a part
 *		of one group
 *	subset	the same in an Endpoints object, ready and other addresses apart */
#pragma once

#include <jansson.h>

struct apiserver_api;
struct apiserver_endpoints;

/* Follows the API's store on a thread of its own. */
struct apiserver_endpoints *apiserver_endpoints_new(struct apiserver_api *api);
/* NULL is fine. */
void apiserver_endpoints_free(struct apiserver_endpoints *endpoints);

/* --- without I/O --- */

/* The groups of a Service with a selector. `pods`: those that it selects. `zones`: the zone of each
 * node, by name. Addresses that no endpoint may have are left out and appended to `refused` as
 * {"pod", "address"}. A new array. */
json_t *apiserver_groups_from_pods(const json_t *service, const json_t *pods, const json_t *zones,
				   json_t *refused);
/* The subsets of its Endpoints object, which knows one address family; a new array. */
json_t *apiserver_subsets_from_pods(const json_t *service, const json_t *pods);
/* The groups of an Endpoints object that somebody wrote. A new array. */
json_t *apiserver_groups_from_subsets(const json_t *subsets);
/* Addresses with the same ports into one subset, in one order, in place. */
void apiserver_subsets_repack(json_t *subsets);

/* What to do so that the slices `present` (objects) hold the groups. All three are new arrays. */
struct apiserver_slices_plan {
	json_t *change; /* objects of `present` with other content */
	json_t *create; /* groups of at most APISERVER_SLICE_ENDPOINTS_MAX endpoints */
	json_t *remove; /* objects of `present` */
};
enum { APISERVER_SLICE_ENDPOINTS_MAX = 100 };
/* Endpoints stay in the slice that they are in, so that a change writes as few slices as can be.
 * `types`: address types of which one slice stays though it is empty (NULL-terminated). */
void apiserver_slices_plan(const json_t *groups, const char *const *types, const json_t *present,
			   struct apiserver_slices_plan *ret);
void apiserver_slices_plan_done(struct apiserver_slices_plan *plan);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of endpoints (see endpoints.h), and which EndpointSlices to write so that they hold them;
 * without I/O. */
#pragma once

#include <jansson.h>

enum { APISERVER_SLICE_ENDPOINTS_MAX = 100 };

/* Adds an endpoint, of which the groups become the owner, to the group with this address type and
 * these ports. */
void apiserver_endpoints_groups_add(json_t *groups, const char *type, json_t *ports,
				    json_t *endpoint);

/* The writes that make the present slices hold the groups. All three are new arrays. */
struct apiserver_endpoints_slices_plan {
	json_t *change; /* present slices with other content */
	json_t *create; /* groups of at most APISERVER_SLICE_ENDPOINTS_MAX endpoints */
	json_t *remove; /* present slices */
};

/* Endpoints stay in their slice, so that a change writes as few slices as possible. `types`:
 * address types of which one slice stays even if it is empty (NULL-terminated). */
void apiserver_endpoints_slices_plan(const json_t *groups, const char *const *types,
				     const json_t *present,
				     struct apiserver_endpoints_slices_plan *ret);
void apiserver_endpoints_slices_plan_done(struct apiserver_endpoints_slices_plan *plan);

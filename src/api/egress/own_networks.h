/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster's own networks: pods, Services and nodes, as its objects list them. Their addresses are
 * never learnt from answers; those of pods and Services stay reachable whatever the rules say, and so
 * does the API server. Pure: no I/O, any thread. */
#pragma once

#include <jansson.h>

#include "base/slice.h"

enum egress_own { EGRESS_OWN_PODS, EGRESS_OWN_SERVICES, EGRESS_OWN_NODES, EGRESS_OWN_API };

/* `text` is a range, of a node and of the API server an address; as the object has it, valid or not. */
typedef void (*egress_own_fn)(void *ctx, enum egress_own what, struct slice text);

/* Each may be NULL, or no such object. A Node: its pod ranges and its InternalIPs. */
void egress_own_of_node(const json_t *node, egress_own_fn fn, void *ctx);
void egress_own_of_service_cidr(const json_t *service_cidr, egress_own_fn fn, void *ctx);
/* An EndpointSlice; of those of the Service `kubernetes` in the namespace `default` the addresses. */
void egress_own_of_api_slice(const json_t *slice, egress_own_fn fn, void *ctx);
/* OpenShift's Network, of its spec and its status: a change shows up in the latter later. */
void egress_own_of_network(const json_t *network, egress_own_fn fn, void *ctx);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds networks in Nodes, ServiceCIDRs, EndpointSlices and OpenShift's Network. */
#include "api/egress/own_networks.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"

struct call {
	egress_own_fn fn;
	void *ctx;
};

/* `key` NULL: the entries are texts themselves. */
static void each_text(const struct call *call, enum egress_own what, const json_t *list,
		      const char *key)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const json_t *text = key != NULL ? json_object_get(item, key) : item;
		if (json_is_string(text))
			call->fn(call->ctx, what, api_text_slice(text));
	}
}

void egress_own_of_node(const json_t *node, egress_own_fn fn, void *ctx)
{
	struct call call = { fn, ctx };
	const json_t *addresses = api_get(node, "status.addresses");
	each_text(&call, EGRESS_OWN_PODS, api_get(node, "spec.podCIDRs"), NULL);
	for (size_t i = 0; i < json_array_size(addresses); i++) {
		const json_t *entry = json_array_get(addresses, i);
		if (strcmp(api_text(json_object_get(entry, "type")), "InternalIP") == 0)
			fn(ctx, EGRESS_OWN_NODES,
			   api_text_slice(json_object_get(entry, "address")));
	}
}

void egress_own_of_service_cidr(const json_t *service_cidr, egress_own_fn fn, void *ctx)
{
	struct call call = { fn, ctx };
	each_text(&call, EGRESS_OWN_SERVICES, api_get(service_cidr, "spec.cidrs"), NULL);
}

void egress_own_of_api_slice(const json_t *slice, egress_own_fn fn, void *ctx)
{
	struct call call = { fn, ctx };
	const char *service = api_label(slice, "kubernetes.io/service-name");
	const json_t *endpoints = json_object_get(slice, "endpoints");
	if (service == NULL || strcmp(service, "kubernetes") != 0 ||
	    strcmp(api_namespace(slice), "default") != 0)
		return;
	for (size_t i = 0; i < json_array_size(endpoints); i++)
		each_text(&call, EGRESS_OWN_API,
			  json_object_get(json_array_get(endpoints, i), "addresses"), NULL);
}

void egress_own_of_network(const json_t *network, egress_own_fn fn, void *ctx)
{
	struct call call = { fn, ctx };
	each_text(&call, EGRESS_OWN_PODS, api_get(network, "spec.clusterNetwork"), "cidr");
	each_text(&call, EGRESS_OWN_SERVICES, api_get(network, "spec.serviceNetwork"), NULL);
	each_text(&call, EGRESS_OWN_PODS, api_get(network, "status.clusterNetwork"), "cidr");
	each_text(&call, EGRESS_OWN_SERVICES, api_get(network, "status.serviceNetwork"), NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers ranges from Nodes, ServiceCIDRs and OpenShift's Network. */
#include "controller/egressfirewall/cluster_ranges.h"

#include <string.h>

#include "api/egress/own_networks.h"
#include "api/egress/range.h"
#include "base/clock.h"
#include "controller/egressfirewall/watches.h"
#include "kube/decode/tree.h"

static void add_range(void *ctx, enum egress_own what, struct slice text)
{
	struct egressfirewall_ranges *ranges = ctx;
	sa_family_t family;
	struct net_ip_range range;
	(void)what;
	if (net_ip_range_parse(text, &family, &range) == 0)
		net_ip_ranges_add(family == AF_INET ? &ranges->v4 : &ranges->v6, range);
}

static bool add_node(void *ctx, struct kube_obj *obj)
{
	egress_own_of_node(kube_tree_of(obj), add_range, ctx);
	return true;
}

static bool add_service_cidr(void *ctx, struct kube_obj *obj)
{
	egress_own_of_service_cidr(kube_tree_of(obj), add_range, ctx);
	return true;
}

static bool add_network(void *ctx, struct kube_obj *obj)
{
	egress_own_of_network(kube_tree_of(obj), add_range, ctx);
	return true;
}

void egressfirewall_ranges_done(struct egressfirewall_ranges *ranges)
{
	net_ip_ranges_done(&ranges->v4);
	net_ip_ranges_done(&ranges->v6);
}

void egressfirewall_ranges_read(const struct controller_ctx *ctx,
				struct egressfirewall_ranges *ranges)
{
	uint64_t begin_ns = clock_mono_ns();
	egressfirewall_ranges_done(ranges);
	*ranges = (struct egressfirewall_ranges){ .read_ns = begin_ns };
	kube_store_each(ctx->stores[EGRESSFIREWALL_NODES], add_node, ranges);
	kube_store_each(ctx->stores[EGRESSFIREWALL_SERVICE_CIDRS], add_service_cidr, ranges);
	kube_store_each(ctx->stores[EGRESSFIREWALL_NETWORK], add_network, ranges);
	ranges->took_ns = clock_mono_ns() - begin_ns;
}

bool egressfirewall_ranges_have(const struct egressfirewall_ranges *ranges,
				const union net_addr *address)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(address, &n);
	const uint8_t *carried = egress_range_carried_ipv4(bytes, n);
	if (carried != NULL) {
		union net_addr inner = { .v4 = { .sin_family = AF_INET } };
		memcpy(&inner.v4.sin_addr, carried, sizeof(inner.v4.sin_addr));
		if (net_ip_ranges_has(&ranges->v4, net_ip_number_of(&inner)))
			return true;
	}
	return net_ip_ranges_has(address->family == AF_INET ? &ranges->v4 : &ranges->v6,
				 net_ip_number_of(address));
}

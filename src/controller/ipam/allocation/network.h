/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which addresses of a network are in use, whichever pools have them. A network is what pools with one value
 * of the annotation IPAM_NETWORK_ANNOTATION share; those without it share the unnamed one. Not locked: the
 * allocator does that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "net/ip_ranges.h"

struct ipam_network {
	char *name;
	size_t n_pools;
	/* By family. Those of objects, and those that are reserved. */
	struct net_ip_ranges in_use[2];
	struct map reserved
		[2]; /* number -> by how many claims: two if a pool has moved to the network */
};

struct ipam_network *ipam_network_new(const char *name);
void ipam_network_free(struct ipam_network *network);

struct net_ip_ranges *ipam_network_in_use(struct ipam_network *network, sa_family_t family);
void ipam_network_set(struct ipam_network *network, sa_family_t family, net_ip_number number,
		      bool in_use);
void ipam_network_reserve(struct ipam_network *network, sa_family_t family, net_ip_number number);
/* Ends one reservation. */
void ipam_network_unreserve(struct ipam_network *network, sa_family_t family, net_ip_number number);
bool ipam_network_is_reserved(const struct ipam_network *network, sa_family_t family,
			      net_ip_number number);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which addresses of a network are in use, whichever pools have them. A network is what pools with one value
 * of the annotation IPAM_NETWORK_ANNOTATION share; those without it share the unnamed one. Not locked: the
 * allocator does that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/vec.h"
#include "controller/ipam/allocation/block.h"

/* Blocks of one size. Each size has a set of its own, so that the end of one block leaves others alone that lie
 * in it, or that it lies in. */
struct ipam_network_use {
	uint8_t bits;
	struct net_ip_ranges in_use; /* those of objects, and those that are reserved */
	struct map
		reserved; /* first -> by how many claims: two if a pool has moved to the network */
};

struct ipam_network {
	char *name;
	size_t n_pools;
	VEC(struct ipam_network_use *) uses[2]; /* by family; few sizes */
};

struct ipam_network *ipam_network_new(const char *name);
void ipam_network_free(struct ipam_network *network);

/* Calls `fn` with what is in use of the range; what blocks of several sizes have, several times. */
void ipam_network_each_in_use(struct ipam_network *network, sa_family_t family,
			      struct net_ip_range range,
			      void (*fn)(void *ctx, struct net_ip_range found), void *ctx);
/* Calls `fn` with the blocks of other sizes that are in use and have addresses of this one. */
void ipam_network_each_touching(struct ipam_network *network, struct ipam_block block,
				ipam_blocks_fn fn, void *arg);
void ipam_network_set(struct ipam_network *network, struct ipam_block block, bool in_use);
void ipam_network_reserve(struct ipam_network *network, struct ipam_block block);
/* Ends one reservation. */
void ipam_network_unreserve(struct ipam_network *network, struct ipam_block block);
bool ipam_network_is_reserved(struct ipam_network *network, struct ipam_block block);

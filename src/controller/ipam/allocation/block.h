/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses that are allocated together: one address, or those of a prefix. */
#pragma once

#include "net/ip_ranges.h"

enum { IPAM_BLOCK_BITS_MAX = 127 };

struct ipam_block {
	sa_family_t family;
	uint8_t bits; /* it has 2^bits addresses: 0 is one address; at most IPAM_BLOCK_BITS_MAX */
	net_ip_number first; /* its last `bits` bits are 0 */
};

/* A range of whole blocks of 2^bits addresses. */
typedef void (*ipam_blocks_fn)(void *arg, uint8_t bits, struct net_ip_range found);

/* Those of a range that are not the number of a block of that size. */
static inline net_ip_number ipam_block_mask(uint8_t bits)
{
	return ((net_ip_number)1 << bits) - 1;
}

static inline struct net_ip_range ipam_block_range(struct ipam_block block)
{
	return (struct net_ip_range){ block.first, block.first + ipam_block_mask(block.bits) };
}

/* The blocks of that size which the range touches, whole. */
static inline struct net_ip_range ipam_block_widen(struct net_ip_range range, uint8_t bits)
{
	return (struct net_ip_range){ range.first & ~ipam_block_mask(bits),
				      range.last | ipam_block_mask(bits) };
}

static inline struct ipam_block ipam_block_of_one(sa_family_t family, net_ip_number number)
{
	return (struct ipam_block){ .family = family, .first = number };
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of IP addresses of one family, kept as disjoint ranges: adding, removing and finding take
 * O(log n) of the number of ranges, whatever the number of addresses. One thread at a time.
 *
 * Addresses are numbers here, so that ranges can be computed: an IPv4 address has 32 bits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "net/addr.h"

__extension__ typedef unsigned __int128 net_ip_number;

struct net_ip_range {
	net_ip_number first, last; /* both belong to it */
};

net_ip_number net_ip_number_of(const union net_addr *addr);
/* The address with that number; `family` is AF_INET or AF_INET6. */
union net_addr net_ip_from_number(sa_family_t family, net_ip_number number);

/* One address, a network "address/length" or a range "first-last", without zone and leading zeros. ERR_PARSE:
 * none of these, or a range whose end is before its begin or of the other family. */
MUST_CHECK int net_ip_range_parse(struct slice text, sa_family_t *ret_family,
				  struct net_ip_range *ret);
/* The network of that prefix length around an address. `bits` is at most the family's. */
struct net_ip_range net_ip_range_of_network(sa_family_t family, net_ip_number address,
					    unsigned bits);

struct net_ip_ranges_node;

struct net_ip_ranges {
	struct net_ip_ranges_node *root;
	uint64_t seed; /* of the tree's shape */
};

/* A set starts as { 0 }. */
void net_ip_ranges_done(struct net_ip_ranges *set);
/* What is in the set already, or is not, does not matter. */
void net_ip_ranges_add(struct net_ip_ranges *set, struct net_ip_range range);
void net_ip_ranges_remove(struct net_ip_ranges *set, struct net_ip_range range);
bool net_ip_ranges_has(const struct net_ip_ranges *set, net_ip_number number);
/* False: the set is empty. */
bool net_ip_ranges_lowest(const struct net_ip_ranges *set, net_ip_number *ret);
/* The lowest range that both sets have in common; false: there is none. As many steps of O(log n) as the sets
 * alternate: few if their addresses lie apart, whatever the number of ranges. */
bool net_ip_ranges_common(const struct net_ip_ranges *left, const struct net_ip_ranges *right,
			  struct net_ip_range *ret);
/* Calls `fn` for what the set has of `range`, in ascending order. `fn` must not change the set. */
void net_ip_ranges_each_within(const struct net_ip_ranges *set, struct net_ip_range range,
			       void (*fn)(void *ctx, struct net_ip_range found), void *ctx);
/* The number of addresses; INT64_MAX if it is larger, as Kubernetes' status fields have it. */
int64_t net_ip_ranges_count(const struct net_ip_ranges *set);
/* The number of blocks of 2^bits addresses, of which the set must have whole ones only; `bits` is less than 128. */
int64_t net_ip_ranges_count_blocks(const struct net_ip_ranges *set, unsigned bits);
/* Calls `fn` for each range, in ascending order, until it returns false. */
void net_ip_ranges_each(const struct net_ip_ranges *set,
			bool (*fn)(void *ctx, struct net_ip_range range), void *ctx);

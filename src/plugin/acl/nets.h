/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of networks, asked for every query: built once into sorted ranges that do not touch, so
 * that a look-up is a binary search however many networks there are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "net/addr.h"

struct acl_range;

struct acl_ranges {
	const struct acl_range *v;
	size_t n;
};

struct acl_nets {
	struct acl_ranges v4, v6;
};

/* Ranges come from the arena (a growing one). */
void acl_nets_build(struct acl_nets *nets, const struct net_cidr *cidr, size_t count,
		    struct arena *arena);
/* Is the address in one of the networks? Families are apart: an IPv4 network written as part of
 * ::ffff:0:0/96 holds no IPv4 address. */
bool acl_nets_has(const struct acl_nets *nets, const union net_addr *addr);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The spec of a pool, of addresses (InClusterIPPool, GlobalInClusterIPPool) or of prefixes
 * (InClusterPrefixPool, GlobalInClusterPrefixPool): what is wrong with it, and which addresses may be allocated
 * from it. A spec with `prefixes` is one of prefixes. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"

#include "api/fielderr.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "controller/ipam/allocation/block.h"

/* Adds what is wrong with the spec, with paths below "spec". */
void ipam_pool_spec_validate(const json_t *spec, struct api_errors *errors);

struct ipam_pool_spec {
	sa_family_t family;
	unsigned prefix; /* length of the network; of a pool of prefixes: of what it allocates */
	bool is_of_prefixes;
	uint8_t bits;			/* what it allocates has 2^bits addresses (block.h) */
	struct net_ip_ranges addresses; /* as the pool lists them */
	/* Those that may be allocated: without excluded ones, the gateway and, unless the pool allows
	 * it, the network's first address and the last one of an IPv4 network. Of a pool of prefixes: whole blocks
	 * without an excluded address; the gateway and the first one are like any other. */
	struct net_ip_ranges usable;
	bool has_gateway, allows_reserved;
	bool all_excluded; /* spec.excludedAddresses alone leaves none */
	net_ip_number gateway;
	int64_t grace_s; /* ipam_pool_spec_grace */
};

/* How many seconds a released address of the pool rests (PR-11), also if the spec is invalid otherwise; 0 if
 * it says nothing. */
int64_t ipam_pool_spec_grace(const json_t *spec);

/* Reads a spec; an invalid one is ERR_CONFIG with its first error. */
MUST_CHECK int ipam_pool_spec_read(const json_t *spec, struct ipam_pool_spec *ret,
				   struct err_text err);
/* May none of its addresses be allocated? Then `why` is set: what the lowest one is instead, or that all
 * are excluded. */
bool ipam_pool_spec_is_empty(const struct ipam_pool_spec *spec, struct err_text why);
/* Which field keeps an address that is not usable from being allocated: "is the gateway (spec.gateway)". */
const char *ipam_pool_spec_why_unusable(const struct ipam_pool_spec *spec, struct ipam_block block);
/* May the pool allocate it? */
bool ipam_pool_spec_has(const struct ipam_pool_spec *spec, struct ipam_block block);
void ipam_pool_spec_done(struct ipam_pool_spec *spec);

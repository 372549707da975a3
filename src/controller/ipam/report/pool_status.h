/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a pool, computed from its spec and its addresses. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"

#include "base/strbuf.h"
#include "controller/ipam/allocation/pool_spec.h"
#include "controller/ipam/pruned_field.h"

/* Addresses of the pool's objects. */
struct ipam_pool_use {
	int64_t used;	      /* objects */
	int64_t out_of_range; /* of them, those that the pool may not allocate (any more) */
	int64_t foreign;      /* addresses that only other providers have in use */
};

struct ipam_pool_report {
	struct ipam_pool_use use;
	int64_t total;
	const char *error;    /* why the spec is invalid; NULL: it is not */
	const char *empty;    /* why no address may be allocated; NULL: some may */
	const char *overlap;  /* other pools that have addresses of this one; NULL: none */
	const char *stranded; /* addresses in use that are out of range; NULL: none */
	const char *foreign;  /* addresses that other providers have in use; NULL: none */
	const char *cut;      /* name servers that guests cannot hold; NULL: none */
	const char
		*bad_default; /* what is wrong with the default that the pool has; NULL: nothing */
	enum ipam_pruning pruning;
	bool no_conditions; /* the CRD of the pool drops them: only numbers are set */
};

/* Sets ipAddresses and conditions of the pool's status; true: something changed. `free` is never
 * negative: addresses out of range take no free one. */
bool ipam_set_pool_status(json_t *pool, const struct ipam_pool_report *report, uint64_t now_ns);

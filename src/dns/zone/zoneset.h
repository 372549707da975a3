/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of zones, each with entries in file order; finds by suffix hash, so the cost depends on the
 * labels of the name asked and never on the number of zones. Built once, then read by many threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "dns/request.h"

struct dns_zoneset;

struct dns_zone_entry {
	uint32_t seq;  /* order of dns_zoneset_add: its `seq` argument */
	uint32_t next; /* index+1 of the next entry of the same zone; 0: last */
	void *value;
	const uint8_t *zone; /* lower-case wire name */
};

struct dns_zoneset *dns_zoneset_new(void);
void dns_zoneset_free(struct dns_zoneset *zs);
/* Adds value under a zone (any case; copied). Entries of one zone must come in ascending seq. */
void dns_zoneset_add(struct dns_zoneset *zs, const uint8_t *zone, uint32_t seq, void *value);
size_t dns_zoneset_count(const struct dns_zoneset *zs);

/* The entry list of the longest zone at or above the name, starting at `from_label` (0: the whole
 * name). NULL: none. *ret_label: the label index of the zone found, so that a caller who wants the
 * next shorter one calls again with *ret_label + 1. */
const struct dns_zone_entry *dns_zoneset_longest(const struct dns_zoneset *zs,
						 const struct dns_qname *qname, unsigned from_label,
						 unsigned *ret_label);
/* The entry list of exactly the zone that starts at a label of the name; NULL: none. */
const struct dns_zone_entry *dns_zoneset_at(const struct dns_zoneset *zs,
					    const struct dns_qname *qname, unsigned label);
/* The next entry of the same zone, in file order; NULL at the end. */
const struct dns_zone_entry *dns_zoneset_same(const struct dns_zoneset *zs,
					      const struct dns_zone_entry *entry);

/* All entries whose zone covers the name, in ascending seq; where one seq has several such zones,
 * once, with the longest. */
enum { DNS_ZONESET_ITER_MAX = DNS_LABELS_MAX + 1 };
struct dns_zoneset_iter {
	const struct dns_zoneset *zs;
	unsigned n;
	const struct dns_zone_entry *at[DNS_ZONESET_ITER_MAX]; /* longest zone first */
};
void dns_zoneset_iter(struct dns_zoneset_iter *it, const struct dns_zoneset *zs,
		      const struct dns_qname *qname);
const struct dns_zone_entry *dns_zoneset_next(struct dns_zoneset_iter *it);

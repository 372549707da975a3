/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a zone for `transfer`: the interface that plugins with zones implement, and an
 * implementation for zones from a file or another server. */
#pragma once

struct dns_rr;
struct dns_zone;

/* The records of a zone as they were at one moment. Used by one thread at a time. */
struct zone_copy {
	/* The next record; the SOA comes first, and not again at the end. 1; 0: that was all. What
	 * it points at lasts until the next call. */
	int (*next)(struct zone_copy *copy, struct dns_rr *ret);
	void (*free)(struct zone_copy *copy);
};

/* Takes a reference of its own. */
struct zone_copy *zonecopy_new(struct dns_zone *zone);

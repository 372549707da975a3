/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work for an engine (controller/engine.h): the addresses of a name, IPv4 and IPv6. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/engine.h"
#include "resolve/lookup.h"

enum { NAME_LOOKUP_ADDRESSES_MAX = 32 }; /* of each family; more are left out */

/* One of the two questions. Its addresses are in ascending order and without duplicates, so that the
 * same records in another order are the same result; where there are too many, the first are kept. */
struct name_lookup_part {
	struct lookup lookup;
	struct name_lookup *whole;
	union net_addr *addresses;
	size_t n_addresses;
	uint8_t owner[DNS_NAME_MAX]; /* of the addresses: the end of the CNAME chain; wire form */
	uint32_t ttl;
	int result; /* negative: there is no answer to this question; once the work has completed */
};

struct name_lookup {
	struct engine_work work;
	struct name_lookup_part part[2]; /* A, AAAA */
	unsigned left;			 /* parts under way */
	/* The result: 0, or a negative code when a part has no answer: its fault is in `error`.
	 * A name that does not exist has no addresses, and is no error. */
	int result;
	char error[160];
};

/* NULL: not a valid domain name. A relative name is taken as absolute. */
struct name_lookup *name_lookup_new(const char *name);
static inline struct name_lookup *name_lookup_of(struct engine_work *work)
{
	return CONTAINER_OF(work, struct name_lookup, work);
}
/* The lowest TTL of both answers, in seconds. */
uint32_t name_lookup_ttl(const struct name_lookup *lookup);

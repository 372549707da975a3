/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names that the rules of one namespace's EgressFirewall use, and what address sets call them. It never
 * changes after it was made: workers read it under RCU. Its cost does not depend on the number of names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "api/tree.h"
#include "dns/request.h"

struct egressfirewall_names;

/* Of the valid names of firewalls' trees; NULL when there are none. Allow and Deny count alike: both need the
 * addresses in the set before a client has them. */
struct egressfirewall_names *egressfirewall_names_new(const json_t *const *firewalls, size_t count);
/* Frees it when all readers of this moment have left. NULL is fine. */
void egressfirewall_names_retire(struct egressfirewall_names *names);
void egressfirewall_names_free(struct egressfirewall_names *names);

/* Two of one process never have the same number, which is not 0; it stands at the beginning. */
static inline uint32_t egressfirewall_names_number(const struct egressfirewall_names *names)
{
	return *(const uint32_t *)(const void *)names;
}
/* Ids of the rules' names that cover this one, each once, up to `max`; their number. */
size_t egressfirewall_names_match(const struct egressfirewall_names *names,
				  const struct dns_qname *qname, const struct addrset_id **out,
				  size_t max);

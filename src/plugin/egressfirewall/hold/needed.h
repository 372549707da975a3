/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pairs must be in force before an answer may leave: each address at the end of its CNAME chain, for each
 * rule of the client's namespace that covers a name of the chain (what was asked, what was looked up instead,
 * and the names between). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "base/compiler.h"
#include "plugin/egressfirewall/hold/firewall_names.h"
#include "plugin/egressfirewall/never.h"
#include "server/query.h"

struct egressfirewall_needed {
	struct addrset_pair *pairs; /* in the query's arena; their times are 0 */
	size_t n_pairs;
	uint32_t ttl_s;	  /* the largest of the addresses */
	unsigned n_never; /* addresses that are never learnt: they pass, and open nothing */
};

/* 0; ERR_LIMIT: more than an agent can be asked for at once; ERR_SPACE: the query has no memory left. */
MUST_CHECK int egressfirewall_needed_of(struct query *q, const struct egressfirewall_names *names,
					const struct egressfirewall_never *never,
					struct egressfirewall_needed *ret);

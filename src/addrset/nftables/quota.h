/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many pairs a namespace has in force on this node, and how many it may have. A pair counts for the namespace whose
 * client asked for it, not for all whose rules use the name: sets are shared, and one tenant that asks for a million
 * names below a wildcard that others use as well must not use up what they may have. It counts for whoever asked last and had
 * room, until it expires. Pairs that nobody asked for (those of DNSName objects, and those that the kernel had before the agent
 * started) count for nobody. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "addrset/addrset.h"
#include "addrset/shared/known_pairs.h"
#include "base/map.h"

enum {
	NFTABLES_TENANT_PAIRS_MAX = 65536, /* of one namespace */
	NFTABLES_NAME_PAIRS_MAX = 256,	   /* of one name that is no wildcard, in one namespace */
};

/* Which limit a new pair met. */
enum nftables_limit {
	NFTABLES_LIMIT_NONE,
	NFTABLES_LIMIT_NODE, /* of all pairs: pairs.h */
	NFTABLES_LIMIT_NAMESPACE,
	NFTABLES_LIMIT_NAME,
};
enum { NFTABLES_LIMIT_COUNT = NFTABLES_LIMIT_NAME + 1 };

struct nftables_policy;

struct nftables_quota {
	struct map tenants; /* by namespace */
	struct map hosts;   /* ids of names that are no wildcards */
};

void nftables_quota_init(struct nftables_quota *quota);
void nftables_quota_done(struct nftables_quota *quota);

/* The names of these rules, from now on. One that it does not have yet counts as a wildcard. */
void nftables_quota_set_names(struct nftables_quota *quota, const struct nftables_policy *policy);

/* Whether the tenant may have one more pair of the name. */
enum nftables_limit nftables_quota_check(const struct nftables_quota *quota, struct slice tenant,
					 const struct addrset_id *name);
/* Does the pair count for the tenant? */
bool nftables_quota_is_paid_by(const struct addrset_known *pair, struct slice tenant);
/* It does from now on, and for nobody else. */
void nftables_quota_charge(struct nftables_quota *quota, struct slice tenant,
			   struct addrset_known *pair);
/* It counts for nobody. */
void nftables_quota_release(struct nftables_quota *quota, struct addrset_known *pair);

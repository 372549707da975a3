/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open connections under changed rules. A rule that was removed loses its connections with the commit
 * (plan.h); one that was put in front of others has to be found in the connections that those admitted. */
#pragma once

#include "addrset/nftables/conntrack.h"
#include "addrset/nftables/plan.h"

/* Reviews all connections after the policy was applied. One goes on if no rule that denies it stands in
 * front of the one that admitted it. An address that has expired under that rule does not matter; names in
 * front of it cover the addresses that `names` holds now. *ret_cleared: how many connections meet the rules
 * with their next packet, also those whose rule is gone, so that another can admit them. */
MUST_CHECK int nftables_revoke(const struct nftables_policy *policy, const struct addrset *names,
			       size_t *ret_cleared, struct err_text err);

/* Which rule denies a new connection, and of which namespace it is. NULL: none does, or the pod is not known. */
const struct nftables_rule *nftables_find_denial(const struct nftables_policy *policy,
						 const struct addrset *names,
						 const struct nftables_connection *connection,
						 const char **ret_namespace);

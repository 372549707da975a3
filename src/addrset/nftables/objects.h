/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages that add and remove parts of the table. All go to the link's batch. */
#pragma once

#include "addrset/nftables/link.h"
#include "addrset/nftables/plan.h"
#include "base/map.h"

void nftables_put_table(struct nftables_link *link);
void nftables_drop_table(struct nftables_link *link);
/* The sets that are not in the map; and the table, if there is any. */
void nftables_put_sets(struct nftables_link *link, const struct map *existing);
void nftables_put_chain(struct nftables_link *link, const char *name, enum nftables_hook hook);
void nftables_drop_chain(struct nftables_link *link, const char *name);
void nftables_put_counter(struct nftables_link *link, const char *name);
void nftables_drop_counter(struct nftables_link *link, const char *name);
/* In front of the rule with that handle; 0: at the end. */
void nftables_put_rule(struct nftables_link *link, const char *chain,
		       const struct nftables_plan_rule *rule, uint64_t before);
void nftables_drop_rule(struct nftables_link *link, const char *chain, uint64_t handle);
/* All rules of the chain. */
void nftables_drop_rules(struct nftables_link *link, const char *chain);

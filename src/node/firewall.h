/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of an EgressFirewall as this node's table has them: names become ids, node selectors the addresses
 * of the nodes that they select now. Pure: no I/O, any thread. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "addrset/nftables/plan.h"
#include "api/egress/rules.h"
#include "base/arena.h"

/* A node of the cluster. */
struct node_peer {
	const json_t *labels; /* of the Node; NULL: none */
	const struct addrset_address *addresses;
	size_t n_addresses;
};

/* What DNS servers add addresses to for this name of a rule. Wildcards of different depth are different
 * names. `name`: of a wildcard what follows "*.". */
struct addrset_id node_firewall_name_id(const char *name, bool is_wildcard, bool any_depth);

/* `rules` were read without errors: a firewall with errors keeps the rules of before. Memory from the
 * (growing) arena; `name` of the namespace is borrowed. */
void node_firewall_rules(const struct egress_rules *rules, const struct node_peer *peers,
			 size_t n_peers, const char *name, struct arena *arena,
			 struct nftables_namespace *ret);

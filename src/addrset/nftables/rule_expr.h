/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rule of the plan as the expressions that the kernel runs. */
#pragma once

#include <libnftnl/rule.h>

#include "addrset/nftables/plan.h"

/* Names of the table's sets and maps; their keys:
 *   names    name id, address
 *   pods     address of a pod -> chain
 *   ports    id of a list, protocol and port, 4 bytes each
 *   admitted rule id */
#define NFTABLES_SET_NAMES4   "names4"
#define NFTABLES_SET_NAMES6   "names6"
#define NFTABLES_SET_PODS4    "pods4"
#define NFTABLES_SET_PODS6    "pods6"
#define NFTABLES_SET_PORTS    "ports"
#define NFTABLES_SET_ADMITTED "admitted"

/* Appends the steps to the rule. */
void nftables_rule_expr_add(struct nftnl_rule *rule, const struct nftables_step *steps,
			    size_t n_steps);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of plans, for tests. */
#pragma once

#include "addrset/nftables/plan.h"

/* The name of the counter of a rule. */
void nftables_rule_counter(const char *namespace_name, const char *rule_text,
			   char out[NFTABLES_COUNTER_BYTES]);

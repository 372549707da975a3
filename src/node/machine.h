/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One machine without a cluster: whose connections the firewall of a Namespace judges, by annotations of the
 * Namespace. They name what is on this machine, so that nobody but its administrator may write them. */
#pragma once

#include <jansson.h>

#include "addrset/nftables/plan.h"
#include "base/arena.h"

/* Adds to a policy that is built: owners, and the addresses of network namespaces as pods. What is not there is
 * logged, now and then. Names of namespaces are borrowed. */
void node_machine_add(const json_t *const *namespaces, size_t n, struct arena *arena,
		      struct nftables_policy *policy);

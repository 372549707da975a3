/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One agent for each network namespace: two would write one table, each taking the other's rules for a stranger's.
 * The claim is an abstract unix socket, which belongs to the network namespace and goes with its process. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err_text.h"

#define NODE_CLAIM_NAME	   "fairlead-node"
#define NODE_CLAIM_WAIT_NS (3 * NS_PER_S) /* for an agent that is about to end */

/* A descriptor to close at the end, in *ret. -EADDRINUSE: another agent has the claim, still after `wait_ns`. A
 * holder that is neither root nor of this user is no agent: then *ret is -1, with a warning in the log, so that
 * nobody keeps an agent from starting. Waits; not on a loop's thread. */
MUST_CHECK int node_claim_take(const char *name, uint64_t wait_ns, int *ret, struct err_text err);

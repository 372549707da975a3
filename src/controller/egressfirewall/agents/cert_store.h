/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the certificates of agents and servers are kept: a Secret for each authority in the program's namespace, the
 * agents' copy beside them, the servers' copy in the servers' namespace (agent_certs.h). Where a Secret of one of these
 * names is somebody else's, certificates are that one's affair, and nothing is written. */
#pragma once

#include "controller/controller.h"

/* The pass over the key EGRESSFIREWALL_CERTS_KEY: nothing where answers are not held. */
int egressfirewall_reconcile_certs(struct controller_ctx *ctx, const char *name);

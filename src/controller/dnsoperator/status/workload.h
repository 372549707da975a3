/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operands as they run on OpenShift: the DaemonSets of the servers and of the node resolver, and
 * the servers' Service. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/compiler.h"

struct controller_ctx;

/* Members are NULL for missing objects. */
struct dnsoperator_workload {
	json_t *servers;       /* DaemonSet dns-default */
	json_t *node_resolver; /* DaemonSet node-resolver */
	json_t *service;       /* Service dns-default */
};

/* Reads them from the namespace openshift-dns. Negative with ctx->err. */
MUST_CHECK int dnsoperator_workload_read(struct controller_ctx *ctx,
					 struct dnsoperator_workload *ret);
void dnsoperator_workload_done(struct dnsoperator_workload *workload);

/* What runs in the cluster for the DNS object: the servers' DaemonSet, the one that keeps nodes'
 * hosts files, and the Service in front of the servers. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/compiler.h"

struct controller_ctx;

/* Members are NULL for what is not there. */
struct dnsoperator_workload {
	json_t *servers;       /* DaemonSet dns-default */
	json_t *node_resolver; /* DaemonSet node-resolver */
	json_t *service;       /* Service dns-default */
};

/* Of the namespace openshift-dns. Negative with c->err when nobody can tell. */
MUST_CHECK int dnsoperator_workload_read(struct controller_ctx *ctx,
					 struct dnsoperator_workload *ret);
void dnsoperator_workload_done(struct dnsoperator_workload *workload);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ClusterOperator `dns` of OpenShift: how DNS works, for the upgrade of the cluster (OP-D4). It follows
 * the conditions of the DNS object and lists the versions that run. Lists are sorted, so that a settled
 * operator writes nothing.
 *
 * Glossary
 *   operand    something that the operator has run: the servers, their proxy, the node resolver
 *   wanted     the version that an operand, or the operator itself, is to have
 *   current    the last one that all of its pods had */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "controller/dnsoperator/status/workload.h"

struct controller_ctx;

#define DNSOPERATOR_CLUSTEROPERATOR "dns"

/* By name, as they stand in the object. */
enum {
	DNSOPERATOR_VERSION_COREDNS,
	DNSOPERATOR_VERSION_PROXY,
	DNSOPERATOR_VERSION_CLI,
	DNSOPERATOR_VERSION_OPERATOR,
};
enum { DNSOPERATOR_VERSIONS = DNSOPERATOR_VERSION_OPERATOR + 1 };

struct dnsoperator_clusteroperator {
	const json_t *dns; /* with its conditions; NULL: missing */
	const struct dnsoperator_workload *workload;
	/* NULL: not given; then the version in the DaemonSets is wanted. */
	const char *wanted[DNSOPERATOR_VERSIONS];
	const char *ns; /* of the operator */
};

/* RELEASE_VERSION, IMAGE, OPENSHIFT_CLI_IMAGE, KUBE_RBAC_PROXY_IMAGE, as the real one has them. */
void dnsoperator_versions_env(const char *wanted[DNSOPERATOR_VERSIONS]);
/* Makes it when it is missing, and writes what changed. Nothing is done where there is no such
 * kind. */
MUST_CHECK int dnsoperator_clusteroperator_write(struct controller_ctx *ctx,
						 const struct dnsoperator_clusteroperator *in);

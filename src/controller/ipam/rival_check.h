/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rival: Cluster API's own in-cluster provider, which owns the same kinds. While it renews the
 * Lease by which it elects its leader, nothing is written here. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "controller/controller.h"

#define IPAM_RIVAL_NS	 "capi-ipam-in-cluster-system"
#define IPAM_RIVAL_LEASE "7bb7acb4.ipam.cluster.x-k8s.io"
#define IPAM_RIVAL_KEY	 "rival" /* queued when its Lease changes */

struct ipam_rival;

struct ipam_rival *ipam_rival_new(void);
void ipam_rival_free(struct ipam_rival *rival);

/* For a pass over a claim or a pool: true if it must do nothing. All of them are queued again when the
 * rival has stopped. Any worker. */
bool ipam_rival_runs(const struct controller_ctx *ctx);
/* The pass of IPAM_RIVAL_KEY: checks the Lease again, at the latest when it expires. */
MUST_CHECK int ipam_reconcile_rival(struct controller_ctx *ctx);
/* A line for /readyz while the rival runs. Any thread. */
void ipam_rival_note(void *state, struct strbuf *out);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookups of hosts through the cluster's DNS, so that rules and pods see the same answers. */
#pragma once

#include "controller/controller.h"

/* A pass over one host: takes the result of its lookup, lets addresses expire, and submits the next
 * lookup when it is due. A host that nothing needs any more is forgotten. */
int egressfirewall_reconcile_host(struct controller_ctx *ctx, const char *name);

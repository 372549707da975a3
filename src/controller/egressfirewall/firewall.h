/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pass over one EgressFirewall: its status. */
#pragma once

#include "controller/controller.h"

/* `key` is "namespace/name". */
int egressfirewall_reconcile_firewall(struct controller_ctx *ctx, const char *key);

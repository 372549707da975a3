/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reconciles the keys of the operator's queue; the table of steps is in reconcile.c. */
#pragma once

#include "base/compiler.h"
#include "controller/controller.h"

/* One key: the DNS object, the poll of the servers, or a DNS object that has no effect. */
MUST_CHECK int dnsoperator_reconcile(struct controller_ctx *ctx, const char *key);

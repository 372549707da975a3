/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The passes, by what they are about (ipam.c has the table). As reconcile of the interface. */
#pragma once

#include "base/compiler.h"
#include "controller/controller.h"

/* One pass over a claim: from a new claim to a bound one, or to its release. `key` is
 * "NAMESPACE/NAME". */
MUST_CHECK int ipam_reconcile_claim(struct controller_ctx *ctx, const char *key);
/* One pass over a pool: finalizer, numbers and conditions of its status. `key` is the pool's
 * (watches.h). */
MUST_CHECK int ipam_reconcile_pool(struct controller_ctx *ctx, const char *key);

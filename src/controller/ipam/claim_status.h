/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of a claim: the address it got, or why it has none. */
#pragma once

#include "base/compiler.h"
#include "controller/controller.h"
#include "controller/ipam/records.h"

/* All write only onto the version of the claim that `claim` is a copy of. Where the API has a newer
 * one by now, 0 is returned and nothing is written: the watch is about to show it, and starts another
 * pass. */

/* Writes addressRef and Ready=True; nothing if the claim has both, or if the address was rejected for
 * it (conflict.h). As reconcile. */
MUST_CHECK int ipam_report_bound(struct controller_ctx *ctx, const struct ipam_claim *claim,
				 const struct ipam_address *address);
/* Removes addressRef of a claim whose IPAddress no longer exists. */
MUST_CHECK int ipam_report_lost(struct controller_ctx *ctx, const struct ipam_claim *claim);
/* Writes Ready=False with the reason, and emits an Event; nothing if the claim has both reason and
 * message. */
MUST_CHECK int ipam_report_unbound(struct controller_ctx *ctx, const struct ipam_claim *claim,
				   const char *reason, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* After a request of the pass: returns its result `ret`. If the API refused it (request_error.h), first does
 * the same with IPAM_ALLOCATION_FAILED and the API's message in ctx->err, which stays; nothing if the claim
 * has a message about the same request ("REQUEST: ..."). If that fails, ctx->err has both errors. */
MUST_CHECK int ipam_report_refusal(struct controller_ctx *ctx, const struct ipam_claim *claim,
				   int ret);

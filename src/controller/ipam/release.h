/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a claim: its address is released, then the claim goes (CT-5). */
#pragma once

#include "base/compiler.h"
#include "controller/controller.h"
#include "controller/ipam/records.h"

/* Does the API have an address of the claim? 1: yes; 0: no; or an error, as reconcile. */
MUST_CHECK int ipam_has_address(struct controller_ctx *ctx, const struct ipam_claim *claim);
/* Removes the claim's address and our finalizer. The caller has checked that it may go now. */
MUST_CHECK int ipam_release_claim(struct controller_ctx *ctx, const struct ipam_claim *claim);
/* Removes an IPAddress with its finalizer, if it is the one with this uid. */
MUST_CHECK int ipam_remove_address(struct controller_ctx *ctx, const char *ns, const char *name,
				   const char *uid);
/* Removes an IPAddress that was made for a claim which no longer exists: a create that reached the
 * API after the claim's release leaves one. Others, such as those that a person made, stay. Reads
 * both from the API. */
MUST_CHECK int ipam_remove_orphan(struct controller_ctx *ctx, const struct ipam_address *address);

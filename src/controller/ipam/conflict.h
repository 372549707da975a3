/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two IPAddress objects with an address in common in one network; one may be of a prefix that has the other one's
 * address. Only two processes that both allocate can make these. At most one of them is ever bound, unless one is of another provider, which never gives way.
 *
 * A claim is bound only by a process whose watch shows its address and no other object with any of
 * its numbers. Of two objects the watch shows the earlier one first, so a controller that sees the later one sees
 * both. One of them then gives way. As another process may be about to bind just that one, having
 * seen it alone, it is rejected first: an annotation of its claim has its uid from then on, and
 * claims are bound only in the version that was read (claim_status.h). */
#pragma once

#include "base/compiler.h"
#include "controller/controller.h"
#include "controller/ipam/records.h"

enum ipam_conflict {
	IPAM_NO_CONFLICT, /* the claim may be bound, or is bound already */
	IPAM_MUST_WAIT,	  /* the other one gives way; not before that */
	IPAM_MUST_GO,	  /* ours gives way: it is rejected, and may be removed */
};

/* Looks for other objects with any of the address's numbers. Where there are any, or where the address is being
 * deleted, the claims are read from the API, since copies may be old. As reconcile. */
MUST_CHECK int ipam_find_conflict(struct controller_ctx *ctx, const struct ipam_claim *claim,
				  const struct ipam_address *address, const char *pool_key,
				  enum ipam_conflict *ret);

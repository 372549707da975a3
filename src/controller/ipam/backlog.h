/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which claims are queued, and when. A key in the queue of the controller takes more memory than the claim
 * itself, and there may be a hundred thousand claims.
 *
 * Claims that are bound, with an address as it should be, are not queued. Of new claims only some are in
 * the queue; the others are found in the watch's copy, a part of it at a time, while those are worked off.
 * Until the first pass, so while lists are read and another process leads, no claim is queued: that
 * pass goes over all claims and addresses. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "controller/controller.h"
#include "controller/ipam/records.h"

#define IPAM_BACKLOG_KEY "backlog"

struct ipam_backlog;

struct ipam_backlog *ipam_backlog_new(void);
void ipam_backlog_free(struct ipam_backlog *backlog);

/* Is the claim untouched: of our pools, not deleted or paused, without finalizer, conditions and address? */
bool ipam_is_new_claim(const struct ipam_claim *claim);
enum ipam_admission {
	IPAM_QUEUE_NOW,
	IPAM_START_BACKLOG, /* not now: IPAM_BACKLOG_KEY is queued instead */
	IPAM_QUEUE_LATER,   /* not now, and that key is queued already */
};

/* A new claim was seen: is its key to be queued? Any thread. */
enum ipam_admission ipam_backlog_admit(struct ipam_backlog *backlog);

/* Has the first pass begun, so that a change of a claim or an address has to be queued? If not, that pass
 * will find it; its key is queued by `emit`. Any thread. */
bool ipam_backlog_is_open(struct ipam_backlog *backlog, controller_emit emit, void *arg);
/* Passes were run that did nothing: the next pass of the backlog is a first one again. Its key is queued by
 * the next call of ipam_backlog_is_open. Any thread. */
void ipam_backlog_close(struct ipam_backlog *backlog);
/* Has the claim of this name, or the address, something to do? Not if it is bound and its address is as it
 * should be. Drops the turn of such a claim. Any thread. */
bool ipam_needs_pass(const struct controller_ctx *ctx, const char *ns, const char *name);
/* The pass of IPAM_BACKLOG_KEY: queues the next new claims, the first time all that have something to do.
 * As reconcile. */
MUST_CHECK int ipam_reconcile_backlog(struct controller_ctx *ctx);

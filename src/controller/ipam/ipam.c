/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ipam: allocates addresses of InClusterIPPools and GlobalInClusterIPPools, and prefixes of InClusterPrefixPools and
 * GlobalInClusterPrefixPools, to IPAddressClaims, with the name servers of the pool. docs/controllers/ipam.md describes it for users. */
#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "controller/controller.h"
#include "controller/ipam/admission.h"
#include "controller/ipam/backlog.h"
#include "controller/ipam/reconcile.h"
#include "controller/ipam/rival_check.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"

static const struct {
	struct slice prefix;
	int (*reconcile)(struct controller_ctx *ctx, const char *key);
} key_kinds[] = {
	{ { IPAM_CLAIM_KEY, sizeof(IPAM_CLAIM_KEY) - 1 }, ipam_reconcile_claim },
	{ { IPAM_POOL_KEY, sizeof(IPAM_POOL_KEY) - 1 }, ipam_reconcile_pool },
};

static int reconcile(struct controller_ctx *ctx, const char *key)
{
	if (strcmp(key, IPAM_RIVAL_KEY) == 0)
		return ipam_reconcile_rival(ctx);
	if (strcmp(key, IPAM_BACKLOG_KEY) == 0)
		return ipam_reconcile_backlog(ctx); /* writes nothing */
	if (ipam_rival_runs(ctx))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(key_kinds); i++) {
		if (slice_starts(slice_of(key), key_kinds[i].prefix))
			return key_kinds[i].reconcile(ctx, key + key_kinds[i].prefix.n);
	}
	return 0;
}

const struct controller ipam_controller = {
	.name = "ipam",
	.help = "allocates addresses and prefixes of in-cluster pools, with name servers, to "
		"IPAddressClaims",
	.watch = ipam_watches,
	.n_watch = IPAM_WATCHES,
	/* Writes at one time share a commit of the embedded API, and its threads find the next request instead of
	 * sleeping. A worker costs 140 KB while it runs. */
	.workers = 32,
	.rival_lease = { .ns = IPAM_RIVAL_NS, .name = IPAM_RIVAL_LEASE },
	.writes = { .per_s = 200, .burst = 400 },
	.reconcile = reconcile,
	.start = ipam_state_start,
	.stop = ipam_state_stop,
	.note = ipam_rival_note,
	.hooks = ipam_hooks,
	.n_hooks = IPAM_HOOKS,
};

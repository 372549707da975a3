/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks for the rival's Deployment in the copy that a watch keeps. */
#include "controller/example/rival_check.h"

#include "base/log.h"
#include "base/slice.h"
#include "controller/example/state.h"
#include "controller/shared/rival.h"
#include "kube/decode/tree.h"

bool example_rival_runs(const struct controller_ctx *ctx)
{
	struct example_state *state = ctx->state;
	struct kube_obj *found = kube_store_get(ctx->stores[EXAMPLE_RIVAL], slice_of(ctx->ns),
						SLICE(EXAMPLE_RIVAL_NAME));
	bool runs = rival_state_of(found != NULL ? kube_tree_of(found) : NULL) != RIVAL_NONE;
	kube_obj_unref(found);
	if (atomic_exchange(&state->rival_runs, runs) != runs)
		log_info(EXAMPLE_LOG_AREA, "the Deployment %s/%s %s", ctx->ns, EXAMPLE_RIVAL_NAME,
			 runs ? "runs, so nothing is written; to take over, scale it to 0"
			      : "does not run any more: taking over");
	return runs;
}

void example_rival_note(void *state, struct strbuf *out)
{
	const struct example_state *of = state;
	if (of->rival_runs)
		strbuf_adds(out, "controller example waits: the Deployment " EXAMPLE_RIVAL_NAME
				 " runs; to take over, scale it to 0\n");
}

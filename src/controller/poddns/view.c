/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a namespace's policy from the stores. */
#include "controller/poddns/view.h"

#include <string.h>

#include "api/meta.h"
#include "controller/controller.h"
#include "controller/poddns/names.h"
#include "controller/poddns/state.h"
#include "controller/poddns/watches.h"
#include "kube/decode/tree.h"

bool poddns_is_exempt(const struct controller_ctx *ctx, const char *ns)
{
	bool is_cluster = ctx->options == NULL || ctx->options->machine == NULL;
	return strcmp(ns, "kube-system") == 0 || (is_cluster && strcmp(ns, ctx->ns) == 0);
}

void poddns_view_open(const struct controller_ctx *ctx, const char *ns,
		      enum poddns_freshness freshness, struct poddns_view *ret)
{
	*ret = (struct poddns_view){ .entries = poddns_entries_cache_get(ctx, freshness) };
	arena_init(&ret->arena);
	poddns_cluster_gather(ctx, &ret->cluster);
	ret->object = kube_store_get(ctx->stores[PODDNS_WATCH_NAMESPACES], SLICE(""), slice_of(ns));
	if (ret->object == NULL)
		return;
	ret->ns = kube_tree_of(ret->object);
	const char *label = api_label(ret->ns, PODDNS_OPT_OUT_LABEL);
	ret->is_opted_out = label != NULL && strcmp(label, PODDNS_OPT_OUT) == 0;
	if (!ret->is_opted_out)
		poddns_policy_of(ret->ns, ret->entries, &ret->arena, &ret->policy, &ret->problems);
}

void poddns_view_close(struct poddns_view *view)
{
	poddns_entries_unref(view->entries);
	kube_obj_unref(view->object);
	arena_done(&view->arena);
}

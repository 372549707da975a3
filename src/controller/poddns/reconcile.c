/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes over the ConfigMap and a Namespace. */
#include "controller/poddns/reconcile.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/poddns/names.h"
#include "controller/poddns/pods.h"
#include "controller/poddns/publish.h"
#include "controller/poddns/report.h"
#include "controller/poddns/state.h"
#include "controller/poddns/view.h"
#include "controller/poddns/watches.h"
#include "kube/decode/tree.h"

/* ---- policies ---- */

/* Events of one object, reason and action are only counted, whatever they say: each field has an action of
 * its own, so that a new fault is seen beside one of a moment ago. */
static void emit_problem(struct controller_ctx *ctx, const json_t *regarding, const char *problem)
{
	const char *colon = strstr(problem, ": ");
	CLEANUP(freep)
	char *action = xasprintf("Read %.*s", (int)(colon != NULL ? colon - problem : 0), problem);
	poddns_emit_warning(ctx, regarding, "InvalidPodDNSPolicy", action, problem);
}

/* Reports problems once, until they are others. */
static void report_problems(struct controller_ctx *ctx, const char *key, const json_t *regarding,
			    const struct poddns_problems *problems)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	size_t shown = MIN(problems->n, (size_t)PODDNS_PROBLEMS_MAX);
	strbuf_adds(&text, "");
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(&text, "%s; ", problems->v[i]);
	if (problems->n > shown)
		strbuf_addf(&text, "and %zu more", problems->n - shown);
	if (!poddns_is_news(ctx->state, key, text.s))
		return;
	for (size_t i = 0; i < shown; i++)
		emit_problem(ctx, regarding, problems->v[i]);
	if (problems->n > shown)
		log_warn(PODDNS_LOG_AREA, "%s: %zu more invalid entries", key, problems->n - shown);
}

static int reconcile_policies(struct controller_ctx *ctx)
{
	struct kube_obj *map = kube_store_get(ctx->stores[PODDNS_WATCH_POLICIES], slice_of(ctx->ns),
					      SLICE(PODDNS_CONFIGMAP_NAME));
	if (map == NULL) {
		IGNORE(poddns_is_news(ctx->state, PODDNS_KEY_POLICIES, "")); /* which forgets it */
		return 0;
	}
	struct poddns_entries *entries = poddns_entries_cache_get(ctx, PODDNS_NEWEST);
	if (entries != NULL)
		report_problems(ctx, PODDNS_KEY_POLICIES, kube_tree_of(map),
				poddns_entries_problems(entries));
	poddns_entries_unref(entries);
	kube_obj_unref(map);
	return 0;
}

/* ---- namespaces ---- */

static int reconcile_namespace(struct controller_ctx *ctx, const char *key)
{
	const char *ns = key + strlen(PODDNS_KEY_NAMESPACE);
	struct poddns_view view;
	if (poddns_is_exempt(ctx, ns))
		return 0;
	poddns_view_open(ctx, ns, PODDNS_NEWEST, &view);
	if (view.ns != NULL && !api_is_deleting(view.ns)) {
		report_problems(ctx, key, view.ns, &view.problems);
		bool changes = poddns_changes_pods(&view);
		int r = poddns_publish_lists(ctx, &view);
		return r < 0 ? r : poddns_look_at_running(ctx, ns, changes);
	}
	IGNORE(poddns_is_news(ctx->state, key, "")); /* which forgets it */
	poddns_forget_lists(ctx, ns);
	poddns_forget_running(ctx, ns);
	poddns_view_close(&view);
	return 0;
}

int poddns_reconcile(struct controller_ctx *ctx, const char *key)
{
	if (strncmp(key, PODDNS_KEY_NAMESPACE, strlen(PODDNS_KEY_NAMESPACE)) == 0)
		return reconcile_namespace(ctx, key);
	if (strncmp(key, PODDNS_KEY_POD, strlen(PODDNS_KEY_POD)) == 0)
		return poddns_reconcile_pod(ctx, key);
	if (strncmp(key, PODDNS_KEY_LISTED, strlen(PODDNS_KEY_LISTED)) == 0) {
		poddns_forget_listed_pod(ctx, key);
		return 0;
	}
	return reconcile_policies(ctx);
}

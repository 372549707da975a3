/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judges pods by what the hook would do with them. */
#include "controller/poddns/pods.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/poddns/apply.h"
#include "controller/poddns/names.h"
#include "controller/poddns/report.h"
#include "controller/poddns/state.h"
#include "controller/poddns/view.h"
#include "controller/poddns/watches.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"
#include "kube/webhook/admission.h"

#define PODDNS_RUNNING_MAX "500"

bool poddns_changes_pods(const struct poddns_view *view)
{
	return (view->policy.set & ~(unsigned)PODDNS_PROFILE) != 0;
}

static bool lacks_policy(const struct poddns_view *view, const json_t *pod)
{
	struct admission_reply ignored = { .allowed = true, .warnings = json_array() };
	json_t *changed = poddns_apply_policy(view, pod, &ignored);
	bool lacks = !json_equal(changed, pod);
	json_decref(changed);
	json_decref(ignored.warnings);
	return lacks;
}

/* A pod that the hook would change was created without it: the hook was unreachable, or the policy
 * is newer than the pod. */
static void report_pod(struct controller_ctx *ctx, const json_t *pod)
{
	if (poddns_count_event(ctx->state, api_namespace(pod), clock_mono_ns()))
		poddns_emit_warning(
			ctx, pod, "PodDNSPolicyNotApplied", "ApplyPolicy",
			"created without the DNS policy of its namespace: the admission hook "
			"was unreachable, or the policy is newer; create the pod again to "
			"apply it");
}

static bool is_missed(const struct poddns_view *view, const json_t *pod)
{
	return view->ns != NULL && poddns_changes_pods(view) && !api_is_deleting(pod) &&
	       lacks_policy(view, pod);
}

int poddns_reconcile_pod(struct controller_ctx *ctx, const char *key)
{
	struct slice name = slice_of(key + strlen(PODDNS_KEY_POD));
	struct slice ns = slice_cut(&name, '/');
	CLEANUP(freep) char *ns_text = xstrndup(ns.p, ns.n);
	struct kube_obj *pod = kube_store_get(ctx->stores[PODDNS_WATCH_PENDING], ns, name);
	struct poddns_view view;
	if (pod == NULL) {
		IGNORE(poddns_is_news(ctx->state, key, "")); /* which forgets it */
		return 0;
	}
	if (!poddns_is_exempt(ctx, ns_text)) {
		poddns_view_open(ctx, ns_text, PODDNS_NEWEST, &view);
		const json_t *tree = kube_tree_of(pod);
		if (is_missed(&view, tree) && poddns_is_news(ctx->state, key, api_uid(tree)))
			report_pod(ctx, tree);
		poddns_view_close(&view);
	}
	kube_obj_unref(pod);
	return 0;
}

/* ---- pods that run ---- */

static bool is_seen(struct poddns_state *state, const char *ns)
{
	pthread_mutex_lock(&state->reported_lock);
	bool seen = map_has(&state->seen_namespaces, slice_of(ns));
	pthread_mutex_unlock(&state->reported_lock);
	return seen;
}

static void mark_seen(struct poddns_state *state, const char *ns)
{
	pthread_mutex_lock(&state->reported_lock);
	map_set(&state->seen_namespaces, slice_of(ns), state);
	pthread_mutex_unlock(&state->reported_lock);
}

void poddns_forget_running(struct controller_ctx *ctx, const char *ns)
{
	struct poddns_state *state = ctx->state;
	pthread_mutex_lock(&state->reported_lock);
	map_del(&state->seen_namespaces, slice_of(ns));
	pthread_mutex_unlock(&state->reported_lock);
	poddns_forget_events(state, ns);
}

static void judge_pods(struct controller_ctx *ctx, const char *ns, const json_t *pods)
{
	struct poddns_view view;
	size_t i;
	json_t *pod;
	poddns_view_open(ctx, ns, PODDNS_NEWEST, &view);
	json_array_foreach (pods, i, pod) {
		/* items of a list do not have them, and Events need them */
		json_object_set_new(pod, "apiVersion", json_string("v1"));
		json_object_set_new(pod, "kind", json_string("Pod"));
		if (is_missed(&view, pod))
			report_pod(ctx, pod);
	}
	poddns_view_close(&view);
}

int poddns_look_at_running(struct controller_ctx *ctx, const char *ns, bool changes)
{
	CLEANUP(freep)
	char *path = xasprintf("/api/v1/namespaces/%s/pods?fieldSelector=status.phase"
			       "%%3DRunning&limit=" PODDNS_RUNNING_MAX,
			       ns);
	struct kube_status status = { 0 };
	json_t *list = NULL;
	int r = 0;
	if (is_seen(ctx->state, ns))
		return 0;
	if (changes)
		r = kube_call(ctx->conn, &(struct kube_request){ .method = "GET", .path = path },
			      &list, &status);
	if (r == 0) {
		judge_pods(ctx, ns, json_object_get(list, "items"));
	} else if (r == ERR_LIMIT) {
		log_info(PODDNS_LOG_AREA, "the pods of %s are too large to look at them", ns);
		r = 0;
	} else {
		snprintf(ctx->err, sizeof(ctx->err), "cannot list the pods of %s: %.300s", ns,
			 status.message[0] != '\0' ? status.message : err_str(r));
	}
	if (r == 0)
		mark_seen(ctx->state, ns);
	kube_status_done(&status);
	json_decref(list);
	return r;
}

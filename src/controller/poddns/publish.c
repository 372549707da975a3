/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Publishes search lists: that of the policy, those that pods have, and for some minutes those that
 * nobody has any more. A pod carries the text of its list, so a list that was lost with the
 * annotation, or that a hook with an older copy of the Namespace handed out, is published again. Before
 * a list is dropped, the specs of pods are read: one may have lost its label. */
#include "controller/poddns/publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/poddns/names.h"
#include "controller/poddns/report.h"
#include "controller/poddns/search_lists.h"
#include "controller/poddns/spec_lists.h"
#include "controller/poddns/state.h"
#include "controller/poddns/view.h"
#include "controller/poddns/watches.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"

/* ---- which lists ---- */

static bool use_list_of(void *arg, struct kube_obj *pod)
{
	const json_t *tree = kube_tree_of(pod);
	const char *id = api_label(tree, PODDNS_LIST_LABEL);
	if (id != NULL)
		poddns_lists_use(arg, id, api_annotation(tree, PODDNS_LIST_TEXT_KEY));
	return true;
}

/* One Namespace while its lists are chosen; what it was read from stays valid. */
struct choice {
	struct kube_obj *object;
	const json_t *ns;
	const char *name;
	struct poddns_lists lists;
	struct dns_search_list own; /* the list for new pods; without any name: there is none */
	struct arena arena;
};

/* What is remembered of the namespace. */
static void take_memory(struct poddns_state *state, const char *ns, struct poddns_list_memory *ret)
{
	pthread_mutex_lock(&state->reported_lock);
	struct poddns_list_memory *known = map_del(&state->list_memory, slice_of(ns));
	pthread_mutex_unlock(&state->reported_lock);
	*ret = known != NULL ? *known : (struct poddns_list_memory){ 0 };
	free(known);
}

static void keep_memory(struct poddns_state *state, const char *ns,
			const struct poddns_list_memory *memory)
{
	if (memory->unused.n == 0 && memory->in_specs.n == 0)
		return;
	pthread_mutex_lock(&state->reported_lock);
	free(map_set(&state->list_memory, slice_of(ns), xmemdup(memory, sizeof(*memory))));
	pthread_mutex_unlock(&state->reported_lock);
}

static void open_choice(struct controller_ctx *ctx, const struct poddns_view *view,
			struct choice *ret)
{
	*ret = (struct choice){ .object = kube_obj_ref(view->object), .ns = view->ns };
	ret->name = api_name(ret->ns);
	arena_init(&ret->arena);
	poddns_lists_read(ret->ns, &ret->arena, &ret->lists);
	controller_each_by(ctx, PODDNS_WATCH_LISTED, PODDNS_LISTED_BY_NAMESPACE,
			   slice_of(ret->name), use_list_of, &ret->lists);
	if (!poddns_own_list(ret->name, view->cluster.domain, &view->policy, &ret->arena,
			     &ret->own))
		ret->own.n = 0;
}

static void close_choice(struct choice *choice)
{
	kube_obj_unref(choice->object);
	arena_done(&choice->arena);
}

/* Before a list is dropped pods are asked by their specs. */
static int choose_with_memory(struct controller_ctx *ctx, struct choice *choice,
			      struct poddns_list_memory *memory, struct strbuf *out, bool *ret_fits)
{
	const struct dns_search_list *own = choice->own.n != 0 ? &choice->own : NULL;
	const struct poddns_lists labelled = choice->lists;
	struct poddns_list_memory then = *memory;
	uint64_t now_ns = clock_mono_ns();
	*ret_fits = poddns_lists_choose(&choice->lists, own, now_ns, &then, &ctx->again_ns, out);
	if (poddns_lists_drops(&choice->lists, out->s)) {
		int r = poddns_spec_lists_find(ctx, choice->name, &choice->lists);
		if (r < 0)
			return r;
		then = *memory;
		poddns_lists_remember(&labelled, &choice->lists, now_ns, &then);
		memcpy(choice->lists.is_used, labelled.is_used, sizeof(labelled.is_used));
		*ret_fits = poddns_lists_choose(&choice->lists, own, now_ns, &then, &ctx->again_ns,
						out);
	}
	*memory = then;
	return 0;
}

static int choose_lists(struct controller_ctx *ctx, struct choice *choice, struct strbuf *out)
{
	CLEANUP(freep) char *key = xasprintf("lists/%s", choice->name);
	struct poddns_list_memory memory;
	bool fits = false;
	take_memory(ctx->state, choice->name, &memory);
	int r = choose_with_memory(ctx, choice, &memory, out, &fits);
	keep_memory(ctx->state, choice->name, &memory);
	if (r == 0 && poddns_is_news(ctx->state, key, fits ? "" : choice->own.id))
		poddns_emit_warning(
			ctx, choice->ns, "TooManySearchLists", "PublishSearchList",
			"pods use eight other search lists of this namespace; new pods get no "
			"virtual suffix until pods of one of them are gone");
	return r;
}

/* ---- pods whose list is not there ---- */

struct report {
	struct controller_ctx *ctx;
	const char *text; /* what is published */
};

static bool report_pod(void *arg, struct kube_obj *pod)
{
	const struct report *report = arg;
	struct poddns_state *state = report->ctx->state;
	const json_t *tree = kube_tree_of(pod);
	const char *id = api_label(tree, PODDNS_LIST_LABEL);
	if (id == NULL || api_is_deleting(tree) || poddns_lists_text_has(report->text, id))
		return true;
	CLEANUP(freep) char *key = xasprintf(PODDNS_KEY_LISTED "%s/%s", pod->ns, pod->name);
	CLEANUP(freep) char *counter = xasprintf(PODDNS_KEY_LISTED "%s", pod->ns);
	CLEANUP(freep)
	char *text = xasprintf(
		"the search list %.32s behind the pod's virtual suffix is not published, so its "
		"short "
		"names fail: there are eight others, or its annotation " PODDNS_LIST_TEXT_KEY
		" is not that list; create the pod again",
		id);
	if (poddns_is_news(state, key, api_uid(tree)) &&
	    poddns_count_event(state, counter, clock_mono_ns()))
		poddns_emit_warning(report->ctx, tree, "SearchListNotPublished",
				    "PublishSearchList", text);
	return true;
}

void poddns_forget_listed_pod(struct controller_ctx *ctx, const char *key)
{
	struct slice name = slice_of(key + strlen(PODDNS_KEY_LISTED));
	struct slice ns = slice_cut(&name, '/');
	struct kube_obj *pod = kube_store_get(ctx->stores[PODDNS_WATCH_LISTED], ns, name);
	if (pod == NULL)
		IGNORE(poddns_is_news(ctx->state, key, "")); /* which forgets it */
	kube_obj_unref(pod);
}

/* ---- the annotation ---- */

static int set_lists(void *ctx, json_t *copy)
{
	const char *text = ctx, *now = api_annotation(copy, PODDNS_SEARCH_LISTS_KEY);
	json_t *meta = json_object_get(copy, "metadata");
	json_t *annotations = json_object_get(meta, "annotations");
	if (api_is_deleting(copy) || strcmp(now != NULL ? now : "", text) == 0)
		return 0;
	if (annotations == NULL) {
		annotations = json_object();
		json_object_set_new(meta, "annotations", annotations);
	}
	if (text[0] != '\0')
		json_object_set_new(annotations, PODDNS_SEARCH_LISTS_KEY, json_string(text));
	else
		json_object_del(annotations, PODDNS_SEARCH_LISTS_KEY);
	return 1;
}

static int write_lists(struct controller_ctx *ctx, const char *ns, char *text)
{
	const struct kube_ref ref = { .kind = api_kind_find("", "Namespace"), .name = ns };
	struct kube_status status = { 0 };
	int r = kube_edit(ctx->conn, &ref, NULL, set_lists, text, &status);
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		snprintf(ctx->err, sizeof(ctx->err), "cannot write the search lists of %s: %.300s",
			 ns, status.message[0] != '\0' ? status.message : err_str(r));
	kube_status_done(&status);
	return r < 0 ? r : 0;
}

int poddns_publish_lists(struct controller_ctx *ctx, struct poddns_view *view)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct choice choice;
	open_choice(ctx, view, &choice);
	poddns_view_close(view);
	int r = choose_lists(ctx, &choice, &text);
	const char *now = api_annotation(choice.ns, PODDNS_SEARCH_LISTS_KEY);
	if (r == 0 && strcmp(now != NULL ? now : "", text.s) != 0)
		r = write_lists(ctx, choice.name, text.s);
	if (r == 0)
		controller_each_by(ctx, PODDNS_WATCH_LISTED, PODDNS_LISTED_BY_NAMESPACE,
				   slice_of(choice.name), report_pod,
				   &(struct report){ .ctx = ctx, .text = text.s });
	close_choice(&choice);
	return r;
}

void poddns_forget_lists(struct controller_ctx *ctx, const char *ns)
{
	struct poddns_list_memory memory;
	CLEANUP(freep) char *key = xasprintf("lists/%s", ns);
	CLEANUP(freep) char *counter = xasprintf(PODDNS_KEY_LISTED "%s", ns);
	take_memory(ctx->state, ns, &memory);
	poddns_forget_events(ctx->state, counter);
	IGNORE(poddns_is_news(ctx->state, key, "")); /* which forgets it */
}

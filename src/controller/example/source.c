/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds the finalizer before the first copy is made, removes it after the last one; keeps the condition
 * `Copied`, and emits an Event when it becomes bad or good. */
#include "controller/example/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/tree_copy.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/example/namespaces.h"
#include "controller/example/state.h"
#include "controller/shared/finalizer.h"
#include "controller/shared/transitions.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

static struct kube_ref source_ref(const struct controller_ctx *ctx)
{
	return (struct kube_ref){ .kind = api_kind_find("", "ConfigMap"),
				  .ns = ctx->ns,
				  .name = EXAMPLE_SOURCE_NAME };
}

/* Releases `st`. An object that is gone needs nothing. */
static int end_call(struct controller_ctx *ctx, int ret, struct kube_status *st)
{
	if (ret < 0 && ret != ERR_NOTFOUND)
		snprintf(ctx->err, sizeof(ctx->err), "%s",
			 st->message[0] != '\0' ? st->message : err_str(ret));
	kube_status_done(st);
	return ret == ERR_NOTFOUND ? 0 : MIN(ret, 0);
}

/* ---- the finalizer ---- */

bool example_source_is_ready(const struct kube_obj *source)
{
	return !api_is_deleting(kube_tree_of(source)) &&
	       api_has_finalizer(kube_tree_of(source), EXAMPLE_FINALIZER);
}

static bool find_copy(void *ctx, struct kube_obj *obj)
{
	bool *found = ctx;
	*found = strcmp(obj->name, EXAMPLE_COPY_NAME) == 0;
	return !*found;
}

static int add_finalizer(struct controller_ctx *ctx, const struct kube_obj *source)
{
	struct kube_ref ref = source_ref(ctx);
	struct kube_status st = { 0 };
	ref.uid = api_uid(kube_tree_of(source));
	int r = finalizer_add(ctx->conn, &ref, EXAMPLE_FINALIZER, &st);
	return end_call(ctx, r == ERR_GONE ? 0 : r, &st); /* the watch shows that it ends */
}

/* The deletion of each copy brings this key again. */
static int release_source(struct controller_ctx *ctx, const struct kube_obj *source)
{
	struct kube_ref ref = source_ref(ctx);
	struct kube_status st = { 0 };
	bool found = false;
	kube_store_each(ctx->stores[EXAMPLE_COPIES], find_copy, &found);
	if (found)
		return 0;
	ref.uid = api_uid(kube_tree_of(source));
	return end_call(ctx, finalizer_remove(ctx->conn, &ref, EXAMPLE_FINALIZER, &st), &st);
}

/* ---- the condition ---- */

void example_source_note_taken(const struct controller_ctx *ctx, const char *ns, bool taken)
{
	struct example_state *state = ctx->state;
	pthread_mutex_lock(&state->lock);
	bool changed = map_has(&state->taken, slice_of(ns)) != taken;
	if (taken)
		map_set(&state->taken, slice_of(ns), state);
	else
		map_del(&state->taken, slice_of(ns));
	pthread_mutex_unlock(&state->lock);
	if (changed)
		ctx->emit(ctx->emit_arg, EXAMPLE_SOURCE_KEY);
}

/* One of the Namespaces whose ConfigMap is not ours, or NULL; the caller frees it. */
static char *find_taken(struct example_state *state)
{
	size_t pos = 0;
	pthread_mutex_lock(&state->lock);
	const struct map_entry *entry = map_next(&state->taken, &pos);
	char *ns = entry != NULL ? xstrdup(entry->key) : NULL;
	pthread_mutex_unlock(&state->lock);
	return ns;
}

struct pending {
	const struct controller_ctx *ctx;
	bool found;
};

static bool find_pending(void *arg, struct kube_obj *obj)
{
	struct pending *pending = arg;
	struct kube_obj *copy = kube_store_get(pending->ctx->stores[EXAMPLE_COPIES],
					       slice_of(obj->name), SLICE(EXAMPLE_COPY_NAME));
	pending->found = copy == NULL;
	kube_obj_unref(copy);
	return !pending->found;
}

/* False: copies are still being made, and the condition stays as it is. `message` gets its text. */
static bool judge_copies(const struct controller_ctx *ctx, struct api_condition *ret,
			 struct strbuf *message)
{
	struct pending pending = { .ctx = ctx };
	CLEANUP(freep) char *taken = find_taken(ctx->state);
	*ret = (struct api_condition){ .type = "Copied", .has_updated_time = true };
	if (taken != NULL) {
		strbuf_addf(message,
			    "Namespace '%s' has a ConfigMap '%s' of another program; delete or "
			    "rename it.",
			    taken, EXAMPLE_COPY_NAME);
		ret->status = API_FALSE;
		ret->reason = "NameTaken";
	} else {
		controller_each_by(ctx, EXAMPLE_NAMESPACES, 0, SLICE("Active"), find_pending,
				   &pending);
		strbuf_addf(message, "Each Namespace with the label %s=true has a copy.",
			    EXAMPLE_LABEL);
		ret->status = API_TRUE;
		ret->reason = "AllCopied";
	}
	ret->message = message->s;
	return !pending.found;
}

/* ---- the status ---- */

/* The object's status as an object with conditions; a malformed one is replaced. */
static json_t *read_status(const json_t *source)
{
	const char *text = api_annotation(source, EXAMPLE_STATUS_ANNOTATION);
	json_t *status = text != NULL ? json_loads(text, 0, NULL) : NULL;
	if (!json_is_array(json_object_get(status, "conditions"))) {
		json_decref(status);
		status = json_pack("{s:[]}", "conditions");
	}
	return json_pack("{s:o}", "status", status);
}

struct change {
	const struct api_condition *condition;
	json_t *before, *after; /* what kube_edit changed last */
};

static void change_done(struct change *change)
{
	json_decref(change->before);
	json_decref(change->after);
}

/* For kube_edit, and for a comparison with the store's copy: 1 when the status differs. */
static int set_status(void *ctx, json_t *source)
{
	struct change *change = ctx;
	change_done(change);
	change->before = read_status(source);
	change->after = api_tree_copy(change->before);
	json_t *status = json_object_get(change->after, "status");
	if (!api_condition_set(json_object_get(status, "conditions"), change->condition,
			       clock_wall_ns()))
		return 0;
	json_t *metadata = json_object_get(source, "metadata");
	if (!json_is_object(json_object_get(metadata, "annotations")))
		json_object_set_new(metadata, "annotations", json_object());
	CLEANUP(freep) char *text = json_dumps(status, JSON_COMPACT | JSON_SORT_KEYS);
	json_object_set_new(json_object_get(metadata, "annotations"), EXAMPLE_STATUS_ANNOTATION,
			    json_string(text));
	return 1;
}

static void emit_transitions(const struct controller_ctx *ctx, const struct kube_obj *source,
			     const struct change *change)
{
	static const struct transition_row rows[] = {
		{ "Copied", { [API_FALSE] = true }, true, "AllCopied", "", "" },
	};
	struct transition found[ARRAY_LEN(rows)];
	size_t n = transitions_find(rows, ARRAY_LEN(rows), change->before, change->after, found);
	for (size_t i = 0; ctx->events != NULL && i < n; i++)
		events_emit(ctx->events,
			    &(struct event){ .regarding = kube_tree_of(source),
					     .warning = found[i].warning,
					     .reason = found[i].reason,
					     .action = "Copy" },
			    "%s", found[i].message);
}

static int write_status(struct controller_ctx *ctx, const struct kube_obj *source)
{
	CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
	CLEANUP(change_done) struct change change = { 0 };
	struct kube_ref ref = source_ref(ctx);
	struct kube_status st = { 0 };
	struct api_condition condition;
	if (!judge_copies(ctx, &condition, &message))
		return 0;
	change.condition = &condition;
	json_t *copy = api_tree_copy(kube_tree_of(source));
	int differs = set_status(&change, copy);
	json_decref(copy);
	if (differs == 0)
		return 0;
	kube_conn_set_patient(ctx->conn, true); /* copies come first */
	int r = end_call(ctx, kube_edit(ctx->conn, &ref, NULL, set_status, &change, &st), &st);
	kube_conn_set_patient(ctx->conn, false);
	if (r == 0)
		emit_transitions(ctx, source, &change);
	return r;
}

int example_reconcile_source(struct controller_ctx *ctx)
{
	struct kube_obj *source = kube_store_get(ctx->stores[EXAMPLE_SOURCE], slice_of(ctx->ns),
						 SLICE(EXAMPLE_SOURCE_NAME));
	int r = 0;
	if (source == NULL)
		return 0;
	if (example_source_is_ready(source))
		r = write_status(ctx, source);
	else if (!api_is_deleting(kube_tree_of(source)))
		r = add_finalizer(ctx, source);
	else if (api_has_finalizer(kube_tree_of(source), EXAMPLE_FINALIZER))
		r = release_source(ctx, source);
	kube_obj_unref(source);
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the copy that a Namespace should have and writes it where it differs. A ConfigMap of another
 * program is never changed. */
#include "controller/example/copies.h"

#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree_copy.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/engine.h"
#include "controller/example/addresses.h"
#include "controller/example/drift.h"
#include "controller/example/known_addresses.h"
#include "controller/example/last_copy.h"
#include "controller/example/namespaces.h"
#include "controller/example/source.h"
#include "controller/example/state.h"
#include "controller/shared/object_contains.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

enum { TAKEN_AGAIN_S = 300 };

/* The objects a key is about; members may be NULL. */
struct view {
	struct kube_obj *ns, *source, *copy;
	json_t *identity; /* of the Namespace, for Events and ownerReferences */
};

static struct view view_of(const struct controller_ctx *ctx, const char *key)
{
	struct view view = {
		.ns = kube_store_get(ctx->stores[EXAMPLE_NAMESPACES], SLICE(""), slice_of(key)),
		.source = kube_store_get(ctx->stores[EXAMPLE_SOURCE], slice_of(ctx->ns),
					 SLICE(EXAMPLE_SOURCE_NAME)),
		.copy = kube_store_get(ctx->stores[EXAMPLE_COPIES], slice_of(key),
				       SLICE(EXAMPLE_COPY_NAME)),
	};
	if (view.ns != NULL)
		view.identity = kube_record_identity(kube_record_of(view.ns));
	return view;
}

static void view_done(struct view *view)
{
	kube_obj_unref(view->ns);
	kube_obj_unref(view->source);
	kube_obj_unref(view->copy);
	json_decref(view->identity);
}

static int set_error(struct controller_ctx *ctx, int ret, const struct kube_status *st)
{
	snprintf(ctx->err, sizeof(ctx->err), "%s",
		 st->message[0] != '\0' ? st->message : err_str(ret));
	return ret;
}

/* ---- what should be ---- */

/* `addresses` may be NULL. The Namespace owns it. */
static json_t *make_copy(const char *ns, const struct view *view, const char *addresses)
{
	json_t *copy = json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}, s:[o]}}", "apiVersion", "v1",
				 "kind", "ConfigMap", "metadata", "name", EXAMPLE_COPY_NAME,
				 "namespace", ns, "labels", EXAMPLE_MANAGED_BY, EXAMPLE_MANAGER,
				 "ownerReferences", api_owner_reference(view->identity));
	json_t *data = json_object_get(kube_tree_of(view->source), "data");
	if (data != NULL)
		json_object_set_new(copy, "data", api_tree_copy(data)); /* trees are shared */
	if (addresses != NULL)
		json_object_set_new(json_object_get(copy, "metadata"), "annotations",
				    json_pack("{s:s}", EXAMPLE_ADDRESSES_ANNOTATION, addresses));
	return copy;
}

/* What others added to the metadata is theirs; all data is ours. */
static bool is_as_wanted(const json_t *copy, const json_t *wanted)
{
	const json_t *data = json_object_get(copy, "data");
	const json_t *wanted_data = json_object_get(wanted, "data");
	bool same_data = data == wanted_data || json_equal(data, wanted_data) != 0;
	bool has_addresses = api_annotation(copy, EXAMPLE_ADDRESSES_ANNOTATION) != NULL;
	bool wants_addresses = api_annotation(wanted, EXAMPLE_ADDRESSES_ANNOTATION) != NULL;
	return same_data && has_addresses == wants_addresses && object_contains(copy, wanted);
}

/* ---- writing ---- */

static int write_copy(struct controller_ctx *ctx, const struct kube_ref *ref,
		      const struct view *view, const json_t *wanted)
{
	struct kube_status st = { 0 };
	json_t *made = NULL;
	int r = kube_apply_identity(ctx->conn, ref, EXAMPLE_MANAGER, wanted, &made, &st);
	example_drift_applied(ctx, ref->ns, made);
	if (r < 0)
		r = set_error(ctx, r, &st);
	else if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){ .regarding = made,
					     .reason = "Copied",
					     .action = view->copy == NULL ? "Create" : "Update" },
			    "copied from %s/%s", ctx->ns, EXAMPLE_SOURCE_NAME);
	if (r >= 0)
		example_save_last_copy(ctx, ref->ns);
	kube_status_done(&st);
	json_decref(made);
	return r;
}

static int remove_copy(struct controller_ctx *ctx, const struct kube_ref *ref,
		       const struct kube_obj *copy)
{
	struct kube_status st = { 0 };
	/* The one we know, not one that took its place meanwhile. */
	struct kube_delete_opts opts = { .uid = api_uid(kube_tree_of(copy)) };
	int r = kube_delete(ctx->conn, ref, &opts, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = set_error(ctx, r, &st);
	kube_status_done(&st);
	return r;
}

/* ---- whose is it? ---- */

enum place { PLACE_FREE, PLACE_OURS, PLACE_TAKEN };

/* The store has no copy; the server may know better. */
static int find_place(struct controller_ctx *ctx, const struct kube_ref *ref, enum place *ret)
{
	struct kube_status st = { 0 };
	json_t *found = NULL;
	int r = kube_get(ctx->conn, ref, &found, &st);
	if (r == 0) {
		const char *by = api_label(found, EXAMPLE_MANAGED_BY);
		*ret = by != NULL && strcmp(by, EXAMPLE_MANAGER) == 0 ? PLACE_OURS : PLACE_TAKEN;
	} else if (r == ERR_NOTFOUND) {
		*ret = PLACE_FREE;
		r = 0;
	} else {
		r = set_error(ctx, r, &st);
	}
	kube_status_done(&st);
	json_decref(found);
	return r;
}

static void report_taken(struct controller_ctx *ctx, const struct view *view)
{
	if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){ .regarding = view->identity,
					     .warning = true,
					     .reason = "NameTaken",
					     .action = "Create" },
			    "a ConfigMap '%s' exists that is not ours", EXAMPLE_COPY_NAME);
	ctx->again_ns = TAKEN_AGAIN_S * NS_PER_S;
}

static int make_as_wanted(struct controller_ctx *ctx, const struct kube_ref *ref,
			  const struct view *view, const json_t *wanted)
{
	enum place place = PLACE_OURS;
	int r = view->copy == NULL ? find_place(ctx, ref, &place) : 0;
	if (r < 0)
		return r;
	example_source_note_taken(ctx, ref->ns, place == PLACE_TAKEN);
	if (place == PLACE_TAKEN) {
		report_taken(ctx, view);
		return 0;
	}
	if (view->copy == NULL && place == PLACE_OURS)
		return 0; /* its watch shows it soon */
	if (view->copy != NULL && (is_as_wanted(kube_tree_of(view->copy), wanted) ||
				   example_drift_is_outdated(ctx, ref->ns, view->copy->rv)))
		return 0;
	uint64_t delay = example_drift_delay(ctx, ref->ns, wanted);
	if (delay != 0) { /* another writer keeps changing it */
		ctx->again_ns = delay;
		return 0;
	}
	return write_copy(ctx, ref, view, wanted);
}

/* ---- reconcile ---- */

/* 1: the addresses come later. *ret: NULL for none; points into `text` or the copy. */
static int choose_addresses(struct controller_ctx *ctx, const char *key, const struct view *view,
			    struct strbuf *text, const char **ret)
{
	*ret = NULL;
	switch (example_addresses_of(ctx, key, example_namespace_of(view->ns)->lookup,
				     view->identity, text)) {
	case EXAMPLE_LATER:
		return 1;
	case EXAMPLE_FOUND:
		*ret = strbuf_slice(text).p;
		break;
	case EXAMPLE_FAILED: /* those of the process before stay */
		if (view->copy != NULL)
			*ret = api_annotation(kube_tree_of(view->copy),
					      EXAMPLE_ADDRESSES_ANNOTATION);
		break;
	case EXAMPLE_NO_LOOKUP:
		break;
	}
	return 0;
}

static void forget_namespace(const struct controller_ctx *ctx, const char *ns)
{
	engine_drop(ctx->engine, ns);
	example_forget_addresses(ctx, ns);
	example_source_note_taken(ctx, ns, false);
	example_drift_forget(ctx, ns);
}

int example_reconcile_namespace(struct controller_ctx *ctx, const char *key)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = key,
				.name = EXAMPLE_COPY_NAME };
	example_drift_begin(ctx, key);
	CLEANUP(view_done) struct view view = view_of(ctx, key);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const char *addresses;
	if (view.ns != NULL && kube_record_of(view.ns)->deleted_ns != 0)
		return 0; /* all of it goes anyway, and nothing can be made there */
	if (view.ns == NULL || view.source == NULL || api_is_deleting(kube_tree_of(view.source))) {
		forget_namespace(ctx, key);
		return view.copy != NULL ? remove_copy(ctx, &ref, view.copy) : 0;
	}
	if (!example_source_is_ready(view.source))
		return 0; /* its own key adds the finalizer, and that change brings this one again */
	if (choose_addresses(ctx, key, &view, &text, &addresses) != 0)
		return 0;
	json_t *wanted = make_copy(key, &view, addresses);
	int r = make_as_wanted(ctx, &ref, &view, wanted);
	json_decref(wanted);
	return r;
}

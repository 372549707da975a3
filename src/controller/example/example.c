/* SPDX-License-Identifier: GPL-3.0-or-later */
/* example: keeps a copy of one ConfigMap in each Namespace that asks for it by a label, with the
 * addresses of a name that the Namespace may have in an annotation. The smallest complete controller
 * that uses each part of the interface: docs/controllers.md walks through it. */
#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/controller.h"
#include "controller/engine.h"
#include "controller/example/addresses.h"
#include "controller/example/last_copy.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

#define LABEL	    "example.fairlead.dev/copy"
#define MANAGED	    "app.kubernetes.io/managed-by"
#define MANAGER	    "fairlead-example"
#define SOURCE_NAME "fairlead-example"
#define COPY_NAME   "fairlead-example-copy"

enum { TAKEN_AGAIN_S = 300 };

/* ---- watches ---- */

enum { NAMESPACES, SOURCE, COPIES };

static const char *const namespace_paths[] = { "metadata.labels", "metadata.annotations",
					       "status.phase", NULL };

/* The key of a copy is the name of its namespace. */
static void keys_of_copy(const struct controller_ctx *ctx, const struct kube_obj *object,
			 controller_emit emit, void *arg)
{
	(void)ctx;
	emit(arg, object->ns);
}

struct emit_all {
	controller_emit emit;
	void *arg;
};

static bool emit_name(void *ctx, struct kube_obj *obj)
{
	struct emit_all *e = ctx;
	e->emit(e->arg, obj->name);
	return true;
}

/* An index of the Namespaces: those that are being deleted need no visit. */
enum { BY_PHASE };

static void phase_of_namespace(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	const char *phase = api_get_string(kube_tree_of(obj), "status.phase");
	emit(ctx, slice_of(phase[0] != '\0' ? phase : "Active"));
}

static const kube_index_fn namespace_indexes[] = { [BY_PHASE] = phase_of_namespace };

/* When the source changes, all copies do. */
static void keys_of_source(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	struct emit_all e = { emit, arg };
	(void)object;
	controller_each_by(ctx, NAMESPACES, BY_PHASE, SLICE("Active"), emit_name, &e);
}

static const struct controller_watch watches[] = {
	[NAMESPACES] = { "", "Namespace", .labels = LABEL "=true", .paths = namespace_paths,
			 .indexes = namespace_indexes, .n_indexes = ARRAY_LEN(namespace_indexes) },
	[SOURCE] = { "", "ConfigMap", .own_ns = true, .fields = "metadata.name=" SOURCE_NAME,
		     .keys = keys_of_source },
	[COPIES] = { "", "ConfigMap", .labels = MANAGED "=" MANAGER, .keys = keys_of_copy },
};

/* ---- reconcile ---- */

/* The three objects a key is about; members may be NULL. */
struct view {
	struct kube_obj *ns, *source, *copy;
};

static struct view view_of(const struct controller_ctx *ctx, const char *key)
{
	return (struct view){
		.ns = kube_store_get(ctx->stores[NAMESPACES], SLICE(""), slice_of(key)),
		.source =
			kube_store_get(ctx->stores[SOURCE], slice_of(ctx->ns), SLICE(SOURCE_NAME)),
		.copy = kube_store_get(ctx->stores[COPIES], slice_of(key), SLICE(COPY_NAME)),
	};
}

static void view_done(struct view *view)
{
	kube_obj_unref(view->ns);
	kube_obj_unref(view->source);
	kube_obj_unref(view->copy);
}

static bool same_data(const struct kube_obj *left, const struct kube_obj *right)
{
	const json_t *x = json_object_get(kube_tree_of(left), "data");
	const json_t *y = json_object_get(kube_tree_of(right), "data");
	return x == y || (x != NULL && y != NULL && json_equal(x, y));
}

static bool same_addresses(const struct kube_obj *copy, const char *addresses)
{
	const char *now = api_annotation(kube_tree_of(copy), EXAMPLE_ADDRESSES_ANNOTATION);
	return now == addresses ||
	       (now != NULL && addresses != NULL && strcmp(now, addresses) == 0);
}

static int set_error(struct controller_ctx *ctx, int ret, const struct kube_status *st)
{
	snprintf(ctx->err, sizeof(ctx->err), "%s",
		 st->message[0] != '\0' ? st->message : err_str(ret));
	return ret;
}

/* An object of another writer must not be overwritten. 1: there is one. */
static int is_taken(struct controller_ctx *ctx, const struct kube_ref *ref)
{
	struct kube_status st = { 0 };
	json_t *o = NULL;
	int r = kube_get(ctx->conn, ref, &o, &st);
	if (r == 0) {
		const char *by = api_label(o, MANAGED);
		r = by == NULL || strcmp(by, MANAGER) != 0;
	} else if (r == ERR_NOTFOUND) {
		r = 0;
	} else {
		r = set_error(ctx, r, &st);
	}
	kube_status_done(&st);
	json_decref(o);
	return r;
}

/* `addresses` may be NULL. */
static json_t *make_copy(const char *ns, const json_t *source, const char *addresses)
{
	json_t *o = json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}}", "apiVersion", "v1", "kind",
			      "ConfigMap", "metadata", "name", COPY_NAME, "namespace", ns, "labels",
			      MANAGED, MANAGER);
	json_t *data = json_object_get(source, "data");
	if (data != NULL)
		json_object_set(o, "data", data);
	if (addresses != NULL)
		json_object_set_new(json_object_get(o, "metadata"), "annotations",
				    json_pack("{s:s}", EXAMPLE_ADDRESSES_ANNOTATION, addresses));
	return o;
}

static int write_copy(struct controller_ctx *ctx, const struct kube_ref *ref,
		      const struct view *view, const char *addresses)
{
	struct kube_status st = { 0 };
	json_t *o = make_copy(ref->ns, kube_tree_of(view->source), addresses), *now = NULL;
	int r = kube_apply(ctx->conn, ref, NULL, MANAGER, o, &now, &st);
	if (r < 0)
		r = set_error(ctx, r, &st);
	else if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){ .regarding = now,
					     .reason = "Copied",
					     .action = view->copy == NULL ? "Create" : "Update" },
			    "copied from %s/%s", ctx->ns, SOURCE_NAME);
	if (r >= 0)
		example_save_last_copy(ctx, ref->ns);
	kube_status_done(&st);
	json_decref(o);
	json_decref(now);
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

static int report_taken(struct controller_ctx *ctx, const struct view *view)
{
	if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){ .regarding = kube_tree_of(view->ns),
					     .warning = true,
					     .reason = "NameTaken",
					     .action = "Create" },
			    "a ConfigMap '%s' exists that is not ours", COPY_NAME);
	ctx->again_ns = TAKEN_AGAIN_S * NS_PER_S;
	return 0;
}

static int make_as_wanted(struct controller_ctx *ctx, const struct kube_ref *ref,
			  const struct view *view, const char *addresses)
{
	if (view->copy != NULL && same_data(view->copy, view->source) &&
	    same_addresses(view->copy, addresses))
		return 0;
	int r = view->copy == NULL ? is_taken(ctx, ref) : 0;
	if (r < 0)
		return r;
	return r == 0 ? write_copy(ctx, ref, view, addresses) : report_taken(ctx, view);
}

static int reconcile_namespace(struct controller_ctx *ctx, const char *key)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = key,
				.name = COPY_NAME };
	CLEANUP(view_done) struct view v = view_of(ctx, key);
	bool ending = v.ns != NULL && api_is_deleting(kube_tree_of(v.ns));
	if (ending)
		return 0; /* all of it goes anyway, and nothing can be made there */
	if (v.ns == NULL || v.source == NULL) {
		engine_drop(ctx->engine, key);
		return v.copy != NULL ? remove_copy(ctx, &ref, v.copy) : 0;
	}
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const char *addresses = NULL;
	switch (example_addresses_of(ctx, key, kube_tree_of(v.ns), &text)) {
	case EXAMPLE_LATER:
		return 0;
	case EXAMPLE_FOUND:
		addresses = strbuf_slice(&text).p;
		break;
	case EXAMPLE_FAILED: /* the last ones stay */
		addresses = v.copy != NULL ? api_annotation(kube_tree_of(v.copy),
							    EXAMPLE_ADDRESSES_ANNOTATION)
					   : NULL;
		break;
	case EXAMPLE_NO_LOOKUP:
		break;
	}
	return make_as_wanted(ctx, &ref, &v, addresses);
}

/* ---- web hooks ---- */

static const char *label_of(const json_t *object)
{
	const char *v = api_label(object, LABEL);
	return v != NULL ? v : "";
}

static void check_label(void *ctx, const struct admission_request *req,
			struct admission_reply *reply)
{
	const char *v = label_of(req->object);
	(void)ctx;
	if (v[0] != '\0' && strcmp(v, "true") != 0 && strcmp(v, "false") != 0)
		admission_refuse(reply, "label %s is 'true' or 'false', not '%s'", LABEL, v);
}

/* Words that people write. */
static void spell_label(void *ctx, const struct admission_request *req,
			struct admission_reply *reply)
{
	static const char *const words[][2] = { { "yes", "true" }, { "no", "false" } };
	(void)ctx;
	for (size_t i = 0; reply->object != NULL && i < ARRAY_LEN(words); i++) {
		if (strcmp(label_of(req->object), words[i][0]) == 0)
			json_object_set_new(api_get(reply->object, "metadata.labels"), LABEL,
					    json_string(words[i][1]));
	}
}

#define HOOK_NAME "namespaces.example.fairlead.dev"

static const struct admission_hook hooks[] = {
	{ ADMISSION_VALIDATE, HOOK_NAME, "", "Namespace", .review = check_label },
	{ ADMISSION_MUTATE, HOOK_NAME, "", "Namespace", .review = spell_label },
};

const struct controller example_controller = {
	.name = "example",
	.help = "copies a ConfigMap into labelled Namespaces; an example of a controller",
	.by_name_only = true,
	.watch = watches,
	.n_watch = ARRAY_LEN(watches),
	.has_engine = true,
	.reconcile = reconcile_namespace,
	.hooks = hooks,
	.n_hooks = ARRAY_LEN(hooks),
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deletion of a namespace: deletes its objects kind by kind, writes the conditions that kubectl
 * shows meanwhile, and removes the namespace when it is empty. */
#include "apiserver/controllers/collector_namespace.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "apiserver/verb/write.h"
#include "base/clock.h"
#include "base/mem.h"

struct emptying {
	struct apiserver_collector *collector;
	const struct apiserver_resource *resource;
	const char *ns;
	json_t *found;	    /* [name, uid, ...] of objects that are not being deleted yet */
	size_t left;	    /* number of objects */
	json_t *finalizers; /* finalizer to number of objects that have it */
	json_t *kinds;	    /* resource to number of objects */
	bool fine;
};

static void increment_count(json_t *counts, const char *key)
{
	json_object_set_new(counts, key,
			    json_integer(json_integer_value(json_object_get(counts, key)) + 1));
}

static int collect_row(void *ctx, const struct apiserver_row *row)
{
	struct emptying *emptying = ctx;
	json_t *o = json_loadb(row->value.p, row->value.n, 0, NULL), *v;
	CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;
	size_t i;
	emptying->left++;
	/* With a dot even without a group, as kube-controller-manager writes it. */
	strbuf_addf(&kind, "%s.%s", emptying->resource->kind->plural,
		    emptying->resource->kind->group);
	increment_count(emptying->kinds, kind.s);
	json_array_foreach (api_get(o, "metadata.finalizers"), i, v)
		increment_count(emptying->finalizers, api_text(v));
	if (!api_is_deleting(o)) {
		json_array_append_new(emptying->found, json_string(api_name(o)));
		json_array_append_new(emptying->found, json_string(api_uid(o)));
	}
	json_decref(o);
	return 0;
}

/* Deletes all objects of one kind. */
static void empty_kind(struct emptying *emptying)
{
	CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
	uint64_t at;
	emptying->found = json_array();
	apiserver_key(&prefix, emptying->resource->kind, emptying->ns, NULL);
	if (apiserver_store_list(emptying->collector->api->store,
				 &(struct apiserver_range){ .prefix = prefix.s }, collect_row,
				 emptying, &at, NULL) < 0)
		emptying->fine = false;
	for (size_t i = 0; i + 1 < json_array_size(emptying->found); i += 2)
		emptying->fine =
			!apiserver_follower_is_ending(emptying->collector->running) &&
			collector_delete(emptying->collector, emptying->resource, emptying->ns,
					 api_text(json_array_get(emptying->found, i)),
					 api_text(json_array_get(emptying->found, i + 1)),
					 "Background") &&
			emptying->fine;
	json_decref(emptying->found);
}

static void empty_all(struct emptying *emptying)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	json_decref(emptying->finalizers);
	json_decref(emptying->kinds);
	emptying->finalizers = json_object();
	emptying->kinds = json_object();
	emptying->left = 0;
	for (size_t i = 0; i < n; i++) {
		emptying->resource = rows[i];
		if (emptying->resource->stored == emptying->resource &&
		    emptying->resource->kind->namespaced)
			empty_kind(emptying);
	}
}

/* ---- conditions ---- */

static json_t *make_condition(const char *type, bool is, const char *reason, const char *message)
{
	char now[API_TIME_TEXT_MAX];
	return json_pack("{ss,ss,ss,ss,ss}", "type", type, "status", is ? "True" : "False",
			 "lastTransitionTime", api_time_format(clock_wall_ns(), now), "reason",
			 reason, "message", message);
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorted, so that equal counts give equal texts. */
static void add_counts(struct strbuf *out, const json_t *counts, const char *behind)
{
	size_t n = 0;
	char **lines = xcalloc(json_object_size(counts) + 1, sizeof(*lines));
	const char *key;
	json_t *v;
	json_object_foreach ((json_t *)(uintptr_t)counts, key, v)
		lines[n++] = xasprintf("%s %s%lld resource instances", key, behind,
				       (long long)json_integer_value(v));
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "%s%s", i != 0 ? ", " : "", lines[i]);
		free(lines[i]);
	}
	free(lines);
}

static json_t *make_conditions(const struct emptying *emptying)
{
	CLEANUP(strbuf_done) struct strbuf kinds = STRBUF_INIT, finalizers = STRBUF_INIT;
	bool kept = json_object_size(emptying->finalizers) != 0;
	strbuf_adds(&kinds, emptying->left != 0 ? "Some resources are remaining: "
						: "All content successfully removed");
	add_counts(&kinds, emptying->kinds, "has ");
	strbuf_adds(&finalizers, kept ? "Some content in the namespace has finalizers remaining: "
				      : "All content-preserving finalizers finished");
	add_counts(&finalizers, emptying->finalizers, "in ");
	return json_pack(
		"[ooooo]",
		make_condition("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
			       "All resources successfully discovered"),
		make_condition("NamespaceDeletionGroupVersionParsingFailure", false,
			       "ParsedGroupVersions", "All legacy kube types successfully parsed"),
		make_condition("NamespaceDeletionContentFailure", false, "ContentDeleted",
			       "All content successfully deleted, may be waiting on finalization"),
		make_condition("NamespaceContentRemaining", emptying->left != 0,
			       emptying->left != 0 ? "SomeResourcesRemain" : "ContentRemoved",
			       kinds.s),
		make_condition("NamespaceFinalizersRemaining", kept,
			       kept ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
			       finalizers.s));
}

static bool is_same_text(const json_t *left, const json_t *right, const char *key)
{
	return strcmp(api_get_string(left, key), api_get_string(right, key)) == 0;
}

/* Conditions with the same status keep their time. True: nothing has changed. */
static bool keep_times(const json_t *old, json_t *now)
{
	bool all = json_array_size(old) == json_array_size(now);
	for (size_t i = 0; i < json_array_size(now); i++) {
		const json_t *was = json_array_get(old, i);
		json_t *is = json_array_get(now, i);
		bool kept = is_same_text(was, is, "type") && is_same_text(was, is, "status");
		if (kept)
			json_object_set(is, "lastTransitionTime",
					json_object_get(was, "lastTransitionTime"));
		all = all && kept && is_same_text(was, is, "message");
	}
	return all;
}

static bool write_conditions(const struct emptying *emptying, struct collector_item *item)
{
	json_t *now = make_conditions(emptying), *status = json_object_get(item->object, "status");
	bool fine = true;
	if (keep_times(json_object_get(status, "conditions"), now)) {
		json_decref(now);
	} else {
		json_object_set_new(status, "conditions", now);
		fine = apiserver_write_plain(emptying->collector->api, item->resource, item->object,
					     item->revision, NULL) == 0;
	}
	return fine;
}

/* ---- finalization ---- */

static bool finalize_namespace(struct apiserver_collector *collector, struct collector_item *item)
{
	json_t *spec = json_object_get(item->object, "spec"), *was = json_deep_copy(item->object),
	       *v;
	json_t *left = json_array();
	size_t k;
	json_array_foreach (json_object_get(spec, "finalizers"), k, v) {
		if (strcmp(api_text(v), "kubernetes") != 0)
			json_array_append(left, v);
	}
	bool changed =
		json_array_size(left) != json_array_size(json_object_get(spec, "finalizers"));
	if (json_array_size(left) != 0)
		json_object_set(spec, "finalizers", left);
	else
		json_object_del(spec, "finalizers");
	int e = 0;
	if (apiserver_write_is_finalized(item->resource, item->object))
		e = apiserver_write_removal(collector->api, item->resource, was, item->revision,
					    NULL);
	else if (changed)
		e = apiserver_write_plain(collector->api, item->resource, item->object,
					  item->revision, NULL);
	json_decref(left);
	json_decref(was);
	return e == 0;
}

bool collector_empty_namespace(struct apiserver_collector *collector, struct collector_item *item)
{
	struct emptying emptying = { .collector = collector, .ns = item->name, .fine = true };
	empty_all(&emptying);
	if (emptying.left != 0) /* objects without finalizers are gone now: count again */
		empty_all(&emptying);
	bool fine = emptying.fine && (emptying.left == 0 ? finalize_namespace(collector, item)
							 : write_conditions(&emptying, item));
	json_decref(emptying.finalizers);
	json_decref(emptying.kinds);
	return fine;
}

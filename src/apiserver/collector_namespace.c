/* Emptying a namespace that is being deleted, then letting it go. */
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "apiserver/collector_priv.h"
#include "apiserver/key.h"
#include "apiserver/write.h"
#include "base/clock.h"
#include "base/mem.h"

struct emptying {
	struct apiserver_collector *c;
	const struct apiserver_resource *r;
	const char *ns;
	json_t *found;	    /* [name, uid, ...] of those that are not being deleted yet */
	size_t left;	    /* objects that are there */
	json_t *finalizers; /* that keep some of them: name to number */
	json_t *kinds;	    /* that are left: resource to number */
	bool fine;
};

static void count(json_t *counts, const char *key)
{
	json_object_set_new(counts, key,
			    json_integer(json_integer_value(json_object_get(counts, key)) + 1));
}

static int look(void *ctx, const struct apiserver_row *row)
{
	struct emptying *m = ctx;
	json_t *o = json_loadb(row->value.p, row->value.n, 0, NULL), *v;
	CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;
	size_t i;
	m->left++;
	/* With a dot also where there is no group, as the original tells it. */
	strbuf_addf(&kind, "%s.%s", m->r->kind->plural, m->r->kind->group);
	count(m->kinds, kind.s);
	json_array_foreach (api_get(o, "metadata.finalizers"), i, v)
		count(m->finalizers, api_text(v));
	if (!api_is_deleting(o)) {
		json_array_append_new(m->found, json_string(api_name(o)));
		json_array_append_new(m->found, json_string(api_uid(o)));
	}
	json_decref(o);
	return 0;
}

/* Everything of one kind. */
static void empty_kind(struct emptying *m)
{
	CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
	uint64_t at;
	m->found = json_array();
	apiserver_key(&prefix, m->r->kind, m->ns, NULL);
	if (apiserver_store_list(m->c->a->store, &(struct apiserver_range){ .prefix = prefix.s },
				 look, m, &at, NULL) < 0)
		m->fine = false;
	for (size_t i = 0; i + 1 < json_array_size(m->found); i += 2)
		m->fine =
			!apiserver_follower_is_ending(m->c->running) &&
			collector_delete(m->c, m->r, m->ns, api_text(json_array_get(m->found, i)),
					 api_text(json_array_get(m->found, i + 1)), "Background") &&
			m->fine;
	json_decref(m->found);
}

static void empty_all(struct emptying *m)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	json_decref(m->finalizers);
	json_decref(m->kinds);
	m->finalizers = json_object();
	m->kinds = json_object();
	m->left = 0;
	for (size_t i = 0; i < n; i++) {
		m->r = rows[i];
		if (m->r->stored == m->r && m->r->kind->namespaced)
			empty_kind(m);
	}
}

/* ---- what kubectl shows of it ---- */

static json_t *condition(const char *type, bool is, const char *reason, const char *message)
{
	char now[API_TIME_TEXT_MAX];
	return json_pack("{ss,ss,ss,ss,ss}", "type", type, "status", is ? "True" : "False",
			 "lastTransitionTime", api_time(clock_wall_ns(), now), "reason", reason,
			 "message", message);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, so that the same counts are the same text. */
static void add_counts(struct strbuf *out, const json_t *counts, const char *behind)
{
	size_t n = 0;
	char **lines = xcalloc(json_object_size(counts) + 1, sizeof(*lines));
	const char *key;
	json_t *v;
	json_object_foreach ((json_t *)(uintptr_t)counts, key, v)
		lines[n++] = xasprintf("%s %s%lld resource instances", key, behind,
				       (long long)json_integer_value(v));
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "%s%s", i != 0 ? ", " : "", lines[i]);
		free(lines[i]);
	}
	free(lines);
}

static json_t *conditions(const struct emptying *m)
{
	CLEANUP(strbuf_done) struct strbuf kinds = STRBUF_INIT, finalizers = STRBUF_INIT;
	bool kept = json_object_size(m->finalizers) != 0;
	strbuf_adds(&kinds, m->left != 0 ? "Some resources are remaining: "
					 : "All content successfully removed");
	add_counts(&kinds, m->kinds, "has ");
	strbuf_adds(&finalizers, kept ? "Some content in the namespace has finalizers remaining: "
				      : "All content-preserving finalizers finished");
	add_counts(&finalizers, m->finalizers, "in ");
	return json_pack(
		"[ooooo]",
		condition("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
			  "All resources successfully discovered"),
		condition("NamespaceDeletionGroupVersionParsingFailure", false,
			  "ParsedGroupVersions", "All legacy kube types successfully parsed"),
		condition("NamespaceDeletionContentFailure", false, "ContentDeleted",
			  "All content successfully deleted, may be waiting on finalization"),
		condition("NamespaceContentRemaining", m->left != 0,
			  m->left != 0 ? "SomeResourcesRemain" : "ContentRemoved", kinds.s),
		condition("NamespaceFinalizersRemaining", kept,
			  kept ? "SomeFinalizersRemain" : "ContentHasNoFinalizers", finalizers.s));
}

static bool same(const json_t *a, const json_t *b, const char *key)
{
	return strcmp(api_get_string(a, key), api_get_string(b, key)) == 0;
}

/* Those whose status has not changed keep their time. Is all as it is written there already? */
static bool keep_times(const json_t *old, json_t *now)
{
	bool all = json_array_size(old) == json_array_size(now);
	for (size_t i = 0; i < json_array_size(now); i++) {
		const json_t *was = json_array_get(old, i);
		json_t *is = json_array_get(now, i);
		bool kept = same(was, is, "type") && same(was, is, "status");
		if (kept)
			json_object_set(is, "lastTransitionTime",
					json_object_get(was, "lastTransitionTime"));
		all = all && kept && same(was, is, "message");
	}
	return all;
}

static bool tell(const struct emptying *m, struct collector_item *i)
{
	json_t *now = conditions(m), *status = json_object_get(i->o, "status");
	bool fine = true;
	if (keep_times(json_object_get(status, "conditions"), now)) {
		json_decref(now);
	} else {
		json_object_set_new(status, "conditions", now);
		fine = apiserver_write_plain(m->c->a, i->r, i->o, i->revision, NULL) == 0;
	}
	return fine;
}

/* ---- the end ---- */

static bool let_go(struct apiserver_collector *c, struct collector_item *i)
{
	json_t *spec = json_object_get(i->o, "spec"), *was = json_deep_copy(i->o), *v;
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
	if (apiserver_is_finalized(i->r, i->o))
		e = apiserver_write_removal(c->a, i->r, was, i->revision, NULL);
	else if (changed)
		e = apiserver_write_plain(c->a, i->r, i->o, i->revision, NULL);
	json_decref(left);
	json_decref(was);
	return e == 0;
}

bool collector_empty_namespace(struct apiserver_collector *c, struct collector_item *i)
{
	struct emptying m = { .c = c, .ns = i->name, .fine = true };
	empty_all(&m);
	if (m.left != 0) /* what went at once is gone by now */
		empty_all(&m);
	bool fine = m.fine && (m.left == 0 ? let_go(c, i) : tell(&m, i));
	json_decref(m.finalizers);
	json_decref(m.kinds);
	return fine;
}

/* Reading from the watch's copy unless it is behind us, and applying. */
#include "controller/dnsoperator/configmaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "kube/decode/tree.h"

enum {
	REPAIRS = 5,   /* of one text at once, */
	REPAIR_S = 60, /* and then one in this time */
	NOT_WATCHED_S =
		60, /* between two looks at what a watch does not show, for lack of rights */
};

struct dnsoperator_configmaps {
	struct map seen; /* "namespace/name" -> struct dnsoperator_seen */
};

/* ---- what is known ---- */

bool dnsoperator_seen_trusts(const struct dnsoperator_seen *seen, const char *rv)
{
	if (!seen->known)
		return false;
	if (rv == NULL)
		return !seen->there;
	/* Where the server had no object, the copy must be newer than what was deleted. */
	return api_resource_version_cmp(rv, "0") > 0 &&
	       api_resource_version_cmp(rv, seen->least) >= (seen->there ? 0 : 1);
}

void dnsoperator_seen_note(struct dnsoperator_seen *seen, const char *rv, const char *copy_rv)
{
	seen->known = true;
	seen->there = rv != NULL;
	const char *least = rv != NULL ? rv : copy_rv != NULL ? copy_rv : "";
	snprintf(seen->least, sizeof(seen->least), "%s", least);
}

uint64_t dnsoperator_seen_repair(struct dnsoperator_seen *seen, uint64_t applied, uint64_t now_ns)
{
	const uint64_t ahead = (REPAIRS - 1) * REPAIR_S * NS_PER_S;
	uint64_t due = MAX(seen->due_ns, now_ns);
	if (applied != seen->applied) {
		seen->applied = applied;
		seen->due_ns = 0;
		seen->contested = false;
		return 0;
	}
	if (due > now_ns + ahead) {
		seen->contested = true;
		return due - now_ns - ahead;
	}
	seen->due_ns = due + REPAIR_S * NS_PER_S;
	seen->repaired_ns = now_ns;
	return 0;
}

uint64_t dnsoperator_seen_quiet(struct dnsoperator_seen *seen, uint64_t now_ns)
{
	uint64_t end = seen->repaired_ns + REPAIR_S * NS_PER_S;
	seen->contested = seen->contested && now_ns < end;
	return seen->contested ? end - now_ns : 0;
}

void dnsoperator_seen_failed(struct dnsoperator_seen *seen)
{
	seen->applied = 0;
}

struct dnsoperator_configmaps *dnsoperator_configmaps_new(void)
{
	struct dnsoperator_configmaps *m = xcalloc(1, sizeof(*m));
	map_init(&m->seen);
	return m;
}

void dnsoperator_configmaps_free(struct dnsoperator_configmaps *maps)
{
	const struct map_entry *e;
	size_t pos = 0;
	if (maps == NULL)
		return;
	while ((e = map_next(&maps->seen, &pos)) != NULL)
		free(e->value);
	map_done(&maps->seen);
	free(maps);
}

static struct dnsoperator_seen *seen_of(struct dnsoperator_configmaps *maps, const char *ns,
					const char *name)
{
	CLEANUP(freep) char *key = xasprintf("%s/%s", ns, name);
	struct dnsoperator_seen *s = map_get(&maps->seen, slice_of(key));
	if (s == NULL) {
		s = xcalloc(1, sizeof(*s));
		map_set(&maps->seen, slice_of(key), s);
	}
	return s;
}

/* ---- the server ---- */

int dnsoperator_configmaps_read(struct dnsoperator_configmaps *maps, struct controller_ctx *ctx,
				int watch, const char *ns, const char *name, json_t **ret)
{
	CLEANUP(freep) char *path = xasprintf("/api/v1/namespaces/%s/configmaps/%s", ns, name);
	struct dnsoperator_seen *s = seen_of(maps, ns, name);
	struct kube_obj *o = kube_store_get(ctx->stores[watch], slice_of(ns), slice_of(name));
	const char *copy = o != NULL ? o->rv : NULL;
	int r = 0;
	if (dnsoperator_seen_trusts(s, copy)) {
		/* no references of what other threads read, too */
		*ret = o != NULL ? json_deep_copy(kube_tree_of(o)) : NULL;
	} else {
		r = dnsoperator_get(ctx, path, name, ret);
		if (r >= 0)
			dnsoperator_seen_note(s, *ret != NULL ? api_resource_version(*ret) : NULL,
					      copy);
		if (*ret != NULL && o == NULL)
			dnsoperator_requeue_after(ctx, NOT_WATCHED_S * NS_PER_S);
	}
	kube_obj_unref(o);
	return r;
}

static uint64_t hash_of(const json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	uint64_t h = hash_bytes(hash_process_key(), text, strlen(text));
	free(text);
	return h;
}

int dnsoperator_configmaps_apply(struct dnsoperator_configmaps *maps, struct controller_ctx *ctx,
				 const json_t *wanted, json_t **ret)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = api_namespace(wanted),
				.name = api_name(wanted) };
	struct dnsoperator_seen *s = seen_of(maps, ref.ns, ref.name);
	struct kube_status st = { 0 };
	json_t *now = NULL;
	uint64_t wait = dnsoperator_seen_repair(s, hash_of(wanted), clock_mono_ns());
	if (ret != NULL)
		*ret = NULL;
	if (wait != 0) {
		dnsoperator_requeue_after(ctx, wait);
		return 0;
	}
	int r = kube_apply(ctx->conn, &ref, NULL, DNSOPERATOR_MANAGER, wanted, &now, &st);
	if (r < 0) {
		r = dnsoperator_set_error(ctx, r, ref.name, &st);
		dnsoperator_seen_failed(s);
	} else {
		dnsoperator_seen_note(s, api_resource_version(now), NULL);
	}
	kube_status_done(&st);
	if (r >= 0 && ret != NULL)
		*ret = TAKE_PTR(now);
	json_decref(now);
	return r < 0 ? r : 1;
}

bool dnsoperator_configmaps_contested(struct dnsoperator_configmaps *maps,
				      struct controller_ctx *ctx, const json_t *wanted, bool right)
{
	struct dnsoperator_seen *s = seen_of(maps, api_namespace(wanted), api_name(wanted));
	uint64_t wait = right ? dnsoperator_seen_quiet(s, clock_mono_ns()) : 0;
	if (wait != 0)
		dnsoperator_requeue_after(ctx, wait);
	return s->contested;
}

int dnsoperator_configmaps_delete(struct dnsoperator_configmaps *maps, struct controller_ctx *ctx,
				  const json_t *object)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = api_namespace(object),
				.name = api_name(object) };
	struct kube_delete_opts opts = { .uid = api_uid(object),
					 .resource_version = api_resource_version(object) };
	struct kube_status st = { 0 };
	int r = kube_delete(ctx->conn, &ref, &opts, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	if (r < 0)
		r = dnsoperator_set_error(ctx, r, ref.name, &st);
	else
		dnsoperator_seen_note(seen_of(maps, ref.ns, ref.name), NULL, opts.resource_version);
	kube_status_done(&st);
	return r;
}

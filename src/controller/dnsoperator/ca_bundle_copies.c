/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies CA bundles from openshift-config to the namespace of the servers, reports sources that are
 * missing or invalid, and deletes copies that nobody uses. */
#include "controller/dnsoperator/ca_bundle_copies.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/hash.h"
#include "base/mem.h"
#include "controller/dnsoperator/configmaps.h"
#include "controller/shared/object_contains.h"
#include "controller/dnsoperator/plan/ca_bundle.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "kube/decode/tree.h"

/* The bundles that the DNS object names. `all` has those of the accepted configuration, too, which
 * were copied when it was accepted. */
struct wanted {
	dnsoperator_names spec, all;
	json_t *accepted;
};

static void wanted_read(const struct dnsoperator_pass *pass, struct wanted *wanted)
{
	*wanted = (struct wanted){ .accepted = dnsoperator_accepted_read(pass->accepted_map) };
	dnsoperator_ca_names(json_object_get(kube_tree_of(pass->dns), "spec"), &wanted->spec);
	dnsoperator_ca_names(json_object_get(kube_tree_of(pass->dns), "spec"), &wanted->all);
	dnsoperator_ca_names(wanted->accepted, &wanted->all);
}

static void wanted_done(struct wanted *wanted)
{
	vec_done(&wanted->spec);
	vec_done(&wanted->all);
	json_decref(wanted->accepted);
}

static void add_fact(struct dnsoperator_pass *pass, const char *name, const json_t *copy)
{
	vec_push(&pass->ca,
		 (struct dnsoperator_ca){ .name = xstrdup(name),
					  .revision = xasprintf("%s-%s", api_name(copy),
								api_resource_version(copy)) });
	pass->facts.ca = pass->ca.v;
	pass->facts.n_ca = pass->ca.n;
}

struct bad_source {
	const char *reason;
	char *text;
};
typedef VEC(struct bad_source) bad_source_vec;

static void add_bad_source(bad_source_vec *list, const char *name, const json_t *source,
			   bool copied)
{
	const char *what = dnsoperator_ca_error(source);
	char *text = xasprintf("ConfigMap " DNSOPERATOR_CA_NS "/%s %s: %s", name, what,
			       copied ? "the last valid copy stays in use"
				      : "certificates of its upstreams are checked with the "
					"system's CAs");
	vec_push(list, (struct bad_source){ source == NULL ? "CABundleMissing" : "CABundleInvalid",
					    text });
}

/* Emits Events when the list differs from the last one: a settled operator is silent. Frees it. */
static void report_bad_sources(struct dnsoperator_pass *pass, bad_source_vec *list)
{
	struct dnsoperator_state *state = pass->ctx->state;
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	for (size_t i = 0; i < list->n; i++)
		strbuf_adds(&all, list->v[i].text);
	uint64_t hash = hash_bytes(hash_process_key(), all.s, all.n);
	for (size_t i = 0; i < list->n; i++) {
		if (hash != state->ca_reported)
			dnsoperator_emit_event(pass, true, list->v[i].reason, "Copy",
					       list->v[i].text);
		free(list->v[i].text);
	}
	vec_done(list);
	state->ca_reported = hash;
}

/* Brings the copy up to date with its source, if that is valid. */
static int update_copy(struct dnsoperator_pass *pass, const char *name, json_t **copy,
		       bad_source_vec *bad)
{
	struct kube_obj *o = kube_store_get(pass->ctx->stores[DNSOPERATOR_WATCH_CA_SOURCES],
					    SLICE(DNSOPERATOR_CA_NS), slice_of(name));
	const json_t *source = o != NULL ? kube_tree_of(o) : NULL;
	int r = 0;
	if (dnsoperator_ca_error(source) != NULL) {
		add_bad_source(bad, name, source, *copy != NULL);
	} else {
		json_t *want = dnsoperator_ca_copy(source, kube_tree_of(pass->dns),
						   dnsoperator_sites[pass->facts.platform].ns);
		json_t *now = NULL;
		if (*copy == NULL || !object_contains(*copy, want))
			r = dnsoperator_configmap_apply(pass->ctx, want, &now);
		if (now != NULL) {
			json_decref(*copy);
			*copy = now;
		}
		json_decref(want);
	}
	kube_obj_unref(o);
	return r;
}

int dnsoperator_ca_sync(struct dnsoperator_pass *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	const char *state = api_get_string(kube_tree_of(pass->dns), "spec.managementState");
	bad_source_vec bad = { 0 };
	struct wanted w;
	int result = 0;
	if (!site->bundles)
		return 0;
	wanted_read(pass, &w);
	for (size_t i = 0; i < w.all.n; i++) {
		const char *name = w.all.v[i];
		CLEANUP(freep) char *copy_name = dnsoperator_ca_copy_name(name);
		json_t *copy = NULL;
		int r = dnsoperator_configmap_read(pass->ctx,
						   DNSOPERATOR_WATCH_CONFIGMAPS_OPENSHIFT, site->ns,
						   copy_name, &copy);
		if (r >= 0 && dnsoperator_ca_has(&w.spec, name) && strcmp(state, "Unmanaged") != 0)
			r = update_copy(pass, name, &copy, &bad);
		if (copy != NULL && dnsoperator_ca_error(copy) == NULL)
			add_fact(pass, name, copy);
		json_decref(copy);
		result = result < 0 ? result : MIN(r, 0);
	}
	report_bad_sources(pass, &bad);
	wanted_done(&w);
	return result;
}

/* ---- unused copies ---- */

struct unused {
	dnsoperator_names used;
	VEC(struct kube_obj *) found;
};

static bool collect_unused(void *ctx, struct kube_obj *obj)
{
	struct unused *u = ctx;
	bool used = false;
	for (size_t i = 0; i < u->used.n && !used; i++) {
		CLEANUP(freep) char *name = dnsoperator_ca_copy_name(u->used.v[i]);
		used = strcmp(name, obj->name) == 0;
	}
	if (!used && dnsoperator_ca_is_copy(kube_tree_of(obj)))
		vec_push(&u->found, kube_obj_ref(obj));
	return true;
}

/* Reads it first: the watch may not have shown yet that it was deleted. */
static int delete_copy(struct dnsoperator_pass *pass, const struct kube_obj *obj)
{
	json_t *now = NULL;
	int r = dnsoperator_configmap_read(pass->ctx, DNSOPERATOR_WATCH_CONFIGMAPS_OPENSHIFT,
					   obj->ns, obj->name, &now);
	if (r >= 0 && now != NULL && dnsoperator_ca_is_copy(now))
		r = dnsoperator_configmap_delete(pass->ctx, now);
	json_decref(now);
	return r;
}

int dnsoperator_ca_prune(struct dnsoperator_pass *pass)
{
	struct unused u = { 0 };
	int result = 0;
	if (!dnsoperator_sites[pass->facts.platform].bundles)
		return 0;
	dnsoperator_ca_names(json_object_get(kube_tree_of(pass->dns), "spec"), &u.used);
	dnsoperator_ca_names(pass->plan.accepted, &u.used);
	kube_store_each(pass->ctx->stores[DNSOPERATOR_WATCH_CONFIGMAPS_OPENSHIFT], collect_unused,
			&u);
	for (size_t i = 0; i < u.found.n; i++) {
		int r = delete_copy(pass, u.found.v[i]);
		result = result < 0 ? result : MIN(r, 0);
		kube_obj_unref(u.found.v[i]);
	}
	vec_done(&u.found);
	vec_done(&u.used);
	return result;
}

void dnsoperator_ca_done(struct dnsoperator_pass *pass)
{
	for (size_t i = 0; i < pass->ca.n; i++) {
		free((char *)(uintptr_t)pass->ca.v[i].name);
		free((char *)(uintptr_t)pass->ca.v[i].revision);
	}
	vec_done(&pass->ca);
}

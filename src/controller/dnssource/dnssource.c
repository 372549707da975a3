/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dnssource: makes DNSRecords from the annotations that users of external-dns have on Services and
 * Ingresses. This file has its watches, which keys a change of an object queues, and its table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/dnssource/config.h"
#include "controller/dnssource/names.h"
#include "controller/dnssource/records.h"
#include "controller/dnssource/report.h"
#include "controller/dnssource/state.h"
#include "controller/dnssource/wanted.h"
#include "kube/decode/tree.h"

/* ---- keys ---- */

static void write_key(char out[DNSSOURCE_KEY_MAX], const char *kind, const char *ns,
		      const char *name)
{
	snprintf(out, DNSSOURCE_KEY_MAX, "%s/%s/%s", kind, ns, name);
}

/* False: it has no source. */
static bool write_owner_key(char out[DNSSOURCE_KEY_MAX], const struct kube_obj *record)
{
	json_t *owner;
	size_t i;
	json_array_foreach (api_get(kube_tree_of(record), "metadata.ownerReferences"), i, owner) {
		if (!json_is_true(json_object_get(owner, "controller")))
			continue;
		write_key(out, api_text(json_object_get(owner, "kind")), record->ns,
			  api_text(json_object_get(owner, "name")));
		return true;
	}
	return false;
}

static void index_by_owner(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	char key[DNSSOURCE_KEY_MAX];
	if (write_owner_key(key, obj))
		emit(ctx, slice_of(key));
}

static void keys_of_source(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	char key[DNSSOURCE_KEY_MAX];
	(void)ctx;
	write_key(key, api_kind(kube_tree_of(object)), object->ns, object->name);
	emit(arg, key);
}

static void keys_of_record(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	char key[DNSSOURCE_KEY_MAX];
	(void)ctx;
	if (write_owner_key(key, object))
		emit(arg, key);
}

struct emit_all {
	controller_emit emit;
	void *arg;
};

static bool emit_source(void *ctx, struct kube_obj *obj)
{
	struct emit_all *all = ctx;
	keys_of_source(NULL, obj, all->emit, all->arg);
	return true;
}

static void keys_of_config(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	struct emit_all all = { emit, arg };
	(void)object;
	emit(arg, DNSSOURCE_CONFIG_KEY);
	kube_store_each(ctx->stores[DNSSOURCE_SERVICES], emit_source, &all);
	kube_store_each(ctx->stores[DNSSOURCE_INGRESSES], emit_source, &all);
}

/* ---- watches ---- */

#define ANNOTATION(name) "metadata.annotations[" name "]"
#define ANNOTATIONS                                                                              \
	ANNOTATION(DNSSOURCE_HOSTNAME), ANNOTATION(DNSSOURCE_TTL), ANNOTATION(DNSSOURCE_TARGET), \
		ANNOTATION(DNSSOURCE_CONTROLLER)

static const char *const service_paths[] = { ANNOTATIONS,	    "spec.type",
					     "spec.externalName",   "spec.externalIPs",
					     "status.loadBalancer", NULL };
static const char *const ingress_paths[] = { ANNOTATIONS, "spec.rules[].host", "spec.tls[].hosts",
					     "status.loadBalancer", NULL };
static const char *const record_paths[] = { "metadata.labels", "metadata.ownerReferences", "spec",
					    NULL };
static const kube_index_fn record_indexes[] = { [DNSSOURCE_BY_OWNER] = index_by_owner };

static const struct controller_watch watches[DNSSOURCE_WATCHES] = {
	[DNSSOURCE_SERVICES] = { "", "Service", .paths = service_paths, .keys = keys_of_source },
	[DNSSOURCE_INGRESSES] = { "networking.k8s.io", "Ingress", .paths = ingress_paths,
				  .optional = true, .keys = keys_of_source },
	[DNSSOURCE_RECORDS] = { "extensions.gardener.cloud", "DNSRecord",
				.labels = DNSSOURCE_MANAGED_BY "=" DNSSOURCE_MANAGER,
				.paths = record_paths, .indexes = record_indexes,
				.n_indexes = ARRAY_LEN(record_indexes), .keys = keys_of_record },
	[DNSSOURCE_CONFIGS] = { "", "ConfigMap", .own_ns = true,
				.fields = "metadata.name=" DNSSOURCE_CONFIG,
				.keys = keys_of_config },
};

/* ---- reconcile ---- */

/* What is wrong in the ConfigMap, where its author sees it. */
static void report_config(const struct controller_ctx *ctx, const struct kube_obj *configmap,
			  const struct dnssource_config *config, struct arena *arena)
{
	struct dnssource_problems problems = { .arena = arena };
	for (size_t i = 0; i < config->n; i++) {
		if (config->v[i].problem != NULL)
			dnssource_add_mistake(&problems, "InvalidDomain", "%s: %s",
					      config->v[i].name, config->v[i].problem);
	}
	if (configmap != NULL)
		dnssource_report(ctx, DNSSOURCE_CONFIG_KEY, kube_tree_of(configmap), &problems);
}

static int reconcile_source(struct controller_ctx *ctx, const char *key, const json_t *source,
			    const struct dnssource_config *config, struct arena *arena)
{
	struct dnssource_problems problems = { .arena = arena };
	const char *config_key = arena_printf(arena, "%s/" DNSSOURCE_CONFIG, ctx->ns);
	if (api_is_deleting(source))
		return 0;
	json_t *wanted = dnssource_want(source, config, config_key, arena, &problems);
	int r = dnssource_write_records(ctx, key, source, wanted, &problems);
	json_decref(wanted);
	dnssource_report(ctx, key, source, &problems);
	return r;
}

/* Records of a source that is gone are deleted by the collector of the API: they have an owner. */
static int reconcile_one(struct controller_ctx *ctx, const char *key,
			 const struct dnssource_config *config, struct arena *arena)
{
	struct slice name = slice_of(key), kind = slice_cut(&name, '/'), ns = slice_cut(&name, '/');
	size_t watch = slice_is(kind, "Service") ? DNSSOURCE_SERVICES : DNSSOURCE_INGRESSES;
	struct dnssource_problems none = { .arena = arena };
	struct kube_obj *source = kube_store_get(ctx->stores[watch], ns, name);
	int r = 0;
	if (source != NULL)
		r = reconcile_source(ctx, key, kube_tree_of(source), config, arena);
	else
		dnssource_report(ctx, key, NULL, &none); /* forgets what was reported */
	kube_obj_unref(source);
	return r;
}

static int reconcile_key(struct controller_ctx *ctx, const char *key)
{
	struct kube_obj *configmap = kube_store_get(ctx->stores[DNSSOURCE_CONFIGS],
						    slice_of(ctx->ns), SLICE(DNSSOURCE_CONFIG));
	struct dnssource_config config;
	struct arena arena;
	int r = 0;
	arena_init(&arena);
	dnssource_config_read(configmap != NULL ? kube_tree_of(configmap) : NULL, &arena, &config);
	if (strcmp(key, DNSSOURCE_CONFIG_KEY) == 0)
		report_config(ctx, configmap, &config, &arena);
	else
		r = reconcile_one(ctx, key, &config, &arena);
	dnssource_config_done(&config);
	kube_obj_unref(configmap);
	arena_done(&arena);
	return r;
}

/* ---- its state ---- */

static int start_dnssource(void **ret_state, struct err_text err)
{
	struct dnssource_state *state = xcalloc(1, sizeof(*state));
	(void)err;
	pthread_mutex_init(&state->lock, NULL);
	own_writes_init(&state->writes);
	map_init(&state->reported);
	*ret_state = state;
	return 0;
}

static void stop_dnssource(void *state)
{
	struct dnssource_state *of = state;
	const struct map_entry *entry;
	size_t pos = 0;
	own_writes_done(&of->writes);
	while ((entry = map_next(&of->reported, &pos)) != NULL)
		free(entry->value);
	map_done(&of->reported);
	pthread_mutex_destroy(&of->lock);
	free(of);
}

const struct controller dnssource_controller = {
	.name = "dnssource",
	.help = "makes DNSRecords from external-dns's annotations of Services and Ingresses",
	.by_name_only = true, /* it would publish names that another program publishes already */
	.watch = watches,
	.n_watch = ARRAY_LEN(watches),
	.writes = { .per_s = 50,
		    .burst = 100 }, /* a change of the ConfigMap is one for each record */
	.reconcile = reconcile_key,
	.start = start_dnssource,
	.stop = stop_dnssource,
};

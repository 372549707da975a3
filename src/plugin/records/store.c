/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watch: each event changes the claims, and with them what is served, on the watch's own thread. */
#include "plugin/records/store.h"
#include "plugin/records/store_test.h"

#include <stdlib.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer.h"
#include "plugin/records/claimed_names.h"
#include "plugin/records/count.h"
#include "plugin/shared/kubeaccess.h"
#include "server/resource.h"

#define AREA "plugin/records"

static const char operation_path[] = "metadata.annotations[" RECORDS_OPERATION "]";

/* A server that starts while the API is away answers everything else then. */
static const uint64_t ready_wait_ns = 5 * NS_PER_S;

struct store {
	struct records_claims *claims;
	bool own_claims;
	struct kube_client *client;
	struct kube_informer *informer; /* NULL: the claims are preset */
	uint64_t started_ns;
};

/* ---- the watch ---- */

static char *key_of(const struct kube_obj *obj)
{
	return xasprintf("%s/%s", obj->ns, obj->name);
}

static void object_added(void *ctx, struct kube_obj *obj)
{
	struct store *store = ctx;
	CLEANUP(freep) char *key = key_of(obj);
	records_claims_set(store->claims, key, kube_tree_of(obj));
	records_count(store->claims);
}

static void object_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	(void)old;
	object_added(ctx, obj);
}

static void object_deleted(void *ctx, struct kube_obj *last)
{
	struct store *store = ctx;
	CLEANUP(freep) char *key = key_of(last);
	records_claims_remove(store->claims, key);
	records_count(store->claims);
}

static void first_list_read(void *ctx)
{
	struct store *store = ctx;
	log_debug(AREA, "%zu DNSRecord objects of type " RECORDS_TYPE " are served",
		  records_claims_count(store->claims, RECORDS_SERVED));
}

static void log_informer_error(void *ctx, const char *text)
{
	(void)ctx;
	log_warn(AREA, "%s", text);
}

static int start_watch(struct store *store, const struct records_store_conf *conf,
		       struct err_text err)
{
	static const char *const kept[] = {
		"metadata.creationTimestamp", "spec.type",   "spec.name",   "spec.recordType",
		"spec.secretRef.name",	      "spec.ttl",    "spec.values", RECORDS_PUBLISHED,
		"status.lastOperation.type",  operation_path
	};
	const struct api_kind *kind = api_kind_find("extensions.gardener.cloud", "DNSRecord");
	struct kube_config *config;
	int r = kubeaccess_open(&(struct kubeaccess){ conf->kubeconfig, conf->context,
						      conf->endpoint, conf->cert, conf->key,
						      conf->ca },
				&config, err);
	if (r < 0)
		return r;
	store->client = kube_client_new(config);
	store->informer = kube_informer_new(&(struct kube_informer_conf){
		.client = store->client,
		.kind = kind,
		.ns = conf->ns,
		.codec = kube_tree_codec(kind, kept, ARRAY_LEN(kept)),
	});
	kube_informer_handle(store->informer,
			     &(struct kube_handler){ .added = object_added,
						     .updated = object_updated,
						     .deleted = object_deleted,
						     .synced = first_list_read,
						     .on_error = log_informer_error,
						     .ctx = store });
	return kube_informer_start(store->informer, err);
}

/* ---- life ---- */

static struct records_claims *preset;

void records_store_preset(struct records_claims *claims)
{
	preset = claims;
}

static void store_free(void *value)
{
	struct store *store = value;
	kube_informer_free(store->informer);
	kube_client_free(store->client);
	if (store->own_claims)
		records_claims_free(store->claims);
	free(store);
}

struct make {
	const struct records_store_conf *conf;
	struct err_text err;
};

static int store_make(void *arg, struct task_owner *tasks, void **ret)
{
	(void)tasks;
	const struct make *make = arg;
	struct store *store = xcalloc(1, sizeof(*store));
	store->own_claims = preset == NULL;
	store->claims = store->own_claims ? records_claims_new(make->conf->max) : preset;
	store->started_ns = clock_mono_ns();
	records_count(store->claims);
	int r = store->own_claims ? start_watch(store, make->conf, make->err) : 0;
	if (r < 0) {
		store_free(store);
		return r;
	}
	*ret = store;
	return 0;
}

int records_store_get(const struct records_store_conf *conf, struct resource **ret,
		      struct err_text reterr)
{
	const char *parts[] = { conf->kubeconfig, conf->context, conf->endpoint, conf->cert,
				conf->key,	  conf->ca,	 conf->ns };
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	strbuf_addf(&key, "records %zu", conf->max);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		strbuf_addc(&key, ' ');
		strbuf_add_quoted(&key, slice_of(parts[i] != NULL ? parts[i] : ""));
	}
	struct make make = { .conf = conf, .err = reterr };
	return resource_get(key.s, store_make, &make, store_free, ret);
}

const struct records_table *records_store_table(const struct resource *held)
{
	const struct store *store = held->value;
	return records_claims_table(store->claims);
}

bool records_store_is_ready(const struct resource *held)
{
	const struct store *store = held->value;
	return store->informer == NULL || kube_informer_synced(store->informer) ||
	       kube_informer_absent(store->informer) ||
	       clock_mono_ns() - store->started_ns >= ready_wait_ns;
}

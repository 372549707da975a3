/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watched kinds. Of pods only those are watched that have not started, and those with a search
 * list of their own: the copies stay small in clusters with very many pods. */
#include "controller/poddns/watches.h"

#include <string.h>

#include "base/mem.h"
#include "controller/poddns/entries_cache.h"
#include "controller/poddns/names.h"
#include "controller/poddns/policy.h"

static void emit_namespace(controller_emit emit, void *arg, const char *name)
{
	CLEANUP(freep) char *key = xasprintf(PODDNS_KEY_NAMESPACE "%s", name);
	emit(arg, key);
}

static void keys_of_namespace(const struct controller_ctx *ctx, const struct kube_obj *object,
			      controller_emit emit, void *arg)
{
	(void)ctx;
	emit_namespace(emit, arg, object->name);
}

struct emit_all {
	controller_emit emit;
	void *arg;
};

static bool emit_one(void *ctx, struct kube_obj *object)
{
	struct emit_all *all = ctx;
	emit_namespace(all->emit, all->arg, object->name);
	return true;
}

/* Every namespace may have another policy or another search list from now on. */
static void keys_of_all(const struct controller_ctx *ctx, const struct kube_obj *object,
			controller_emit emit, void *arg)
{
	struct emit_all all = { emit, arg };
	(void)object;
	emit(arg, PODDNS_KEY_POLICIES);
	kube_store_each(ctx->stores[PODDNS_WATCH_NAMESPACES], emit_one, &all);
}

static void keys_of_listed(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	CLEANUP(freep) char *key = xasprintf(PODDNS_KEY_LISTED "%s/%s", object->ns, object->name);
	(void)ctx;
	emit_namespace(emit, arg, object->ns);
	emit(arg, key);
}

static void keys_of_pending(const struct controller_ctx *ctx, const struct kube_obj *object,
			    controller_emit emit, void *arg)
{
	CLEANUP(freep) char *key = xasprintf(PODDNS_KEY_POD "%s/%s", object->ns, object->name);
	(void)ctx;
	emit(arg, key);
}

static void keys_of_policies(const struct controller_ctx *ctx, const struct kube_obj *object,
			     controller_emit emit, void *arg)
{
	poddns_entries_cache_prepare(ctx);
	keys_of_all(ctx, object, emit, arg);
}

/* The addresses of servers are read when a pod is created; nothing is to be done before. */
static void keys_of_none(const struct controller_ctx *ctx, const struct kube_obj *object,
			 controller_emit emit, void *arg)
{
	(void)ctx;
	(void)object;
	(void)emit;
	(void)arg;
}

static void namespace_of(const struct kube_obj *object, kube_index_emit emit, void *ctx)
{
	emit(ctx, slice_of(object->ns));
}

static const char *const namespace_paths[] = { "metadata.labels", "metadata.annotations", NULL };
static const char *const service_paths[] = { "spec.clusterIP", "spec.clusterIPs", NULL };
static const char *const dns_paths[] = { "status.clusterDomain", NULL };
static const char *const corefile_paths[] = { "data.Corefile", NULL };
static const char *const pending_paths[] = { "metadata.labels",
					     "metadata.annotations",
					     "spec.dnsPolicy",
					     "spec.dnsConfig",
					     "spec.hostNetwork",
					     "spec.os",
					     NULL };
static const char *const listed_paths[] = { "metadata.labels[" PODDNS_LIST_LABEL "]",
					    "metadata.annotations[" PODDNS_LIST_TEXT_KEY "]",
					    NULL };
static const kube_index_fn listed_indexes[] = { [PODDNS_LISTED_BY_NAMESPACE] = namespace_of };

const struct controller_watch poddns_watches[PODDNS_WATCH_COUNT] = {
	[PODDNS_WATCH_NAMESPACES] = { "", "Namespace", .paths = namespace_paths,
				      .keys = keys_of_namespace },
	[PODDNS_WATCH_POLICIES] = { "", "ConfigMap", .own_ns = true,
				    .fields = "metadata.name=" PODDNS_CONFIGMAP_NAME,
				    .keys = keys_of_policies },
	[PODDNS_WATCH_SERVICE_KUBERNETES] = { "", "Service", .optional = true, .ns = "kube-system",
					      .fields = "metadata.name=kube-dns",
					      .paths = service_paths, .keys = keys_of_none },
	[PODDNS_WATCH_SERVICE_OPENSHIFT] = { "", "Service", .optional = true, .ns = "openshift-dns",
					     .fields = "metadata.name=dns-default",
					     .paths = service_paths, .keys = keys_of_none },
	[PODDNS_WATCH_DNS] = { "operator.openshift.io", "DNS", .optional = true, .paths = dns_paths,
			       .keys = keys_of_all },
	[PODDNS_WATCH_COREFILE_KUBERNETES] = { "", "ConfigMap", .optional = true,
					       .ns = "kube-system",
					       .fields = "metadata.name=coredns",
					       .paths = corefile_paths, .keys = keys_of_all },
	[PODDNS_WATCH_COREFILE_OPENSHIFT] = { "", "ConfigMap", .optional = true,
					      .ns = "openshift-dns",
					      .fields = "metadata.name=dns-default",
					      .paths = corefile_paths, .keys = keys_of_all },
	[PODDNS_WATCH_PENDING] = { "", "Pod", .fields = "status.phase=Pending",
				   .paths = pending_paths, .keys = keys_of_pending },
	[PODDNS_WATCH_LISTED] = { "", "Pod", .labels = PODDNS_LIST_LABEL, .paths = listed_paths,
				  .indexes = listed_indexes, .n_indexes = ARRAY_LEN(listed_indexes),
				  .keys = keys_of_listed },
};

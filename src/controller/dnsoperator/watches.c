/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watched kinds, and which of their objects start a pass. */
#include "controller/dnsoperator/watches.h"

#include <string.h>

#include "api/meta.h"
#include "controller/dnsoperator/gather.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/ca_bundle.h"
#include "kube/decode/tree.h"

static void keys_of_any(const struct controller_ctx *ctx, const struct kube_obj *object,
			controller_emit emit, void *arg)
{
	(void)ctx;
	(void)object;
	emit(arg, DNSOPERATOR_DNS_NAME);
}

/* Are its pods in networks that the Corefile lists? */
static bool has_new_network(struct dnsoperator_state *state, const json_t *node)
{
	pthread_mutex_lock(&state->seen_never.lock);
	bool is_new =
		state->seen_never.is_known && !dnsoperator_never_has(&state->seen_never.now, node);
	pthread_mutex_unlock(&state->seen_never.lock);
	return is_new;
}

/* Each node updates its status every few minutes: only a new address family or network matters. */
static void keys_of_node(const struct controller_ctx *ctx, const struct kube_obj *object,
			 controller_emit emit, void *arg)
{
	struct dnsoperator_state *state = ctx->state;
	json_t *list =
		json_pack("[o]", json_deep_copy(kube_tree_of(object))); /* workers read it, too */
	struct dnsoperator_families f = dnsoperator_families_of(
		DNSOPERATOR_KUBERNETES, &(struct dnsoperator_network){ .nodes = list });
	json_decref(list);
	if ((dnsoperator_families_mask(&f) & ~atomic_load(&state->seen_families)) != 0 ||
	    has_new_network(state, kube_tree_of(object)))
		emit(arg, DNSOPERATOR_DNS_NAME);
}

static void keys_of_pod(const struct controller_ctx *ctx, const struct kube_obj *object,
			controller_emit emit, void *arg)
{
	(void)ctx;
	(void)object;
	emit(arg, DNSOPERATOR_SERVERS_KEY);
}

/* Only ours: the namespace has other ConfigMaps, too. */
static void keys_of_map(const struct controller_ctx *ctx, const struct kube_obj *object,
			controller_emit emit, void *arg)
{
	static const char *const ours[] = { "dns-default", "dns-default-accepted" };
	bool any = dnsoperator_ca_is_copy(kube_tree_of(object));
	(void)ctx;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		any = any || strcmp(object->name, ours[i]) == 0;
	if (any)
		emit(arg, DNSOPERATOR_DNS_NAME);
}

/* Only those that the DNS object names. */
static void keys_of_source(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	struct kube_obj *dns = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_DNS], SLICE(""),
					      SLICE(DNSOPERATOR_DNS_NAME));
	dnsoperator_names names = { 0 };
	if (dns != NULL)
		dnsoperator_ca_names(json_object_get(kube_tree_of(dns), "spec"), &names);
	if (dnsoperator_ca_has(&names, object->name))
		emit(arg, DNSOPERATOR_DNS_NAME);
	vec_done(&names);
	kube_obj_unref(dns);
}

static const char *const pod_paths[] = { "status.podIP", "status.conditions", NULL };
/* The families of addresses; where servers may run. */
static const char *const node_paths[] = { "spec.podCIDRs",	"metadata.labels",   "spec.taints",
					  "spec.unschedulable", "status.conditions", NULL };
static const char *const source_paths[] = { "data[" DNSOPERATOR_CA_KEY "]", NULL };
static const char *const crd_paths[] = { "spec.versions", NULL };

const struct controller_watch dnsoperator_watches[DNSOPERATOR_WATCH_COUNT] = {
	[DNSOPERATOR_WATCH_DNS] = { .group = "operator.openshift.io", .kind = "DNS" },
	[DNSOPERATOR_WATCH_NETWORK] = { "config.openshift.io", "Network", .optional = true,
					.keys = keys_of_any },
	[DNSOPERATOR_WATCH_FEATURE_GATE] = { "config.openshift.io", "FeatureGate", .optional = true,
					     .keys = keys_of_any },
	[DNSOPERATOR_WATCH_SERVICE_CIDRS] = { "networking.k8s.io", "ServiceCIDR", .optional = true,
					      .keys = keys_of_any },
	[DNSOPERATOR_WATCH_NODES] = { "", "Node", .optional = true, .paths = node_paths,
				      .keys = keys_of_node },
	[DNSOPERATOR_WATCH_API_SERVICE] = { "", "Service", .optional = true,
					    .fields = "metadata.name=kubernetes,metadata.namespace="
						      "default",
					    .keys = keys_of_any },
	[DNSOPERATOR_WATCH_CRD] = { "apiextensions.k8s.io", "CustomResourceDefinition",
				    .optional = true,
				    .fields = "metadata.name=" DNSOPERATOR_CRD_NAME,
				    .paths = crd_paths, .keys = keys_of_any },
	[DNSOPERATOR_WATCH_PODS_OPENSHIFT] = { "", "Pod", .optional = true,
					       .ns = DNSOPERATOR_OPENSHIFT_NS,
					       .labels = "dns.operator.openshift.io/"
							 "daemonset-dns=default",
					       .paths = pod_paths, .keys = keys_of_pod },
	[DNSOPERATOR_WATCH_PODS_KUBERNETES] = { "", "Pod", .optional = true, .ns = "kube-system",
						.labels = "k8s-app=kube-dns", .paths = pod_paths,
						.keys = keys_of_pod },
	/* Watched because we write them: changes by others are repaired. */
	[DNSOPERATOR_WATCH_CONFIGMAPS_OPENSHIFT] = { "", "ConfigMap", .optional = true,
						     .ns = DNSOPERATOR_OPENSHIFT_NS,
						     .keys = keys_of_map },
	[DNSOPERATOR_WATCH_COREFILE_KUBERNETES] = { "", "ConfigMap", .optional = true,
						    .ns = "kube-system",
						    .fields = "metadata.name=coredns",
						    .keys = keys_of_any },
	[DNSOPERATOR_WATCH_ACCEPTED_KUBERNETES] = { "", "ConfigMap", .optional = true,
						    .ns = "kube-system",
						    .fields = "metadata.name=coredns-accepted",
						    .keys = keys_of_any },
	[DNSOPERATOR_WATCH_CLUSTEROPERATOR] = { "config.openshift.io", "ClusterOperator",
						.optional = true, .fields = "metadata.name=dns",
						.keys = keys_of_any },
	[DNSOPERATOR_WATCH_OPERAND_DAEMONSETS] = { "apps", "DaemonSet", .optional = true,
						   .ns = DNSOPERATOR_OPENSHIFT_NS,
						   .keys = keys_of_any },
	[DNSOPERATOR_WATCH_OPERAND_SERVICES] = { "", "Service", .optional = true,
						 .ns = DNSOPERATOR_OPENSHIFT_NS,
						 .keys = keys_of_any },
	[DNSOPERATOR_WATCH_OPERAND_POLICIES] = { "networking.k8s.io", "NetworkPolicy",
						 .optional = true, .ns = DNSOPERATOR_OPENSHIFT_NS,
						 .keys = keys_of_any },
	[DNSOPERATOR_WATCH_CA_SOURCES] = { "", "ConfigMap", .optional = true,
					   .ns = DNSOPERATOR_CA_NS, .paths = source_paths,
					   .keys = keys_of_source },
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watched kinds, what a change of an object queues, and the index of rules by DNSName. */
#include "controller/egressfirewall/watches.h"

#include <stdio.h>
#include <string.h>

#include "api/egress/node_report.h"
#include "api/egress/rules.h"
#include "api/egress/unused.h"
#include "api/meta.h"
#include "controller/egressfirewall/state.h"
#include "kube/decode/tree.h"

#define OPENSHIFT_NS "openshift-dns"
#define SYSTEM_NS    "kube-system"
#define SERVICE_OF   "kubernetes.io/service-name="

/* ---- where DNSNames are ---- */

/* EF-2. A platform that is named counts; else a cluster with OpenShift's network object is one. */
static bool is_openshift(const struct controller_ctx *ctx)
{
	static const char *const with_ns[] = { "openshift", "microshift" };
	const struct controller_options *options = ctx->options;
	const char *platform =
		options != NULL && options->platform != NULL ? options->platform : "";
	if (options != NULL && options->machine != NULL)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(with_ns); i++) {
		if (strcmp(platform, with_ns[i]) == 0)
			return true;
	}
	if (platform[0] != '\0' && strcmp(platform, "auto") != 0)
		return false;
	struct kube_obj *network =
		kube_store_get(ctx->stores[EGRESSFIREWALL_NETWORK], SLICE(""), SLICE("cluster"));
	bool found = network != NULL;
	kube_obj_unref(network);
	return found;
}

const char *egressfirewall_names_ns(const struct controller_ctx *ctx)
{
	return is_openshift(ctx) ? OPENSHIFT_NS : ctx->ns;
}

const char *egressfirewall_servers_ns(const struct controller_ctx *ctx)
{
	return is_openshift(ctx) ? OPENSHIFT_NS : SYSTEM_NS;
}

size_t egressfirewall_slices_watch(const struct controller_ctx *ctx)
{
	return is_openshift(ctx) ? EGRESSFIREWALL_SLICES_OPENSHIFT : EGRESSFIREWALL_SLICES;
}

struct kube_obj *egressfirewall_find_name(const struct controller_ctx *ctx, const char *name)
{
	const char *ns = egressfirewall_names_ns(ctx);
	size_t watch = ns == ctx->ns ? EGRESSFIREWALL_NAMES_OWN : EGRESSFIREWALL_NAMES_OPENSHIFT;
	return kube_store_get(ctx->stores[watch], slice_of(ns), slice_of(name));
}

/* ---- indexes of firewalls ---- */

enum { BY_NAME, BY_NODES };

/* An index key: how a rule uses an object, and the object. */
enum { INDEX_KEY_MAX = EGRESS_NAME_MAX + 3 };

static void write_index_key(char out[INDEX_KEY_MAX], enum rule_use use, const char *object)
{
	static const char letters[] = {
		[RULE_USE_REGULAR] = 'r', [RULE_USE_ONE_LABEL] = 'w', [RULE_USE_ANY_DEPTH] = 'a'
	};
	snprintf(out, INDEX_KEY_MAX, "%c %s", letters[use], object);
}

struct index_call {
	kube_index_emit emit;
	void *ctx;
	bool any_depth;
};

static void index_name(void *arg, const struct egress_name *name)
{
	const struct index_call *call = arg;
	char object[EGRESS_NAME_MAX + 1], key[INDEX_KEY_MAX];
	enum rule_use use = call->any_depth ? RULE_USE_ANY_DEPTH : RULE_USE_ONE_LABEL;
	egress_name_object(name->text, name->is_wildcard, object);
	write_index_key(key, name->is_wildcard ? use : RULE_USE_REGULAR, object);
	call->emit(call->ctx, slice_of(key));
}

static void index_by_name(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	const json_t *firewall = kube_tree_of(obj);
	struct index_call call = { emit, ctx, egress_rules_any_depth(firewall) };
	egress_rules_each_name(firewall, index_name, &call);
}

static void index_by_nodes(const struct kube_obj *obj, kube_index_emit emit, void *ctx)
{
	const json_t *rules = api_get(kube_tree_of(obj), "spec.egress");
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *to = json_object_get(json_array_get(rules, i), "to");
		if (json_object_get(to, "nodeSelector") == NULL)
			continue;
		emit(ctx, SLICE("nodes"));
		return;
	}
}

static const kube_index_fn firewall_indexes[] = {
	[BY_NAME] = index_by_name, [BY_NODES] = index_by_nodes
};

static bool stop_at_first(void *arg, struct kube_obj *obj)
{
	bool *found = arg;
	(void)obj;
	*found = true;
	return false;
}

/* A firewall that uses it and that no pass has read yet; the index reads all rules of what it finds. */
static bool is_used_by_unread(const struct controller_ctx *ctx, const char *object,
			      enum rule_use use)
{
	char key[INDEX_KEY_MAX];
	bool found = false;
	write_index_key(key, use, object);
	controller_each_by(ctx, EGRESSFIREWALL_FIREWALLS, BY_NAME, slice_of(key), stop_at_first,
			   &found);
	return found;
}

struct egressfirewall_users egressfirewall_users_of(const struct controller_ctx *ctx,
						    const char *object)
{
	const struct rule_users *users = &egressfirewall_state_of(ctx)->users;
	bool found[RULE_USES];
	for (size_t i = 0; i < RULE_USES; i++)
		found[i] = rule_users_have(users, object, (enum rule_use)i) ||
			   is_used_by_unread(ctx, object, (enum rule_use)i);
	return (struct egressfirewall_users){ .regular = found[RULE_USE_REGULAR],
					      .wildcard = found[RULE_USE_ONE_LABEL] ||
							  found[RULE_USE_ANY_DEPTH],
					      .any_depth = found[RULE_USE_ANY_DEPTH] };
}

/* ---- keys ---- */

struct emitter {
	controller_emit emit;
	void *arg;
};

static void emit_firewall(const struct emitter *out, const struct kube_obj *object)
{
	char key[EGRESSFIREWALL_KEY_MAX];
	snprintf(key, sizeof(key), EGRESSFIREWALL_FIREWALL_KEY "%s/%s", object->ns, object->name);
	out->emit(out->arg, key);
}

static void emit_name(const struct emitter *out, const char *object)
{
	char key[EGRESSFIREWALL_KEY_MAX];
	snprintf(key, sizeof(key), EGRESSFIREWALL_NAME_KEY "%s", object);
	out->emit(out->arg, key);
}

static bool emit_found_firewall(void *arg, struct kube_obj *object)
{
	emit_firewall(arg, object);
	return true;
}

static void queue_firewall(void *arg, const char *firewall)
{
	egressfirewall_queue(arg, EGRESSFIREWALL_FIREWALL_KEY, firewall);
}

void egressfirewall_queue_firewalls(struct controller_ctx *ctx, const char *object)
{
	rule_users_each(&egressfirewall_state_of(ctx)->users, object, queue_firewall, ctx);
}

static void emit_rule_name(void *arg, const struct egress_name *name)
{
	char object[EGRESS_NAME_MAX + 1];
	egress_name_object(name->text, name->is_wildcard, object);
	emit_name(arg, object);
}

/* Its names follow from the pass over it (known_firewall.h). Only with rules servers can learn
 * something. */
static void keys_of_firewall(const struct controller_ctx *ctx, const struct kube_obj *object,
			     controller_emit emit, void *arg)
{
	(void)ctx;
	emit(arg, EGRESSFIREWALL_REPORTS_KEY);
	emit_firewall(&(struct emitter){ emit, arg }, object);
	emit(arg, EGRESSFIREWALL_SERVERS_KEY);
	emit(arg, EGRESSFIREWALL_CERTS_KEY);
}

static void keys_of_slice(const struct controller_ctx *ctx, const struct kube_obj *object,
			  controller_emit emit, void *arg)
{
	(void)ctx;
	(void)object;
	emit(arg, EGRESSFIREWALL_SERVERS_KEY);
}

static void keys_of_report(const struct controller_ctx *ctx, const struct kube_obj *object,
			   controller_emit emit, void *arg)
{
	(void)ctx;
	(void)object;
	emit(arg, EGRESSFIREWALL_REPORTS_KEY);
}

static void keys_of_name(const struct controller_ctx *ctx, const struct kube_obj *object,
			 controller_emit emit, void *arg)
{
	(void)ctx;
	emit_name(&(struct emitter){ emit, arg }, object->name);
}

static void keys_of_node(const struct controller_ctx *ctx, const struct kube_obj *object,
			 controller_emit emit, void *arg)
{
	struct emitter out = { emit, arg };
	(void)object;
	atomic_store(&egressfirewall_state_of(ctx)->ranges_stale, true);
	controller_each_by(ctx, EGRESSFIREWALL_FIREWALLS, BY_NODES, SLICE("nodes"),
			   emit_found_firewall, &out);
	emit(arg, EGRESSFIREWALL_REPORTS_KEY);
	emit(arg, EGRESSFIREWALL_CERTS_KEY);
}

static bool emit_names_of(void *arg, struct kube_obj *object)
{
	egress_rules_each_name(kube_tree_of(object), emit_rule_name, arg);
	return true;
}

/* DNSNames have another namespace when this turns out to be OpenShift. */
static void keys_of_network(const struct controller_ctx *ctx, const struct kube_obj *object,
			    controller_emit emit, void *arg)
{
	struct emitter out = { emit, arg };
	(void)object;
	atomic_store(&egressfirewall_state_of(ctx)->ranges_stale, true);
	kube_store_each(ctx->stores[EGRESSFIREWALL_FIREWALLS], emit_names_of, &out);
}

static void keys_of_service_cidr(const struct controller_ctx *ctx, const struct kube_obj *object,
				 controller_emit emit, void *arg)
{
	(void)object;
	(void)emit;
	(void)arg;
	atomic_store(&egressfirewall_state_of(ctx)->ranges_stale, true);
}

static const char *const firewall_paths[] = { "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]",
					      "spec", "status", NULL };
static const char *const name_paths[] = { "metadata.labels[" EGRESSFIREWALL_MANAGED_BY "]",
					  "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]",
					  "metadata.annotations[" EGRESS_UNUSED_ANNOTATION "]",
					  "spec",
					  "status",
					  NULL };
static const char *const node_paths[] = { "metadata.labels", "spec.podCIDRs", "status.addresses",
					  "status.nodeInfo.bootID", NULL };
static const char *const report_paths[] = { "data", NULL };
static const char *const slice_paths[] = { "addressType", "endpoints", "ports", NULL };
static const char *const service_cidr_paths[] = { "spec.cidrs", NULL };
static const char *const network_paths[] = { "spec.clusterNetwork", "spec.serviceNetwork",
					     "status.clusterNetwork", "status.serviceNetwork",
					     NULL };

const struct controller_watch egressfirewall_watches[EGRESSFIREWALL_WATCHES] = {
	[EGRESSFIREWALL_FIREWALLS] = { EGRESS_GROUP, EGRESS_FIREWALL_KIND, .paths = firewall_paths,
				       .indexes = firewall_indexes,
				       .n_indexes = ARRAY_LEN(firewall_indexes),
				       .keys = keys_of_firewall },
	[EGRESSFIREWALL_NAMES_OWN] = { EGRESS_GROUP, EGRESS_NAME_KIND, .own_ns = true,
				       .paths = name_paths, .keys = keys_of_name },
	[EGRESSFIREWALL_NAMES_OPENSHIFT] = { EGRESS_GROUP, EGRESS_NAME_KIND, .optional = true,
					     .ns = OPENSHIFT_NS, .paths = name_paths,
					     .keys = keys_of_name },
	[EGRESSFIREWALL_NODES] = { "", "Node", .paths = node_paths, .keys = keys_of_node },
	[EGRESSFIREWALL_SERVICE_CIDRS] = { "networking.k8s.io", "ServiceCIDR", .optional = true,
					   .paths = service_cidr_paths,
					   .keys = keys_of_service_cidr },
	[EGRESSFIREWALL_NETWORK] = { "config.openshift.io", "Network", .optional = true,
				     .paths = network_paths, .keys = keys_of_network },
	[EGRESSFIREWALL_SLICES] = { "discovery.k8s.io", "EndpointSlice", .optional = true,
				    .ns = SYSTEM_NS, .labels = SERVICE_OF "kube-dns",
				    .paths = slice_paths, .keys = keys_of_slice },
	[EGRESSFIREWALL_SLICES_OPENSHIFT] = { "discovery.k8s.io", "EndpointSlice", .optional = true,
					      .ns = OPENSHIFT_NS,
					      .labels = SERVICE_OF "dns-default",
					      .paths = slice_paths, .keys = keys_of_slice },
	[EGRESSFIREWALL_REPORTS] = { "", "ConfigMap", .optional = true, .own_ns = true,
				     .labels = EGRESS_REPORT_LABEL, .paths = report_paths,
				     .keys = keys_of_report },
};

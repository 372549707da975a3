/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node selector and tolerations of the servers, and which nodes they fit. */
#include "controller/dnsoperator/operands/node_placement.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/compiler.h"
#include "base/slice.h"

#define ZONE	      "topology.kubernetes.io/zone"
#define CONTROL_PLANE "node-role.kubernetes.io/control-plane"
#define MASTER	      "node-role.kubernetes.io/master"

/* The taint of the control plane: OpenShift has kept the old one. */
static const char *const own_taint[DNSOPERATOR_PLATFORM_COUNT] = {
	[DNSOPERATOR_OPENSHIFT] = MASTER,
	[DNSOPERATOR_MICROSHIFT] = MASTER,
	[DNSOPERATOR_KUBERNETES] = CONTROL_PLANE,
	[DNSOPERATOR_MACHINE] = CONTROL_PLANE,
};

/* ---- does a node fit? ---- */

static bool labels_fit(const json_t *node, const json_t *selector)
{
	const char *key;
	json_t *v;
	json_object_foreach (api_tree(selector), key, v) {
		const char *have = api_label(node, key);
		if (have == NULL || !json_is_string(v) || strcmp(have, api_text(v)) != 0)
			return false;
	}
	return true;
}

static bool tolerates_taint(const json_t *toleration, const json_t *taint)
{
	const char *effect = api_get_string(toleration, "effect"),
		   *key = api_get_string(toleration, "key");
	const char *how = api_get_string(toleration, "operator");
	bool any = strcmp(how, "Exists") == 0;
	if (effect[0] != '\0' && strcmp(effect, api_get_string(taint, "effect")) != 0)
		return false;
	if (key[0] == '\0' ? !any : strcmp(key, api_get_string(taint, "key")) != 0)
		return false;
	return any ||
	       ((how[0] == '\0' || strcmp(how, "Equal") == 0) &&
		strcmp(api_get_string(toleration, "value"), api_get_string(taint, "value")) == 0);
}

/* Pods of DaemonSets tolerate the temporary taints that a node sets on itself. */
static bool taint_matters(const json_t *taint)
{
	return strcmp(api_get_string(taint, "effect"), "PreferNoSchedule") != 0 &&
	       !slice_starts(slice_of(api_get_string(taint, "key")), SLICE("node.kubernetes.io/"));
}

static bool taints_fit(const json_t *node, const json_t *tolerations)
{
	size_t i, k;
	json_t *taint, *t;
	json_array_foreach (api_get(node, "spec.taints"), i, taint) {
		bool ok = !taint_matters(taint);
		json_array_foreach (tolerations, k, t)
			ok = ok || tolerates_taint(t, taint);
		if (!ok)
			return false;
	}
	return true;
}

static bool some_node_fits(const json_t *nodes, const struct dnsoperator_placement *placement)
{
	size_t i;
	json_t *node;
	json_array_foreach (nodes, i, node) {
		if (!json_is_true(api_get(node, "spec.unschedulable")) &&
		    labels_fit(node, placement->selector) &&
		    taints_fit(node, placement->tolerations))
			return true;
	}
	return json_array_size(nodes) == 0;
}

/* ---- the wanted placement ---- */

/* As the API returns it: without empty members. */
static json_t *toleration_of(const json_t *value)
{
	static const char *const texts[] = { "key", "operator", "value", "effect" };
	const json_t *seconds = json_object_get(value, "tolerationSeconds");
	json_t *out = json_object();
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (api_get_string(value, texts[i])[0] != '\0')
			json_object_set_new(out, texts[i],
					    json_string(api_get_string(value, texts[i])));
	}
	if (json_is_integer(seconds))
		json_object_set_new(out, "tolerationSeconds",
				    json_integer(json_integer_value(seconds)));
	return out;
}

json_t *dnsoperator_node_selector(const json_t *dns)
{
	const json_t *v = api_get(dns, "spec.nodePlacement.nodeSelector");
	return json_object_size(v) != 0 ? json_deep_copy(v)
					: json_pack("{ss}", "kubernetes.io/os", "linux");
}

json_t *dnsoperator_tolerations(const json_t *dns, enum dnsoperator_platform platform)
{
	const json_t *list = api_get(dns, "spec.nodePlacement.tolerations");
	json_t *out = json_array();
	size_t i;
	json_t *v;
	json_array_foreach (list, i, v)
		json_array_append_new(out, toleration_of(v));
	if (json_array_size(list) == 0)
		json_array_append_new(out, json_pack("{ss,ss}", "key", own_taint[platform],
						     "operator", "Exists"));
	return out;
}

void dnsoperator_placement_of(const struct dnsoperator_placement_in *in,
			      struct dnsoperator_placement *ret)
{
	json_t *selector = api_get(in->now, "spec.template.spec.nodeSelector");
	json_t *tolerations = api_get(in->now, "spec.template.spec.tolerations");
	*ret = (struct dnsoperator_placement){ 0 };
	ret->selector = dnsoperator_node_selector(in->dns);
	ret->tolerations = dnsoperator_tolerations(in->dns, in->platform);
	/* where nothing runs nothing can be lost */
	if (json_integer_value(api_get(in->now, "status.currentNumberScheduled")) == 0 ||
	    some_node_fits(in->nodes, ret))
		return;
	json_decref(ret->selector);
	json_decref(ret->tolerations);
	ret->selector = selector != NULL ? json_deep_copy(selector) : json_object();
	ret->tolerations = tolerations != NULL ? json_deep_copy(tolerations) : json_array();
	ret->ignored = true;
}

/* ---- zones ---- */

static bool is_ready(const json_t *node)
{
	size_t i;
	json_t *v;
	json_array_foreach (api_get(node, "status.conditions"), i, v) {
		if (strcmp(api_get_string(v, "type"), "Ready") == 0)
			return strcmp(api_get_string(v, "status"), "True") == 0;
	}
	return false;
}

bool dnsoperator_zones_differ(const json_t *nodes)
{
	const char *first = NULL;
	bool differ = false;
	size_t i;
	json_t *node;
	json_array_foreach (nodes, i, node) {
		const char *zone = api_label(node, ZONE);
		if (api_label(node, CONTROL_PLANE) != NULL || api_label(node, MASTER) != NULL ||
		    !is_ready(node))
			continue;
		if (zone == NULL || zone[0] == '\0')
			return false;
		if (first == NULL)
			first = zone;
		differ = differ || strcmp(zone, first) != 0;
	}
	return differ;
}

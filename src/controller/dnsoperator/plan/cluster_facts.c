/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Platform, address families and feature gate, each from the objects that show it. */
#include "controller/dnsoperator/plan/cluster_facts.h"

#include <arpa/inet.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "controller/shared/feature_gate.h"
#include "net/addr.h"

/* clang-format off */
const struct dnsoperator_site dnsoperator_sites[DNSOPERATOR_PLATFORM_COUNT] = {
	/*                           name          namespace        ConfigMap      port  metrics           lameduck chaos  loop   kubeadm network gate   bundles */
	[DNSOPERATOR_OPENSHIFT] =  { "openshift",  "openshift-dns", "dns-default", 5353, "127.0.0.1:9153", "20s",   true,  false, false,  true,   false, true },
	[DNSOPERATOR_MICROSHIFT] = { "microshift", "openshift-dns", "dns-default", 5353, "127.0.0.1:9153", "20s",   true,  false, false,  false,  true,  false },
	[DNSOPERATOR_KUBERNETES] = { "kubernetes", "kube-system",   "coredns",     53,   ":9153",          "5s",    false, true,  true,   false,  true,  false },
	[DNSOPERATOR_MACHINE] =    { "machine",    "openshift-dns", "dns-default", 0,    "localhost:9153", "",      false, true,  false,  false,  true,  false },
};
/* clang-format on */

int dnsoperator_platform_find(const char *name)
{
	for (int i = 0; i < DNSOPERATOR_PLATFORM_COUNT; i++) {
		if (strcmp(dnsoperator_sites[i].name, name) == 0)
			return i;
	}
	return -1;
}

/* ---- families ---- */

/* An address or a network; other values (a Service's "None") are ignored. */
static void note_family(struct dnsoperator_families *families, const json_t *value)
{
	struct net_cidr c;
	if (!json_is_string(value) || net_cidr_parse(slice_of(api_text(value)), &c) < 0)
		return;
	families->known = true;
	families->v4 = families->v4 || c.family == AF_INET;
	families->v6 = families->v6 || c.family == AF_INET6;
}

/* Each item of the list at `path`, or of its items the member. */
static void note_list(struct dnsoperator_families *families, const json_t *object, const char *path,
		      const char *member)
{
	size_t i;
	json_t *v;
	json_array_foreach (api_get(object, path), i, v)
		note_family(families, member != NULL ? json_object_get(v, member) : v);
}

static void note_network(struct dnsoperator_families *families, const json_t *object)
{
	note_list(families, object, "spec.clusterNetwork", "cidr");
	note_list(families, object, "spec.serviceNetwork", NULL);
	note_list(families, object, "status.clusterNetwork", "cidr");
	note_list(families, object, "status.serviceNetwork", NULL);
}

struct dnsoperator_families dnsoperator_families_of(enum dnsoperator_platform platform,
						    const struct dnsoperator_network *network)
{
	struct dnsoperator_families f = { 0 };
	size_t i;
	json_t *o;
	note_network(&f, network->network);
	if (!dnsoperator_sites[platform].network_object) {
		json_array_foreach (network->service_cidrs, i, o)
			note_list(&f, o, "spec.cidrs", NULL);
		json_array_foreach (network->nodes, i, o)
			note_list(&f, o, "spec.podCIDRs", NULL);
		note_list(&f, network->service, "spec.clusterIPs", NULL);
	}
	if (!f.known)
		f.v4 = f.v6 = true;
	return f;
}

/* ---- gate ---- */

static const char gate_name[] = "DNSTemplatePlugin";

/* Entries are strings, or objects with a name. */
static bool lists_gate(const json_t *list)
{
	size_t i;
	json_t *v;
	json_array_foreach (list, i, v) {
		const char *s = api_text(json_is_object(v) ? json_object_get(v, "name") : v);
		if (strcmp(s, gate_name) == 0)
			return true;
	}
	return false;
}

static int gate_in(const json_t *object)
{
	if (lists_gate(json_object_get(object, "enabled")))
		return 1;
	return lists_gate(json_object_get(object, "disabled")) ? 0 : -1;
}

/* OpenShift lists the gates that its own release knows, which need not include ours: the gate then
 * follows the feature set that it belongs to (DevPreview includes TechPreview). */
static int gate_by_feature_set(const json_t *object)
{
	static const char *const preview[] = { "TechPreviewNoUpgrade", "DevPreviewNoUpgrade" };
	const char *set = api_get_string(object, "spec.featureSet");
	if (strcmp(set, "CustomNoUpgrade") == 0)
		return gate_in(api_get(object, "spec.customNoUpgrade"));
	for (size_t i = 0; i < ARRAY_LEN(preview); i++) {
		if (strcmp(set, preview[i]) == 0)
			return 1;
	}
	return -1;
}

static int gate_by_object(const json_t *object, const char *version)
{
	size_t i;
	json_t *v;
	json_array_foreach (api_get(object, "status.featureGates"), i, v) {
		if (version[0] != '\0' && strcmp(api_get_string(v, "version"), version) != 0)
			continue;
		int said = gate_in(v);
		if (said >= 0)
			return said;
		break;
	}
	return gate_by_feature_set(object);
}

enum dnsoperator_gate dnsoperator_gate_of(enum dnsoperator_platform platform, const char *flag,
					  const json_t *feature_gate, const char *version,
					  enum dnsoperator_gate_source *ret_source)
{
	int said = feature_gate_by_flag(flag, gate_name);
	*ret_source = DNSOPERATOR_GATE_BY_FLAG;
	if (said < 0) {
		said = gate_by_object(feature_gate, version);
		*ret_source = DNSOPERATOR_GATE_BY_OBJECT;
	}
	if (said < 0) {
		said = dnsoperator_sites[platform].gate ? 1 : 0;
		*ret_source = DNSOPERATOR_GATE_BY_PLATFORM;
	}
	return said != 0 ? DNSOPERATOR_GATE_ON : DNSOPERATOR_GATE_OFF;
}

enum dnsoperator_keeps dnsoperator_keeps_of(const json_t *crd)
{
	size_t i;
	json_t *v;
	json_array_foreach (api_get(crd, "spec.versions"), i, v) {
		const json_t *root = api_get(v, "schema.openAPIV3Schema");
		const json_t *spec = api_get(root, "properties.spec");
		static const char any[] = "x-kubernetes-preserve-unknown-fields";
		if (strcmp(api_get_string(v, "name"), "v1") != 0)
			continue;
		if (api_get(spec, "properties.templates") != NULL ||
		    json_is_true(json_object_get(spec, any)) ||
		    (spec == NULL && json_is_true(json_object_get(root, any))))
			return DNSOPERATOR_KEEPS;
		return DNSOPERATOR_PRUNES;
	}
	return DNSOPERATOR_KEEPS_UNKNOWN;
}

const char *dnsoperator_domain(const struct dnsoperator_facts *facts)
{
	return facts->domain != NULL && facts->domain[0] != '\0' ? facts->domain : "cluster.local";
}

const char *dnsoperator_reserved_domain(const struct dnsoperator_facts *facts)
{
	return facts->domain_unknown ? NULL : dnsoperator_domain(facts);
}

void dnsoperator_cluster_ip(const json_t *network, char *out, size_t len)
{
	enum { TENTH = 10 };
	struct net_cidr c;
	const char *text = api_get_string(network, "status.serviceNetwork[0]");
	out[0] = '\0';
	if (net_cidr_parse(slice_of(text), &c) < 0)
		return;
	unsigned carry = TENTH;
	for (int i = c.family == AF_INET ? 3 : 15; i >= 0 && carry != 0; i--) {
		carry += c.ip[i];
		c.ip[i] = (uint8_t)carry;
		carry >>= 8;
	}
	if (inet_ntop(c.family, c.ip, out, (socklen_t)len) == NULL)
		out[0] = '\0';
}

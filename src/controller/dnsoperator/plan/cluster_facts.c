/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Platform, address families, domain and feature gate, each from the objects that show it. */
#include "controller/dnsoperator/plan/cluster_facts.h"

#include <arpa/inet.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/arena.h"
#include "base/err.h"
#include "corefile/corefile.h"
#include "corefile/key.h"
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

/* ---- domain ---- */

static bool is_reverse(struct slice zone)
{
	return slice_ends(zone, SLICE("in-addr.arpa")) || slice_ends(zone, SLICE("ip6.arpa"));
}

/* The one of these zones that is not for addresses, into `out`, unless it is there already.
 * ERR_PARSE: it is not a domain, or another one: it is ambiguous. */
static int take_domains(struct arena *arena, const struct word *words, size_t count,
			char out[DNSOPERATOR_DOMAIN_MAX])
{
	for (size_t i = 0; i < count; i++) {
		const char *const *zones;
		size_t n_zones;
		struct srcerr err;
		if (corefile_zones_expand(arena, &words[i], &zones, &n_zones, &err) < 0 ||
		    n_zones == 0)
			return ERR_PARSE;
		struct slice z = slice_of(zones[0]);
		if (z.n == 1)
			continue; /* the root */
		if (z.n == 0 || z.n > DNSOPERATOR_DOMAIN_MAX)
			return ERR_PARSE;
		z.n--; /* the final dot */
		if (is_reverse(z) || slice_is(z, out))
			continue;
		if (out[0] != '\0')
			return ERR_PARSE;
		memcpy(out, z.p, z.n);
		out[z.n] = '\0';
		if (!api_is_dns_domain(out))
			return ERR_PARSE;
	}
	return 0;
}

/* The environment is the DNS servers', not ours: what it would fill in is no part of any domain. */
static const char *env_unknown(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return "_";
}

int dnsoperator_domain_of(struct slice corefile, char out[DNSOPERATOR_DOMAIN_MAX])
{
	static const struct corefile_source source = { .env = env_unknown };
	struct arena a;
	CLEANUP(corefile_freep) struct corefile *cf = NULL;
	int r = corefile_parse("Corefile", corefile, &source, &cf, NULL);
	if (r < 0)
		return ERR_NOTFOUND;
	arena_init(&a);
	out[0] = '\0';
	for (size_t i = 0; i < cf->n_block && r >= 0; i++) {
		const struct corefile_block *b = &cf->block[i];
		for (size_t k = 0; k < b->n_dir && r >= 0; k++) {
			const struct corefile_dir *d = &b->dir[k];
			if (strcmp(d->name.s, "kubernetes") == 0)
				r = d->n_arg != 0 ? take_domains(&a, d->arg, d->n_arg, out)
						  : take_domains(&a, b->key, b->n_key, out);
		}
	}
	arena_done(&a);
	return r < 0 || out[0] == '\0' ? ERR_NOTFOUND : 0;
}

/* ---- gate ---- */

static const char gate_name[] = "DNSTemplatePlugin";

/* 1 on, 0 off, -1 not listed. The last entry counts. */
static int gate_by_flag(const char *flag)
{
	struct slice rest = slice_of(flag);
	int said = -1;
	while (rest.n != 0) {
		struct slice value = slice_cut(&rest, ',');
		struct slice name = slice_cut(&value, '=');
		if (slice_is(slice_trim(name), gate_name))
			said = slice_eq_nocase(slice_trim(value), SLICE("true")) ? 1 : 0;
	}
	return said;
}

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
					  const json_t *feature_gate, const char *version)
{
	int said = gate_by_flag(flag);
	if (said < 0)
		said = gate_by_object(feature_gate, version);
	if (said < 0)
		said = dnsoperator_sites[platform].gate ? 1 : 0;
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

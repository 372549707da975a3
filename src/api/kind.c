/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of Kubernetes kinds that this program uses; finds a kind by group and kind, or by a
 * word of the command line (plural, singular or short name); builds the REST path of an object. */
#include "api/kind.h"

#include <string.h>

#include "api/meta.h"

/* clang-format off */
const struct api_kind api_kinds[] = {
	/* group                         version      kind                     plural                     singular                  shorts    ns     status ours */
	{ "",                            "v1",        "Namespace",             "namespaces",              "namespace",              "ns",     false, true,  false },
	{ "",                            "v1",        "ConfigMap",             "configmaps",              "configmap",              "cm",     true,  false, false },
	{ "",                            "v1",        "Secret",                "secrets",                 "secret",                 "",       true,  false, false },
	{ "",                            "v1",        "Service",               "services",                "service",                "svc",    true,  true,  false },
	{ "",                            "v1",        "Pod",                   "pods",                    "pod",                    "po",     true,  true,  false },
	{ "",                            "v1",        "Node",                  "nodes",                   "node",                   "no",     false, true,  false },
	{ "",                            "v1",        "ServiceAccount",        "serviceaccounts",         "serviceaccount",         "sa",     true,  false, false },
	{ "events.k8s.io",               "v1",        "Event",                 "events",                  "event",                  "ev",     true,  false, false },
	{ "",                            "v1",        "Event",                 "events",                  "event",                  "ev",     true,  false, false },
	{ "",                            "v1",        "Endpoints",             "endpoints",               "endpoints",              "ep",     true,  false, false },
	{ "discovery.k8s.io",            "v1",        "EndpointSlice",         "endpointslices",          "endpointslice",          "",       true,  false, false },
	{ "multicluster.x-k8s.io",       "v1alpha1",  "ServiceImport",         "serviceimports",          "serviceimport",          "svcim svcimport", true, true, false },
	{ "coordination.k8s.io",         "v1",        "Lease",                 "leases",                  "lease",                  "",       true,  false, false },
	{ "networking.k8s.io",           "v1",        "ServiceCIDR",           "servicecidrs",            "servicecidr",            "",       false, true,  false },
	{ "networking.k8s.io",           "v1",        "NetworkPolicy",         "networkpolicies",         "networkpolicy",          "netpol", true,  false, false },
	{ "",                            "v1",        "PersistentVolumeClaim", "persistentvolumeclaims",  "persistentvolumeclaim",  "pvc",    true,  true,  false },
	{ "",                            "v1",        "PersistentVolume",      "persistentvolumes",       "persistentvolume",       "pv",     false, true,  false },
	{ "",                            "v1",        "ReplicationController", "replicationcontrollers",  "replicationcontroller",  "rc",     true,  true,  false },
	{ "apps",                        "v1",        "Deployment",            "deployments",             "deployment",             "deploy", true,  true,  false },
	{ "apps",                        "v1",        "ReplicaSet",            "replicasets",             "replicaset",             "rs",     true,  true,  false },
	{ "apps",                        "v1",        "StatefulSet",           "statefulsets",            "statefulset",            "sts",    true,  true,  false },
	{ "batch",                       "v1",        "CronJob",               "cronjobs",                "cronjob",                "cj",     true,  true,  false },
	{ "batch",                       "v1",        "Job",                   "jobs",                    "job",                    "",       true,  true,  false },
	{ "networking.k8s.io",           "v1",        "Ingress",               "ingresses",               "ingress",                "ing",    true,  true,  false },
	{ "apps",                        "v1",        "DaemonSet",             "daemonsets",              "daemonset",              "ds",     true,  true,  false },
	{ "rbac.authorization.k8s.io",   "v1",        "ClusterRole",           "clusterroles",            "clusterrole",            "",       false, false, false },
	{ "rbac.authorization.k8s.io",   "v1",        "ClusterRoleBinding",    "clusterrolebindings",     "clusterrolebinding",     "",       false, false, false },
	{ "rbac.authorization.k8s.io",   "v1",        "Role",                  "roles",                   "role",                   "",       true,  false, false },
	{ "rbac.authorization.k8s.io",   "v1",        "RoleBinding",           "rolebindings",            "rolebinding",            "",       true,  false, false },
	{ "monitoring.coreos.com",       "v1",        "ServiceMonitor",        "servicemonitors",         "servicemonitor",         "smon",   true,  true,  false },
	{ "apiextensions.k8s.io",        "v1",        "CustomResourceDefinition", "customresourcedefinitions", "customresourcedefinition", "crd crds", false, true, false },
	{ "authorization.k8s.io",        "v1",        "SelfSubjectAccessReview", "selfsubjectaccessreviews", "selfsubjectaccessreview", "",   false, false, false },
	{ "authorization.k8s.io",        "v1",        "SelfSubjectRulesReview", "selfsubjectrulesreviews", "selfsubjectrulesreview", "",      false, false, false },
	{ "authentication.k8s.io",       "v1",        "SelfSubjectReview",     "selfsubjectreviews",      "selfsubjectreview",      "",       false, false, false },
	{ "operator.openshift.io",       "v1",        "DNS",                   "dnses",                   "dns",                    "",       false, true,  true },
	{ "config.openshift.io",         "v1",        "Network",               "networks",                "network",                "",       false, true,  true },
	{ "config.openshift.io",         "v1",        "FeatureGate",           "featuregates",            "featuregate",            "",       false, true,  true },
	{ "config.openshift.io",         "v1",        "ClusterOperator",       "clusteroperators",        "clusteroperator",        "co",     false, true,  true },
	{ "k8s.ovn.org",                 "v1",        "EgressFirewall",        "egressfirewalls",         "egressfirewall",         "",       true,  true,  true },
	{ "k8s.ovn.org",                 "v1",        "DNSName",               "dnsnames",                "dnsname",                "",       true,  true,  true },
	{ "ipam.cluster.x-k8s.io",       "v1beta2",   "IPAddressClaim",        "ipaddressclaims",         "ipaddressclaim",         "",       true,  true,  true },
	{ "ipam.cluster.x-k8s.io",       "v1beta2",   "IPAddress",             "ipaddresses",             "ipaddress",              "",       true,  false, true },
	{ "ipam.cluster.x-k8s.io",       "v1alpha2",  "InClusterIPPool",       "inclusterippools",        "inclusterippool",        "",       true,  true,  true },
	{ "ipam.cluster.x-k8s.io",       "v1alpha2",  "GlobalInClusterIPPool", "globalinclusterippools",  "globalinclusterippool",  "",       false, true,  true },
	{ "ipam.cluster.x-k8s.io",       "v1alpha2",  "InClusterPrefixPool",   "inclusterprefixpools",    "inclusterprefixpool",    "",       true,  true,  true },
	{ "ipam.cluster.x-k8s.io",       "v1alpha2",  "GlobalInClusterPrefixPool", "globalinclusterprefixpools", "globalinclusterprefixpool", "", false, true, true },
	{ "cluster.x-k8s.io",            "v1beta2",   "Cluster",               "clusters",                "cluster",                "cl",     true,  true,  true },
	{ "extensions.gardener.cloud",   "v1alpha1",  "DNSRecord",             "dnsrecords",              "dnsrecord",              "dns",    true,  true,  true },
	{ "extensions.gardener.cloud",   "v1alpha1",  "Cluster",               "clusters",                "cluster",                "",       false, false, true },
};
/* clang-format on */
const size_t api_n_kinds = ARRAY_LEN(api_kinds);

const struct api_kind *api_kind_find(const char *group, const char *kind)
{
	for (size_t i = 0; i < api_n_kinds; i++) {
		if (strcmp(api_kinds[i].group, group) == 0 && strcmp(api_kinds[i].kind, kind) == 0)
			return &api_kinds[i];
	}
	return NULL;
}

static bool has_short_name(const struct api_kind *kind, struct slice word)
{
	struct slice rest = slice_of(kind->shorts);
	while (rest.n != 0) {
		if (slice_eq_nocase(slice_cut(&rest, ' '), word))
			return true;
	}
	return false;
}

static bool matches_name(const struct api_kind *kind, struct slice word)
{
	struct slice rest = word;
	struct slice first = slice_cut(&rest, '.');
	bool name = slice_eq_nocase(first, slice_of(kind->plural)) ||
		    slice_eq_nocase(first, slice_of(kind->singular)) ||
		    slice_eq_nocase(first, slice_of(kind->kind));
	return name && (rest.p == NULL || slice_eq_nocase(rest, slice_of(kind->group)));
}

/* Two rows may be one kind to a user: Events have two groups and one store. */
static bool same_to_users(const struct api_kind *left, const struct api_kind *right)
{
	return strcmp(left->kind, right->kind) == 0 && !left->ours && !right->ours;
}

static const struct api_kind *find_unique(bool (*fit)(const struct api_kind *kind,
						      struct slice word),
					  const char *word, bool *ret_ambiguous)
{
	const struct api_kind *found = NULL;
	*ret_ambiguous = false;
	for (size_t i = 0; i < api_n_kinds; i++) {
		if (!fit(&api_kinds[i], slice_of(word)))
			continue;
		if (found != NULL && !same_to_users(found, &api_kinds[i]))
			*ret_ambiguous = true;
		if (found == NULL)
			found = &api_kinds[i];
	}
	return *ret_ambiguous ? NULL : found;
}

const struct api_kind *api_kind_by_word(const char *word, bool *ret_ambiguous)
{
	const struct api_kind *k = find_unique(matches_name, word, ret_ambiguous);
	if (k != NULL || *ret_ambiguous)
		return k;
	return find_unique(has_short_name, word, ret_ambiguous);
}

const struct api_kind *api_kind_of(const json_t *object)
{
	struct slice rest = slice_of(api_version(object));
	struct slice group = slice_cut(&rest, '/');
	if (group.n == 0)
		return NULL;
	if (rest.p == NULL)
		group = SLICE(""); /* "v1" */
	for (size_t i = 0; i < api_n_kinds; i++) {
		if (slice_is(group, api_kinds[i].group) &&
		    strcmp(api_kinds[i].kind, api_kind(object)) == 0)
			return &api_kinds[i];
	}
	return NULL;
}

bool api_name_is_path_segment(const char *name)
{
	return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strpbrk(name, "/%") == NULL;
}

void api_kind_api_version(struct strbuf *out, const struct api_kind *kind)
{
	if (kind->group[0] != '\0')
		strbuf_addf(out, "%s/", kind->group);
	strbuf_adds(out, kind->version);
}

static void add_segment(struct strbuf *out, const char *text)
{
	strbuf_addc(out, '/');
	strbuf_add_url(out, slice_of(text));
}

void api_kind_path(struct strbuf *out, const struct api_kind *kind, const char *ns,
		   const char *name, const char *sub)
{
	strbuf_adds(out, kind->group[0] != '\0' ? "/apis/" : "/api/");
	api_kind_api_version(out, kind);
	if (kind->namespaced && ns != NULL && ns[0] != '\0') {
		strbuf_adds(out, "/namespaces");
		add_segment(out, ns);
	}
	add_segment(out, kind->plural);
	if (name != NULL)
		add_segment(out, name);
	if (sub != NULL)
		add_segment(out, sub);
}

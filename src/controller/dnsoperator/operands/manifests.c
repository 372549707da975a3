/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifests and facts into objects. */
#include "controller/dnsoperator/operands/manifests.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/dnsoperator/operands/embedded_priv.h"
#include "controller/dnsoperator/operands/manifest_fill.h"
#include "controller/dnsoperator/operands/node_placement.h"
#include "controller/dnsoperator/operands/tls_profile.h"
#include "controller/dnsoperator/plan/ca_bundle.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/marker.h"
#include "controller/dnsoperator/plan/render.h"

enum { HASH_DIGITS = 16, VALUES_MAX = 24 };

/* Values that may be missing, and where they come from. */
static const struct {
	const char *value, *source;
} sources[] = {
	{ "DNS_IMAGE", "--dns-image or the environment variable IMAGE" },
	{ "CLI_IMAGE", "--dns-cli-image or the environment variable OPENSHIFT_CLI_IMAGE" },
	{ "PROXY_IMAGE", "--dns-proxy-image or the environment variable KUBE_RBAC_PROXY_IMAGE" },
	{ "CLUSTER_IP", "status.serviceNetwork of Network cluster" },
};

static const char *source_of(const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		if (strcmp(sources[i].value, value) == 0)
			return sources[i].source;
	}
	return value;
}

/* The folder of manifests and the servers' DaemonSet; NULL: nothing is applied there. */
static const struct {
	const char *folder, *servers;
} platform_sets[DNSOPERATOR_PLATFORM_COUNT] = {
	[DNSOPERATOR_OPENSHIFT] = { "openshift", "dns-default" },
	[DNSOPERATOR_MICROSHIFT] = { "openshift", "dns-default" },
	[DNSOPERATOR_KUBERNETES] = { "kubernetes", "fairlead-dns" },
	[DNSOPERATOR_MACHINE] = { NULL, NULL },
};

bool dnsoperator_operands_exist(enum dnsoperator_platform platform)
{
	return platform_sets[platform].folder != NULL;
}

const char *dnsoperator_operands_servers(enum dnsoperator_platform platform)
{
	return platform_sets[platform].servers;
}

/* ---- CA bundles, mounted where render.c expects them ---- */

struct bundles {
	const struct dnsoperator_facts *facts;
	json_t *volumes, *mounts;
};

/* Names of ConfigMaps may have dots, and be longer than a volume's. */
static char *volume_name(const char *configmap)
{
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	if (api_is_label_name(configmap))
		return xstrdup(configmap);
	dnsoperator_marker_hash(configmap, strlen(configmap), hash);
	return xasprintf("ca-%.*s", HASH_DIGITS, hash);
}

static bool has_item(const json_t *list, const char *member, const char *value)
{
	size_t i;
	json_t *v;
	json_array_foreach (list, i, v) {
		if (strcmp(api_text(json_object_get(v, member)), value) == 0)
			return true;
	}
	return false;
}

/* Several servers may share a bundle, and a name. */
static void add_bundle(struct bundles *bundles, const struct dnsoperator_ca *ca,
		       const char *server_name)
{
	CLEANUP(freep) char *configmap = dnsoperator_ca_copy_name(ca->name);
	CLEANUP(freep) char *volume = volume_name(configmap);
	CLEANUP(freep) char *path = xasprintf("/etc/pki/%s-%s", server_name, ca->revision);
	if (!has_item(bundles->volumes, "name", volume))
		json_array_append_new(bundles->volumes,
				      json_pack("{ss,s{ss,s[{ss,ss}]}}", "name", volume,
						"configMap", "name", configmap, "items", "key",
						DNSOPERATOR_CA_KEY, "path", DNSOPERATOR_CA_KEY));
	if (!has_item(bundles->mounts, "mountPath", path))
		json_array_append_new(bundles->mounts, json_pack("{ss,ss,sb}", "name", volume,
								 "mountPath", path, "readOnly", 1));
}

static void add_transport(struct bundles *bundles, const struct dnsoperator_transport *transport)
{
	if (!dnsoperator_is_tls(transport))
		return;
	for (size_t i = 0; i < bundles->facts->n_ca; i++) {
		if (strcmp(bundles->facts->ca[i].name, transport->ca) == 0)
			add_bundle(bundles, &bundles->facts->ca[i], transport->server_name);
	}
}

/* The Secret with the keys of learnt addresses, which the controller of egress rules makes; servers
 * start without it. */
static void add_egress_keys(struct bundles *bundles)
{
	static const char volume[] = "egress-keys";
	const char *ns = bundles->facts->egress_ns;
	if (ns == NULL || ns[0] == '\0')
		return;
	json_array_append_new(bundles->volumes,
			      json_pack("{ss,s{ss,sb}}", "name", volume, "secret", "secretName",
					"fairlead-egress-keys", "optional", 1));
	json_array_append_new(bundles->mounts, json_pack("{ss,ss,sb}", "name", volume, "mountPath",
							 DNSOPERATOR_EGRESS_FOLDER, "readOnly", 1));
}

/* What holding answers needs: the socket of the node's agent, and the certificate for agents of other nodes,
 * which the controller of egress rules makes; servers start without either. */
static void add_agents(struct bundles *bundles)
{
	static const char run[] = "egress-agent", certificate[] = "egress-agents";
	json_array_append_new(bundles->volumes,
			      json_pack("{ss,s{ss,ss}}", "name", run, "hostPath", "path",
					DNSOPERATOR_AGENT_RUN, "type", "DirectoryOrCreate"));
	json_array_append_new(bundles->mounts, json_pack("{ss,ss,sb}", "name", run, "mountPath",
							 DNSOPERATOR_AGENT_RUN, "readOnly", 1));
	json_array_append_new(bundles->volumes,
			      json_pack("{ss,s{ss,sb}}", "name", certificate, "secret",
					"secretName", "fairlead-node-client", "optional", 1));
	json_array_append_new(bundles->mounts,
			      json_pack("{ss,ss,sb}", "name", certificate, "mountPath",
					DNSOPERATOR_AGENTS_FOLDER, "readOnly", 1));
}

static void add_bundles(struct bundles *bundles, const json_t *accepted)
{
	struct dnsoperator_routes routes;
	struct api_errors errs = { 0 };
	struct arena arena;
	arena_init(&arena);
	dnsoperator_routes_read(accepted, &arena, &routes, &errs);
	const struct dnsoperator_server *servers = routes.servers.v;
	for (size_t i = 0; i < routes.servers.n; i++)
		add_transport(bundles, &servers[i].how);
	add_transport(bundles, &routes.resolvers.how);
	api_errors_done(&errs);
	arena_done(&arena);
}

/* ---- values ---- */

struct filler {
	const struct dnsoperator_operands_in *in;
	struct dnsoperator_value v[VALUES_MAX];
	size_t n;
};

static void put_value(struct filler *filler, const char *name, json_t *value)
{
	assert(filler->n < VALUES_MAX);
	filler->v[filler->n++] = (struct dnsoperator_value){ name, value };
}

static void put_text(struct filler *filler, const char *name, const char *text)
{
	put_value(filler, name, text != NULL && text[0] != '\0' ? json_string(text) : NULL);
}

/* The address of a Service does not change. */
static const char *cluster_ip(const struct dnsoperator_operands_in *in)
{
	const char *now = api_get_string(in->service, "spec.clusterIP");
	return now[0] != '\0' ? now : in->cluster_ip;
}

static void put_placement(struct filler *filler, struct dnsoperator_operands *ret)
{
	const struct dnsoperator_operands_in *in = filler->in;
	struct dnsoperator_placement p;
	dnsoperator_placement_of(
		&(struct dnsoperator_placement_in){ .platform = in->facts->platform,
						    .dns = in->dns,
						    .nodes = in->nodes,
						    .now = in->servers },
		&p);
	put_value(filler, "NODE_SELECTOR", p.selector);
	put_value(filler, "TOLERATIONS", p.tolerations);
	ret->placement_ignored = p.ignored;
}

static void put_config(struct filler *filler)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[filler->in->facts->platform];
	CLEANUP(freep) char *object = xasprintf("configmap:%s/%s", site->ns, site->configmap);
	bool api = filler->in->config_by_api;
	put_text(filler, "CONFIG", api ? object : "/etc/coredns/Corefile");
	/* the last valid copy, for starts without the API */
	put_value(filler, "CONFIG_ARGS", api ? json_pack("[ss]", "-state-dir", "/tmp") : NULL);
}

static void put_tls(struct filler *filler)
{
	CLEANUP(strbuf_done) struct strbuf ciphers = STRBUF_INIT;
	put_text(filler, "TLS_MIN_VERSION",
		 dnsoperator_tls_profile(filler->in->apiserver, &ciphers));
	put_text(filler, "TLS_CIPHERS", ciphers.s);
}

/* The node whose agent is at the socket, and which objects tell whose answers are held. Pods are watched for
 * the plugin kubernetes, too. */
static void put_hold(struct filler *filler)
{
	bool is_on = filler->in->facts->egress_hold;
	put_value(filler, "HOLD_ENV",
		  is_on ? json_pack("[{ss,s{s{ss}}}]", "name", "NODE_NAME", "valueFrom", "fieldRef",
				    "fieldPath", "spec.nodeName")
			: NULL);
	put_value(filler, "HOLD_RULES",
		  is_on ? json_pack("[{s[s],s[s],s[ss]}]", "apiGroups", "k8s.ovn.org", "resources",
				    "egressfirewalls", "verbs", "list", "watch")
			: NULL);
}

static void put_all(struct filler *filler, struct dnsoperator_operands *ret)
{
	const struct dnsoperator_operands_in *in = filler->in;
	struct bundles b = { in->facts, json_array(), json_array() };
	add_bundles(&b, in->accepted);
	add_egress_keys(&b);
	if (in->facts->egress_hold)
		add_agents(&b);
	put_value(filler, "OWNER", json_pack("[o]", api_owner_reference(in->dns)));
	put_text(filler, "DNS_IMAGE", in->dns_image);
	put_text(filler, "CLI_IMAGE", in->cli_image);
	put_text(filler, "PROXY_IMAGE", in->proxy_image);
	put_text(filler, "CLUSTER_IP", cluster_ip(in));
	put_text(filler, "CLUSTER_DOMAIN", dnsoperator_domain(in->facts));
	put_text(filler, "TOPOLOGY_HINTS", dnsoperator_zones_differ(in->nodes) ? "auto" : NULL);
	put_value(filler, "CA_VOLUMES", b.volumes);
	put_value(filler, "CA_MOUNTS", b.mounts);
	put_placement(filler, ret);
	put_config(filler);
	put_tls(filler);
	put_hold(filler);
}

/* ---- objects ---- */

/* The hash shows also that a field was removed from the manifest. */
static void add_hash(json_t *object)
{
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	json_t *meta = json_object_get(object, "metadata");
	json_t *annotations = json_object_get(meta, "annotations");
	dnsoperator_marker_hash(text, strlen(text), hash);
	hash[HASH_DIGITS] = '\0';
	free(text);
	if (annotations == NULL) {
		annotations = json_object();
		json_object_set_new(meta, "annotations", annotations);
	}
	json_object_set_new(annotations, DNSOPERATOR_APPLIED_HASH, json_string(hash));
}

static void add_file(const struct filler *filler, const struct embedded_text *file,
		     struct dnsoperator_operands *ret)
{
	struct dnsoperator_values values = { filler->v, filler->n };
	struct api_docs docs;
	struct srcerr err;
	int r = api_yaml_parse(file->name, file->text, &docs, &err);
	assert(r == 0);
	for (size_t i = 0; i < docs.n; i++) {
		const char *missing = NULL;
		json_t *o = dnsoperator_manifest_fill(docs.v[i], &values, &missing);
		if (o != NULL) {
			add_hash(o);
			json_array_append_new(ret->objects, o);
			continue;
		}
		strbuf_addf(&ret->left_out, "%s%s %s (needs %s)", ret->left_out.n != 0 ? ", " : "",
			    api_kind(docs.v[i]), api_name(docs.v[i]), source_of(missing));
	}
	api_docs_done(&docs);
}

void dnsoperator_operands_make(const struct dnsoperator_operands_in *in,
			       struct dnsoperator_operands *ret)
{
	const char *folder = platform_sets[in->facts->platform].folder;
	struct filler f = { .in = in };
	*ret = (struct dnsoperator_operands){ .objects = json_array(), .left_out = STRBUF_INIT };
	put_all(&f, ret);
	for (size_t i = 0; folder != NULL && i < dnsoperator_manifests_n; i++) {
		if (strcmp(dnsoperator_manifests[i].folder, folder) == 0)
			add_file(&f, &dnsoperator_manifests[i], ret);
	}
	for (size_t i = 0; i < f.n; i++)
		json_decref(f.v[i].value);
}

void dnsoperator_operands_done(struct dnsoperator_operands *operands)
{
	json_decref(operands->objects);
	strbuf_done(&operands->left_out);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers the inputs of the plan: platform, address families, feature gate and CRD from the watches,
 * the ConfigMaps, and objects that are not watched. */
#include "controller/dnsoperator/gather.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "controller/dnsoperator/configmaps.h"
#include "controller/dnsoperator/machine_corefile.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/shared/feature_gate.h"
#include "kube/decode/tree.h"

enum { VERSION_MAX = 128 };

unsigned dnsoperator_families_mask(const struct dnsoperator_families *families)
{
	return families->known ? (families->v4 ? 1u : 0) | (families->v6 ? 2u : 0) : 0;
}

static const char *option_text(const char *text)
{
	return text != NULL ? text : "";
}

enum dnsoperator_platform dnsoperator_platform_of(const struct controller_ctx *ctx,
						  const json_t *network, bool microshift)
{
	if (dnsoperator_machine(ctx) != NULL)
		return DNSOPERATOR_MACHINE;
	int named = dnsoperator_platform_find(option_text(dnsoperator_options(ctx)->platform));
	if (named >= 0)
		return (enum dnsoperator_platform)named;
	if (microshift)
		return DNSOPERATOR_MICROSHIFT;
	return network != NULL ? DNSOPERATOR_OPENSHIFT : DNSOPERATOR_KUBERNETES;
}

/* The version of OpenShift that the cluster should run, by which its feature gates are listed; ""
 * when it is missing. A read that fails is an error: a guess could turn templates off. */
static int read_version(struct controller_ctx *ctx, char *out, size_t len)
{
	json_t *o = NULL;
	int r = dnsoperator_get(ctx, "/apis/config.openshift.io/v1/clusterversions/version",
				"ClusterVersion version", &o);
	snprintf(out, len, "%s", o != NULL ? api_get_string(o, "status.desired.version") : "");
	json_decref(o);
	return r;
}

/* The watched objects that facts come from; copies, or NULL where an object is missing. */
struct inputs {
	json_t *network, *gate, *crd, *service;
	json_t *service_cidrs, *nodes; /* arrays */
};

static void read_inputs(const struct controller_ctx *ctx, struct inputs *ret)
{
	*ret = (struct inputs){
		.network =
			dnsoperator_watched_object(ctx, DNSOPERATOR_WATCH_NETWORK, "", "cluster"),
		.gate = dnsoperator_watched_object(ctx, DNSOPERATOR_WATCH_FEATURE_GATE, "",
						   "cluster"),
		.crd = dnsoperator_watched_object(ctx, DNSOPERATOR_WATCH_CRD, "",
						  DNSOPERATOR_CRD_NAME),
		.service = dnsoperator_watched_object(ctx, DNSOPERATOR_WATCH_API_SERVICE, "default",
						      "kubernetes"),
		.service_cidrs = dnsoperator_watched_objects(ctx, DNSOPERATOR_WATCH_SERVICE_CIDRS),
		.nodes = dnsoperator_watched_objects(ctx, DNSOPERATOR_WATCH_NODES),
	};
}

static void inputs_done(struct inputs *inputs)
{
	json_decref(inputs->network);
	json_decref(inputs->gate);
	json_decref(inputs->crd);
	json_decref(inputs->service);
	json_decref(inputs->service_cidrs);
	json_decref(inputs->nodes);
}

/* The networks whose addresses servers never learn, as text, which lives as long as the pass. */
static const char *find_never(struct dnsoperator_pass *pass,
			      const struct dnsoperator_network *network)
{
	struct dnsoperator_state *state = pass->ctx->state;
	struct dnsoperator_never never;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	dnsoperator_never_of(network, &never);
	pthread_mutex_lock(&state->seen_never.lock);
	state->seen_never.now = never;
	state->seen_never.is_known = true;
	pthread_mutex_unlock(&state->seen_never.lock);
	dnsoperator_never_text(&never, &text);
	return arena_strdup(&pass->arena, text.s);
}

/* Objects for egress rules are in OpenShift's own namespace there, elsewhere in the program's. */
static void set_egress(struct dnsoperator_pass *pass, const struct dnsoperator_network *network)
{
	const struct controller_ctx *ctx = pass->ctx;
	struct dnsoperator_facts *facts = &pass->facts;
	bool openshift = facts->platform == DNSOPERATOR_OPENSHIFT ||
			 facts->platform == DNSOPERATOR_MICROSHIFT;
	if (!feature_gate_egress_is_on(option_text(dnsoperator_options(ctx)->feature_gates)))
		return;
	facts->egress_ns = openshift ? dnsoperator_sites[facts->platform].ns : ctx->ns;
	facts->egress_keys = DNSOPERATOR_EGRESS_KEYS;
	facts->egress_never = find_never(pass, network);
	facts->egress_hold =
		feature_gate_hold_is_on(option_text(dnsoperator_options(ctx)->feature_gates));
}

int dnsoperator_gather_facts(struct dnsoperator_pass *pass)
{
	struct controller_ctx *ctx = pass->ctx;
	struct dnsoperator_state *state = ctx->state;
	struct dnsoperator_facts *facts = &pass->facts;
	const char *flag = option_text(dnsoperator_options(ctx)->feature_gates);
	char version[VERSION_MAX] = "";
	CLEANUP(inputs_done) struct inputs in;
	int r = 0;
	read_inputs(ctx, &in);
	facts->platform = dnsoperator_platform_of(ctx, in.network, pass->microshift);
	struct dnsoperator_network network = { in.network, in.service_cidrs, in.nodes, in.service };
	facts->families = dnsoperator_families_of(facts->platform, &network);
	if (facts->platform == DNSOPERATOR_OPENSHIFT && in.gate != NULL)
		r = read_version(ctx, version, sizeof(version));
	facts->gate =
		dnsoperator_gate_of(facts->platform, flag, in.gate, version, &facts->gate_source);
	facts->keeps = dnsoperator_keeps_of(in.crd);
	set_egress(pass, &network);
	facts->records = feature_gate_records_is_on(flag);
	facts->search_suffix = feature_gate_search_suffix_is_on(flag);
	facts->domain = pass->domain;
	if (dnsoperator_machine(ctx) != NULL)
		dnsoperator_set_machine(facts, dnsoperator_machine(ctx));
	dnsoperator_cluster_ip(in.network, pass->cluster_ip, sizeof(pass->cluster_ip));
	atomic_store(&state->seen_families, dnsoperator_families_mask(&facts->families));
	atomic_store(&state->platform, (int)facts->platform);
	return r;
}

/* MicroShift has neither an operator nor the object Network, but a ConfigMap with its version. */
int dnsoperator_find_microshift(struct dnsoperator_pass *pass)
{
	const struct controller_options *o = dnsoperator_options(pass->ctx);
	json_t *found = NULL;
	bool named = o->platform != NULL && strcmp(o->platform, "auto") != 0;
	if (named || dnsoperator_machine(pass->ctx) != NULL)
		return 0;
	int r = dnsoperator_get(
		pass->ctx, "/api/v1/namespaces/kube-public/configmaps/microshift-version",
		"kube-public/microshift-version (set --platform to skip this check)", &found);
	pass->microshift = found != NULL;
	json_decref(found);
	return r;
}

static bool read_domain(struct dnsoperator_pass *pass, const char *corefile)
{
	return corefile != NULL && corefile_domain_find(slice_of(corefile), pass->domain) == 0;
}

/* The domain comes from the flag, else from the Corefile that we replaced, else from the status, else
 * from the present Corefile, which somebody may just have broken. A Corefile that does not name it
 * must not be replaced: all names of Services might be lost. Without any Corefile it is
 * cluster.local. */
static void choose_domain(struct dnsoperator_pass *pass)
{
	const char *flag = dnsoperator_options(pass->ctx)->dns_cluster_domain;
	const char *known = api_get_string(kube_tree_of(pass->dns), "status.clusterDomain");
	const char *before = dnsoperator_corefile_before(pass->corefile_map);
	const char *now = dnsoperator_data(pass->corefile_map, "Corefile");
	if (flag != NULL) {
		snprintf(pass->domain, sizeof(pass->domain), "%s", flag);
	} else if (read_domain(pass, before)) {
		return;
	} else if (api_is_dns_domain(known)) {
		snprintf(pass->domain, sizeof(pass->domain), "%s", known);
	} else if (!read_domain(pass, now)) {
		pass->domain[0] = '\0';
		pass->facts.domain_unknown = before != NULL || now != NULL;
	}
}

int dnsoperator_gather_configmaps(struct dnsoperator_pass *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	CLEANUP(freep) char *accepted = dnsoperator_accepted_name(site);
	bool kube = pass->facts.platform == DNSOPERATOR_KUBERNETES;
	int r = dnsoperator_configmap_read(pass->ctx,
					   kube ? DNSOPERATOR_WATCH_COREFILE_KUBERNETES
						: DNSOPERATOR_WATCH_CONFIGMAPS_OPENSHIFT,
					   site->ns, site->configmap, &pass->corefile_map);
	if (r >= 0)
		r = dnsoperator_configmap_read(pass->ctx,
					       kube ? DNSOPERATOR_WATCH_ACCEPTED_KUBERNETES
						    : DNSOPERATOR_WATCH_CONFIGMAPS_OPENSHIFT,
					       site->ns, accepted, &pass->accepted_map);
	if (r >= 0 && kube)
		choose_domain(pass);
	return r;
}

/* What is known of the place: the watched objects, and those that are read each time. */
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "controller/dnsoperator/look_priv.h"
#include "controller/dnsoperator/objects.h"
#include "kube/decode/tree.h"

enum { VERSION_MAX = 128 };

unsigned dnsoperator_families_mask(const struct dnsoperator_families *families)
{
	return families->known ? (families->v4 ? 1u : 0) | (families->v6 ? 2u : 0) : 0;
}

static const char *option(const char *text)
{
	return text != NULL ? text : "";
}

const struct controller_machine *dnsoperator_machine_of(const struct controller_ctx *ctx)
{
	return dnsoperator_options(ctx)->machine;
}

enum dnsoperator_platform dnsoperator_platform_of(const struct controller_ctx *ctx,
						  const json_t *network, bool microshift)
{
	if (dnsoperator_machine_of(ctx) != NULL)
		return DNSOPERATOR_MACHINE;
	int told = dnsoperator_platform_find(option(dnsoperator_options(ctx)->platform));
	if (told >= 0)
		return (enum dnsoperator_platform)told;
	if (microshift)
		return DNSOPERATOR_MICROSHIFT;
	return network != NULL ? DNSOPERATOR_OPENSHIFT : DNSOPERATOR_KUBERNETES;
}

/* The version of OpenShift that the cluster is to run, by which its feature gates are listed; ""
 * when there is none. A guess instead of an answer that failed could turn templates off. */
static int read_version(struct controller_ctx *ctx, char *out, size_t len)
{
	json_t *o = NULL;
	int r = dnsoperator_get(ctx, "/apis/config.openshift.io/v1/clusterversions/version",
				"ClusterVersion version", &o);
	snprintf(out, len, "%s", o != NULL ? api_get_string(o, "status.desired.version") : "");
	json_decref(o);
	return r;
}

int dnsoperator_learn(struct dnsoperator_look *pass)
{
	char version[VERSION_MAX] = "";
	int r = 0;
	struct controller_ctx *c = pass->c;
	struct dnsoperator_state *s = c->state;
	json_t *network = dnsoperator_object_of(c, NETWORK, "", "cluster");
	json_t *gate = dnsoperator_object_of(c, GATE, "", "cluster");
	json_t *crd = dnsoperator_object_of(c, CRD, "", CRD_NAME);
	json_t *service = dnsoperator_object_of(c, SERVICE, "default", "kubernetes");
	json_t *cidrs = dnsoperator_all_of(c, CIDRS), *nodes = dnsoperator_all_of(c, NODES);
	struct dnsoperator_network n = { network, cidrs, nodes, service };
	struct dnsoperator_facts *f = &pass->facts;
	f->platform = dnsoperator_platform_of(c, network, pass->microshift);
	f->families = dnsoperator_families_of(f->platform, &n);
	if (f->platform == DNSOPERATOR_OPENSHIFT && gate != NULL)
		r = read_version(c, version, sizeof(version));
	f->gate = dnsoperator_gate_of(f->platform, option(dnsoperator_options(c)->feature_gates),
				      gate, version);
	f->keeps = dnsoperator_keeps_of(crd);
	f->domain = pass->domain;
	if (dnsoperator_machine_of(c) != NULL) {
		f->port = dnsoperator_machine_of(c)->port;
		f->bind = dnsoperator_machine_of(c)->bind;
		f->kubeconfig = dnsoperator_machine_of(c)->kubeconfig;
		f->no_resolvers = dnsoperator_machine_of(c)->no_resolvers;
	}
	dnsoperator_cluster_ip(network, pass->cluster_ip, sizeof(pass->cluster_ip));
	atomic_store(&s->seen, dnsoperator_families_mask(&f->families));
	atomic_store(&s->platform, (int)f->platform);
	json_decref(network);
	json_decref(gate);
	json_decref(crd);
	json_decref(service);
	json_decref(cidrs);
	json_decref(nodes);
	return r;
}

static bool take_domain(struct dnsoperator_look *pass, const char *corefile)
{
	return corefile != NULL && dnsoperator_domain_of(slice_of(corefile), pass->domain) == 0;
}

/* The flag names it, else the Corefile of before us, else what we last knew, else the Corefile of
 * now, which somebody may just have spoilt. A Corefile that does not name it must not be replaced:
 * all names of Services might be lost. Without any Corefile it is what it nearly always is. */
static void learn_domain(struct dnsoperator_look *pass)
{
	const char *flag = dnsoperator_options(pass->c)->dns_cluster_domain;
	const char *known = api_get_string(kube_tree_of(pass->dns), "status.clusterDomain");
	const char *before = dnsoperator_text_before(pass->text);
	const char *now = dnsoperator_data(pass->text, "Corefile");
	if (flag != NULL) {
		snprintf(pass->domain, sizeof(pass->domain), "%s", flag);
	} else if (take_domain(pass, before)) {
		return;
	} else if (api_is_dns_domain(known)) {
		snprintf(pass->domain, sizeof(pass->domain), "%s", known);
	} else if (!take_domain(pass, now)) {
		pass->domain[0] = '\0';
		pass->facts.domain_unknown = before != NULL || now != NULL;
	}
}

int dnsoperator_read_configmaps(struct dnsoperator_look *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	CLEANUP(freep) char *accepted = dnsoperator_accepted_name(site);
	struct dnsoperator_state *s = pass->c->state;
	bool kube = pass->facts.platform == DNSOPERATOR_KUBERNETES;
	int r = dnsoperator_maps_read(s->maps, pass->c, kube ? TEXT_KUBERNETES : MAPS_OPENSHIFT,
				      site->ns, site->configmap, &pass->text);
	if (r >= 0)
		r = dnsoperator_maps_read(s->maps, pass->c,
					  kube ? ACCEPTED_KUBERNETES : MAPS_OPENSHIFT, site->ns,
					  accepted, &pass->accepted);
	if (r >= 0 && kube)
		learn_domain(pass);
	return r;
}

/* What is known of the place: the watched objects, and those that are read each time. */
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "controller/dnsoperator/look_priv.h"
#include "controller/dnsoperator/objects.h"
#include "kube/tree.h"

enum { VERSION_MAX = 128 };

unsigned dnsoperator_families_mask(const struct dnsoperator_families *f)
{
	return f->known ? (f->v4 ? 1u : 0) | (f->v6 ? 2u : 0) : 0;
}

static const char *option(const char *text)
{
	return text != NULL ? text : "";
}

const struct controller_machine *dnsoperator_machine_of(const struct controller_ctx *c)
{
	return dnsoperator_options(c)->machine;
}

enum dnsoperator_platform dnsoperator_platform_of(const struct controller_ctx *c,
						  const json_t *network, bool microshift)
{
	if (dnsoperator_machine_of(c) != NULL)
		return DNSOPERATOR_MACHINE;
	int told = dnsoperator_platform_find(option(dnsoperator_options(c)->platform));
	if (told >= 0)
		return (enum dnsoperator_platform)told;
	if (microshift)
		return DNSOPERATOR_MICROSHIFT;
	return network != NULL ? DNSOPERATOR_OPENSHIFT : DNSOPERATOR_KUBERNETES;
}

/* The version of OpenShift that the cluster is to run, by which its feature gates are listed; ""
 * when there is none. A guess instead of an answer that failed could turn templates off. */
static int read_version(struct controller_ctx *c, char *out, size_t n)
{
	json_t *o = NULL;
	int r = dnsoperator_get(c, "/apis/config.openshift.io/v1/clusterversions/version",
				"ClusterVersion version", &o);
	snprintf(out, n, "%s", o != NULL ? api_get_string(o, "status.desired.version") : "");
	json_decref(o);
	return r;
}

int dnsoperator_learn(struct dnsoperator_look *l)
{
	char version[VERSION_MAX] = "";
	int r = 0;
	struct controller_ctx *c = l->c;
	struct dnsoperator_state *s = c->state;
	json_t *network = dnsoperator_object_of(c, NETWORK, "", "cluster");
	json_t *gate = dnsoperator_object_of(c, GATE, "", "cluster");
	json_t *crd = dnsoperator_object_of(c, CRD, "", CRD_NAME);
	json_t *service = dnsoperator_object_of(c, SERVICE, "default", "kubernetes");
	json_t *cidrs = dnsoperator_all_of(c, CIDRS), *nodes = dnsoperator_all_of(c, NODES);
	struct dnsoperator_network n = { network, cidrs, nodes, service };
	struct dnsoperator_facts *f = &l->facts;
	f->platform = dnsoperator_platform_of(c, network, l->microshift);
	f->families = dnsoperator_families_of(f->platform, &n);
	if (f->platform == DNSOPERATOR_OPENSHIFT && gate != NULL)
		r = read_version(c, version, sizeof(version));
	f->gate = dnsoperator_gate_of(f->platform, option(dnsoperator_options(c)->feature_gates),
				      gate, version);
	f->keeps = dnsoperator_keeps_of(crd);
	f->domain = l->domain;
	if (dnsoperator_machine_of(c) != NULL) {
		f->port = dnsoperator_machine_of(c)->port;
		f->bind = dnsoperator_machine_of(c)->bind;
		f->kubeconfig = dnsoperator_machine_of(c)->kubeconfig;
		f->no_resolvers = dnsoperator_machine_of(c)->no_resolvers;
	}
	dnsoperator_cluster_ip(network, l->cluster_ip, sizeof(l->cluster_ip));
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

static bool take_domain(struct dnsoperator_look *l, const char *corefile)
{
	return corefile != NULL && dnsoperator_domain_of(slice_of(corefile), l->domain) == 0;
}

/* The flag names it, else the Corefile of before us, else what we last knew, else the Corefile of
 * now, which somebody may just have spoilt. A Corefile that does not name it must not be replaced:
 * all names of Services might be lost. Without any Corefile it is what it nearly always is. */
static void learn_domain(struct dnsoperator_look *l)
{
	const char *flag = dnsoperator_options(l->c)->dns_cluster_domain;
	const char *known = api_get_string(kube_tree_of(l->dns), "status.clusterDomain");
	const char *before = dnsoperator_text_before(l->text);
	const char *now = dnsoperator_data(l->text, "Corefile");
	if (flag != NULL) {
		snprintf(l->domain, sizeof(l->domain), "%s", flag);
	} else if (take_domain(l, before)) {
		return;
	} else if (api_is_dns_domain(known)) {
		snprintf(l->domain, sizeof(l->domain), "%s", known);
	} else if (!take_domain(l, now)) {
		l->domain[0] = '\0';
		l->facts.domain_unknown = before != NULL || now != NULL;
	}
}

int dnsoperator_read_configmaps(struct dnsoperator_look *l)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[l->facts.platform];
	CLEANUP(freep) char *accepted = dnsoperator_accepted_name(site);
	struct dnsoperator_state *s = l->c->state;
	bool kube = l->facts.platform == DNSOPERATOR_KUBERNETES;
	int r = dnsoperator_maps_read(s->maps, l->c, kube ? TEXT_KUBERNETES : MAPS_OPENSHIFT,
				      site->ns, site->configmap, &l->text);
	if (r >= 0)
		r = dnsoperator_maps_read(s->maps, l->c,
					  kube ? ACCEPTED_KUBERNETES : MAPS_OPENSHIFT, site->ns,
					  accepted, &l->accepted);
	if (r >= 0 && kube)
		learn_domain(l);
	return r;
}

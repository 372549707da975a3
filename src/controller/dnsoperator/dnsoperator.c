/* dnsoperator: keeps servers' configuration and the status of `DNS default` as the object asks.
 * What that is, is worked out by plan.h; here it is read and written. Order of the writes: what to
 * fall back to, the text, the status; killed between any two it arrives at the same state. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/dnsoperator/objects.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/tree.h"

#define DNS_NAME "default"
#define CRD_NAME "dnses.operator.openshift.io"

enum {
	AGAIN_S = 60,	 /* to see what others did to the ConfigMaps, which are not watched */
	REFUSED_S = 300, /* to see whether the original is gone */
	VERSION_MAX = 128,
};

/* ---- what is watched ---- */

enum { DNS, NETWORK, GATE, CIDRS, NODES, SERVICE, CRD };

/* Which families the last look found: nodes that tell nothing new need no other. */
struct state {
	_Atomic unsigned seen;
};

static unsigned families_mask(const struct dnsoperator_families *f)
{
	return f->known ? (f->v4 ? 1u : 0) | (f->v6 ? 2u : 0) : 0;
}

static void keys_of_any(const struct controller_ctx *c, const json_t *o, controller_emit emit,
			void *arg)
{
	(void)c;
	(void)o;
	emit(arg, DNS_NAME);
}

/* Nodes report every few minutes, each of them. */
static void keys_of_node(const struct controller_ctx *c, const json_t *o, controller_emit emit,
			 void *arg)
{
	struct state *s = c->state;
	json_t *list = json_pack("[O]", api_tree(o));
	struct dnsoperator_families f = dnsoperator_families_of(
		DNSOPERATOR_KUBERNETES, &(struct dnsoperator_network){ .nodes = list });
	json_decref(list);
	if ((families_mask(&f) & ~atomic_load(&s->seen)) != 0)
		emit(arg, DNS_NAME);
}

static const char *const node_paths[] = { "spec.podCIDRs", NULL };
static const char *const crd_paths[] = { "spec.versions", NULL };

static const struct controller_watch watches[] = {
	[DNS] = { .group = "operator.openshift.io", .kind = "DNS" },
	[NETWORK] = { "config.openshift.io", "Network", .optional = true, .keys = keys_of_any },
	[GATE] = { "config.openshift.io", "FeatureGate", .optional = true, .keys = keys_of_any },
	[CIDRS] = { "networking.k8s.io", "ServiceCIDR", .optional = true, .keys = keys_of_any },
	[NODES] = { "", "Node", .optional = true, .paths = node_paths, .keys = keys_of_node },
	[SERVICE] = { "", "Service", .optional = true,
		      .fields = "metadata.name=kubernetes,metadata.namespace=default",
		      .keys = keys_of_any },
	[CRD] = { "apiextensions.k8s.io", "CustomResourceDefinition", .optional = true,
		  .fields = "metadata.name=" CRD_NAME, .paths = crd_paths, .keys = keys_of_any },
};

/* ---- what is known ---- */

/* One look at a DNS object. */
struct look {
	struct controller_ctx *c;
	struct kube_obj *dns;
	json_t *text, *accepted; /* the ConfigMaps that are there, or NULL */
	char domain[DNSOPERATOR_DOMAIN_MAX];
	char cluster_ip[INET6_ADDRSTRLEN];
	struct dnsoperator_facts facts;
	struct dnsoperator_plan plan;
};

static int failed(struct controller_ctx *c, int r, const char *what, const struct kube_status *st)
{
	snprintf(c->err, sizeof(c->err), "%s: %.400s", what,
		 st->message[0] != '\0' ? st->message : err_str(r));
	return r;
}

static bool append(void *ctx, struct kube_obj *o)
{
	json_array_append(ctx, api_tree(kube_tree_of(o)));
	return true;
}

static json_t *all_of(const struct controller_ctx *c, int which)
{
	json_t *list = json_array();
	kube_store_each(c->stores[which], append, list);
	return list;
}

/* A new reference; NULL when there is none. */
static json_t *object_of(const struct controller_ctx *c, int which, const char *ns,
			 const char *name)
{
	struct kube_obj *o = kube_store_get(c->stores[which], slice_of(ns), slice_of(name));
	json_t *v = o != NULL ? json_incref(api_tree(kube_tree_of(o))) : NULL;
	kube_obj_unref(o);
	return v;
}

static const char *option(const char *text)
{
	return text != NULL ? text : "";
}

static const struct controller_machine *machine_of(const struct controller_ctx *c)
{
	return c->options != NULL ? c->options->machine : NULL;
}

static enum dnsoperator_platform platform_of(const struct controller_ctx *c, const json_t *network)
{
	if (machine_of(c) != NULL)
		return DNSOPERATOR_MACHINE;
	int told =
		dnsoperator_platform_find(option(c->options != NULL ? c->options->platform : NULL));
	if (told >= 0)
		return (enum dnsoperator_platform)told;
	return network != NULL ? DNSOPERATOR_OPENSHIFT : DNSOPERATOR_KUBERNETES;
}

/* The version of OpenShift that the cluster is to run, by which its feature gates are listed; ""
 * when nobody tells. */
static void read_version(struct controller_ctx *c, char *out, size_t n)
{
	static const char path[] = "/apis/config.openshift.io/v1/clusterversions/version";
	struct kube_request q = { .method = "GET", .path = path };
	struct kube_status st = { 0 };
	json_t *o = NULL;
	out[0] = '\0';
	if (kube_call(c->conn, &q, &o, &st) >= 0)
		snprintf(out, n, "%s", api_get_string(o, "status.desired.version"));
	kube_status_done(&st);
	json_decref(o);
}

static void learn(struct look *l)
{
	char version[VERSION_MAX] = "";
	struct controller_ctx *c = l->c;
	struct state *s = c->state;
	json_t *network = object_of(c, NETWORK, "", "cluster");
	json_t *gate = object_of(c, GATE, "", "cluster"), *crd = object_of(c, CRD, "", CRD_NAME);
	json_t *service = object_of(c, SERVICE, "default", "kubernetes");
	json_t *cidrs = all_of(c, CIDRS), *nodes = all_of(c, NODES);
	struct dnsoperator_network n = { network, cidrs, nodes, service };
	struct dnsoperator_facts *f = &l->facts;
	f->platform = platform_of(c, network);
	f->families = dnsoperator_families_of(f->platform, &n);
	if (f->platform == DNSOPERATOR_OPENSHIFT && gate != NULL)
		read_version(c, version, sizeof(version));
	f->gate = dnsoperator_gate_of(f->platform,
				      option(c->options != NULL ? c->options->feature_gates : NULL),
				      gate, version);
	f->keeps = dnsoperator_keeps_of(crd);
	f->domain = l->domain;
	if (machine_of(c) != NULL) {
		f->port = machine_of(c)->port;
		f->bind = machine_of(c)->bind;
		f->kubeconfig = machine_of(c)->kubeconfig;
		f->no_resolvers = machine_of(c)->no_resolvers;
	}
	dnsoperator_cluster_ip(network, l->cluster_ip, sizeof(l->cluster_ip));
	atomic_store(&s->seen, families_mask(&f->families));
	json_decref(network);
	json_decref(gate);
	json_decref(crd);
	json_decref(service);
	json_decref(cidrs);
	json_decref(nodes);
}

/* *ret NULL when it is not there. */
static int read_configmap(struct controller_ctx *c, const char *ns, const char *name, json_t **ret)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"), .ns = ns, .name = name };
	struct kube_status st = { 0 };
	int r = kube_get(c->conn, &ref, ret, &st);
	if (r == ERR_NOTFOUND) {
		*ret = NULL;
		r = 0;
	} else if (r < 0) {
		r = failed(c, r, name, &st);
	}
	kube_status_done(&st);
	return r;
}

static int read_configmaps(struct look *l)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[l->facts.platform];
	CLEANUP(freep) char *accepted = dnsoperator_accepted_name(site);
	int r = read_configmap(l->c, site->ns, site->configmap, &l->text);
	if (r >= 0)
		r = read_configmap(l->c, site->ns, accepted, &l->accepted);
	if (r >= 0 && l->facts.platform == DNSOPERATOR_KUBERNETES) {
		const json_t *data = json_object_get(l->text, "data");
		const char *text = json_string_value(json_object_get(data, "Corefile"));
		/* without one it is what it nearly always is */
		if (dnsoperator_domain_of(slice_of(text), l->domain) < 0)
			l->domain[0] = '\0';
	}
	return r;
}

/* Two operators must not own one object: 1 when the original runs (design 8b). */
static int original_runs(struct controller_ctx *c)
{
	static const char path[] =
		"/apis/apps/v1/namespaces/openshift-dns-operator/deployments/dns-operator";
	struct kube_request q = { .method = "GET", .path = path };
	struct kube_status st = { 0 };
	json_t *o = NULL;
	int r = kube_call(c->conn, &q, &o, &st);
	if (r >= 0) {
		const json_t *n = api_get(o, "spec.replicas");
		r = n == NULL || json_integer_value(n) > 0;
	} else if (r == ERR_NOTFOUND) {
		r = 0;
	} else {
		r = failed(c, r, "the original operator's Deployment", &st);
	}
	kube_status_done(&st);
	json_decref(o);
	return r;
}

/* ---- what is done ---- */

static void tell(const struct look *l, bool warning, const char *reason, const char *action,
		 const char *text)
{
	if (l->c->events != NULL)
		events_emit(l->c->events,
			    &(struct event){ .regarding = kube_tree_of(l->dns),
					     .warning = warning,
					     .reason = reason,
					     .action = action },
			    "%s", text);
}

/* Takes `wanted` over. 1 when it was written. */
static int write_object(struct look *l, const json_t *now, json_t *wanted)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = api_namespace(wanted),
				.name = api_name(wanted) };
	struct kube_status st = { 0 };
	int r = 0;
	if (now == NULL || !dnsoperator_object_has(now, wanted)) {
		r = kube_apply(l->c->conn, &ref, NULL, DNSOPERATOR_MANAGER, wanted, NULL, &st);
		r = r < 0 ? failed(l->c, r, ref.name, &st) : 1;
		kube_status_done(&st);
	}
	json_decref(wanted);
	return r;
}

/* In a cluster the namespace is there, with the servers; on one machine it is ours to make. */
static int make_namespace(struct look *l)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[l->facts.platform];
	struct kube_ref ref = { .kind = api_kind_find("", "Namespace"), .name = site->ns };
	struct kube_status st = { 0 };
	if (machine_of(l->c) == NULL || l->text != NULL)
		return 0;
	json_t *o = json_pack("{ss,ss,s{ss}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
			      "name", site->ns);
	int r = kube_apply(l->c->conn, &ref, NULL, DNSOPERATOR_MANAGER, o, NULL, &st);
	if (r < 0)
		r = failed(l->c, r, "namespace", &st);
	kube_status_done(&st);
	json_decref(o);
	return r;
}

static int write_configmaps(struct look *l)
{
	const json_t *dns = kube_tree_of(l->dns);
	int r = make_namespace(l);
	if (r >= 0)
		r = write_object(l, l->accepted, dnsoperator_accepted_object(&l->plan, &l->facts));
	if (r < 0)
		return r;
	r = write_object(l, l->text, dnsoperator_text_object(&l->plan, &l->facts, dns, l->text));
	if (r > 0) {
		const struct dnsoperator_site *site = &dnsoperator_sites[l->facts.platform];
		bool guess = l->facts.platform == DNSOPERATOR_KUBERNETES && l->domain[0] == '\0';
		char text[400];
		snprintf(text, sizeof(text), "wrote the Corefile of generation %lld to %s/%s%s",
			 (long long)api_generation(dns), site->ns, site->configmap,
			 guess ? "; no Corefile told the cluster's domain, so it is taken for "
				 "cluster.local"
			       : "");
		tell(l, false, "CorefileWritten", "Write", text);
	}
	if (r >= 0 && machine_of(l->c) != NULL)
		machine_of(l->c)->publish(machine_of(l->c)->ctx, l->plan.text.s);
	return r;
}

static int change_status(void *ctx, json_t *copy)
{
	struct look *l = ctx;
	/* What the plan says is of this generation; of another there will be another plan. */
	if (api_generation(copy) != api_generation(kube_tree_of(l->dns)))
		return 0;
	return dnsoperator_status_set(copy, &l->plan, &l->facts, l->cluster_ip, clock_wall_ns());
}

static void tell_status(const struct look *l)
{
	const struct dnsoperator_condition *valid = &l->plan.conditions[DNSOPERATOR_VALID];
	const struct dnsoperator_condition *danger = &l->plan.conditions[DNSOPERATOR_WARNING];
	if (valid->status == API_FALSE)
		tell(l, true, valid->reason, "Validate", valid->message);
	if (danger->status == API_TRUE)
		tell(l, true, danger->reason, "Validate", danger->message);
	if (l->plan.servers.n != 0) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		dnsoperator_problems_text(&l->plan.servers, &text);
		tell(l, true, "InvalidServers", "Validate", text.s);
	}
}

static int write_status(struct look *l)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNS_NAME };
	struct kube_status st = { 0 };
	json_t *copy = json_deep_copy(kube_tree_of(l->dns));
	int r = change_status(l, copy);
	json_decref(copy);
	if (r == 0)
		return 0;
	r = kube_edit(l->c->conn, &ref, "status", change_status, l, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = failed(l->c, r, "status", &st);
	else
		tell_status(l);
	kube_status_done(&st);
	return r;
}

static int write_backup(struct look *l)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNS_NAME };
	struct kube_status st = { 0 };
	json_t *patch = dnsoperator_backup_patch(kube_tree_of(l->dns), &l->plan, &l->facts);
	if (patch == NULL)
		return 0;
	int r = kube_merge(l->c->conn, &ref, NULL, patch, NULL, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = failed(l->c, r, "backup of the templates", &st);
	kube_status_done(&st);
	json_decref(patch);
	return r;
}

/* Nothing is written beside the original; how to take over is told. */
static int refuse(struct look *l)
{
	tell(l, true, "OriginalOperatorRuns", "Refuse",
	     "the Deployment openshift-dns-operator/dns-operator runs, so nothing is changed; to "
	     "take "
	     "over, set an override for it in ClusterVersion version (spec.overrides, unmanaged: "
	     "true) "
	     "and scale it to 0");
	l->c->again_ns = REFUSED_S * NS_PER_S;
	return 0;
}

static int act(struct look *l)
{
	int r = 0;
	learn(l);
	if (l->facts.platform == DNSOPERATOR_OPENSHIFT)
		r = original_runs(l->c);
	if (r > 0)
		return refuse(l);
	if (r == 0)
		r = read_configmaps(l);
	if (r < 0)
		return r;
	json_t *accepted = dnsoperator_accepted_read(l->accepted);
	struct dnsoperator_in in = { .dns = kube_tree_of(l->dns),
				     .facts = &l->facts,
				     .accepted = accepted };
	dnsoperator_plan_make(&in, &l->plan);
	json_decref(accepted);
	if (l->plan.write)
		r = write_configmaps(l);
	/* what was refused is told even where nothing can be written */
	int told = write_status(l);
	if (told >= 0)
		told = write_backup(l);
	dnsoperator_plan_done(&l->plan);
	return r < 0 ? r : told;
}

static int reconcile(struct controller_ctx *c, const char *key)
{
	struct look l = { .c = c };
	int r = 0;
	if (strcmp(key, DNS_NAME) != 0)
		return 0; /* the only one that is acted on */
	l.dns = kube_store_get(c->stores[DNS], SLICE(""), SLICE(DNS_NAME));
	if (l.dns != NULL && !api_is_deleting(kube_tree_of(l.dns))) {
		c->again_ns = AGAIN_S * NS_PER_S;
		r = act(&l);
	} else if (machine_of(c) != NULL) {
		machine_of(c)->publish(machine_of(c)->ctx, NULL);
	}
	kube_obj_unref(l.dns);
	json_decref(l.text);
	json_decref(l.accepted);
	return r < 0 ? r : 0;
}

static int start(void **ret, char *err, size_t err_n)
{
	(void)err;
	(void)err_n;
	*ret = xcalloc(1, sizeof(struct state));
	return 0;
}

const struct controller dnsoperator_controller = {
	.name = "dnsoperator",
	.help = "makes servers' configuration of the object DNS default",
	.watch = watches,
	.n_watch = ARRAY_LEN(watches),
	.workers = 1,
	.reconcile = reconcile,
	.start = start,
	.stop = free,
};

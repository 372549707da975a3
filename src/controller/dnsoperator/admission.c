/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The web hook: the operator's own checks on an object before it is stored. */
#include "controller/dnsoperator/admission.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "controller/dnsoperator/gather.h"
#include "controller/dnsoperator/pass.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "kube/decode/tree.h"

enum { CODE_INVALID = 422 };

/* ---- what has changed ---- */

/* Absent and null are the same. */
static bool is_same(const json_t *left, const json_t *right)
{
	bool no_a = left == NULL || json_is_null(left), no_b = right == NULL || json_is_null(right);
	return no_a || no_b ? no_a == no_b : json_equal(left, right);
}

static bool is_changed(const struct admission_request *req, const char *path)
{
	return !is_same(api_get(req->old, path), api_get(req->object, path));
}

/* What was stored before the hook was there may stay as it is: only a list that is touched counts.
 */
struct changes {
	bool list, annotation, routes;
};

static struct changes changes_of(const struct admission_request *req)
{
	const char *was = api_annotation(req->old, DNSOPERATOR_ANNOTATION);
	const char *is = api_annotation(req->object, DNSOPERATOR_ANNOTATION);
	bool same = was != NULL && is != NULL ? strcmp(was, is) == 0 : was == is;
	return (struct changes){
		.list = is_changed(req, "spec.templates"),
		.annotation = !same,
		.routes = is_changed(req, "spec.servers") ||
			  is_changed(req, "spec.upstreamResolvers"),
	};
}

/* An object that is being deleted must not be refused: the removal of its finalizers changes it. */
static bool is_ours(const struct admission_request *req)
{
	return req->sub[0] == '\0' && req->object != NULL && !api_is_deleting(req->object) &&
	       (strcmp(req->operation, "CREATE") == 0 || strcmp(req->operation, "UPDATE") == 0);
}

/* ---- facts about the cluster ---- */

struct cluster {
	struct dnsoperator_facts facts;
	char domain[DNSOPERATOR_DOMAIN_MAX];
	bool gate_known;
};

/* Trees of stores are shared by threads: they are only read, without references to them. */
struct families {
	enum dnsoperator_platform platform;
	int which;
	struct dnsoperator_families seen;
};

static void merge_families(struct families *families, const struct dnsoperator_network *network)
{
	struct dnsoperator_families one = dnsoperator_families_of(families->platform, network);
	if (!one.known)
		return;
	families->seen.known = true;
	families->seen.v4 = families->seen.v4 || one.v4;
	families->seen.v6 = families->seen.v6 || one.v6;
}

static bool merge_listed(void *ctx, struct kube_obj *obj)
{
	struct families *f = ctx;
	json_t *list = json_array();
	struct dnsoperator_network n = { 0 };
	json_array_append_new(list, json_deep_copy(kube_tree_of(obj)));
	*(f->which == DNSOPERATOR_WATCH_NODES ? &n.nodes : &n.service_cidrs) = list;
	merge_families(f, &n);
	json_decref(list);
	return !f->seen.v4 || !f->seen.v6;
}

static struct dnsoperator_families families_of(const struct controller_ctx *ctx,
					       enum dnsoperator_platform platform,
					       const json_t *network)
{
	struct families f = { .platform = platform };
	struct kube_obj *service = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_API_SERVICE],
						  SLICE("default"), SLICE("kubernetes"));
	merge_families(&f, &(struct dnsoperator_network){
				   .network = network,
				   .service = service != NULL ? kube_tree_of(service) : NULL });
	for (f.which = DNSOPERATOR_WATCH_SERVICE_CIDRS; f.which <= DNSOPERATOR_WATCH_NODES;
	     f.which++)
		kube_store_each(ctx->stores[f.which], merge_listed, &f);
	kube_obj_unref(service);
	if (!f.seen.known)
		f.seen.v4 = f.seen.v6 = true;
	return f.seen;
}

/* The version of the cluster, by which FeatureGate lists its gates, is not at hand: the gate is
 * known when it is the same for all of them. */
static void gather_gate(const struct controller_ctx *ctx, const json_t *gate,
			struct cluster *cluster)
{
	const char *flag = dnsoperator_options(ctx)->feature_gates;
	size_t i, n = 0, on = 0;
	json_t *v;
	flag = flag != NULL ? flag : "";
	json_array_foreach (api_get(gate, "status.featureGates"), i, v) {
		n++;
		on += dnsoperator_gate_of(cluster->facts.platform, flag, gate,
					  api_get_string(v, "version"),
					  &cluster->facts.gate_source) == DNSOPERATOR_GATE_ON;
	}
	if (n == 0) {
		n = 1;
		on = dnsoperator_gate_of(cluster->facts.platform, flag, gate, "",
					 &cluster->facts.gate_source) == DNSOPERATOR_GATE_ON;
	}
	cluster->gate_known = on == 0 || on == n;
	cluster->facts.gate = on == n ? DNSOPERATOR_GATE_ON : DNSOPERATOR_GATE_OFF;
}

/* If the domain is another one, the flag or the status has it; the operator wrote the status from
 * the servers' Corefile. */
static void gather_domain(const struct controller_ctx *ctx, const struct admission_request *req,
			  struct cluster *cluster)
{
	const char *flag = dnsoperator_options(ctx)->dns_cluster_domain;
	const char *known = flag != NULL ? flag : api_get_string(req->old, "status.clusterDomain");
	cluster->facts.domain = cluster->domain;
	if (cluster->facts.platform != DNSOPERATOR_KUBERNETES)
		return;
	cluster->facts.domain_unknown =
		strlen(known) >= sizeof(cluster->domain) || !api_is_subdomain_name(known);
	if (!cluster->facts.domain_unknown)
		memcpy(cluster->domain, known, strlen(known) + 1);
}

static void gather_cluster(const struct controller_ctx *ctx, const struct admission_request *req,
			   struct cluster *cluster)
{
	struct kube_obj *network =
		kube_store_get(ctx->stores[DNSOPERATOR_WATCH_NETWORK], SLICE(""), SLICE("cluster"));
	struct kube_obj *gate = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_FEATURE_GATE],
					       SLICE(""), SLICE("cluster"));
	struct kube_obj *crd = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_CRD], SLICE(""),
					      SLICE(DNSOPERATOR_CRD_NAME));
	const json_t *net = network != NULL ? kube_tree_of(network) : NULL;
	*cluster = (struct cluster){ 0 };
	/* without --platform MicroShift counts as Kubernetes: a follower has not read its version */
	cluster->facts.platform = dnsoperator_platform_of(ctx, net, false);
	cluster->facts.families = families_of(ctx, cluster->facts.platform, net);
	cluster->facts.keeps = dnsoperator_keeps_of(crd != NULL ? kube_tree_of(crd) : NULL);
	gather_gate(ctx, gate != NULL ? kube_tree_of(gate) : NULL, cluster);
	gather_domain(ctx, req, cluster);
	kube_obj_unref(network);
	kube_obj_unref(gate);
	kube_obj_unref(crd);
}

/* ---- the reply ---- */

static void add_problems(struct strbuf *text, const struct dnsoperator_problems *problems)
{
	if (problems->n == 0)
		return;
	if (text->n != 0)
		strbuf_addc(text, '\n');
	dnsoperator_problems_text(problems, text);
}

/* Warnings are short: a longer one is split, not cut. */
static void warn_wrapped(struct admission_reply *reply, struct slice text)
{
	while (text.n > ADMISSION_WARNING_MAX) {
		size_t n = ADMISSION_WARNING_MAX;
		while (n > 0 && text.p[n] != ' ')
			n--;
		if (n == 0)
			break;
		admission_warn(reply, "%.*s", (int)n, text.p);
		text = (struct slice){ text.p + n + 1, text.n - n - 1 };
	}
	admission_warn(reply, "%.*s", (int)text.n, text.p);
}

/* A sentence each. */
static void warn_sentences(struct admission_reply *reply, const char *text)
{
	const char *end;
	while ((end = strstr(text, ". ")) != NULL) {
		warn_wrapped(reply, (struct slice){ text, (size_t)(end + 1 - text) });
		text = end + 2;
	}
	warn_wrapped(reply, slice_of(text));
}

static bool is_annotation_used(const struct admission_request *req, const struct cluster *cluster)
{
	return is_same(api_get(req->object, "spec.templates"), NULL) &&
	       cluster->facts.keeps != DNSOPERATOR_KEEPS;
}

static void add_warnings(const struct admission_request *req, const struct cluster *cluster,
			 const struct dnsoperator_plan *plan, struct admission_reply *reply)
{
	const struct dnsoperator_condition *danger = &plan->conditions[DNSOPERATOR_WARNING];
	bool annotation = api_annotation(req->object, DNSOPERATOR_ANNOTATION) != NULL;
	bool any = annotation || json_array_size(api_get(req->object, "spec.templates")) != 0;
	if (cluster->facts.gate == DNSOPERATOR_GATE_OFF) {
		if (cluster->gate_known && any)
			admission_warn(reply, "The feature gate DNSTemplatePlugin is off: these "
					      "templates are ignored until it is on.");
		return;
	}
	if (annotation && !is_annotation_used(req, cluster))
		admission_warn(reply,
			       "The annotation " DNSOPERATOR_ANNOTATION
			       " is ignored, because the object has the field spec.templates.");
	if (danger->status == API_TRUE)
		warn_sentences(reply, danger->message);
	if (plan->ttl_advice.n != 0)
		warn_sentences(reply, plan->ttl_advice.s);
}

static void judge_object(const struct admission_request *req, const struct changes *changes,
			 struct cluster *cluster, struct admission_reply *reply)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dnsoperator_plan plan;
	/* the old spec has the members of the accepted configuration: it shows which of two lists makes
	 * the configuration too large */
	struct dnsoperator_plan_in in = { .dns = req->object,
					  .facts = &cluster->facts,
					  .accepted = json_object_get(req->old, "spec") };
	dnsoperator_plan_make(&in, &plan);
	if (changes->list || (changes->annotation && is_annotation_used(req, cluster)))
		add_problems(&text, &plan.templates);
	if (changes->routes)
		add_problems(&text, &plan.servers);
	if (text.n != 0) {
		admission_refuse(reply, "%s", text.s);
		reply->code = CODE_INVALID;
	} else if (changes->list || changes->annotation) {
		add_warnings(req, cluster, &plan, reply);
	}
	dnsoperator_plan_done(&plan);
}

static void review_dns(void *ctx, const struct admission_request *req,
		       struct admission_reply *reply)
{
	struct cluster p;
	if (!is_ours(req))
		return;
	if (strcmp(api_name(req->object), DNSOPERATOR_DNS_NAME) != 0) {
		if (api_name(req->object)[0] == '\0')
			return;
		admission_warn(reply,
			       "Only the DNS object named default is acted on; this one has no "
			       "effect.");
		return;
	}
	struct changes t = changes_of(req);
	if (!t.list && !t.annotation && !t.routes)
		return;
	gather_cluster(ctx, req, &p);
	judge_object(req, &t, &p, reply);
}

const struct admission_hook dnsoperator_admission_hooks[DNSOPERATOR_ADMISSION_HOOKS] = {
	{ .phase = ADMISSION_VALIDATE,
	  .name = "dnses.dnsoperator.fairlead.dev",
	  .group = "operator.openshift.io",
	  .kind = "DNS",
	  .review = review_dns },
};

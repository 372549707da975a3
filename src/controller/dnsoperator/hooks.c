/* The web hook: the operator's own checks on an object that somebody is about to store. */
#include "controller/dnsoperator/hooks.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "controller/dnsoperator/look_priv.h"
#include "controller/dnsoperator/model.h"
#include "kube/tree.h"

enum { CODE_INVALID = 422 };

/* ---- what has changed ---- */

/* Absent and null are the same. */
static bool is_same(const json_t *a, const json_t *b)
{
	bool no_a = a == NULL || json_is_null(a), no_b = b == NULL || json_is_null(b);
	return no_a || no_b ? no_a == no_b : json_equal(a, b);
}

static bool is_changed(const struct admission_request *q, const char *path)
{
	return !is_same(api_get(q->old, path), api_get(q->object, path));
}

/* What was stored before the hook was there may stay as it is: only a list that is touched counts.
 */
struct touched {
	bool list, annotation, routes;
};

static struct touched touched_by(const struct admission_request *q)
{
	const char *was = api_annotation(q->old, DNSOPERATOR_ANNOTATION);
	const char *is = api_annotation(q->object, DNSOPERATOR_ANNOTATION);
	bool same = was != NULL && is != NULL ? strcmp(was, is) == 0 : was == is;
	return (struct touched){
		.list = is_changed(q, "spec.templates"),
		.annotation = !same,
		.routes = is_changed(q, "spec.servers") || is_changed(q, "spec.upstreamResolvers"),
	};
}

/* An object on its way out must not be held up: whoever takes its finalizers away changes it. */
static bool is_ours(const struct admission_request *q)
{
	return q->sub[0] == '\0' && q->object != NULL && !api_is_deleting(q->object) &&
	       (strcmp(q->operation, "CREATE") == 0 || strcmp(q->operation, "UPDATE") == 0);
}

/* ---- the place ---- */

struct place {
	struct dnsoperator_facts facts;
	char domain[DNSOPERATOR_DOMAIN_MAX];
	bool gate_known;
};

/* Trees of stores are shared by threads: they are looked at, and nobody counts on them. */
struct families {
	enum dnsoperator_platform platform;
	int which;
	struct dnsoperator_families seen;
};

static void see(struct families *f, const struct dnsoperator_network *n)
{
	struct dnsoperator_families one = dnsoperator_families_of(f->platform, n);
	if (!one.known)
		return;
	f->seen.known = true;
	f->seen.v4 = f->seen.v4 || one.v4;
	f->seen.v6 = f->seen.v6 || one.v6;
}

static bool see_listed(void *ctx, struct kube_obj *o)
{
	struct families *f = ctx;
	json_t *list = json_array();
	struct dnsoperator_network n = { 0 };
	json_array_append_new(list, json_deep_copy(kube_tree_of(o)));
	*(f->which == NODES ? &n.nodes : &n.service_cidrs) = list;
	see(f, &n);
	json_decref(list);
	return !f->seen.v4 || !f->seen.v6;
}

static struct dnsoperator_families families_of(const struct controller_ctx *c,
					       enum dnsoperator_platform platform,
					       const json_t *network)
{
	struct families f = { .platform = platform };
	struct kube_obj *service =
		kube_store_get(c->stores[SERVICE], SLICE("default"), SLICE("kubernetes"));
	see(&f, &(struct dnsoperator_network){ .network = network,
					       .service = service != NULL ? kube_tree_of(service)
									  : NULL });
	for (f.which = CIDRS; f.which <= NODES; f.which++)
		kube_store_each(c->stores[f.which], see_listed, &f);
	kube_obj_unref(service);
	if (!f.seen.known)
		f.seen.v4 = f.seen.v6 = true;
	return f.seen;
}

/* The version of the cluster, by which FeatureGate lists its gates, is not at hand: the gate is
 * known when it is the same for all of them. */
static void learn_gate(const struct controller_ctx *c, const json_t *gate, struct place *p)
{
	const char *flag = dnsoperator_options(c)->feature_gates;
	size_t i, n = 0, on = 0;
	json_t *v;
	flag = flag != NULL ? flag : "";
	json_array_foreach (api_get(gate, "status.featureGates"), i, v) {
		n++;
		on += dnsoperator_gate_of(p->facts.platform, flag, gate,
					  api_get_string(v, "version")) == DNSOPERATOR_GATE_ON;
	}
	if (n == 0) {
		n = 1;
		on = dnsoperator_gate_of(p->facts.platform, flag, gate, "") == DNSOPERATOR_GATE_ON;
	}
	p->gate_known = on == 0 || on == n;
	p->facts.gate = on == n ? DNSOPERATOR_GATE_ON : DNSOPERATOR_GATE_OFF;
}

/* Where it may be another, the flag or the status names it: written by whoever read the servers'
 * Corefile. */
static void learn_domain(const struct controller_ctx *c, const struct admission_request *q,
			 struct place *p)
{
	const char *flag = dnsoperator_options(c)->dns_cluster_domain;
	const char *known = flag != NULL ? flag : api_get_string(q->old, "status.clusterDomain");
	p->facts.domain = p->domain;
	if (p->facts.platform != DNSOPERATOR_KUBERNETES)
		return;
	p->facts.domain_unknown =
		strlen(known) >= sizeof(p->domain) || !api_is_subdomain_name(known);
	if (!p->facts.domain_unknown)
		memcpy(p->domain, known, strlen(known) + 1);
}

static void learn(const struct controller_ctx *c, const struct admission_request *q,
		  struct place *p)
{
	struct kube_obj *network = kube_store_get(c->stores[NETWORK], SLICE(""), SLICE("cluster"));
	struct kube_obj *gate = kube_store_get(c->stores[GATE], SLICE(""), SLICE("cluster"));
	struct kube_obj *crd = kube_store_get(c->stores[CRD], SLICE(""), SLICE(CRD_NAME));
	const json_t *net = network != NULL ? kube_tree_of(network) : NULL;
	*p = (struct place){ 0 };
	/* MicroShift that nobody named is taken for Kubernetes: who does not lead has not asked */
	p->facts.platform = dnsoperator_platform_of(c, net, false);
	p->facts.families = families_of(c, p->facts.platform, net);
	p->facts.keeps = dnsoperator_keeps_of(crd != NULL ? kube_tree_of(crd) : NULL);
	learn_gate(c, gate != NULL ? kube_tree_of(gate) : NULL, p);
	learn_domain(c, q, p);
	kube_obj_unref(network);
	kube_obj_unref(gate);
	kube_obj_unref(crd);
}

/* ---- the answer ---- */

static void add_problems(struct strbuf *text, const struct dnsoperator_problems *p)
{
	if (p->n == 0)
		return;
	if (text->n != 0)
		strbuf_addc(text, '\n');
	dnsoperator_problems_text(p, text);
}

/* Warnings are short: what is longer is told in several, not cut. */
static void warn_wrapped(struct admission_reply *r, struct slice text)
{
	while (text.n > ADMISSION_WARNING_MAX) {
		size_t n = ADMISSION_WARNING_MAX;
		while (n > 0 && text.p[n] != ' ')
			n--;
		if (n == 0)
			break;
		admission_warn(r, "%.*s", (int)n, text.p);
		text = (struct slice){ text.p + n + 1, text.n - n - 1 };
	}
	admission_warn(r, "%.*s", (int)text.n, text.p);
}

/* A sentence each. */
static void warn_sentences(struct admission_reply *r, const char *text)
{
	const char *end;
	while ((end = strstr(text, ". ")) != NULL) {
		warn_wrapped(r, (struct slice){ text, (size_t)(end + 1 - text) });
		text = end + 2;
	}
	warn_wrapped(r, slice_of(text));
}

static bool reads_annotation(const struct admission_request *q, const struct place *p)
{
	return is_same(api_get(q->object, "spec.templates"), NULL) &&
	       p->facts.keeps != DNSOPERATOR_KEEPS;
}

static void warn(const struct admission_request *q, const struct place *p,
		 const struct dnsoperator_plan *plan, struct admission_reply *r)
{
	const struct dnsoperator_condition *danger = &plan->conditions[DNSOPERATOR_WARNING];
	bool annotation = api_annotation(q->object, DNSOPERATOR_ANNOTATION) != NULL;
	bool any = annotation || json_array_size(api_get(q->object, "spec.templates")) != 0;
	if (p->facts.gate == DNSOPERATOR_GATE_OFF) {
		if (p->gate_known && any)
			admission_warn(r, "The feature gate DNSTemplatePlugin is off: these "
					  "templates are ignored as long as it is.");
		return;
	}
	if (annotation && !reads_annotation(q, p))
		admission_warn(r, "The annotation " DNSOPERATOR_ANNOTATION
				  " is not read, since there is the field spec.templates.");
	if (danger->status == API_TRUE)
		warn_sentences(r, danger->message);
}

static void judge(const struct admission_request *q, const struct touched *t, struct place *p,
		  struct admission_reply *r)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dnsoperator_plan plan;
	/* the spec of before has the members of what was accepted: by it is told which of two lists
	 * makes the configuration too large */
	struct dnsoperator_in in = { .dns = q->object,
				     .facts = &p->facts,
				     .accepted = json_object_get(q->old, "spec") };
	dnsoperator_plan_make(&in, &plan);
	if (t->list || (t->annotation && reads_annotation(q, p)))
		add_problems(&text, &plan.templates);
	if (t->routes)
		add_problems(&text, &plan.servers);
	if (text.n != 0) {
		admission_refuse(r, "%s", text.s);
		r->code = CODE_INVALID;
	} else if (t->list || t->annotation) {
		warn(q, p, &plan, r);
	}
	dnsoperator_plan_done(&plan);
}

static void review(void *ctx, const struct admission_request *q, struct admission_reply *r)
{
	struct place p;
	if (!is_ours(q))
		return;
	if (strcmp(api_name(q->object), DNS_NAME) != 0) {
		if (api_name(q->object)[0] == '\0')
			return;
		admission_warn(r, "Only the DNS object named default is acted on; this one has no "
				  "effect.");
		return;
	}
	struct touched t = touched_by(q);
	if (!t.list && !t.annotation && !t.routes)
		return;
	learn(ctx, q, &p);
	judge(q, &t, &p, r);
}

const struct admission_hook dnsoperator_hooks[DNSOPERATOR_HOOKS] = {
	{ ADMISSION_VALIDATE, "operator.openshift.io", "DNS", review, NULL },
};

/* From the object to the text: what is accepted, what is fallen back to, what is told. */
#include "controller/dnsoperator/plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "controller/dnsoperator/advice.h"
#include "controller/dnsoperator/cabundle.h"
#include "controller/dnsoperator/plan_priv.h"
#include "controller/dnsoperator/validate.h"

struct job {
	const struct dnsoperator_in *in;
	struct dnsoperator_plan *plan;
	struct arena a;
	struct dnsoperator_dns dns;
	struct dnsoperator_templates templates;
	struct dnsoperator_routes routes;
	struct dnsoperator_outcome outcome;
	json_t *list;	    /* of the annotation */
	json_t *unreserved; /* routes without zones of the cluster */
	json_t *nothing;    /* an empty object */
};

/* ---- templates ---- */

/* The list that the object asks for; NULL: none. */
static const json_t *wanted_list(struct job *j)
{
	const struct dnsoperator_facts *f = j->in->facts;
	if (f->gate == DNSOPERATOR_GATE_OFF)
		return NULL;
	if (j->dns.templates != NULL || f->keeps == DNSOPERATOR_KEEPS)
		return j->dns.templates;
	if (j->dns.annotation != NULL) {
		j->outcome.source = DNSOPERATOR_FROM_ANNOTATION;
		if (dnsoperator_annotation_parse(j->dns.annotation, &j->list, &j->plan->templates) <
		    0)
			return NULL;
		return j->list;
	}
	if (f->keeps == DNSOPERATOR_PRUNES)
		j->outcome.source = DNSOPERATOR_FROM_NOWHERE;
	return NULL;
}

static void accept_templates(struct job *j, const json_t *list, int64_t generation)
{
	json_t *accepted = j->plan->accepted;
	json_object_del(accepted, "templates");
	json_object_set_new(accepted, "generation", json_integer(generation));
	if (list != NULL)
		json_object_set_new(accepted, "templates", json_deep_copy(list));
	j->outcome.templates_generation = generation;
}

/* To what was accepted the last time, as far as it still would be. */
static void fall_back_templates(struct job *j)
{
	const json_t *list = json_object_get(j->in->accepted, "templates");
	struct dnsoperator_problems none = { 0 };
	int64_t generation = json_integer_value(json_object_get(j->in->accepted, "generation"));
	if (dnsoperator_templates_check(list, dnsoperator_reserved_domain(j->in->facts), &j->a,
					&j->templates, &none) < 0)
		list = NULL;
	dnsoperator_problems_done(&none);
	accept_templates(j, list, generation);
}

static void choose_templates(struct job *j)
{
	struct dnsoperator_problems *problems = &j->plan->templates;
	const json_t *list = wanted_list(j);
	int r = dnsoperator_templates_check(list, dnsoperator_reserved_domain(j->in->facts), &j->a,
					    &j->templates, problems);
	if (r < 0 || problems->n != 0)
		fall_back_templates(j);
	else
		accept_templates(j, list, j->dns.generation);
}

/* ---- servers and resolvers ---- */

static void keep_routes(struct job *j, const json_t *spec)
{
	static const char *const members[] = { "servers", "upstreamResolvers" };
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *v = json_object_get(spec, members[i]);
		if (v != NULL)
			json_object_set_new(j->plan->accepted, members[i], json_deep_copy(v));
	}
}

/* Accepts {"servers": [...], "upstreamResolvers": {...}}, of which texts are borrowed; false, with
 * problems, when something in it is refused. */
static bool accept_routes(struct job *j, const json_t *spec, struct dnsoperator_problems *problems)
{
	const char *domain = dnsoperator_reserved_domain(j->in->facts);
	struct api_errors errs = { 0 };
	dnsoperator_routes_read(spec, &j->a, &j->routes, &errs);
	bool accepted = dnsoperator_routes_check(&j->routes, &errs, domain, problems) == 0 &&
			dnsoperator_ca_check(&j->routes, j->in->facts->platform, problems) == 0;
	if (accepted)
		keep_routes(j, spec);
	api_errors_done(&errs);
	return accepted;
}

/* To what was accepted the last time, less zones of the cluster, which an earlier release may have
 * accepted. Where nothing was accepted yet, other zones need not suffer from one of the cluster. */
static void fall_back_routes(struct job *j)
{
	const json_t *last = j->in->accepted;
	struct dnsoperator_problems none = { 0 };
	json_decref(j->unreserved);
	j->unreserved = dnsoperator_routes_unreserved(
		last != NULL ? last : json_object_get(j->in->dns, "spec"),
		dnsoperator_reserved_domain(j->in->facts));
	bool accepted = (last != NULL && accept_routes(j, last, &none)) ||
			accept_routes(j, j->unreserved, &none) ||
			accept_routes(j, j->nothing, &none);
	assert(accepted);
	dnsoperator_problems_done(&none);
}

static void choose_routes(struct job *j)
{
	const json_t *spec = json_object_get(j->in->dns, "spec");
	if (!accept_routes(j, json_is_object(spec) ? spec : j->nothing, &j->plan->servers))
		fall_back_routes(j);
}

/* ---- text ---- */

static void render(struct job *j)
{
	struct dnsoperator_wanted w = { j->in->facts, &j->dns, &j->routes, &j->templates };
	dnsoperator_render(&w, &j->plan->text, j->plan->hash);
}

/* A text that no ConfigMap can hold: first without the new templates, then without any. */
static void render_to_fit(struct job *j)
{
	render(j);
	if (j->plan->text.n <= DNSOPERATOR_TEXT_MAX || j->templates.n == 0)
		return;
	if (j->plan->templates.n == 0) {
		struct dnsoperator_place at = { .field = "spec.templates" };
		dnsoperator_problem_add(&j->plan->templates, DNSOPERATOR_TOO_LARGE, &at,
					"makes a configuration of more than 900 KiB",
					"use fewer zones, or fewer entries of spec.servers");
		fall_back_templates(j);
		render(j);
	}
	if (j->plan->text.n <= DNSOPERATOR_TEXT_MAX)
		return;
	j->templates = (struct dnsoperator_templates){ 0 };
	accept_templates(j, NULL, j->outcome.templates_generation);
	render(j);
}

void dnsoperator_plan_make(const struct dnsoperator_in *in, struct dnsoperator_plan *ret)
{
	struct job j = { .in = in, .plan = ret, .nothing = json_object() };
	*ret = (struct dnsoperator_plan){ .text = STRBUF_INIT,
					  .advice = STRBUF_INIT,
					  .accepted = json_object() };
	arena_init(&j.a);
	dnsoperator_dns_read(in->dns, &j.a, &j.dns);
	ret->write = !j.dns.unmanaged;
	ret->verbose = j.dns.operator_log != DNSOPERATOR_LOG_NORMAL;
	choose_routes(&j);
	dnsoperator_advise(&j.routes, dnsoperator_domain(in->facts), &ret->advice);
	choose_templates(&j);
	render_to_fit(&j);
	j.outcome.in = in;
	j.outcome.dns = &j.dns;
	j.outcome.routes = &j.routes;
	j.outcome.templates = &j.templates;
	dnsoperator_conditions_fill(&j.outcome, ret);
	dnsoperator_dns_done(&j.dns);
	json_decref(j.list);
	json_decref(j.unreserved);
	json_decref(j.nothing);
	arena_done(&j.a);
}

void dnsoperator_plan_done(struct dnsoperator_plan *p)
{
	strbuf_done(&p->text);
	strbuf_done(&p->advice);
	json_decref(p->accepted);
	dnsoperator_problems_done(&p->templates);
	dnsoperator_problems_done(&p->servers);
	for (int i = 0; i < DNSOPERATOR_CONDITIONS; i++)
		free(p->conditions[i].message);
	*p = (struct dnsoperator_plan){ .text = STRBUF_INIT, .advice = STRBUF_INIT };
}

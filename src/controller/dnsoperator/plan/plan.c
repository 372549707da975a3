/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the DNS object to the plan: which configuration is accepted, what to fall back to, the Corefile
 * and the conditions. */
#include "controller/dnsoperator/plan/plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "controller/dnsoperator/plan/ca_bundle.h"
#include "controller/dnsoperator/plan/pruned_templates.h"
#include "controller/dnsoperator/plan/template_conditions.h"
#include "controller/dnsoperator/plan/upstream_advice.h"
#include "controller/dnsoperator/plan/validate_routes.h"
#include "controller/dnsoperator/plan/validate_templates.h"

/* Templates that servers could run, and their origin. */
struct template_choice {
	struct dnsoperator_templates templates;
	const json_t *list; /* as they are written; NULL: none */
	int64_t generation; /* of the object that has them */
};

/* Servers and resolvers likewise. */
struct route_choice {
	struct dnsoperator_routes routes;
	const json_t *spec; /* {"servers": [...]?, "upstreamResolvers": {...}?} */
};

struct job {
	const struct dnsoperator_plan_in *in;
	struct dnsoperator_plan *plan;
	struct arena arena;
	struct dnsoperator_dns dns;
	struct template_choice templates;
	struct route_choice routes;
	struct dnsoperator_outcome outcome;
	struct dnsoperator_kept_templates stored;
	json_t *list;	    /* of the annotation */
	json_t *unreserved; /* routes without zones of the cluster */
	json_t *nothing;    /* an empty object */
};

/* ---- templates ---- */

/* The list that the object asks for; NULL: none. */
static const json_t *wanted_list(struct job *job)
{
	const struct dnsoperator_facts *f = job->in->facts;
	if (f->gate == DNSOPERATOR_GATE_OFF)
		return NULL;
	if (job->stored.restore)
		return job->stored.list;
	if (job->dns.templates != NULL || f->keeps == DNSOPERATOR_KEEPS)
		return job->dns.templates;
	if (job->dns.annotation != NULL) {
		job->outcome.source = DNSOPERATOR_FROM_ANNOTATION;
		if (dnsoperator_annotation_parse(job->dns.annotation, &job->list,
						 &job->plan->templates) < 0)
			return NULL;
		return job->list;
	}
	if (f->keeps == DNSOPERATOR_PRUNES)
		job->outcome.source = DNSOPERATOR_FROM_NOWHERE;
	return NULL;
}

/* What was accepted the last time, as far as it still would be. */
static struct template_choice last_templates(struct job *job)
{
	struct template_choice last = {
		.list = json_object_get(job->in->accepted, "templates"),
		.generation = json_integer_value(json_object_get(job->in->accepted, "generation")),
	};
	struct dnsoperator_problems none = { 0 };
	if (dnsoperator_templates_check(last.list, dnsoperator_reserved_domain(job->in->facts),
					&job->arena, &last.templates, &none) < 0)
		last.list = NULL;
	dnsoperator_problems_done(&none);
	return last;
}

static void choose_templates(struct job *job)
{
	struct dnsoperator_problems *problems = &job->plan->templates;
	struct template_choice wanted = { .list = wanted_list(job),
					  .generation = job->dns.generation };
	int r = dnsoperator_templates_check(wanted.list,
					    dnsoperator_reserved_domain(job->in->facts),
					    &job->arena, &wanted.templates, problems);
	job->templates = r < 0 || problems->n != 0 ? last_templates(job) : wanted;
}

/* ---- servers and resolvers ---- */

/* False, with problems, when something in `spec` is refused. */
static bool try_routes(struct job *job, const json_t *spec, struct dnsoperator_problems *problems,
		       struct route_choice *ret)
{
	const char *domain = dnsoperator_reserved_domain(job->in->facts);
	struct api_errors errs = { 0 };
	ret->spec = json_is_object(spec) ? spec : job->nothing;
	dnsoperator_routes_read(ret->spec, &job->arena, &ret->routes, &errs);
	bool accepted = dnsoperator_routes_check(&ret->routes, &errs, domain, problems) == 0 &&
			dnsoperator_ca_check(&ret->routes, job->in->facts->platform, problems) == 0;
	api_errors_done(&errs);
	return accepted;
}

static struct route_choice no_routes(struct job *job)
{
	struct dnsoperator_problems none = { 0 };
	struct route_choice choice;
	bool accepted = try_routes(job, job->nothing, &none, &choice);
	assert(accepted);
	return choice;
}

/* Without a generation only the stored list was kept, of an object that was not managed. */
static bool was_accepted(const struct job *job)
{
	return json_object_get(job->in->accepted, "generation") != NULL;
}

/* What was accepted the last time, less zones of the cluster, which an earlier release may have
 * accepted. Where nothing was accepted yet, other zones need not suffer from one of the cluster. */
static struct route_choice last_routes(struct job *job)
{
	const json_t *last = was_accepted(job) ? job->in->accepted : NULL;
	const json_t *from = last != NULL ? last : json_object_get(job->in->dns, "spec");
	struct dnsoperator_problems none = { 0 };
	struct route_choice choice;
	if (job->unreserved == NULL)
		job->unreserved = dnsoperator_routes_unreserved(
			from, dnsoperator_reserved_domain(job->in->facts));
	bool accepted = (last != NULL && try_routes(job, last, &none, &choice)) ||
			try_routes(job, job->unreserved, &none, &choice);
	dnsoperator_problems_done(&none);
	return accepted ? choice : no_routes(job);
}

static void choose_routes(struct job *job)
{
	const json_t *spec = json_object_get(job->in->dns, "spec");
	if (!try_routes(job, spec, &job->plan->servers, &job->routes))
		job->routes = last_routes(job);
}

/* ---- the Corefile ---- */

static bool render_fits(struct job *job)
{
	struct dnsoperator_render_in w = { job->in->facts, &job->dns, &job->routes.routes,
					   &job->templates.templates };
	dnsoperator_render(&w, &job->plan->corefile, job->plan->hash);
	return job->plan->corefile.n <= DNSOPERATOR_COREFILE_MAX;
}

static void refuse_templates_size(struct job *job)
{
	struct dnsoperator_problem_at at = { .field = "spec.templates" };
	if (job->plan->templates.n == 0)
		dnsoperator_problem_add(&job->plan->templates, DNSOPERATOR_TOO_LARGE, &at,
					"makes a configuration of more than 900 KiB",
					"use fewer zones, or fewer entries of spec.servers");
}

static void refuse_servers_size(struct job *job)
{
	struct dnsoperator_problem_at at = { .field = "spec.servers" };
	if (job->plan->servers.n == 0)
		dnsoperator_problem_add(
			&job->plan->servers, DNSOPERATOR_TOO_LARGE, &at,
			"makes a configuration of more than 900 KiB",
			"use fewer servers, or fewer zones in spec.templates, which "
			"each server has");
}

/* What no ConfigMap can hold is refused, and what was accepted last stays: of the templates where
 * that is enough, else of the servers, else of both. False when nothing of it is left. */
static bool fall_back_to_fit(struct job *job)
{
	struct template_choice wanted = job->templates, last = last_templates(job);
	if (wanted.templates.n != 0) {
		job->templates = last;
		if (render_fits(job)) {
			refuse_templates_size(job);
			return true;
		}
		job->templates = wanted;
	}
	refuse_servers_size(job);
	job->routes = was_accepted(job) ? last_routes(job) : no_routes(job);
	if (render_fits(job))
		return true;
	refuse_templates_size(job);
	job->templates = last;
	return render_fits(job);
}

static void render_to_fit(struct job *job)
{
	if (render_fits(job) || fall_back_to_fit(job))
		return;
	/* even the last accepted do not fit, for example with a longer name of a CA file */
	job->templates = (struct template_choice){ .generation = job->templates.generation };
	if (render_fits(job))
		return;
	job->routes = no_routes(job);
	bool fits = render_fits(job);
	assert(fits);
}

static json_t *accepted_of(const struct job *job)
{
	static const char *const members[] = { "servers", "upstreamResolvers" };
	json_t *accepted = json_pack("{sI}", "generation", (json_int_t)job->templates.generation);
	if (job->templates.list != NULL)
		json_object_set_new(accepted, "templates", json_deep_copy(job->templates.list));
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *v = json_object_get(job->routes.spec, members[i]);
		if (v != NULL)
			json_object_set_new(accepted, members[i], json_deep_copy(v));
	}
	return accepted;
}

/* The list that is in force, or the last one that was: an older one must not be taken for it. Lists of
 * the annotation are another matter. */
static void keep_backup(struct job *job)
{
	bool in_field = job->outcome.source == DNSOPERATOR_FROM_SPEC;
	const json_t *list = in_field ? job->templates.list : NULL;
	bool is_over = json_array_size(list) == 0;
	if (is_over)
		list = dnsoperator_kept_templates_last(job->in);
	job->plan->backup = json_deep_copy(list);
	dnsoperator_kept_templates_store_last(is_over ? job->plan->backup : NULL, job->in->dns,
					      job->plan->accepted);
}

/* What is not managed keeps what was accepted before; the list that the object has stored is kept
 * in any case. */
static void keep_accepted(struct job *job)
{
	struct dnsoperator_plan *p = job->plan;
	if (p->write)
		p->accepted = accepted_of(job);
	else
		p->accepted = json_is_object(job->in->accepted) ? json_deep_copy(job->in->accepted)
								: json_object();
	dnsoperator_kept_templates_store(&job->stored, job->in->dns, p->accepted);
	keep_backup(job);
	p->at_risk = job->stored.list != NULL && job->in->facts->keeps == DNSOPERATOR_PRUNES;
	/* one that is refused, too: the conditions are about what the object has */
	if (job->stored.restore && p->write)
		p->restore = json_deep_copy(job->stored.list);
}

static struct dnsoperator_plan empty_plan(void)
{
	return (struct dnsoperator_plan){ .corefile = STRBUF_INIT,
					  .advice = STRBUF_INIT,
					  .ttl_advice = STRBUF_INIT };
}

void dnsoperator_plan_make(const struct dnsoperator_plan_in *in, struct dnsoperator_plan *ret)
{
	struct job j = { .in = in, .plan = ret, .nothing = json_object() };
	*ret = empty_plan();
	arena_init(&j.arena);
	dnsoperator_dns_read(in->dns, &j.arena, &j.dns);
	ret->domain_unknown = in->facts->domain_unknown;
	ret->write = !j.dns.unmanaged && !ret->domain_unknown;
	ret->verbose = j.dns.operator_log != DNSOPERATOR_LOG_NORMAL;
	j.stored = dnsoperator_kept_templates_find(in, &j.dns);
	choose_routes(&j);
	choose_templates(&j);
	render_to_fit(&j);
	dnsoperator_upstream_advice(&j.routes.routes, dnsoperator_domain(in->facts), &ret->advice);
	keep_accepted(&j);
	j.outcome.in = in;
	j.outcome.dns = &j.dns;
	j.outcome.routes = &j.routes.routes;
	j.outcome.templates = &j.templates.templates;
	j.outcome.templates_generation = j.templates.generation;
	dnsoperator_conditions_fill(&j.outcome, ret);
	dnsoperator_dns_done(&j.dns);
	json_decref(j.list);
	json_decref(j.unreserved);
	json_decref(j.nothing);
	arena_done(&j.arena);
}

void dnsoperator_plan_done(struct dnsoperator_plan *plan)
{
	strbuf_done(&plan->corefile);
	strbuf_done(&plan->advice);
	strbuf_done(&plan->ttl_advice);
	json_decref(plan->accepted);
	json_decref(plan->restore);
	json_decref(plan->backup);
	dnsoperator_problems_done(&plan->templates);
	dnsoperator_problems_done(&plan->servers);
	for (int i = 0; i < DNSOPERATOR_CONDITIONS; i++)
		free(plan->conditions[i].message);
	*plan = empty_plan();
}

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
#include "controller/dnsoperator/stored.h"
#include "controller/dnsoperator/validate.h"

/* Templates that servers could run, and where they are from. */
struct template_choice {
	struct dnsoperator_templates templates;
	const json_t *list; /* as they are written; NULL: none */
	int64_t generation; /* of the object that asked for them */
};

/* Servers and resolvers likewise. */
struct route_choice {
	struct dnsoperator_routes routes;
	const json_t *spec; /* {"servers": [...]?, "upstreamResolvers": {...}?} */
};

struct job {
	const struct dnsoperator_in *in;
	struct dnsoperator_plan *plan;
	struct arena a;
	struct dnsoperator_dns dns;
	struct template_choice templates;
	struct route_choice routes;
	struct dnsoperator_outcome outcome;
	struct dnsoperator_stored stored;
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
	if (j->stored.restore)
		return j->stored.list;
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

/* What was accepted the last time, as far as it still would be. */
static struct template_choice last_templates(struct job *j)
{
	struct template_choice last = {
		.list = json_object_get(j->in->accepted, "templates"),
		.generation = json_integer_value(json_object_get(j->in->accepted, "generation")),
	};
	struct dnsoperator_problems none = { 0 };
	if (dnsoperator_templates_check(last.list, dnsoperator_reserved_domain(j->in->facts), &j->a,
					&last.templates, &none) < 0)
		last.list = NULL;
	dnsoperator_problems_done(&none);
	return last;
}

static void choose_templates(struct job *j)
{
	struct dnsoperator_problems *problems = &j->plan->templates;
	struct template_choice wanted = { .list = wanted_list(j), .generation = j->dns.generation };
	int r = dnsoperator_templates_check(wanted.list, dnsoperator_reserved_domain(j->in->facts),
					    &j->a, &wanted.templates, problems);
	j->templates = r < 0 || problems->n != 0 ? last_templates(j) : wanted;
}

/* ---- servers and resolvers ---- */

/* False, with problems, when something in `spec` is refused. */
static bool try_routes(struct job *j, const json_t *spec, struct dnsoperator_problems *problems,
		       struct route_choice *ret)
{
	const char *domain = dnsoperator_reserved_domain(j->in->facts);
	struct api_errors errs = { 0 };
	ret->spec = json_is_object(spec) ? spec : j->nothing;
	dnsoperator_routes_read(ret->spec, &j->a, &ret->routes, &errs);
	bool accepted = dnsoperator_routes_check(&ret->routes, &errs, domain, problems) == 0 &&
			dnsoperator_ca_check(&ret->routes, j->in->facts->platform, problems) == 0;
	api_errors_done(&errs);
	return accepted;
}

static struct route_choice no_routes(struct job *j)
{
	struct dnsoperator_problems none = { 0 };
	struct route_choice choice;
	bool accepted = try_routes(j, j->nothing, &none, &choice);
	assert(accepted);
	return choice;
}

/* Without a generation only the stored list was kept, of an object that was not managed. */
static bool was_accepted(const struct job *j)
{
	return json_object_get(j->in->accepted, "generation") != NULL;
}

/* What was accepted the last time, less zones of the cluster, which an earlier release may have
 * accepted. Where nothing was accepted yet, other zones need not suffer from one of the cluster. */
static struct route_choice last_routes(struct job *j)
{
	const json_t *last = was_accepted(j) ? j->in->accepted : NULL;
	const json_t *from = last != NULL ? last : json_object_get(j->in->dns, "spec");
	struct dnsoperator_problems none = { 0 };
	struct route_choice choice;
	if (j->unreserved == NULL)
		j->unreserved = dnsoperator_routes_unreserved(
			from, dnsoperator_reserved_domain(j->in->facts));
	bool accepted = (last != NULL && try_routes(j, last, &none, &choice)) ||
			try_routes(j, j->unreserved, &none, &choice);
	dnsoperator_problems_done(&none);
	return accepted ? choice : no_routes(j);
}

static void choose_routes(struct job *j)
{
	const json_t *spec = json_object_get(j->in->dns, "spec");
	if (!try_routes(j, spec, &j->plan->servers, &j->routes))
		j->routes = last_routes(j);
}

/* ---- text ---- */

static bool render_fits(struct job *j)
{
	struct dnsoperator_wanted w = { j->in->facts, &j->dns, &j->routes.routes,
					&j->templates.templates };
	dnsoperator_render(&w, &j->plan->text, j->plan->hash);
	return j->plan->text.n <= DNSOPERATOR_TEXT_MAX;
}

static void refuse_templates_size(struct job *j)
{
	struct dnsoperator_place at = { .field = "spec.templates" };
	if (j->plan->templates.n == 0)
		dnsoperator_problem_add(&j->plan->templates, DNSOPERATOR_TOO_LARGE, &at,
					"makes a configuration of more than 900 KiB",
					"use fewer zones, or fewer entries of spec.servers");
}

static void refuse_servers_size(struct job *j)
{
	struct dnsoperator_place at = { .field = "spec.servers" };
	if (j->plan->servers.n == 0)
		dnsoperator_problem_add(
			&j->plan->servers, DNSOPERATOR_TOO_LARGE, &at,
			"makes a configuration of more than 900 KiB",
			"use fewer servers, or fewer zones in spec.templates, which "
			"each server has");
}

/* What no ConfigMap can hold is refused, and what was accepted last stays: of the templates where
 * that is enough, else of the servers, else of both. False when nothing of it is left. */
static bool fall_back_to_fit(struct job *j)
{
	struct template_choice wanted = j->templates, last = last_templates(j);
	if (wanted.templates.n != 0) {
		j->templates = last;
		if (render_fits(j)) {
			refuse_templates_size(j);
			return true;
		}
		j->templates = wanted;
	}
	refuse_servers_size(j);
	j->routes = was_accepted(j) ? last_routes(j) : no_routes(j);
	if (render_fits(j))
		return true;
	refuse_templates_size(j);
	j->templates = last;
	return render_fits(j);
}

static void render_to_fit(struct job *j)
{
	if (render_fits(j) || fall_back_to_fit(j))
		return;
	/* even the last accepted do not fit, with a longer name of a CA file, say */
	j->templates = (struct template_choice){ .generation = j->templates.generation };
	if (render_fits(j))
		return;
	j->routes = no_routes(j);
	bool fits = render_fits(j);
	assert(fits);
}

static json_t *accepted_of(const struct job *j)
{
	static const char *const members[] = { "servers", "upstreamResolvers" };
	json_t *accepted = json_pack("{sI}", "generation", (json_int_t)j->templates.generation);
	if (j->templates.list != NULL)
		json_object_set_new(accepted, "templates", json_deep_copy(j->templates.list));
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *v = json_object_get(j->routes.spec, members[i]);
		if (v != NULL)
			json_object_set_new(accepted, members[i], json_deep_copy(v));
	}
	return accepted;
}

/* What is not managed keeps what was accepted before; the list that the object has stored is kept
 * in any case. */
static void keep_accepted(struct job *j)
{
	struct dnsoperator_plan *p = j->plan;
	if (p->write)
		p->accepted = accepted_of(j);
	else
		p->accepted = json_is_object(j->in->accepted) ? json_deep_copy(j->in->accepted)
							      : json_object();
	dnsoperator_stored_keep(&j->stored, j->in->dns, p->accepted);
	p->at_risk = j->stored.list != NULL && j->in->facts->keeps == DNSOPERATOR_PRUNES;
	/* one that is refused, too: the conditions are about what the object has */
	if (j->stored.restore && p->write)
		p->restore = json_deep_copy(j->stored.list);
}

void dnsoperator_plan_make(const struct dnsoperator_in *in, struct dnsoperator_plan *ret)
{
	struct job j = { .in = in, .plan = ret, .nothing = json_object() };
	*ret = (struct dnsoperator_plan){ .text = STRBUF_INIT, .advice = STRBUF_INIT };
	arena_init(&j.a);
	dnsoperator_dns_read(in->dns, &j.a, &j.dns);
	ret->domain_unknown = in->facts->domain_unknown;
	ret->write = !j.dns.unmanaged && !ret->domain_unknown;
	ret->verbose = j.dns.operator_log != DNSOPERATOR_LOG_NORMAL;
	j.stored = dnsoperator_stored_of(in, &j.dns);
	choose_routes(&j);
	choose_templates(&j);
	render_to_fit(&j);
	dnsoperator_advise(&j.routes.routes, dnsoperator_domain(in->facts), &ret->advice);
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
	arena_done(&j.a);
}

void dnsoperator_plan_done(struct dnsoperator_plan *p)
{
	strbuf_done(&p->text);
	strbuf_done(&p->advice);
	json_decref(p->accepted);
	json_decref(p->restore);
	dnsoperator_problems_done(&p->templates);
	dnsoperator_problems_done(&p->servers);
	for (int i = 0; i < DNSOPERATOR_CONDITIONS; i++)
		free(p->conditions[i].message);
	*p = (struct dnsoperator_plan){ .text = STRBUF_INIT, .advice = STRBUF_INIT };
}

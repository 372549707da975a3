/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The conditions about templates: valid, applied, dual-stack warning (OP-33). Messages name the
 * generation where it matters, because OpenShift's CRD drops observedGeneration. */
#include "controller/dnsoperator/plan/template_conditions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/plan/zones.h"

enum { NAMES_SHOWN = 20 };

static const char *const types[DNSOPERATOR_CONDITIONS] = {
	[DNSOPERATOR_VALID] = "TemplateConfigurationValid",
	[DNSOPERATOR_APPLIED] = "TemplateConfigurationApplied",
	[DNSOPERATOR_WARNING] = "AAAAFilterDualStackWarning",
};

struct verdict {
	enum api_status status;
	const char *reason;
};

static bool is_gate_off(const struct dnsoperator_outcome *outcome)
{
	return outcome->in->facts->gate == DNSOPERATOR_GATE_OFF;
}

/* `fairlead up` has no flag for it. */
static void add_gate_off(const struct dnsoperator_outcome *outcome, struct strbuf *message)
{
	static const char *const reasons[] = {
		[DNSOPERATOR_GATE_BY_PLATFORM] = " by default on this platform",
		[DNSOPERATOR_GATE_BY_OBJECT] = " by the object FeatureGate cluster",
		[DNSOPERATOR_GATE_BY_FLAG] = " by the flag --feature-gates",
	};
	const struct dnsoperator_facts *facts = outcome->in->facts;
	strbuf_addf(message,
		    "The feature gate DNSTemplatePlugin is off%s, so templates are ignored; turn "
		    "it on ",
		    reasons[facts->gate_source]);
	if (facts->platform != DNSOPERATOR_MACHINE)
		strbuf_adds(message, "with --feature-gates DNSTemplatePlugin=true");
	/* the flag wins over the object */
	if (facts->gate_source != DNSOPERATOR_GATE_BY_FLAG)
		strbuf_addf(message, "%sin the object FeatureGate cluster",
			    facts->platform != DNSOPERATOR_MACHINE ? ", or " : "");
	strbuf_addc(message, '.');
}

/* Why none are in force: the object has none, or what it has does not count. */
static void add_no_templates(const struct dnsoperator_outcome *outcome, struct strbuf *message)
{
	if (is_gate_off(outcome))
		add_gate_off(outcome, message);
	else if (outcome->source == DNSOPERATOR_FROM_NOWHERE)
		strbuf_adds(message,
			    "No templates are in force: the installed CRD drops spec.templates, "
			    "and the annotation " DNSOPERATOR_ANNOTATION " is not set.");
	else
		strbuf_adds(message, "There are no templates.");
}

const char dnsoperator_domain_unknown[] =
	"The cluster's domain is not known, so the Corefile is not replaced: the Corefile in the "
	"ConfigMap kube-system/coredns does not name it in the plugin kubernetes, names several, "
	"or names it by an environment variable or in an imported file. Name the domain with the "
	"flag --dns-cluster-domain.";

static const char *plural_ending(size_t count)
{
	return count == 1 ? "" : "s";
}

/* "a, b and 3 more"; `count` counts what was added. */
static void add_name(struct strbuf *out, size_t *count, const char *name)
{
	if (*count < NAMES_SHOWN)
		strbuf_addf(out, "%s%s", *count != 0 ? ", " : "", name);
	(*count)++;
}

static void end_names(struct strbuf *out, size_t count)
{
	if (count > NAMES_SHOWN)
		strbuf_addf(out, " and %zu more", count - NAMES_SHOWN);
}

/* ---- TemplateConfigurationValid ---- */

/* An annotation does not change the generation, and another object begins with 1 again: "generation
 * 1 is not valid, generation 1 stays in force" helps nobody. */
static void add_what_runs(const struct dnsoperator_outcome *outcome, struct strbuf *message)
{
	if (outcome->templates->n == 0)
		strbuf_adds(message, "No templates are served.");
	else if (outcome->templates_generation >= outcome->dns->generation)
		strbuf_adds(message, "The templates that were accepted last stay in force.");
	else
		strbuf_addf(message, "The templates of generation %" PRId64 " stay in force.",
			    outcome->templates_generation);
}

static void add_source(const struct dnsoperator_outcome *outcome, struct strbuf *message)
{
	if (outcome->source == DNSOPERATOR_FROM_ANNOTATION)
		strbuf_adds(message,
			    " They are read from the annotation " DNSOPERATOR_ANNOTATION ".");
	else if (outcome->dns->annotation != NULL)
		strbuf_adds(message,
			    " The annotation " DNSOPERATOR_ANNOTATION
			    " is ignored, because the object has the field spec.templates.");
}

static struct verdict judge_valid(const struct dnsoperator_outcome *outcome,
				  const struct dnsoperator_plan *plan, struct strbuf *message)
{
	size_t n = outcome->templates->n;
	if (is_gate_off(outcome)) {
		add_gate_off(outcome, message);
		return (struct verdict){ API_UNKNOWN, "FeatureGateDisabled" };
	}
	if (plan->templates.n != 0) {
		dnsoperator_problems_text(&plan->templates, message);
		strbuf_addc(message, '\n');
		add_what_runs(outcome, message);
		add_source(outcome, message);
		return (struct verdict){ API_FALSE, dnsoperator_problems_reason(&plan->templates) };
	}
	if (plan->domain_unknown) {
		strbuf_adds(message, dnsoperator_domain_unknown);
		return (struct verdict){ API_UNKNOWN, "ClusterDomainUnknown" };
	}
	if (outcome->source == DNSOPERATOR_FROM_NOWHERE) {
		strbuf_adds(message, "The installed CRD drops spec.templates, so it is not known "
				     "whether there should be any; write the list into the "
				     "annotation " DNSOPERATOR_ANNOTATION ".");
		return (struct verdict){ API_UNKNOWN, "FieldPruned" };
	}
	if (n == 0)
		strbuf_adds(message, "There are no templates.");
	else
		strbuf_addf(message, "%zu template%s of generation %" PRId64 " %s accepted.", n,
			    plural_ending(n), outcome->templates_generation, n == 1 ? "is" : "are");
	add_source(outcome, message);
	if (plan->ttl_advice.n != 0)
		strbuf_addf(message, " %s", plan->ttl_advice.s);
	return (struct verdict){ API_TRUE, n == 0 ? "NoTemplates" : "AsExpected" };
}

/* A cache serves no record for longer than its own limit (OP-23). */
static void advise_ttl(const struct dnsoperator_outcome *outcome, struct strbuf *advice)
{
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	size_t n = 0;
	for (size_t i = 0; i < outcome->templates->n; i++) {
		const struct dnsoperator_template *template = &outcome->templates->v[i];
		if (template->answer != NULL && template->answer->ttl_s > outcome->dns->positive_s)
			add_name(&names, &n, template->name);
	}
	end_names(&names, n);
	if (n != 0)
		strbuf_addf(advice,
			    "The TTL of template%s %s is cut to %u seconds, the limit of "
			    "spec.cache.positiveTTL.",
			    plural_ending(n), names.s, outcome->dns->positive_s);
}

/* ---- TemplateConfigurationApplied ---- */

struct answers {
	size_t wanted, other, silent;
	struct strbuf others, silents; /* their names */
};

/* Were servers polled since this Corefile is wanted? One that ran it before may have changed. */
static bool is_asked_for(const struct dnsoperator_answers *all, const char *hash)
{
	return all->asked_for == NULL || strcmp(all->asked_for, hash) == 0;
}

static void count_answers(const struct dnsoperator_outcome *outcome,
			  const struct dnsoperator_plan *plan, struct answers *answers)
{
	const struct dnsoperator_answers *all = outcome->in->answers;
	*answers = (struct answers){ .others = STRBUF_INIT, .silents = STRBUF_INIT };
	for (size_t i = 0; i < all->n; i++) {
		if (!all->v[i].reached)
			add_name(&answers->silents, &answers->silent, all->v[i].name);
		else if (strcmp(all->v[i].hash, plan->hash) != 0 || !is_asked_for(all, plan->hash))
			add_name(&answers->others, &answers->other, all->v[i].name);
		else
			answers->wanted++;
	}
	end_names(&answers->silents, answers->silent);
	end_names(&answers->others, answers->other);
}

/* Why they could not be polled, as far as that is known; each reason once. */
static void add_whys(const struct dnsoperator_answers *all, struct strbuf *message)
{
	size_t before = message->n;
	for (size_t i = 0; i < all->n; i++) {
		const char *why = all->v[i].why;
		if (!all->v[i].reached && why != NULL && strstr(message->s, why) == NULL)
			strbuf_addf(message, " %s", why);
	}
	if (message->n == before)
		strbuf_adds(message,
			    " They are down, or a network policy keeps the operator from their "
			    "DNS port.");
}

static bool is_late(const struct dnsoperator_answers *all, const char *hash)
{
	return all->late && is_asked_for(all, hash);
}

/* "2 of 3 servers run generation 4; ", "2 of 3 servers have dropped the templates; " */
static void add_share(const struct dnsoperator_outcome *outcome, const struct answers *answers,
		      struct strbuf *message)
{
	strbuf_addf(message, "%zu of %zu servers ", answers->wanted,
		    answers->wanted + answers->other + answers->silent);
	if (outcome->templates->n == 0)
		strbuf_adds(message, "have dropped the templates; ");
	else
		strbuf_addf(message, "run generation %" PRId64 "; ", outcome->templates_generation);
}

static struct verdict judge_answers(const struct dnsoperator_outcome *outcome,
				    const struct dnsoperator_plan *plan,
				    const struct answers *answers, struct strbuf *message)
{
	size_t n = answers->wanted + answers->other + answers->silent;
	if (answers->other != 0) {
		bool late = is_late(outcome->in->answers, plan->hash),
		     none = outcome->templates->n == 0;
		add_share(outcome, answers, message);
		strbuf_addf(message, "%s %s: %s.", late ? "have not" : "still to",
			    none   ? late ? "dropped them in time" : "drop them"
			    : late ? "loaded it in time"
				   : "load it",
			    answers->others.s);
		if (late)
			strbuf_adds(message, " See their logs for the reason.");
		return (struct verdict){ API_FALSE, late ? "ReloadFailed" : "Updating" };
	}
	if (answers->silent != 0) {
		add_share(outcome, answers, message);
		strbuf_addf(message, "no answer from: %s.", answers->silents.s);
		add_whys(outcome->in->answers, message);
		return (struct verdict){ API_UNKNOWN, "InstancesUnreachable" };
	}
	if (outcome->templates->n == 0) {
		add_no_templates(outcome, message);
		return (struct verdict){ API_TRUE, "NoTemplates" };
	}
	if (n == 0) {
		strbuf_adds(message, "No server could run the templates: no DNS pod is ready. Name "
				     "servers that run elsewhere with --dns-instances.");
		return (struct verdict){ API_UNKNOWN, "NoInstances" };
	}
	if (n == 1)
		strbuf_adds(message, "The only server runs");
	else
		strbuf_addf(message, "All of %zu servers run", n);
	strbuf_addf(message, " generation %" PRId64 ".", outcome->templates_generation);
	return (struct verdict){ API_TRUE, "AsExpected" };
}

/* Was Applied last reported for another configuration than the plan's? */
static bool is_reported_for_another(const struct dnsoperator_outcome *outcome,
				    const struct dnsoperator_plan *plan)
{
	const struct dnsoperator_reported *reported = &outcome->in->reported;
	return (reported->generation != 0 && reported->generation != outcome->dns->generation) ||
	       (reported->hash != NULL && strcmp(reported->hash, plan->hash) != 0) ||
	       (reported->corefile != NULL && strcmp(reported->corefile, plan->corefile.s) != 0);
}

/* Some servers have not been polled yet. The condition stays as it is, unless it was about another
 * configuration. */
static struct verdict judge_unpolled(const struct dnsoperator_outcome *outcome,
				     const struct dnsoperator_plan *plan, struct strbuf *message)
{
	if (!is_reported_for_another(outcome, plan))
		return (struct verdict){ API_UNKNOWN, NULL };
	strbuf_addf(message,
		    "Generation %" PRId64 ": servers have not confirmed yet that they run it.",
		    outcome->dns->generation);
	return (struct verdict){ API_FALSE, "Updating" };
}

static struct verdict judge_applied(const struct dnsoperator_outcome *outcome,
				    const struct dnsoperator_plan *plan, struct strbuf *message)
{
	struct answers a;
	if (is_gate_off(outcome)) {
		add_gate_off(outcome, message);
		return (struct verdict){ API_UNKNOWN, "FeatureGateDisabled" };
	}
	if (outcome->dns->unmanaged) {
		strbuf_adds(message, "spec.managementState is Unmanaged, so nothing is applied.");
		return (struct verdict){ API_UNKNOWN, "Unmanaged" };
	}
	if (plan->domain_unknown) {
		strbuf_adds(message, dnsoperator_domain_unknown);
		return (struct verdict){ API_UNKNOWN, "ClusterDomainUnknown" };
	}
	if (plan->templates.n != 0) {
		strbuf_addf(message, "The templates of generation %" PRId64 " are not valid. ",
			    outcome->dns->generation);
		add_what_runs(outcome, message);
		return (struct verdict){ API_FALSE, "InvalidTemplates" };
	}
	if (outcome->in->answers == NULL)
		return judge_unpolled(outcome, plan, message);
	count_answers(outcome, plan, &a);
	struct verdict t = judge_answers(outcome, plan, &a, message);
	strbuf_done(&a.others);
	strbuf_done(&a.silents);
	return t;
}

/* ---- AAAAFilterDualStackWarning ---- */

/* The template that answers for a name, by its longest zone. */
static const struct dnsoperator_template *template_of(const struct dnsoperator_templates *templates,
						      const char *name, const char **ret_zone)
{
	const struct dnsoperator_template *best = NULL;
	for (size_t i = 0; i < templates->n; i++) {
		for (size_t k = 0; k < templates->v[i].n_zones; k++) {
			const char *z = templates->v[i].zones[k];
			if (dnsoperator_zone_has(z, name) &&
			    (best == NULL || strcmp(*ret_zone, ".") == 0 ||
			     strlen(z) > strlen(*ret_zone))) {
				best = &templates->v[i];
				*ret_zone = z;
			}
		}
	}
	return best;
}

/* Is it a zone that loses its AAAA records to a template meant for others? */
static bool is_emptied(const struct dnsoperator_outcome *outcome, const char *name)
{
	const char *domain = dnsoperator_domain(outcome->in->facts), *zone = "";
	const struct dnsoperator_template *t = template_of(outcome->templates, name, &zone);
	return t != NULL && t->answer == NULL && dnsoperator_zone_has(zone, domain) &&
	       !dnsoperator_zone_has(domain, name);
}

static void add_emptied(const struct dnsoperator_outcome *outcome, struct strbuf *message)
{
	const struct dnsoperator_server *s = outcome->routes->servers.v;
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	struct arena a;
	size_t n = 0;
	arena_init(&a);
	if (is_emptied(outcome, "clusterset.local"))
		add_name(&names, &n, "clusterset.local");
	for (size_t i = 0; i < outcome->routes->servers.n; i++) {
		for (size_t k = 0; k < s[i].zones.n; k++) {
			const char *const *zones;
			size_t nz;
			if (dnsoperator_server_zones(s[i].zones.v[k], &a, &zones, &nz) < 0 ||
			    nz == 0)
				continue;
			const char *bare = arena_strndup(&a, zones[0], strlen(zones[0]) - 1);
			if (is_emptied(outcome, bare))
				add_name(&names, &n, bare);
		}
	}
	end_names(&names, n);
	if (n != 0)
		strbuf_addf(message, " These lose their AAAA records, too: %s.", names.s);
	arena_done(&a);
}

/* Templates with a zone above the cluster's domain, and these zones. */
struct covering {
	size_t n, n_zones;
	bool root; /* "." is among the zones: all names are covered */
	struct strbuf names, zones;
};

static void find_covering(const struct dnsoperator_outcome *outcome, struct covering *covering)
{
	const char *domain = dnsoperator_domain(outcome->in->facts);
	*covering = (struct covering){ .names = STRBUF_INIT, .zones = STRBUF_INIT };
	for (size_t i = 0; i < outcome->templates->n; i++) {
		const struct dnsoperator_template *t = &outcome->templates->v[i];
		size_t before = covering->n_zones;
		for (size_t k = 0; k < t->n_zones; k++) {
			if (!dnsoperator_zone_has(t->zones[k], domain))
				continue;
			covering->root = covering->root || strcmp(t->zones[k], ".") == 0;
			add_name(&covering->zones, &covering->n_zones, t->zones[k]);
		}
		if (covering->n_zones != before)
			add_name(&covering->names, &covering->n, t->name);
	}
	end_names(&covering->names, covering->n);
	end_names(&covering->zones, covering->n_zones);
}

/* "names outside of it", "names in local" */
static void add_covered(const struct covering *covering, struct strbuf *message)
{
	if (covering->root)
		strbuf_adds(message, "names outside of it");
	else
		strbuf_addf(message, "names in %s", covering->zones.s);
}

static struct verdict judge_families(const struct dnsoperator_outcome *outcome,
				     const struct covering *covering, struct strbuf *message)
{
	const struct dnsoperator_families *f = &outcome->in->facts->families;
	bool network = dnsoperator_sites[outcome->in->facts->platform].network_object;
	if (!f->known) {
		strbuf_addf(message,
			    " The networks of the cluster are not known (%s), so it is treated as "
			    "dual stack.",
			    network ? "the object Network cluster is missing or has none"
				    : "no ServiceCIDR, Node or Service shows them");
		return (struct verdict){ API_TRUE, "NetworkUnknown" };
	}
	if (!f->v4) {
		strbuf_adds(message, " This cluster has IPv6 only: its pods cannot reach ");
		add_covered(covering, message);
		strbuf_adds(message, ".");
		return (struct verdict){ API_TRUE, "IPv6OnlyCluster" };
	}
	strbuf_adds(message, " This is a dual-stack cluster: its pods then reach ");
	add_covered(covering, message);
	strbuf_adds(message, " over IPv4 only.");
	return (struct verdict){ API_TRUE, "DualStackCluster" };
}

static struct verdict judge_covering(const struct dnsoperator_outcome *outcome,
				     const struct covering *covering, struct strbuf *message)
{
	const char *domain = dnsoperator_domain(outcome->in->facts);
	if (outcome->templates->n == 0) {
		add_no_templates(outcome, message);
		return (struct verdict){ API_FALSE, "NoTemplates" };
	}
	if (covering->n == 0) {
		strbuf_addf(message, "No template has a zone above %s.", domain);
		return (struct verdict){ API_FALSE, "NoCoveringTemplate" };
	}
	if (outcome->in->facts->families.known && !outcome->in->facts->families.v6) {
		strbuf_adds(message, "The cluster has IPv4 only.");
		return (struct verdict){ API_FALSE, "NotDualStack" };
	}
	strbuf_addf(message, "Template%s %s answer%s AAAA queries for a zone above %s",
		    plural_ending(covering->n), covering->names.s, covering->n == 1 ? "s" : "",
		    domain);
	strbuf_addf(message, covering->root ? "." : ": %s.", covering->zones.s);
	struct verdict t = judge_families(outcome, covering, message);
	strbuf_addf(message, " Names of %s are excluded.", domain);
	add_emptied(outcome, message);
	strbuf_adds(message, " Use specific zones instead.");
	return t;
}

static struct verdict judge_dual_stack(const struct dnsoperator_outcome *outcome,
				       struct strbuf *message)
{
	struct covering c;
	find_covering(outcome, &c);
	struct verdict t = judge_covering(outcome, &c, message);
	strbuf_done(&c.names);
	strbuf_done(&c.zones);
	return t;
}

/* ---- what happened after the plan was made ---- */

void dnsoperator_plan_blocked(struct dnsoperator_plan *plan, bool contested, const char *why)
{
	/* the reasons that depend on servers' answers */
	static const char *const by_answers[] = { "AsExpected",	 "NoTemplates",
						  "Updating",	 "ReloadFailed",
						  "NoInstances", "InstancesUnreachable" };
	struct dnsoperator_condition *c = &plan->conditions[DNSOPERATOR_APPLIED];
	bool any = c->reason == NULL;
	for (size_t i = 0; i < ARRAY_LEN(by_answers); i++)
		any = any || strcmp(c->reason, by_answers[i]) == 0;
	bool sure = contested && plan->hash[0] != '\0';
	if (!any || (c->reason != NULL && c->status == API_TRUE && !sure))
		return;
	free(c->message);
	c->status = API_FALSE;
	c->reason = "Updating";
	c->message = xstrdup(why);
}

void dnsoperator_conditions_fill(const struct dnsoperator_outcome *outcome,
				 struct dnsoperator_plan *plan)
{
	advise_ttl(outcome, &plan->ttl_advice);
	for (int i = 0; i < DNSOPERATOR_CONDITIONS; i++) {
		struct strbuf m = STRBUF_INIT;
		struct verdict t = i == DNSOPERATOR_VALID     ? judge_valid(outcome, plan, &m)
				   : i == DNSOPERATOR_APPLIED ? judge_applied(outcome, plan, &m)
							      : judge_dual_stack(outcome, &m);
		plan->conditions[i] = (struct dnsoperator_condition){ types[i], t.status, t.reason,
								      strbuf_take(&m) };
	}
}

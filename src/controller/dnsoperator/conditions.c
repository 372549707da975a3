/* What the status says of templates: valid, applied, dangerous (OP-33). A sentence or more each;
 * the generation stands in it where it matters: OpenShift's CRD drops observedGeneration. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/plan_priv.h"

enum { NAMES_SHOWN = 20 };

static const char *const types[DNSOPERATOR_CONDITIONS] = {
	[DNSOPERATOR_VALID] = "TemplateConfigurationValid",
	[DNSOPERATOR_APPLIED] = "TemplateConfigurationApplied",
	[DNSOPERATOR_WARNING] = "AAAAFilterDualStackWarning",
};

struct told {
	enum api_status status;
	const char *reason;
};

static bool is_gate_off(const struct dnsoperator_outcome *o)
{
	return o->in->facts->gate == DNSOPERATOR_GATE_OFF;
}

/* `fairlead up` has no flag for it. */
static void add_gate_off(const struct dnsoperator_outcome *o, struct strbuf *m)
{
	strbuf_adds(m, "The feature gate DNSTemplatePlugin is off, so templates are ignored; turn "
		       "it on ");
	if (o->in->facts->platform != DNSOPERATOR_MACHINE)
		strbuf_adds(m, "with --feature-gates DNSTemplatePlugin=true, or ");
	strbuf_adds(m, "in the object FeatureGate cluster.");
}

/* Why none are in force: the object has none, or what it has does not count. */
static void add_no_templates(const struct dnsoperator_outcome *o, struct strbuf *m)
{
	if (is_gate_off(o))
		add_gate_off(o, m);
	else if (o->source == DNSOPERATOR_FROM_NOWHERE)
		strbuf_adds(m, "No templates are in force: the installed CRD drops spec.templates, "
			       "and the annotation " DNSOPERATOR_ANNOTATION " is not set.");
	else
		strbuf_adds(m, "There are no templates.");
}

const char dnsoperator_domain_unknown[] =
	"The cluster's domain is not known, so the Corefile is not replaced: the Corefile in the "
	"ConfigMap kube-system/coredns does not name it in the plugin kubernetes, names several, "
	"or names it by an environment variable or in an imported file. Name the domain with the "
	"flag --dns-cluster-domain.";

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* "a, b and 3 more"; `n` counts what was added. */
static void add_name(struct strbuf *out, size_t *n, const char *name)
{
	if (*n < NAMES_SHOWN)
		strbuf_addf(out, "%s%s", *n != 0 ? ", " : "", name);
	(*n)++;
}

static void end_names(struct strbuf *out, size_t n)
{
	if (n > NAMES_SHOWN)
		strbuf_addf(out, " and %zu more", n - NAMES_SHOWN);
}

/* ---- TemplateConfigurationValid ---- */

/* An annotation does not change the generation, and another object begins with 1 again: "generation
 * 1 is not valid, generation 1 stays in force" helps nobody. */
static void add_what_runs(const struct dnsoperator_outcome *o, struct strbuf *m)
{
	if (o->templates->n == 0)
		strbuf_adds(m, "No templates are served.");
	else if (o->templates_generation >= o->dns->generation)
		strbuf_adds(m, "The templates that were accepted last stay in force.");
	else
		strbuf_addf(m, "The templates of generation %" PRId64 " stay in force.",
			    o->templates_generation);
}

static void add_source(const struct dnsoperator_outcome *o, struct strbuf *m)
{
	if (o->source == DNSOPERATOR_FROM_ANNOTATION)
		strbuf_adds(m, " They are read from the annotation " DNSOPERATOR_ANNOTATION ".");
	else if (o->dns->annotation != NULL)
		strbuf_adds(m, " The annotation " DNSOPERATOR_ANNOTATION
			       " is not read, since the object has the field spec.templates.");
}

static struct told tell_valid(const struct dnsoperator_outcome *o, const struct dnsoperator_plan *p,
			      struct strbuf *m)
{
	size_t n = o->templates->n;
	if (is_gate_off(o)) {
		add_gate_off(o, m);
		return (struct told){ API_UNKNOWN, "FeatureGateDisabled" };
	}
	if (p->templates.n != 0) {
		dnsoperator_problems_text(&p->templates, m);
		strbuf_addc(m, '\n');
		add_what_runs(o, m);
		add_source(o, m);
		return (struct told){ API_FALSE, dnsoperator_problems_reason(&p->templates) };
	}
	if (p->domain_unknown) {
		strbuf_adds(m, dnsoperator_domain_unknown);
		return (struct told){ API_UNKNOWN, "ClusterDomainUnknown" };
	}
	if (o->source == DNSOPERATOR_FROM_NOWHERE) {
		strbuf_adds(m, "The installed CRD drops spec.templates, so nobody can tell whether "
			       "there should be any; write the list into the "
			       "annotation " DNSOPERATOR_ANNOTATION ".");
		return (struct told){ API_UNKNOWN, "FieldPruned" };
	}
	if (n == 0)
		strbuf_adds(m, "There are no templates.");
	else
		strbuf_addf(m, "%zu template%s of generation %" PRId64 " %s accepted.", n,
			    plural(n), o->templates_generation, n == 1 ? "is" : "are");
	add_source(o, m);
	return (struct told){ API_TRUE, n == 0 ? "NoTemplates" : "AsExpected" };
}

/* ---- TemplateConfigurationApplied ---- */

struct answers {
	size_t wanted, other, silent;
	struct strbuf others, silents; /* their names */
};

/* Were servers asked since this text is wanted? One that ran it before may have left it since. */
static bool is_asked_for(const struct dnsoperator_instances *all, const char *hash)
{
	return all->asked_for == NULL || strcmp(all->asked_for, hash) == 0;
}

static void count_answers(const struct dnsoperator_outcome *o, const struct dnsoperator_plan *p,
			  struct answers *a)
{
	const struct dnsoperator_instances *all = o->in->instances;
	*a = (struct answers){ .others = STRBUF_INIT, .silents = STRBUF_INIT };
	for (size_t i = 0; i < all->n; i++) {
		if (!all->v[i].reached)
			add_name(&a->silents, &a->silent, all->v[i].name);
		else if (strcmp(all->v[i].hash, p->hash) != 0 || !is_asked_for(all, p->hash))
			add_name(&a->others, &a->other, all->v[i].name);
		else
			a->wanted++;
	}
	end_names(&a->silents, a->silent);
	end_names(&a->others, a->other);
}

/* Why they could not be asked, as far as that is known; each reason once. */
static void add_whys(const struct dnsoperator_instances *all, struct strbuf *m)
{
	size_t before = m->n;
	for (size_t i = 0; i < all->n; i++) {
		const char *why = all->v[i].why;
		if (!all->v[i].reached && why != NULL && strstr(m->s, why) == NULL)
			strbuf_addf(m, " %s", why);
	}
	if (m->n == before)
		strbuf_adds(m, " They are down, or a network policy keeps the operator from their "
			       "DNS port.");
}

static bool is_late(const struct dnsoperator_instances *all, const char *hash)
{
	return all->late && is_asked_for(all, hash);
}

/* "2 of 3 servers run generation 4; " */
static void add_share(const struct dnsoperator_outcome *o, const struct answers *a,
		      struct strbuf *m)
{
	strbuf_addf(m, "%zu of %zu servers ", a->wanted, a->wanted + a->other + a->silent);
	if (o->templates->n == 0)
		strbuf_adds(m, "have no templates; ");
	else
		strbuf_addf(m, "run generation %" PRId64 "; ", o->templates_generation);
}

static struct told tell_by_answers(const struct dnsoperator_outcome *o,
				   const struct dnsoperator_plan *p, const struct answers *a,
				   struct strbuf *m)
{
	size_t n = a->wanted + a->other + a->silent;
	if (a->other != 0) {
		bool late = is_late(o->in->instances, p->hash), none = o->templates->n == 0;
		add_share(o, a, m);
		strbuf_addf(m, "%s %s: %s.", late ? "have not" : "still to",
			    none   ? late ? "dropped them in time" : "drop them"
			    : late ? "loaded it in time"
				   : "load it",
			    a->others.s);
		if (late)
			strbuf_adds(m, " Their logs tell why.");
		return (struct told){ API_FALSE, late ? "ReloadFailed" : "Updating" };
	}
	if (a->silent != 0) {
		add_share(o, a, m);
		strbuf_addf(m, "no answer from: %s.", a->silents.s);
		add_whys(o->in->instances, m);
		return (struct told){ API_UNKNOWN, "InstancesUnreachable" };
	}
	if (o->templates->n == 0) {
		add_no_templates(o, m);
		return (struct told){ API_TRUE, "NoTemplates" };
	}
	if (n == 0) {
		strbuf_adds(m,
			    "No server is known that could run the templates: no DNS pod "
			    "is ready; servers that are elsewhere are named by --dns-instances.");
		return (struct told){ API_UNKNOWN, "NoInstances" };
	}
	if (n == 1)
		strbuf_adds(m, "The only server runs");
	else
		strbuf_addf(m, "All of %zu servers run", n);
	strbuf_addf(m, " generation %" PRId64 ".", o->templates_generation);
	return (struct told){ API_TRUE, "AsExpected" };
}

/* Was Applied last told of another configuration than the plan's? */
static bool is_told_of_another(const struct dnsoperator_outcome *o,
			       const struct dnsoperator_plan *p)
{
	const struct dnsoperator_told *told = &o->in->told;
	return (told->generation != 0 && told->generation != o->dns->generation) ||
	       (told->hash != NULL && strcmp(told->hash, p->hash) != 0) ||
	       (told->text != NULL && strcmp(told->text, p->text.s) != 0);
}

/* Nothing is known of some servers yet. What was said before stays, unless that was said of
 * something else. */
static struct told tell_unasked(const struct dnsoperator_outcome *o,
				const struct dnsoperator_plan *p, struct strbuf *m)
{
	if (!is_told_of_another(o, p))
		return (struct told){ API_UNKNOWN, NULL };
	strbuf_addf(m, "Generation %" PRId64 ": servers have not answered yet whether they run it.",
		    o->dns->generation);
	return (struct told){ API_FALSE, "Updating" };
}

static struct told tell_applied(const struct dnsoperator_outcome *o,
				const struct dnsoperator_plan *p, struct strbuf *m)
{
	struct answers a;
	if (is_gate_off(o)) {
		add_gate_off(o, m);
		return (struct told){ API_UNKNOWN, "FeatureGateDisabled" };
	}
	if (o->dns->unmanaged) {
		strbuf_adds(m, "spec.managementState is Unmanaged, so nothing is applied.");
		return (struct told){ API_UNKNOWN, "Unmanaged" };
	}
	if (p->domain_unknown) {
		strbuf_adds(m, dnsoperator_domain_unknown);
		return (struct told){ API_UNKNOWN, "ClusterDomainUnknown" };
	}
	if (p->templates.n != 0) {
		strbuf_addf(m, "The templates of generation %" PRId64 " are not valid. ",
			    o->dns->generation);
		add_what_runs(o, m);
		return (struct told){ API_FALSE, "InvalidTemplates" };
	}
	if (o->in->instances == NULL)
		return tell_unasked(o, p, m);
	count_answers(o, p, &a);
	struct told t = tell_by_answers(o, p, &a, m);
	strbuf_done(&a.others);
	strbuf_done(&a.silents);
	return t;
}

/* ---- AAAAFilterDualStackWarning ---- */

/* The template that answers for a name, by its longest zone. */
static const struct dnsoperator_template *template_of(const struct dnsoperator_templates *t,
						      const char *name, const char **ret_zone)
{
	const struct dnsoperator_template *best = NULL;
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->v[i].n_zones; k++) {
			const char *z = t->v[i].zones[k];
			if (dnsoperator_zone_has(z, name) &&
			    (best == NULL || strcmp(*ret_zone, ".") == 0 ||
			     strlen(z) > strlen(*ret_zone))) {
				best = &t->v[i];
				*ret_zone = z;
			}
		}
	}
	return best;
}

/* Is it a zone that loses its AAAA records to a template meant for others? */
static bool is_emptied(const struct dnsoperator_outcome *o, const char *name)
{
	const char *domain = dnsoperator_domain(o->in->facts), *zone = "";
	const struct dnsoperator_template *t = template_of(o->templates, name, &zone);
	return t != NULL && t->empty && dnsoperator_zone_has(zone, domain) &&
	       !dnsoperator_zone_has(domain, name);
}

static void add_emptied(const struct dnsoperator_outcome *o, struct strbuf *m)
{
	const struct dnsoperator_server *s = o->routes->servers.v;
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	struct arena a;
	size_t n = 0;
	arena_init(&a);
	if (is_emptied(o, "clusterset.local"))
		add_name(&names, &n, "clusterset.local");
	for (size_t i = 0; i < o->routes->servers.n; i++) {
		for (size_t k = 0; k < s[i].zones.n; k++) {
			const char *const *zones;
			size_t nz;
			if (dnsoperator_server_zones(s[i].zones.v[k], &a, &zones, &nz) < 0 ||
			    nz == 0)
				continue;
			const char *bare = arena_strndup(&a, zones[0], strlen(zones[0]) - 1);
			if (is_emptied(o, bare))
				add_name(&names, &n, bare);
		}
	}
	end_names(&names, n);
	if (n != 0)
		strbuf_addf(m, " These lose their AAAA records, too: %s.", names.s);
	arena_done(&a);
}

/* Templates with a zone above the cluster's domain, and these zones. */
struct covering {
	size_t n, n_zones;
	bool root; /* "." is among the zones: all names are covered */
	struct strbuf names, zones;
};

static void find_covering(const struct dnsoperator_outcome *o, struct covering *c)
{
	const char *domain = dnsoperator_domain(o->in->facts);
	*c = (struct covering){ .names = STRBUF_INIT, .zones = STRBUF_INIT };
	for (size_t i = 0; i < o->templates->n; i++) {
		const struct dnsoperator_template *t = &o->templates->v[i];
		size_t before = c->n_zones;
		for (size_t k = 0; k < t->n_zones; k++) {
			if (!dnsoperator_zone_has(t->zones[k], domain))
				continue;
			c->root = c->root || strcmp(t->zones[k], ".") == 0;
			add_name(&c->zones, &c->n_zones, t->zones[k]);
		}
		if (c->n_zones != before)
			add_name(&c->names, &c->n, t->name);
	}
	end_names(&c->names, c->n);
	end_names(&c->zones, c->n_zones);
}

/* "names outside of it", "names in local" */
static void add_covered(const struct covering *c, struct strbuf *m)
{
	if (c->root)
		strbuf_adds(m, "names outside of it");
	else
		strbuf_addf(m, "names in %s", c->zones.s);
}

static struct told tell_danger(const struct dnsoperator_outcome *o, const struct covering *c,
			       struct strbuf *m)
{
	const struct dnsoperator_families *f = &o->in->facts->families;
	bool network = dnsoperator_sites[o->in->facts->platform].network_object;
	if (!f->known) {
		strbuf_addf(m,
			    " The networks of the cluster are not known (%s), so it is taken "
			    "for dual stack.",
			    network ? "the object Network cluster is missing or has none"
				    : "no ServiceCIDR, Node or Service tells them");
		return (struct told){ API_TRUE, "NetworkUnknown" };
	}
	if (!f->v4) {
		strbuf_adds(m, " This cluster has IPv6 only: its pods cannot reach ");
		add_covered(c, m);
		strbuf_adds(m, ".");
		return (struct told){ API_TRUE, "IPv6OnlyCluster" };
	}
	strbuf_adds(m, " This is a dual-stack cluster: its pods then reach ");
	add_covered(c, m);
	strbuf_adds(m, " over IPv4 only.");
	return (struct told){ API_TRUE, "DualStackCluster" };
}

static struct told tell_covering(const struct dnsoperator_outcome *o, const struct covering *c,
				 struct strbuf *m)
{
	const char *domain = dnsoperator_domain(o->in->facts);
	if (o->templates->n == 0) {
		add_no_templates(o, m);
		return (struct told){ API_FALSE, "NoTemplates" };
	}
	if (c->n == 0) {
		strbuf_addf(m, "No template has a zone above %s.", domain);
		return (struct told){ API_FALSE, "NoCoveringTemplate" };
	}
	if (o->in->facts->families.known && !o->in->facts->families.v6) {
		strbuf_adds(m, "The cluster has IPv4 only.");
		return (struct told){ API_FALSE, "NotDualStack" };
	}
	strbuf_addf(m, "Template%s %s answer%s AAAA queries for a zone above %s", plural(c->n),
		    c->names.s, c->n == 1 ? "s" : "", domain);
	strbuf_addf(m, c->root ? "." : ": %s.", c->zones.s);
	struct told t = tell_danger(o, c, m);
	strbuf_addf(m, " Names of %s are excluded.", domain);
	add_emptied(o, m);
	strbuf_adds(m, " Use specific zones instead.");
	return t;
}

static struct told tell_warning(const struct dnsoperator_outcome *o, struct strbuf *m)
{
	struct covering c;
	find_covering(o, &c);
	struct told t = tell_covering(o, &c, m);
	strbuf_done(&c.names);
	strbuf_done(&c.zones);
	return t;
}

/* ---- what happened after the plan was made ---- */

void dnsoperator_plan_blocked(struct dnsoperator_plan *p, bool contested, const char *why)
{
	/* the reasons that servers' answers decide; others are not about what servers run */
	static const char *const by_answers[] = { "AsExpected",	 "NoTemplates",
						  "Updating",	 "ReloadFailed",
						  "NoInstances", "InstancesUnreachable" };
	struct dnsoperator_condition *c = &p->conditions[DNSOPERATOR_APPLIED];
	bool any = c->reason == NULL;
	for (size_t i = 0; i < ARRAY_LEN(by_answers); i++)
		any = any || strcmp(c->reason, by_answers[i]) == 0;
	bool sure = contested && p->hash[0] != '\0';
	if (!any || (c->reason != NULL && c->status == API_TRUE && !sure))
		return;
	free(c->message);
	c->status = API_FALSE;
	c->reason = "Updating";
	c->message = xstrdup(why);
}

void dnsoperator_conditions_fill(const struct dnsoperator_outcome *o, struct dnsoperator_plan *p)
{
	for (int i = 0; i < DNSOPERATOR_CONDITIONS; i++) {
		struct strbuf m = STRBUF_INIT;
		struct told t = i == DNSOPERATOR_VALID	   ? tell_valid(o, p, &m)
				: i == DNSOPERATOR_APPLIED ? tell_applied(o, p, &m)
							   : tell_warning(o, &m);
		p->conditions[i] = (struct dnsoperator_condition){ types[i], t.status, t.reason,
								   strbuf_take(&m) };
	}
}

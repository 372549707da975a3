/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects what each look-up of a namespace needs, and chooses. A look-up with fewer dots than ndots
 * walks its search list first, any other one asks for the bare name first: so a look-up of `d` dots
 * either does not mind, or needs an ndots of at least d + 1. */
#include "advise/advice.h"

#include <assert.h>
#include <stdlib.h>

#include "advise/clients.h"
#include "advise/lookup.h"
#include "advise/searchlist.h"

#define TEXT(slice) (int)(slice).n, (slice).p

/* ---- namespaces and their clients ---- */

static struct advise_namespace *find_or_add_namespace(struct advise_advice *advice,
						      struct slice name)
{
	struct advise_namespace *ns = map_get(&advice->by_name, name);
	if (ns != NULL)
		return ns;
	ns = arena_calloc(&advice->arena, sizeof(*ns));
	ns->name = (struct slice){ arena_strndup(&advice->arena, name.p, name.n), name.n };
	ns->at_least = (struct advise_bound){ .ndots = 1 };
	ns->at_most = (struct advise_bound){ .ndots = advice->options.ndots };
	map_set(&advice->by_name, name, ns);
	vec_push(&advice->namespaces, ns);
	return ns;
}

static void mark_cut(struct advise_namespace *ns, const struct advise_client *client,
		     struct slice address)
{
	if (client->has_cut_line &&
	    (ns->cut_client.n == 0 || slice_cmp(address, ns->cut_client) < 0))
		ns->cut_client = address;
}

static void add_memberships(struct advise_advice *advice, const struct advise_client *client,
			    struct slice address)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->ns, &pos)) != NULL;) {
		struct advise_namespace *ns =
			find_or_add_namespace(advice, (struct slice){ e->key, e->key_n });
		vec_push(&ns->clients, client);
		ns->queries += client->queries;
		ns->incomplete |= client->incomplete;
		mark_cut(ns, client, address);
	}
	pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->maybe_ns, &pos)) != NULL;) {
		struct advise_namespace *ns =
			find_or_add_namespace(advice, (struct slice){ e->key, e->key_n });
		vec_push(&ns->others, client);
		mark_cut(ns, client, address);
	}
	advice->other_clients += client->ns.n == 0;
}

static void complete_list(struct advise_advice *advice, struct advise_namespace *ns)
{
	const struct advise_options *options = &advice->options;
	advise_searchlist_init(&ns->list, ns->name, options->zone, &advice->arena);
	ns->virtual_suffix = slice_of(arena_printf(&advice->arena, "%.*s.search.%.*s",
						   TEXT(ns->name), TEXT(options->zone)));
	if (!options->has_searches) {
		advise_searchlist_infer(&ns->list, ns->clients.v, ns->clients.n, &advice->arena);
		return;
	}
	assert(options->searches.n + ns->list.n <= ADVISE_LIST_MAX);
	for (size_t i = 0; i < options->searches.n; i++) {
		if (!advise_searchlist_has(&ns->list, options->searches.domain[i]))
			ns->list.domain[ns->list.n++] = options->searches.domain[i];
	}
}

/* ---- what one name asks of ndots ---- */

/* One name of one client. */
struct finding {
	struct advise_advice *advice;
	struct advise_namespace *ns;
	const struct advise_client *client;
	struct slice name;
	const struct advise_fact *fact;
};

static bool has_only_nxdomain(const struct advise_fact *fact)
{
	return (fact->seen[0] | fact->seen[1] | fact->seen[2]) == ADVISE_NXDOMAIN;
}

/* Whether look-ups of this base still walk the list first, and would not with a lower ndots. */
static bool is_affected(const struct finding *finding, struct slice base)
{
	return advise_trace_dots(base) < finding->advice->options.ndots;
}

static bool raises_bound(const struct finding *finding, struct slice base)
{
	return is_affected(finding, base) &&
	       advise_trace_dots(base) + 1 > finding->ns->at_least.ndots;
}

static void raise_bound(const struct finding *finding, struct slice base, bool unproven,
			const char *why)
{
	finding->ns->at_least = (struct advise_bound){
		.ndots = (unsigned)advise_trace_dots(base) + 1,
		.unproven = unproven,
		.why = why,
	};
}

/* The reason why a look-up needs the search list first, for people. */
static const char *explain_judgement(const struct finding *finding, struct slice base,
				     enum advise_judgement judgement, size_t element)
{
	struct arena *arena = &finding->advice->arena;
	const struct advise_list *list = &finding->ns->list;
	struct slice domain = element < list->n ? list->domain[element] : (struct slice){ "", 0 };
	const char *dot = domain.n > 0 ? "." : "";
	if (judgement == ADVISE_SEARCHED)
		return arena_printf(arena, "'%.*s' is found as '%.*s.%.*s'", TEXT(base), TEXT(base),
				    TEXT(domain));
	if (judgement == ADVISE_DIFFERS)
		return arena_printf(arena, "'%.*s' would fail in another way", TEXT(base));
	const struct advise_fact *fact = advise_trace_fact(finding->client, base, domain);
	const char *problem = fact == NULL ? "was not asked for" : "has no certain answer";
	return arena_printf(arena, "'%.*s' was looked up, but '%.*s%s%.*s' %s", TEXT(base),
			    TEXT(base), dot, TEXT(domain), problem);
}

/* The name is the first element of a look-up. */
static void judge_lookup(const struct finding *finding, struct slice base)
{
	struct advise_lookup lookup = { .client = finding->client,
					.list = &finding->ns->list,
					.base = base,
					.libcs = finding->advice->options.libcs };
	struct advise_cost cost;
	size_t element = 0;
	advise_lookup_cost(&lookup, &cost);
	finding->ns->lookups += cost.lookups;
	if (!is_affected(finding, base))
		return;
	finding->ns->saved_by_virtual_suffix += cost.now - MIN(cost.now, cost.virtual_suffix);
	enum advise_judgement judgement = advise_lookup_judge(&lookup, &element);
	if (judgement == ADVISE_SAME) {
		size_t dots = advise_trace_dots(base);
		finding->ns->saved_by_dots[dots] += cost.now - MIN(cost.now, cost.bare_first);
	} else if (raises_bound(finding, base)) {
		raise_bound(finding, base, judgement == ADVISE_UNPROVEN,
			    explain_judgement(finding, base, judgement, element));
	}
}

/* The name begins with the base of a look-up: what follows may be a search domain that is not known. */
static void judge_unknown_domains(const struct finding *finding)
{
	struct slice name = finding->name;
	if (finding->advice->options.has_searches || has_only_nxdomain(finding->fact))
		return;
	for (size_t i = 1; i + 1 < name.n; i++) {
		struct slice base = { name.p, i };
		struct slice domain = slice_from(name, i + 1);
		if (name.p[i] != '.' || !raises_bound(finding, base) ||
		    advise_searchlist_has(&finding->ns->list, domain) ||
		    advise_trace_fact(finding->client, base, finding->ns->list.domain[0]) == NULL)
			continue;
		raise_bound(finding, base, true,
			    arena_printf(&finding->advice->arena,
					 "'%.*s' was looked up, and so was '%.*s': '%.*s' may be a "
					 "search domain",
					 TEXT(base), TEXT(name), TEXT(domain)));
	}
}

/* Pods with the one suffix of the plugin searchpath: the server walks, and the log does not say
 * where the name was found. */
static void judge_virtual_suffix(const struct finding *finding)
{
	struct slice suffix = finding->ns->virtual_suffix;
	struct slice base = advise_trace_base(finding->name, suffix);
	if (base.n == 0 || has_only_nxdomain(finding->fact) || !raises_bound(finding, base))
		return;
	raise_bound(finding, base, false,
		    arena_printf(&finding->advice->arena,
				 "'%.*s' is found through the virtual suffix '%.*s'", TEXT(base),
				 TEXT(suffix)));
}

/* ---- names that no walk explains ---- */

static bool is_explained_by(const struct finding *finding, const struct advise_list *list)
{
	if (advise_trace_too_long(finding->name, list->domain[0]) ||
	    advise_trace_fact(finding->client, finding->name, list->domain[0]) != NULL)
		return true;
	for (size_t i = 0; i < list->n; i++) {
		struct slice base = advise_trace_base(finding->name, list->domain[i]);
		if (base.n > 0 &&
		    (i == 0 || advise_trace_fact(finding->client, base, list->domain[0]) != NULL))
			return true;
	}
	return false;
}

static bool is_explained(const struct finding *finding)
{
	const struct advise_client *client = finding->client;
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->ns, &pos)) != NULL;) {
		const struct advise_namespace *ns =
			map_get(&finding->advice->by_name, (struct slice){ e->key, e->key_n });
		assert(ns != NULL);
		if (is_explained_by(finding, &ns->list))
			return true;
	}
	return false;
}

/* A name that was asked for bare, without a walk: it ended in a dot; or the pod's ndots is not more
 * than its dots, so that nothing is known about a walk; or it is the rest of a walk whose first lines
 * are missing. */
static void judge_unexplained(const struct finding *finding)
{
	struct advise_namespace *ns = finding->ns;
	size_t dots = advise_trace_dots(finding->name);
	bool is_address =
		finding->fact->count[ADVISE_TYPE_A] + finding->fact->count[ADVISE_TYPE_AAAA] > 0;
	if (finding->advice->options.has_final_dots || !is_address || dots == 0 ||
	    !is_affected(finding, finding->name) || is_explained(finding))
		return;
	if (dots < ns->at_most.ndots)
		ns->at_most = (struct advise_bound){
			.ndots = (unsigned)dots,
			.unproven = true,
			.why = arena_printf(&finding->advice->arena,
					    "'%.*s' was asked for without a search: if it ended in "
					    "a dot, use --final-dots; if the pods' ndots is less "
					    "than %u already, use --ndots",
					    TEXT(finding->name), finding->advice->options.ndots),
		};
	for (size_t i = 1; !has_only_nxdomain(finding->fact) && i < ns->list.n; i++) {
		struct slice base = advise_trace_base(finding->name, ns->list.domain[i]);
		if (base.n > 0 && raises_bound(finding, base))
			raise_bound(finding, base, true,
				    arena_printf(&finding->advice->arena,
						 "'%.*s' was answered, but the queries before it "
						 "are missing: if it ended in a dot, use "
						 "--final-dots",
						 TEXT(finding->name)));
	}
}

/* ---- all names of a namespace ---- */

static void judge_client(struct advise_advice *advice, struct advise_namespace *ns,
			 const struct advise_client *client, bool is_member)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->names, &pos)) != NULL;) {
		struct finding finding = { .advice = advice,
					   .ns = ns,
					   .client = client,
					   .name = { e->key, e->key_n },
					   .fact = e->value };
		struct slice base = advise_trace_base(finding.name, ns->list.domain[0]);
		if (base.n > 0)
			judge_lookup(&finding, base);
		judge_unknown_domains(&finding);
		judge_virtual_suffix(&finding);
		if (is_member)
			judge_unexplained(&finding);
	}
}

/* The highest ndots that saves as much as the lowest possible one: the search list stays in use for
 * all names that gain nothing. 0: nothing is saved. */
static unsigned choose_ndots(const struct advise_namespace *ns, unsigned present)
{
	unsigned chosen = ns->at_least.ndots;
	while (chosen < present && ns->saved_by_dots[chosen] == 0)
		chosen++;
	chosen = MIN(chosen, ns->at_most.ndots);
	return chosen < present && chosen >= ns->at_least.ndots ? chosen : 0;
}

static uint64_t sum_saved(const struct advise_namespace *ns, unsigned from, unsigned to)
{
	uint64_t sum = 0;
	for (unsigned dots = from; dots < to; dots++)
		sum += ns->saved_by_dots[dots];
	return sum;
}

static void withhold(struct advise_namespace *ns, enum advise_verdict verdict, const char *why)
{
	ns->verdict = verdict;
	ns->why = why;
}

static void decide(struct advise_advice *advice, struct advise_namespace *ns)
{
	unsigned present = advice->options.ndots;
	unsigned chosen = choose_ndots(ns, present);
	ns->ndots = present;
	if (advice->incomplete || ns->incomplete) {
		withhold(ns, ADVISE_WITHHELD, "the log has more clients or names than can be kept");
	} else if (chosen != 0 && sum_saved(ns, chosen, present) > 0 && ns->cut_client.n > 0) {
		withhold(ns, ADVISE_WITHHELD,
			 arena_printf(&advice->arena, "a line of client %.*s is cut",
				      TEXT(ns->cut_client)));
	} else if (chosen != 0 && sum_saved(ns, chosen, present) > 0) {
		ns->verdict = ADVISE_LOWER;
		ns->ndots = chosen;
		ns->saved = sum_saved(ns, chosen, present);
		ns->why = ns->at_least.why;
	} else if (ns->at_least.ndots > ns->at_most.ndots &&
		   sum_saved(ns, ns->at_least.ndots, present) > 0) {
		withhold(ns, ADVISE_WITHHELD, ns->at_most.why);
	} else if (ns->at_least.why != NULL) {
		withhold(ns, ns->at_least.unproven ? ADVISE_WITHHELD : ADVISE_KEEP,
			 ns->at_least.why);
	} else {
		withhold(ns, ADVISE_KEEP, "no query would be saved");
	}
}

static int compare_names(const void *left, const void *right)
{
	const struct advise_namespace *l = *(struct advise_namespace *const *)left;
	const struct advise_namespace *r = *(struct advise_namespace *const *)right;
	return slice_cmp(l->name, r->name);
}

void advise_advice_init(struct advise_advice *advice, struct advise_trace *trace,
			const struct advise_options *options)
{
	assert(options->ndots >= 1 && options->ndots <= ADVISE_NDOTS_MAX && options->libcs != 0);
	*advice = (struct advise_advice){ .options = *options };
	arena_init(&advice->arena);
	map_init(&advice->by_name);
	advise_clients_place(trace, options->zone);
	advice->incomplete = trace->incomplete;
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&trace->clients, &pos)) != NULL;)
		add_memberships(advice, e->value, (struct slice){ e->key, e->key_n });
	if (advice->namespaces.n > 1)
		qsort(advice->namespaces.v, advice->namespaces.n, sizeof(*advice->namespaces.v),
		      compare_names);
	for (size_t i = 0; i < advice->namespaces.n; i++)
		complete_list(advice, advice->namespaces.v[i]);
	for (size_t i = 0; i < advice->namespaces.n; i++) {
		struct advise_namespace *ns = advice->namespaces.v[i];
		for (size_t k = 0; k < ns->clients.n; k++)
			judge_client(advice, ns, ns->clients.v[k], true);
		for (size_t k = 0; k < ns->others.n; k++)
			judge_client(advice, ns, ns->others.v[k], false);
		decide(advice, ns);
	}
}

void advise_advice_done(struct advise_advice *advice)
{
	for (size_t i = 0; i < advice->namespaces.n; i++) {
		vec_done(&advice->namespaces.v[i]->clients);
		vec_done(&advice->namespaces.v[i]->others);
	}
	vec_done(&advice->namespaces);
	map_done(&advice->by_name);
	arena_done(&advice->arena);
}

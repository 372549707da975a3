/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts sightings, decisions and notes together. */
#include "api/explain/report.h"

#include <stdlib.h>
#include <string.h>

#include "api/egress/rule_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/compiler.h"
#include "base/strbuf.h"

enum { ERRORS_SHOWN_MAX = 5 };

/* ---- the cluster's own networks ---- */

static void add_own(void *ctx, enum egress_own what, struct slice text)
{
	struct explain_report *report = ctx;
	struct explain_own own = { .what = what };
	struct explain_address address;
	bool has_host_bits;
	if (explain_address_parse(text, &address)) {
		own.range =
			(struct egress_range){ .n = address.n, .bits = (uint8_t)(address.n * 8U) };
		memcpy(own.range.address, address.bytes, address.n);
	} else if (egress_range_parse(text, &own.range, &has_host_bits) != NULL) {
		return;
	}
	own.text = arena_strndup(&report->arena, text.p, text.n);
	vec_push(&report->own, own);
}

static void gather_own(struct explain_report *report, const struct explain_objects *objects)
{
	for (size_t i = 0; i < json_array_size(objects->service_cidrs); i++)
		egress_own_of_service_cidr(json_array_get(objects->service_cidrs, i), add_own,
					   report);
	for (size_t i = 0; i < json_array_size(objects->networks); i++)
		egress_own_of_network(json_array_get(objects->networks, i), add_own, report);
	for (size_t i = 0; i < json_array_size(objects->slices); i++)
		egress_own_of_api_slice(json_array_get(objects->slices, i), add_own, report);
	/* Last: an API server on a node has its address, and stays reachable. */
	for (size_t i = 0; i < json_array_size(objects->nodes); i++)
		egress_own_of_node(json_array_get(objects->nodes, i), add_own, report);
}

static struct explain_facts facts_of(const struct explain_report *report, const json_t *nodes)
{
	return (struct explain_facts){ .sightings = report->others.list.v,
				       .n_sightings = report->others.list.n,
				       .own = report->own.v,
				       .n_own = report->own.n,
				       .nodes = nodes };
}

/* ---- addresses ---- */

struct addresses {
	VEC(struct explain_address) list; /* ordered, without duplicates */
};

static void gather_addresses(const struct explain_report *report, struct addresses *ret)
{
	size_t kept = 0;
	*ret = (struct addresses){ 0 };
	if (report->subject.address.n != 0)
		vec_push(&ret->list, report->subject.address);
	for (size_t i = 0; i < report->about.list.n; i++)
		vec_push(&ret->list, report->about.list.v[i].address);
	if (ret->list.n > 1)
		qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), explain_address_compare);
	for (size_t i = 0; i < ret->list.n; i++) {
		if (kept == 0 ||
		    explain_address_compare(&ret->list.v[kept - 1], &ret->list.v[i]) != 0)
			ret->list.v[kept++] = ret->list.v[i];
	}
	ret->list.n = kept;
}

/* ---- notes ---- */

/* What the agent of a node does is in docs/node-egress.md. */
static void note_errors(struct explain_report *report, struct explain_namespace *ns,
			const struct api_errors *errors)
{
	if (errors->n != 0)
		vec_push(
			&ns->notes,
			"the firewall is not valid: this is what its valid rules say; nodes go on "
			"with the rules of before, or deny all but the cluster if there were none");
	for (size_t i = 0; i < MIN(errors->n, (size_t)ERRORS_SHOWN_MAX); i++)
		vec_push(&ns->notes, arena_printf(&report->arena, "not valid: %s: %s",
						  errors->v[i].field, errors->v[i].body));
	if (errors->n > ERRORS_SHOWN_MAX)
		vec_push(&ns->notes,
			 arena_printf(&report->arena, "%zu more errors: see the firewall's status",
				      errors->n - ERRORS_SHOWN_MAX));
}

/* EF-S3: a rule that people expect to cover the name, and that does not. */
static void note_near_miss(struct explain_report *report, struct explain_namespace *ns,
			   const struct egress_rule *rule)
{
	const char *host = report->subject.name.text;
	if (rule->target != EGRESS_TO_NAME || !rule->is_wildcard)
		return;
	if (strcmp(host, rule->name) == 0)
		vec_push(&ns->notes,
			 arena_printf(&report->arena,
				      "rule %zu, *.%s, covers names below this one, not itself",
				      rule->index, rule->name));
	else if (!ns->rules.any_depth && egress_name_is_covered(host, rule->name, true) &&
		 !egress_name_is_covered(host, rule->name, false))
		vec_push(&ns->notes,
			 arena_printf(&report->arena,
				      "rule %zu, *.%s, covers one label only; the annotation "
				      "" EGRESS_DEPTH_ANNOTATION ": " EGRESS_DEPTH_ANY
				      " of the firewall would make it cover this name",
				      rule->index, rule->name));
}

static bool decides(const struct explain_namespace *ns, const struct egress_rule *rule)
{
	for (size_t i = 0; i < ns->decisions.n; i++) {
		const struct explain_decision *decision = &ns->decisions.v[i];
		for (size_t k = 0; k < decision->steps.n; k++) {
			if (decision->steps.v[k].rule == rule)
				return true;
		}
	}
	return false;
}

/* EF-S10 */
static void note_deny_by_name(struct explain_report *report, struct explain_namespace *ns,
			      const struct egress_rule *rule)
{
	if (rule->target == EGRESS_TO_NAME && rule->action == EGRESS_DENY && decides(ns, rule))
		vec_push(&ns->notes,
			 arena_printf(&report->arena,
				      "rule %zu denies by name, which clients can evade with an "
				      "address that was not learnt for it",
				      rule->index));
}

static bool covers_subject(const struct explain_report *report, const struct explain_namespace *ns)
{
	for (size_t i = 0; i < ns->rules.n; i++) {
		if (explain_rule_covers(&ns->rules.rule[i], ns->rules.any_depth,
					report->subject.name.text))
			return true;
	}
	return false;
}

static void note_rules(struct explain_report *report, struct explain_namespace *ns)
{
	bool near_misses = report->subject.address.n == 0 && !covers_subject(report, ns);
	for (size_t i = 0; i < ns->rules.n; i++) {
		if (near_misses)
			note_near_miss(report, ns, &ns->rules.rule[i]);
		note_deny_by_name(report, ns, &ns->rules.rule[i]);
	}
}

static const char *own_word(enum egress_own what)
{
	static const char *const words[] = { [EGRESS_OWN_PODS] = "pods",
					     [EGRESS_OWN_SERVICES] = "Services",
					     [EGRESS_OWN_NODES] = "nodes",
					     [EGRESS_OWN_API] = "API server" };
	return words[what];
}

static void note_subject(struct explain_report *report, const struct explain_facts *facts)
{
	const struct explain_address *address = &report->subject.address;
	if (report->subject.was_mapped)
		vec_push(&report->notes, "IPv4 inside of IPv6: connections to it are IPv4, and "
					 "IPv4 rules decide");
	if (address->n == 0) {
		if (report->about.list.n == 0)
			vec_push(&report->notes,
				 "no DNSName object has an address of this name: nobody asked for "
				 "it, no rule covers it, or its addresses are never learnt");
		return;
	}
	const struct explain_own *own = explain_own_find(facts, address);
	if (own != NULL && own->what == EGRESS_OWN_API)
		vec_push(&report->notes, "this is an address of the cluster's API server");
	else if (own != NULL)
		vec_push(
			&report->notes,
			arena_printf(&report->arena,
				     "%s is of the cluster's own %s: it is never learnt for a name",
				     own->text, own_word(own->what)));
	else if (egress_range_is_never_learnt(address->bytes, address->n))
		vec_push(&report->notes,
			 "loopback, link-local, multicast and unspecified addresses "
			 "are never learnt for a name");
	else if (report->about.list.n == 0)
		vec_push(&report->notes, "no DNSName object has this address");
}

/* ---- namespaces ---- */

static struct explain_namespace *add_namespace(struct explain_report *report, const char *name)
{
	struct explain_namespace *ns = vec_add(&report->namespaces);
	*ns = (struct explain_namespace){ .name = name };
	return ns;
}

static void decide_all(struct explain_report *report, struct explain_namespace *ns,
		       const struct addresses *addresses, const struct explain_facts *facts)
{
	for (size_t i = 0; i < addresses->list.n; i++)
		explain_decision_init(vec_add(&ns->decisions), &ns->rules, &addresses->list.v[i],
				      facts, &report->arena);
	if (addresses->list.n == 0)
		explain_decision_init_unknown(vec_add(&ns->decisions), &ns->rules,
					      report->subject.name.text, &report->arena);
	note_rules(report, ns);
}

static int compare_firewalls(const void *left, const void *right)
{
	const json_t *const *left_object = left, *const *right_object = right;
	int order = strcmp(api_namespace(*left_object), api_namespace(*right_object));
	return order != 0 ? order : strcmp(api_name(*left_object), api_name(*right_object));
}

struct firewalls {
	VEC(const json_t *) list;
};

/* A namespace has one, whose name is fixed. */
static void gather_firewalls(const json_t *all, const char *ns, struct firewalls *ret)
{
	*ret = (struct firewalls){ 0 };
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *firewall = json_array_get(all, i);
		if (strcmp(api_name(firewall), EGRESS_FIREWALL_NAME) == 0 &&
		    (ns == NULL || strcmp(api_namespace(firewall), ns) == 0))
			vec_push(&ret->list, firewall);
	}
	if (ret->list.n > 1)
		qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), compare_firewalls);
}

static void read_firewall(struct explain_report *report, const json_t *firewall,
			  const struct addresses *addresses, const struct explain_facts *facts)
{
	struct explain_namespace *ns = add_namespace(report, api_namespace(firewall));
	struct api_errors errors = { 0 };
	ns->has_firewall = true;
	egress_rules_read(firewall, &report->arena, &ns->rules, &errors);
	decide_all(report, ns, addresses, facts);
	note_errors(report, ns, &errors);
	api_errors_done(&errors);
}

void explain_report_init(struct explain_report *report, const struct explain_subject *subject,
			 const struct explain_objects *objects, const char *ns)
{
	struct addresses addresses;
	struct firewalls firewalls;
	*report = (struct explain_report){ .subject = *subject };
	arena_init(&report->arena);
	explain_sightings_about(objects->names, subject, &report->about);
	gather_addresses(report, &addresses);
	explain_sightings_at(objects->names, addresses.list.v, addresses.list.n, &report->others);
	gather_own(report, objects);
	struct explain_facts facts = facts_of(report, objects->nodes);
	note_subject(report, &facts);
	gather_firewalls(objects->firewalls, ns, &firewalls);
	for (size_t i = 0; i < firewalls.list.n; i++)
		read_firewall(report, firewalls.list.v[i], &addresses, &facts);
	for (size_t i = 0; i < report->namespaces.n; i++) {
		struct explain_namespace *with = &report->namespaces.v[i];
		explain_denials_find(objects->events, with->name, addresses.list.v,
				     addresses.list.n, &report->arena, &with->denied);
	}
	if (firewalls.list.n == 0 && ns != NULL)
		decide_all(report, add_namespace(report, arena_strdup(&report->arena, ns)),
			   &addresses, &facts);
	vec_done(&firewalls.list);
	vec_done(&addresses.list);
}

void explain_report_done(struct explain_report *report)
{
	for (size_t i = 0; i < report->namespaces.n; i++) {
		struct explain_namespace *ns = &report->namespaces.v[i];
		for (size_t k = 0; k < ns->decisions.n; k++)
			explain_decision_done(&ns->decisions.v[k]);
		vec_done(&ns->decisions);
		vec_done(&ns->denied);
		vec_done(&ns->notes);
	}
	vec_done(&report->namespaces);
	vec_done(&report->notes);
	vec_done(&report->own);
	explain_sightings_done(&report->about);
	explain_sightings_done(&report->others);
	arena_done(&report->arena);
}

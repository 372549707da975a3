/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks the rules of a namespace until nothing is left to decide. */
#include "api/explain/decision.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/selector.h"
#include "api/tree.h"
#include "base/compiler.h"
#include "base/mem.h"

enum { PROTOCOLS = EGRESS_SCTP + 1, PORT_NUMBERS = 65536 };

struct walk {
	struct explain_decision *decision;
	struct arena *arena;
	uint8_t *decided; /* a bit for each port of each protocol; NULL: none is */
};

bool explain_rule_covers(const struct egress_rule *rule, bool any_depth, const char *host)
{
	if (rule->target != EGRESS_TO_NAME)
		return false;
	return rule->is_wildcard ? egress_name_is_covered(host, rule->name, any_depth)
				 : strcmp(host, rule->name) == 0;
}

/* ---- ports ---- */

/* Whether the port was undecided until now. */
static bool decide_port(struct walk *walk, const struct egress_port *port)
{
	size_t bit = (size_t)port->protocol * PORT_NUMBERS + port->number;
	uint8_t mask = (uint8_t)(1U << (bit % 8));
	if (walk->decided == NULL)
		walk->decided = xcalloc(PROTOCOLS, PORT_NUMBERS / 8);
	bool was_open = (walk->decided[bit / 8] & mask) == 0;
	walk->decided[bit / 8] |= mask;
	return was_open;
}

/* The rule's ports that no rule before has decided. */
static void take_ports(struct walk *walk, struct explain_step *step)
{
	const struct egress_rule *rule = step->rule;
	struct egress_port *ports =
		arena_alloc(walk->arena, MAX(rule->n_ports, (size_t)1) * sizeof(*ports));
	for (size_t i = 0; i < rule->n_ports; i++) {
		if (decide_port(walk, &rule->ports[i]))
			ports[step->n_ports++] = rule->ports[i];
	}
	step->ports = ports;
}

/* ---- steps ---- */

/* True: it decides all that was left. */
static bool add_step(struct walk *walk, struct explain_step step)
{
	if (step.rule == NULL) {
		vec_push(&walk->decision->steps, step);
		return true;
	}
	step.is_allowed = step.rule->action == EGRESS_ALLOW;
	if (step.is_conditional) {
		step.ports = step.rule->ports;
		step.n_ports = step.rule->n_ports;
		vec_push(&walk->decision->steps, step);
		return false;
	}
	if (step.rule->n_ports != 0) {
		take_ports(walk, &step);
		if (step.n_ports != 0)
			vec_push(&walk->decision->steps, step);
		return false;
	}
	vec_push(&walk->decision->steps, step);
	return true;
}

static void finish_walk(struct walk *walk, bool is_complete)
{
	if (!is_complete)
		add_step(walk,
			 (struct explain_step){ .reason = EXPLAIN_BY_DEFAULT, .is_allowed = true });
	free(walk->decided);
}

/* ---- matching ---- */

/* The name by which the rule matches the address; NULL: it does not. */
static const char *match_name(const struct egress_rule *rule, bool any_depth,
			      const struct explain_address *address,
			      const struct explain_facts *facts)
{
	for (size_t i = 0; i < facts->n_sightings; i++) {
		const struct explain_sighting *sighting = &facts->sightings[i];
		if (explain_address_compare(&sighting->address, address) == 0 &&
		    explain_rule_covers(rule, any_depth, sighting->name))
			return sighting->name;
	}
	return NULL;
}

static bool node_has(const json_t *node, const struct explain_address *address)
{
	const json_t *list = api_get(node, "status.addresses");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *type = api_text(json_object_get(entry, "type"));
		struct explain_address own;
		if ((strcmp(type, "InternalIP") == 0 || strcmp(type, "ExternalIP") == 0) &&
		    explain_address_parse(api_text_slice(json_object_get(entry, "address")),
					  &own) &&
		    explain_address_compare(&own, address) == 0)
			return true;
	}
	return false;
}

/* The node that has the address and that the rule selects; NULL: none. */
static const char *match_node(const struct egress_rule *rule, const struct explain_address *address,
			      const json_t *nodes)
{
	for (size_t i = 0; i < json_array_size(nodes); i++) {
		const json_t *node = json_array_get(nodes, i);
		if (api_label_selector_match(&rule->nodes, api_get(node, "metadata.labels")) &&
		    node_has(node, address))
			return api_name(node);
	}
	return NULL;
}

static bool match_rule(const struct egress_rules *rules, const struct egress_rule *rule,
		       const struct explain_address *address, const struct explain_facts *facts,
		       struct explain_step *ret)
{
	*ret = (struct explain_step){ .rule = rule };
	switch (rule->target) {
	case EGRESS_TO_RANGE:
		ret->reason = EXPLAIN_BY_RANGE;
		return egress_range_has(&rule->range, address->bytes, address->n);
	case EGRESS_TO_NAME:
		ret->reason = EXPLAIN_BY_NAME;
		ret->via = match_name(rule, rules->any_depth, address, facts);
		return ret->via != NULL;
	case EGRESS_TO_NODES:
		ret->reason = EXPLAIN_BY_NODE;
		ret->via = match_node(rule, address, facts->nodes);
		return ret->via != NULL;
	}
	return false;
}

const struct explain_own *explain_own_find(const struct explain_facts *facts,
					   const struct explain_address *address)
{
	for (size_t i = 0; i < facts->n_own; i++) {
		if (egress_range_has(&facts->own[i].range, address->bytes, address->n))
			return &facts->own[i];
	}
	return NULL;
}

/* ---- decisions ---- */

void explain_decision_init(struct explain_decision *decision, const struct egress_rules *rules,
			   const struct explain_address *address, const struct explain_facts *facts,
			   struct arena *arena)
{
	const struct explain_own *own = explain_own_find(facts, address);
	struct walk walk = { .decision = decision, .arena = arena };
	struct explain_step step;
	bool complete = false;
	*decision = (struct explain_decision){ .address = *address };
	if (own != NULL && own->what != EGRESS_OWN_NODES)
		complete = add_step(&walk, (struct explain_step){ .reason = EXPLAIN_BY_OWN,
								  .is_allowed = true,
								  .via = own->text });
	for (size_t i = 0; i < rules->n && !complete; i++) {
		if (match_rule(rules, &rules->rule[i], address, facts, &step))
			complete = add_step(&walk, step);
	}
	finish_walk(&walk, complete);
}

/* The step of a rule that may match an address of the host; false: it cannot. */
static bool match_unknown(const struct egress_rules *rules, const struct egress_rule *rule,
			  const char *host, struct explain_step *ret)
{
	*ret = (struct explain_step){ .rule = rule, .is_conditional = true };
	switch (rule->target) {
	case EGRESS_TO_RANGE:
		ret->reason = EXPLAIN_BY_RANGE;
		return true;
	case EGRESS_TO_NAME:
		ret->reason = EXPLAIN_BY_NAME;
		ret->is_conditional = false;
		ret->via = host;
		return explain_rule_covers(rule, rules->any_depth, host);
	case EGRESS_TO_NODES:
		ret->reason = EXPLAIN_BY_NODE;
		return true;
	}
	return false;
}

static bool is_whole_family(const struct egress_rule *rule, uint8_t bytes)
{
	return rule->target == EGRESS_TO_RANGE && rule->n_ports == 0 && rule->range.bits == 0 &&
	       rule->range.n == bytes;
}

void explain_decision_init_unknown(struct explain_decision *decision,
				   const struct egress_rules *rules, const char *host,
				   struct arena *arena)
{
	struct walk walk = { .decision = decision, .arena = arena };
	bool complete = false, has_v4 = false, has_v6 = false;
	*decision = (struct explain_decision){ 0 };
	for (size_t i = 0; i < rules->n && !complete; i++) {
		const struct egress_rule *rule = &rules->rule[i];
		struct explain_step step;
		if (match_unknown(rules, rule, host, &step))
			complete = add_step(&walk, step);
		has_v4 = has_v4 || is_whole_family(rule, 4);
		has_v6 = has_v6 || is_whole_family(rule, 16);
		complete = complete || (has_v4 && has_v6);
	}
	finish_walk(&walk, complete);
}

void explain_decision_done(struct explain_decision *decision)
{
	vec_done(&decision->steps);
}

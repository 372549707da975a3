/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rules of a namespace decide for connections to an address. Pure: no I/O, any thread.
 *
 * The first rule that matches decides. A rule with ports decides for these only, so that a decision is
 * a list of steps: each for the ports that no step before it has, the last one for all that is left. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/egress/own_networks.h"
#include "api/egress/rules.h"
#include "api/explain/sightings.h"
#include "base/arena.h"
#include "base/vec.h"

enum explain_reason {
	EXPLAIN_BY_RANGE,
	EXPLAIN_BY_NAME,
	EXPLAIN_BY_NODE,
	EXPLAIN_BY_DEFAULT, /* no rule matches, which allows */
	EXPLAIN_BY_OWN,	    /* the cluster's own pods, Services and API: rules do not count */
};

struct explain_step {
	enum explain_reason reason;
	bool is_allowed;
	/* The address is not known: the step counts if it is in the rule's range or one of its nodes'. */
	bool is_conditional;
	const struct egress_rule *rule; /* NULL: none */
	const char *via; /* the name or node that matched, or the own range; or NULL */
	const struct egress_port *ports; /* none: all that steps before did not decide */
	size_t n_ports;
};

struct explain_decision {
	struct explain_address address; /* n is 0: one of the subject that is not known yet */
	VEC(struct explain_step) steps; /* at least one */
};

/* A network of the cluster itself. */
struct explain_own {
	enum egress_own what;
	struct egress_range range;
	const char *text;
};

/* What a decision is made from; all of it is borrowed. */
struct explain_facts {
	const struct explain_sighting
		*sightings; /* of all names with the address, and maybe others */
	size_t n_sightings;
	const struct explain_own *own;
	size_t n_own;
	const json_t *nodes; /* array */
};

/* For an address. Steps point into `rules`; ports are from the (growing) arena. */
void explain_decision_init(struct explain_decision *decision, const struct egress_rules *rules,
			   const struct explain_address *address, const struct explain_facts *facts,
			   struct arena *arena);
/* For an address of the host that is not known yet. */
void explain_decision_init_unknown(struct explain_decision *decision,
				   const struct egress_rules *rules, const char *host,
				   struct arena *arena);
void explain_decision_done(struct explain_decision *decision);

/* Does a rule by name cover the host? */
bool explain_rule_covers(const struct egress_rule *rule, bool any_depth, const char *host);
/* The own network with the address; NULL: none. */
const struct explain_own *explain_own_find(const struct explain_facts *facts,
					   const struct explain_address *address);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of `fairlead explain`: what is known of a name or address, and what the rules of each
 * namespace decide for it. From objects to decisions; no I/O, any thread. */
#pragma once

#include <jansson.h>

#include "api/explain/decision.h"
#include "api/explain/denials.h"
#include "api/explain/sightings.h"
#include "api/explain/subject.h"
#include "base/arena.h"
#include "base/vec.h"

/* The objects of a cluster, as arrays of trees; any may be NULL. They outlive the report. */
struct explain_objects {
	const json_t *firewalls, *names, *nodes, *service_cidrs, *networks, *slices, *events;
};

struct explain_namespace {
	const char *name;
	bool has_firewall;
	struct egress_rules rules;
	VEC(struct explain_decision) decisions; /* at least one */
	explain_denial_list denied;		/* samples, of the subject's addresses */
	VEC(const char *) notes;		/* sentences without full stop */
};

struct explain_report {
	struct arena arena;
	struct explain_subject subject;
	struct explain_sightings about; /* the subject */
	struct explain_sightings
		others; /* of any name with an address of these; what rules match */
	VEC(struct explain_own) own;
	VEC(const char *) notes;
	VEC(struct explain_namespace)
	namespaces; /* by name: those with a firewall, or the one asked for */
};

/* `ns` NULL: all namespaces with a firewall. */
void explain_report_init(struct explain_report *report, const struct explain_subject *subject,
			 const struct explain_objects *objects, const char *ns);
void explain_report_done(struct explain_report *report);

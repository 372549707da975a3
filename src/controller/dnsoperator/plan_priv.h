/* Inside of plan: what came of the object, for the conditions. */
#pragma once

#include "controller/dnsoperator/plan.h"

/* Where the list of templates was taken from. */
enum dnsoperator_source {
	DNSOPERATOR_FROM_SPEC,
	DNSOPERATOR_FROM_ANNOTATION,
	DNSOPERATOR_FROM_NOWHERE, /* the CRD prunes the field, and there is no annotation */
};

struct dnsoperator_outcome {
	const struct dnsoperator_in *in;
	const struct dnsoperator_dns *dns;
	const struct dnsoperator_routes *routes;       /* that servers are to run */
	const struct dnsoperator_templates *templates; /* likewise */
	int64_t templates_generation;		       /* whose templates these are */
	enum dnsoperator_source source;
};

/* Fills plan->conditions by the rest of the plan. */
void dnsoperator_conditions_fill(const struct dnsoperator_outcome *outcome,
				 struct dnsoperator_plan *plan);

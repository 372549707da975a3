/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The conditions TemplateConfiguration… of a plan. */
#pragma once

#include "controller/dnsoperator/plan/plan.h"

/* Where the list of templates came from. */
enum dnsoperator_source {
	DNSOPERATOR_FROM_SPEC,
	DNSOPERATOR_FROM_ANNOTATION,
	DNSOPERATOR_FROM_NOWHERE, /* the CRD prunes the field, and there is no annotation */
};

struct dnsoperator_outcome {
	const struct dnsoperator_plan_in *in;
	const struct dnsoperator_dns *dns;
	const struct dnsoperator_routes *routes;       /* that servers should run */
	const struct dnsoperator_templates *templates; /* likewise */
	int64_t templates_generation;		       /* whose templates these are */
	enum dnsoperator_source source;
};

/* Fills plan->conditions by the rest of the plan. */
void dnsoperator_conditions_fill(const struct dnsoperator_outcome *outcome,
				 struct dnsoperator_plan *plan);
/* Servers cannot get the Corefile: TemplateConfigurationApplied reports `why` instead of their
 * answers. Unless the ConfigMap is contested, servers that run the Corefile nevertheless count.
 
 */
void dnsoperator_plan_blocked(struct dnsoperator_plan *plan, bool contested, const char *why);

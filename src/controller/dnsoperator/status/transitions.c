/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of the DNS object's conditions that get Events. */
#include "controller/dnsoperator/status/transitions.h"

#include "base/compiler.h"

/* On OpenShift the gate is off in clusters that do not use templates. */
#define GATE_IS_OFF " FeatureGateDisabled "

/* Conditions that get Events. Progressing does not: it changes with each pod. */
static const struct transition_row rows[] = {
	{ "TemplateConfigurationValid",
	  { [API_FALSE] = true, [API_UNKNOWN] = true },
	  true,
	  "TemplatesValid",
	  " FieldPruned ",
	  GATE_IS_OFF },
	{ "TemplateConfigurationApplied",
	  { [API_FALSE] = true, [API_UNKNOWN] = true },
	  false,
	  "TemplatesApplied",
	  " Updating InvalidTemplates FeatureGateDisabled Unmanaged ClusterDomainUnknown ",
	  GATE_IS_OFF },
	{ "AAAAFilterDualStackWarning",
	  { [API_TRUE] = true },
	  true,
	  "DualStackWarningOver",
	  "",
	  "" },
	{ "Available", { [API_FALSE] = true }, false, "DNSAvailable", "", "" },
	{ "Degraded", { [API_TRUE] = true }, false, "DNSNotDegraded", "", "" },
};

size_t dnsoperator_transitions_of(const json_t *before, const json_t *after,
				  struct transition ret[DNSOPERATOR_TRANSITIONS_MAX])
{
	_Static_assert(ARRAY_LEN(rows) == DNSOPERATOR_TRANSITIONS_MAX, "one each");
	return transitions_find(rows, ARRAY_LEN(rows), before, after, ret);
}

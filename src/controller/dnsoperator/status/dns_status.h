/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status of the DNS object, as a tree: conditions, observedGeneration, domain and address. Pure;
 * write_status.h sends it to the API server. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "controller/dnsoperator/plan/plan.h"

/* The member of that name, created where it is missing or has another type. */
json_t *dnsoperator_member(json_t *object, const char *name, json_t *(*make)(void));
/* The generation to write as observedGeneration, which shows to which generation a condition belongs; 0:
 * the CRD drops the field. OpenShift's CRD drops both. */
struct dnsoperator_observed {
	int64_t status, conditions;
};
/* `sent` is the generation that was last written so; where the object does not have it although it
 * was, the CRD drops it. */
struct dnsoperator_observed dnsoperator_observed_of(const json_t *dns, int64_t sent);

/* Sets those that have a reason; true when something besides times changed. */
bool dnsoperator_conditions_set(json_t *list, const struct dnsoperator_condition *condition,
				size_t count, const struct dnsoperator_observed *observed,
				uint64_t now_wall_ns);
/* Brings domain, address and the conditions of templates up to date in the object's status; true
 * when something besides times changed. The other conditions are those of operator_conditions.h. */
bool dnsoperator_status_set(json_t *dns, const struct dnsoperator_plan *plan,
			    const struct dnsoperator_facts *facts, const char *cluster_ip,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns);

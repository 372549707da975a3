/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions and fields of the DNS object's status, as a tree. */
#include "controller/dnsoperator/status/dns_status.h"

#include <assert.h>
#include <string.h>

#include "api/condition.h"
#include "api/meta.h"

json_t *dnsoperator_member(json_t *object, const char *name, json_t *(*make)(void))
{
	json_t *v = json_object_get(object, name), *fresh = make();
	assert(json_is_object(object));
	if (v != NULL && json_typeof(v) == json_typeof(fresh)) {
		json_decref(fresh);
		return v;
	}
	json_object_set_new(object, name, fresh);
	return fresh;
}

static bool set_text(json_t *object, const char *name, const char *text)
{
	const json_t *now = json_object_get(object, name);
	if (json_is_string(now) && strcmp(api_text(now), text) == 0)
		return false;
	json_object_set_new(object, name, json_string(text));
	return true;
}

static bool any_has_generation(const json_t *conditions)
{
	const json_t *c;
	size_t i;
	json_array_foreach (conditions, i, c) {
		if (json_object_get(c, "observedGeneration") != NULL)
			return true;
	}
	return false;
}

struct dnsoperator_observed dnsoperator_observed_of(const json_t *dns, int64_t sent)
{
	int64_t now = api_generation(dns);
	const json_t *conditions = api_get(dns, "status.conditions");
	bool in_status = api_get(dns, "status.observedGeneration") != NULL;
	bool in_conditions = any_has_generation(conditions);
	/* without conditions it is not the status that was sent: another object, or one emptied */
	bool try = sent != now || json_array_size(conditions) == 0;
	return (struct dnsoperator_observed){ try || in_status ? now : 0,
					      try || in_conditions ? now : 0 };
}

bool dnsoperator_conditions_set(json_t *list, const struct dnsoperator_condition *condition,
				size_t count, const struct dnsoperator_observed *observed,
				uint64_t now_wall_ns)
{
	bool changed = false;
	for (size_t i = 0; i < count; i++) {
		if (condition[i].reason == NULL)
			continue;
		changed |= api_condition_set(
			list,
			&(struct api_condition){ .type = condition[i].type,
						 .status = condition[i].status,
						 .reason = condition[i].reason,
						 .message = condition[i].message,
						 .generation = observed->conditions },
			now_wall_ns);
	}
	return changed;
}

/* Not before every condition of templates is of this generation. */
static bool set_observed(json_t *status, const struct dnsoperator_plan *plan, int64_t generation)
{
	const json_t *now = json_object_get(status, "observedGeneration");
	if (generation == 0 || plan->conditions[DNSOPERATOR_APPLIED].reason == NULL ||
	    (now != NULL && json_integer_value(now) == generation))
		return false;
	json_object_set_new(status, "observedGeneration", json_integer(generation));
	return true;
}

bool dnsoperator_status_set(json_t *dns, const struct dnsoperator_plan *plan,
			    const struct dnsoperator_facts *facts, const char *cluster_ip,
			    const struct dnsoperator_observed *observed, uint64_t now_wall_ns)
{
	json_t *status = dnsoperator_member(dns, "status", json_object);
	json_t *conditions = dnsoperator_member(status, "conditions", json_array);
	bool changed = false;
	/* OpenShift's CRD requires the field; "" claims nothing */
	if (!facts->domain_unknown || json_object_get(status, "clusterDomain") == NULL)
		changed = set_text(status, "clusterDomain",
				   facts->domain_unknown ? "" : dnsoperator_domain(facts));
	if (cluster_ip[0] != '\0' || json_object_get(status, "clusterIP") == NULL)
		changed |= set_text(status, "clusterIP", cluster_ip);
	changed |= set_observed(status, plan, observed->status);
	return dnsoperator_conditions_set(conditions, plan->conditions, DNSOPERATOR_CONDITIONS,
					  observed, now_wall_ns) ||
	       changed;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/dnsoperator/status/transitions.h"

#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "base/compiler.h"

/* Conditions that get Events. Progressing does not: it changes with each pod. */
static const struct row {
	const char *type;
	bool bad[3];	   /* by status */
	bool every;	   /* another message with the same reason gets an Event, too */
	const char *good;  /* reason of the Event when it is good again */
	const char *quiet; /* reasons that another condition reports, or that are intended */
} rows[] = {
	{ "TemplateConfigurationValid",
	  { [API_FALSE] = true, [API_UNKNOWN] = true },
	  true,
	  "TemplatesValid",
	  " FieldPruned " },
	{ "TemplateConfigurationApplied",
	  { [API_FALSE] = true, [API_UNKNOWN] = true },
	  false,
	  "TemplatesApplied",
	  " Updating InvalidTemplates FeatureGateDisabled Unmanaged ClusterDomainUnknown " },
	{ "AAAAFilterDualStackWarning", { [API_TRUE] = true }, true, "DualStackWarningOver", "" },
	{ "Available", { [API_FALSE] = true }, false, "DNSAvailable", "" },
	{ "Degraded", { [API_TRUE] = true }, false, "DNSNotDegraded", "" },
};

static bool is_among(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = words; n != 0 && (p = strstr(p, word)) != NULL; p += n)
		if (p[-1] == ' ' && p[n] == ' ')
			return true;
	return false;
}

static bool is_bad(const struct row *row, const json_t *conditions)
{
	return api_condition_find(conditions, row->type) != NULL &&
	       row->bad[api_condition_status(conditions, row->type)];
}

static bool is_same(const json_t *left, const json_t *right, const char *name)
{
	return strcmp(api_get_string(left, name), api_get_string(right, name)) == 0;
}

/* On OpenShift the gate is off in clusters that do not use templates. */
static bool is_default(const json_t *old, const char *reason)
{
	return old == NULL && strcmp(reason, "FeatureGateDisabled") == 0;
}

static bool find_transition(const struct row *row, const json_t *before, const json_t *after,
			    struct dnsoperator_transition *ret)
{
	const json_t *old = api_condition_find(before, row->type);
	const json_t *now = api_condition_find(after, row->type);
	const char *reason = api_get_string(now, "reason");
	bool bad = is_bad(row, after);
	if (now == NULL || is_among(row->quiet, reason) || (!bad && !is_bad(row, before)))
		return false;
	if (bad && (is_default(old, reason) ||
		    (is_same(old, now, "status") && is_same(old, now, "reason") &&
		     (!row->every || is_same(old, now, "message")))))
		return false;
	*ret = (struct dnsoperator_transition){ .reason = bad ? reason : row->good,
						.message = api_get_string(now, "message"),
						.warning = bad };
	return true;
}

size_t dnsoperator_transitions_of(const json_t *before, const json_t *after,
				  struct dnsoperator_transition ret[DNSOPERATOR_TRANSITIONS_MAX])
{
	_Static_assert(ARRAY_LEN(rows) == DNSOPERATOR_TRANSITIONS_MAX, "one each");
	const json_t *was = api_get(before, "status.conditions");
	const json_t *is = api_get(after, "status.conditions");
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		n += find_transition(&rows[i], was, is, &ret[n]);
	return n;
}

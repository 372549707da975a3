/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the operator. */
#include "controller/dnsoperator/status/gauges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "controller/dnsoperator/plan/validate_templates.h"

/* Labels as in fairlead_dns_template_answers_total of the servers: they are joined by them. At most
 * DNSOPERATOR_TEMPLATES_MAX times DNSOPERATOR_ZONES_MAX series, since a zone is in one template. */
static const struct metrics_family template_family = {
	.name = "fairlead_dns_template_info",
	.help = "1 for each zone of a template that is in force.",
	.kind = METRICS_GAUGE,
	.labels = { "template", "zone", "type", "class" },
};
static const struct metrics_family condition_family = {
	.name = "fairlead_dns_operator_status_condition",
	.help = "1 for the status that a condition of the DNS object has.",
	.kind = METRICS_GAUGE,
	.labels = { "condition", "status" },
};
static const struct metrics_family instance_family = {
	.name = "fairlead_dns_operator_instances",
	.help = "DNS servers by state: current, other (another configuration), unreachable.",
	.kind = METRICS_GAUGE,
	.labels = { "state" },
};

struct dnsoperator_gauges {
	json_t *list;  /* the last one */
	json_t *shown; /* {"template": {"zone.": true}} */
};

struct dnsoperator_gauges *dnsoperator_gauges_new(void)
{
	struct dnsoperator_gauges *g = xcalloc(1, sizeof(*g));
	g->shown = json_object();
	return g;
}

void dnsoperator_gauges_free(struct dnsoperator_gauges *gauges)
{
	if (gauges == NULL)
		return;
	dnsoperator_gauges_templates(gauges, NULL, "");
	dnsoperator_gauges_conditions(NULL);
	dnsoperator_gauges_servers(NULL, "");
	json_decref(gauges->shown);
	free(gauges);
}

/* ---- conditions, servers ---- */

void dnsoperator_gauges_conditions(const json_t *dns)
{
	static const char *const words[] = {
		[API_UNKNOWN] = "unknown", [API_FALSE] = "false", [API_TRUE] = "true"
	};
	static const char *const types[] = { "Available",
					     "Degraded",
					     "Progressing",
					     "Upgradeable",
					     "TemplateConfigurationValid",
					     "TemplateConfigurationApplied",
					     "AAAAFilterDualStackWarning" };
	const json_t *list = api_get(dns, "status.conditions");
	if (dns == NULL)
		metrics_drop_family(&condition_family);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (api_condition_find(list, types[i]) == NULL)
			continue;
		enum api_status now = api_condition_status(list, types[i]);
		for (size_t k = 0; k < ARRAY_LEN(words); k++)
			metrics_set(metrics_get(&condition_family,
						(const char *const[]){ types[i], words[k] }),
				    (enum api_status)k == now);
	}
}

void dnsoperator_gauges_servers(const struct dnsoperator_answers *instances, const char *hash)
{
	enum { CURRENT, OTHER, UNREACHABLE, STATES };
	static const char *const words[STATES] = { "current", "other", "unreachable" };
	size_t n[STATES] = { 0 };
	if (instances == NULL) {
		metrics_drop_family(&instance_family);
		return;
	}
	for (size_t i = 0; i < instances->n; i++)
		n[!instances->v[i].reached		    ? UNREACHABLE
		  : strcmp(instances->v[i].hash, hash) == 0 ? CURRENT
							    : OTHER]++;
	for (int i = 0; i < STATES; i++)
		metrics_set(metrics_get(&instance_family, (const char *const[]){ words[i] }),
			    (double)n[i]);
}

/* ---- templates ---- */

static struct metrics_series *series_of(const char *name, const char *zone)
{
	return metrics_get(&template_family, (const char *const[]){ name, zone, "AAAA", "IN" });
}

/* Sets the series of each, and returns them as `shown` has them. */
static json_t *set_series(const struct dnsoperator_templates *templates)
{
	json_t *shown = json_object();
	for (size_t i = 0; i < templates->n; i++) {
		json_t *zones = json_object();
		for (size_t k = 0; k < templates->v[i].n_zones; k++) {
			char zone[DNSOPERATOR_ZONE_CHARS_MAX + 2];
			const char *bare = templates->v[i].zones[k];
			/* servers have zones with a final dot */
			snprintf(zone, sizeof(zone), "%s%s", bare,
				 strcmp(bare, ".") == 0 ? "" : ".");
			metrics_set(series_of(templates->v[i].name, zone), 1);
			json_object_set_new(zones, zone, json_true());
		}
		json_object_set_new(shown, templates->v[i].name, zones);
	}
	return shown;
}

/* Those that are not in the new ones. A scrape in between sees some of both, and never none. */
static void drop_others(const json_t *old, const json_t *new)
{
	const char *name, *zone;
	json_t *zones, *v;
	json_object_foreach (api_tree(old), name, zones) {
		const json_t *still = json_object_get(new, name);
		json_object_foreach (zones, zone, v) {
			if (json_object_get(still, zone) == NULL)
				metrics_drop(series_of(name, zone));
		}
	}
}

void dnsoperator_gauges_templates(struct dnsoperator_gauges *gauges, const json_t *list,
				  const char *domain)
{
	struct dnsoperator_problems none = { 0 };
	struct dnsoperator_templates t = { 0 };
	struct arena a;
	if (list == gauges->list || json_equal(api_tree(list), gauges->list))
		return;
	arena_init(&a);
	/* templates that are no longer valid are not in force */
	IGNORE(dnsoperator_templates_check(list, domain, &a, &t, &none));
	json_t *shown = set_series(&t);
	drop_others(gauges->shown, shown);
	json_decref(gauges->shown);
	gauges->shown = shown;
	json_decref(gauges->list);
	gauges->list = list != NULL ? json_deep_copy(list) : NULL;
	dnsoperator_problems_done(&none);
	arena_done(&a);
}

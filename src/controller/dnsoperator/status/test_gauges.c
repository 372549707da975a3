/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the operator, as a scrape has them. */
#include "controller/dnsoperator/test_rows.h"

#include <stdlib.h>

#include "base/metrics/metrics.h"
#include "controller/dnsoperator/plan/validate_templates.h"
#include "controller/dnsoperator/status/gauges.h"

static bool says(const char *line)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	metrics_render(&out);
	char want[600];
	snprintf(want, sizeof(want), "%s\n", line);
	return strstr(out.s, want) != NULL;
}

static size_t count(const char *start)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	size_t n = 0;
	metrics_render(&out);
	for (const char *p = out.s; (p = strstr(p, start)) != NULL; p++)
		n++;
	return n;
}

static json_t *list_of(const char *name, const char *a, const char *b)
{
	return json_pack("[{ss,s[ss],s{s{}}}]", "name", name, "zones", a, b, "action",
			 "returnEmpty");
}

#define INFO(name, zone)                                                                           \
	"fairlead_dns_template_info{class=\"IN\",template=\"" name "\",type=\"AAAA\",zone=\"" zone \
	"\"} 1"

/* OP-T9: in the words of the servers; a set that is not in force any more is gone. */
static void templates_by_name(void **state)
{
	(void)state;
	struct dnsoperator_gauges *g = dnsoperator_gauges_new();
	json_t *one = list_of("a", "Example.COM.", "."),
	       *two = list_of("a", "example.com", "x.org");
	json_t *bad = list_of("a", "svc.cluster.local", "x.org");
	dnsoperator_gauges_templates(g, NULL, "cluster.local");
	assert_int_equal(count("fairlead_dns_template_info{"), 0);
	dnsoperator_gauges_templates(g, one, "cluster.local");
	assert_true(says(INFO("a", "example.com.")));
	assert_true(says(INFO("a", ".")));
	dnsoperator_gauges_templates(g, two, "cluster.local");
	assert_true(says(INFO("a", "example.com.")));
	assert_true(says(INFO("a", "x.org.")));
	assert_int_equal(count("fairlead_dns_template_info{"), 2);
	dnsoperator_gauges_templates(g, bad, "cluster.local");
	assert_int_equal(count("fairlead_dns_template_info{"), 0);
	dnsoperator_gauges_templates(g, one, "cluster.local");
	assert_int_equal(count("fairlead_dns_template_info{"), 2);
	dnsoperator_gauges_free(g);
	assert_int_equal(count("fairlead_dns_template_info{"), 0);
	json_decref(one);
	json_decref(two);
	json_decref(bad);
}

/* The most there can be. */
static void templates_at_their_limit(void **state)
{
	(void)state;
	struct dnsoperator_gauges *g = dnsoperator_gauges_new();
	json_t *list = json_array();
	for (int i = 0; i < DNSOPERATOR_TEMPLATES_MAX; i++) {
		json_t *zones = json_array();
		for (int k = 0; k < DNSOPERATOR_ZONES_MAX; k++) {
			char zone[32];
			snprintf(zone, sizeof(zone), "z%d.t%d.example", k, i);
			json_array_append_new(zones, json_string(zone));
		}
		char name[16];
		snprintf(name, sizeof(name), "t%d", i);
		json_array_append_new(list, json_pack("{ss,so,s{s{}}}", "name", name, "zones",
						      zones, "action", "returnEmpty"));
	}
	dnsoperator_gauges_templates(g, list, "cluster.local");
	assert_int_equal(count("fairlead_dns_template_info{"),
			 DNSOPERATOR_TEMPLATES_MAX * DNSOPERATOR_ZONES_MAX);
	dnsoperator_gauges_templates(g, NULL, "cluster.local");
	assert_int_equal(count("fairlead_dns_template_info{"), 0);
	json_decref(list);
	dnsoperator_gauges_free(g);
}

static void conditions(void **state)
{
	(void)state;
	json_t *dns = json_pack("{s{s[{ss,ss},{ss,ss},{ss,ss}]}}", "status", "conditions", "type",
				"Degraded", "status", "True", "type", "Available", "status",
				"Unknown", "type", "Another", "status", "True");
	dnsoperator_gauges_conditions(dns);
#define CONDITION "fairlead_dns_operator_status_condition{condition="
	assert_true(says(CONDITION "\"Degraded\",status=\"true\"} 1"));
	assert_true(says(CONDITION "\"Degraded\",status=\"false\"} 0"));
	assert_true(says(CONDITION "\"Degraded\",status=\"unknown\"} 0"));
	assert_true(says(CONDITION "\"Available\",status=\"unknown\"} 1"));
	assert_int_equal(count(CONDITION), 6);
	json_object_set_new(api_get(dns, "status.conditions[0]"), "status", json_string("False"));
	dnsoperator_gauges_conditions(dns);
	assert_true(says(CONDITION "\"Degraded\",status=\"true\"} 0"));
	assert_true(says(CONDITION "\"Degraded\",status=\"false\"} 1"));
	dnsoperator_gauges_conditions(NULL);
	assert_int_equal(count(CONDITION), 0);
	json_decref(dns);
}

static void servers(void **state)
{
	(void)state;
	static const struct dnsoperator_answer v[] = {
		{ .name = "a", .reached = true, .hash = "h" },
		{ .name = "b", .reached = true, .hash = "g" },
		{ .name = "c", .reached = true, .hash = "h" },
		{ .name = "d", .hash = "" }
	};
	struct dnsoperator_answers all = { .v = v, .n = ARRAY_LEN(v) };
	dnsoperator_gauges_servers(&all, "h");
	assert_true(says("fairlead_dns_operator_instances{state=\"current\"} 2"));
	assert_true(says("fairlead_dns_operator_instances{state=\"other\"} 1"));
	assert_true(says("fairlead_dns_operator_instances{state=\"unreachable\"} 1"));
	dnsoperator_gauges_servers(NULL, "h");
	assert_int_equal(count("fairlead_dns_operator_instances{"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(templates_by_name),
					    cmocka_unit_test(templates_at_their_limit),
					    cmocka_unit_test(conditions),
					    cmocka_unit_test(servers) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

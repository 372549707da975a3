/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which changes of conditions become Events, and which are none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/dnsoperator/status/transitions.h"

/* "Type Status Reason message", or NULL for none. */
static json_t *object(const char *condition)
{
	char type[64], status[16], reason[64], message[64];
	json_t *list = json_array();
	if (condition != NULL) {
		assert_int_equal(
			sscanf(condition, "%63s %15s %63s %63s", type, status, reason, message), 4);
		json_array_append_new(list,
				      json_pack("{ss,ss,ss,ss}", "type", type, "status", status,
						"reason", reason, "message", message));
	}
	return json_pack("{s{so}}", "status", "conditions", list);
}

#define VALID	"TemplateConfigurationValid "
#define APPLIED "TemplateConfigurationApplied "
#define WARNING "AAAAFilterDualStackWarning "

static void each_row(void **state)
{
	(void)state;
	/* `want`: "W Reason message" for a warning, "N ..." for another, NULL for none. */
	static const struct {
		const char *before, *after, *want;
	} rows[] = {
		/* an error is reported once; another message of it is a transition */
		{ NULL, VALID "False InvalidZone a", "W InvalidZone a" },
		{ VALID "True AsExpected x", VALID "False InvalidZone a", "W InvalidZone a" },
		{ VALID "False InvalidZone a", VALID "False InvalidZone a", NULL },
		{ VALID "False InvalidZone a", VALID "False InvalidZone b", "W InvalidZone b" },
		{ VALID "False InvalidZone a", VALID "False InvalidName a", "W InvalidName a" },
		{ VALID "False InvalidZone a", VALID "True AsExpected x", "N TemplatesValid x" },
		/* a good state is not reported */
		{ NULL, VALID "True AsExpected x", NULL },
		{ VALID "True NoTemplates x", VALID "True AsExpected y", NULL },
		/* a gate that was switched off, not one that always was */
		{ VALID "True AsExpected x", VALID "Unknown FeatureGateDisabled g",
		  "W FeatureGateDisabled g" },
		{ NULL, VALID "Unknown FeatureGateDisabled g", NULL },
		{ NULL, VALID "Unknown FieldPruned p", NULL },
		/* servers: not each count of them */
		{ APPLIED "False Updating u", APPLIED "False ReloadFailed r", "W ReloadFailed r" },
		{ APPLIED "False ReloadFailed r", APPLIED "False ReloadFailed s", NULL },
		{ NULL, APPLIED "Unknown InstancesUnreachable i", "W InstancesUnreachable i" },
		{ NULL, APPLIED "Unknown NoInstances i", "W NoInstances i" },
		{ APPLIED "False ReloadFailed r", APPLIED "True AsExpected x",
		  "N TemplatesApplied x" },
		{ APPLIED "True AsExpected x", APPLIED "False Updating u", NULL },
		{ APPLIED "True AsExpected x", APPLIED "False InvalidTemplates u", NULL },
		{ APPLIED "True AsExpected x", APPLIED "Unknown Unmanaged u", NULL },
		{ NULL, WARNING "True DualStackCluster d", "W DualStackCluster d" },
		{ WARNING "True DualStackCluster d", WARNING "False NotDualStack n",
		  "N DualStackWarningOver n" },
		{ WARNING "False NoTemplates d", WARNING "False NotDualStack n", NULL },
		{ "Available True AsExpected x", "Available False NoService s", "W NoService s" },
		{ "Available False NoService s", "Available True AsExpected x",
		  "N DNSAvailable x" },
		{ "Available True AsExpected x", "Available Unknown NoInstances x", NULL },
		{ "Degraded False AsExpected x", "Degraded True DegradedConditions d",
		  "W DegradedConditions d" },
		{ "Degraded True DegradedConditions d", "Degraded False AsExpected x",
		  "N DNSNotDegraded x" },
		{ "Progressing False AsExpected x", "Progressing True Reconciling r", NULL },
		{ "Upgradeable True AsExpected x", "Upgradeable False OperatorUnmanaged r", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct transition news[DNSOPERATOR_TRANSITIONS_MAX];
		json_t *before = object(rows[i].before), *after = object(rows[i].after);
		char got[160] = "";
		size_t n = dnsoperator_transitions_of(before, after, news);
		if (n != 0)
			snprintf(got, sizeof(got), "%c %s %s", news[0].warning ? 'W' : 'N',
				 news[0].reason, news[0].message);
		print_message("%s\n", rows[i].after);
		assert_int_equal(n, rows[i].want != NULL);
		assert_string_equal(got, rows[i].want != NULL ? rows[i].want : "");
		json_decref(before);
		json_decref(after);
	}
}

static void without_a_status(void **state)
{
	(void)state;
	struct transition news[DNSOPERATOR_TRANSITIONS_MAX];
	json_t *none = json_object();
	assert_int_equal(dnsoperator_transitions_of(none, none, news), 0);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_row),
					    cmocka_unit_test(without_a_status) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gates of the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller/shared/feature_gate.h"

static void last_entry_counts(void **state)
{
	(void)state;
	assert_int_equal(feature_gate_by_flag("", "A"), -1);
	assert_int_equal(feature_gate_by_flag("AA=true,B=true", "A"), -1);
	assert_int_equal(feature_gate_by_flag("B=false, A = True", "A"), 1);
	assert_int_equal(feature_gate_by_flag("A=true,A=false", "A"), 0);
}

static void egress(void **state)
{
	(void)state;
	assert_true(feature_gate_egress_is_on("EgressFirewallNames=true"));
	assert_true(feature_gate_egress_is_on("DNSTemplatePlugin=false, EgressFirewallNames=true"));
	assert_false(
		feature_gate_egress_is_on("EgressFirewallNames=true,EgressFirewallNames=false"));
	assert_false(feature_gate_egress_is_on("DNSTemplatePlugin=true"));
	assert_false(feature_gate_egress_is_on(""));
	assert_true(feature_gate_egress_is_on("EgressFirewallHold=true"));
	assert_true(feature_gate_hold_is_on("EgressFirewallHold=true"));
	assert_true(feature_gate_hold_is_on("EgressFirewallNames=true,EgressFirewallHold=true"));
	assert_false(feature_gate_hold_is_on("EgressFirewallNames=true"));
	assert_false(feature_gate_hold_is_on("EgressFirewallHold=false"));
	assert_false(feature_gate_hold_is_on("EgressFirewallHold=true,EgressFirewallNames=false"));
	assert_false(
		feature_gate_egress_is_on("EgressFirewallHold=true,EgressFirewallNames=false"));
	assert_true(feature_gate_records_is_on("EgressFirewallNames=false,LocalRecords=true"));
	assert_false(feature_gate_records_is_on("EgressFirewallNames=true"));
	assert_true(
		feature_gate_search_suffix_is_on("LocalRecords=false,VirtualSearchSuffix=true"));
	assert_false(feature_gate_search_suffix_is_on("LocalRecords=true"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_entry_counts),
		cmocka_unit_test(egress),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

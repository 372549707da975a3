/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads `--feature-gates`, whose form the command has checked. */
#include "controller/shared/feature_gate.h"

#include "base/slice.h"

int feature_gate_by_flag(const char *flag, const char *gate)
{
	struct slice rest = slice_of(flag);
	int said = -1;
	while (rest.n != 0) {
		struct slice value = slice_cut(&rest, ',');
		struct slice name = slice_cut(&value, '=');
		if (slice_is(slice_trim(name), gate))
			said = slice_eq_nocase(slice_trim(value), SLICE("true")) ? 1 : 0;
	}
	return said;
}

bool feature_gate_egress_is_on(const char *flag)
{
	int names = feature_gate_by_flag(flag, "EgressFirewallNames");
	return names == 1 || (names < 0 && feature_gate_by_flag(flag, "EgressFirewallHold") == 1);
}

bool feature_gate_hold_is_on(const char *flag)
{
	return feature_gate_by_flag(flag, "EgressFirewallHold") == 1 &&
	       feature_gate_egress_is_on(flag);
}

bool feature_gate_records_is_on(const char *flag)
{
	return feature_gate_by_flag(flag, "LocalRecords") == 1;
}

bool feature_gate_search_suffix_is_on(const char *flag)
{
	return feature_gate_by_flag(flag, "VirtualSearchSuffix") == 1;
}

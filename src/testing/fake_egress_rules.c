/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/fake_egress_rules.h"

#include <stddef.h>

#include "api/tree.h"
#include "plugin/egressfirewall/store_test.h"

static struct egressfirewall_rules *rules;

void fake_egress_rules_set(const char *name)
{
	json_t *object = json_loads("{\"spec\":{\"isregular\":true}}", 0, NULL);
	fake_egress_rules_clear();
	rules = egressfirewall_rules_new();
	egressfirewall_rules_set(rules, slice_of(name), object);
	egressfirewall_rules_publish(rules, 0, NULL, NULL);
	egressfirewall_store_preset(rules);
	json_decref(object);
}

void fake_egress_rules_clear(void)
{
	egressfirewall_store_preset(NULL);
	egressfirewall_rules_free(rules);
	rules = NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any JSON as an EgressFirewall: each rule is read or refused, and what was accepted is canonical. */
#include <string.h>

#include "api/egress/range.h"
#include "api/egress/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_rule(const struct egress_rule *rule)
{
	struct egress_name again;
	char object[EGRESS_NAME_MAX + 1], text[EGRESS_RANGE_TEXT_MAX];
	switch (rule->target) {
	case EGRESS_TO_NAME:
		egress_name_object(rule->name, rule->is_wildcard, object);
		if (egress_name_parse(slice_of(object), &again) != NULL ||
		    strcmp(again.text, object) != 0)
			__builtin_trap();
		break;
	case EGRESS_TO_RANGE:
		egress_range_text(&rule->range, text);
		if (!egress_range_has(&rule->range, rule->range.address, rule->range.n))
			__builtin_trap();
		break;
	case EGRESS_TO_NODES:
		IGNORE(api_label_selector_match(&rule->nodes, NULL));
		break;
	}
}

static void ignore_name(void *ctx, const struct egress_name *name)
{
	(void)name;
	++*(size_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	json_t *tree = json_loadb((const char *)data, len, 0, NULL);
	struct api_errors errors = { 0 };
	struct egress_rules rules;
	struct arena arena;
	size_t names = 0;
	arena_init(&arena);
	egress_rules_read(tree, &arena, &rules, &errors);
	for (size_t i = 0; i < rules.n; i++)
		check_rule(&rules.rule[i]);
	egress_rules_each_name(tree, ignore_name, &names);
	api_errors_done(&errors);
	arena_done(&arena);
	json_decref(tree);
	return 0;
}

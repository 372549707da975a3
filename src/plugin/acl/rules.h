/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of `acl` stanzas by zone, each with policies of action, types and networks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "plugin/acl/nets.h"
#include "server/query.h"
#include "server/setup.h"

enum acl_action { ACL_NONE, ACL_ALLOW, ACL_BLOCK, ACL_FILTER, ACL_DROP };
enum { ACL_ACTIONS = ACL_DROP + 1 };

struct acl_policy {
	enum acl_action action;
	bool all_types, all_nets;
	uint16_t *type;
	size_t n_types;
	struct acl_nets nets;
};

struct acl_rule {
	struct zone_list zones;
	struct acl_policy *policy;
	size_t n_policies;
};

struct acl_rules {
	struct acl_rule *v;
	size_t n;
};

/* Reads all stanzas, in order. */
MUST_CHECK int acl_rules_parse(struct setup *setup, struct acl_rules *ret);
/* The action of the first rule that has one for the query, and the zone of it; ACL_NONE when none
 * does. */
enum acl_action acl_rules_match(const struct acl_rules *rules, const struct query *q,
				const char **ret_zone);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of annotations (policy.c) and of the ConfigMap (entries.c) share. */
#pragma once

#include "controller/poddns/policy.h"

void poddns_problems_add(struct poddns_problems *problems, struct arena *arena, const char *field,
			 const char *text);
/* Whether entries have a member of this name for a field. */
bool poddns_field_is_known(const char *member);
/* Reads the fields of an entry; `path` stands in front of problems. False: one of them is invalid. */
bool poddns_fields_read(const json_t *entry, const char *path, struct arena *arena,
			struct poddns_policy *ret, struct poddns_problems *problems);
/* The next entry that matches the Namespace; *pos starts at 0. NULL: there is none. */
const struct poddns_policy *poddns_entries_next(const struct poddns_entries *entries,
						const json_t *ns, size_t *pos);

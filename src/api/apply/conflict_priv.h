/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conflicts between an applier and the owners of fields. */
#pragma once

#include "api/apply/conflict.h"
#include "api/fields/fieldset.h"

struct managed_entry;

/* Adds one conflict for each field of `set`, which the entry owns. */
void managed_conflicts_add(struct api_conflicts *conflicts, const struct managed_entry *entry,
			   struct fieldset *set);

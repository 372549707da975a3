/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paths in which two objects differ. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/apply/type_priv.h"
#include "api/fields/fieldset.h"

struct managed_change {
	struct fieldset *removed, *modified, *added;
};
/* Fills in `ret` with three new sets; free them with managed_change_done. `from` and `to` may be
 * NULL. */
void managed_compare(struct managed_type type, const json_t *from, const json_t *to,
		     struct managed_change *ret);
void managed_change_done(struct managed_change *change);
/* Removes what is in `fields` or below; NULL: nothing. */
void managed_change_without(struct managed_change *change, struct fieldset *fields);
/* Compares numbers by their value. */
bool managed_equal(const json_t *left, const json_t *right);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The most frequent apply: the only manager of an object applies the fields that it applied before. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/apply/ownership_priv.h"

/* The applied object with its managedFields, of which only the time may change: nobody can lose a field,
 * and none is removed. `config` was checked. False: it is another case, and *ret is not set. */
bool managed_apply_same_fields(const struct managed_write *write, const json_t *config,
			       json_t **ret);

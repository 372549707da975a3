/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging an applied configuration into an object, and removing fields. */
#pragma once

#include <jansson.h>

#include "api/apply/type_priv.h"
#include "api/fields/fieldset.h"

/* `config` merged over `live`; nothing is removed. A new reference that shares parts with both. */
json_t *managed_merge(struct managed_type type, const json_t *live, const json_t *config);
/* The value without the items and fields of the set; what becomes empty is null. */
json_t *managed_remove(struct managed_type type, const json_t *value, struct fieldset *set);

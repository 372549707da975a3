/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kubectl's annotation last-applied-configuration, which client-side apply left. */
#pragma once

#include <jansson.h>

#include "api/apply/type_priv.h"
#include "api/fields/fieldset.h"

/* The fields that kubectl set according to the annotation and that still have these values; NULL: no
 * annotation, or it cannot be parsed. */
struct fieldset *managed_last_applied_fields(struct managed_type type, const char *api_version,
					     const json_t *live);
/* Updates the annotation, if the object has one. */
void managed_last_applied_set(json_t *object, const json_t *config);

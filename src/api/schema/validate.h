/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validating an object. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"

struct api_schema;

/* Appends all errors. `old` is the object before an update, or NULL: errors of values that an update
 * did not change are ignored, and rules about changes (oldSelf) are evaluated only for updates.
 * Metadata is checked only as far as the schema describes it. */
void api_schema_validate(const struct api_schema *schema, const json_t *object, const json_t *old,
			 struct api_errors *errs);
/* The same for a write to the status subresource: `object` is `old` with another status. */
void api_schema_validate_status(const struct api_schema *schema, const json_t *object,
				const json_t *old, struct api_errors *errs);

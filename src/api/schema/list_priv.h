/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of lists of type set and map, and of embedded objects. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"

struct api_schema;

/* Sets and maps have no duplicates. */
void schema_validate_lists(const struct api_schema *schema, const json_t *object,
			   struct api_errors *errs);
/* Embedded objects have apiVersion and kind. */
void schema_validate_embedded(const struct api_schema *schema, const json_t *object,
			      struct api_errors *errs);

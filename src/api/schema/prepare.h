/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a write does first with an object: pruning and defaulting. */
#pragma once

#include <jansson.h>

struct api_schema;

/* Removes fields that the schema does not know and nulls where it allows none, then sets defaults.
 * apiVersion, kind and metadata of the object are left as they are. */
void api_schema_prepare(const struct api_schema *schema, json_t *object);
/* The same for a result of server-side apply: nulls stay where there is no default, and are refused
 * later. The API server drops them when it reads a body, and this object was not read from one. */
void api_schema_prepare_applied(const struct api_schema *schema, json_t *object);
/* Only removes the fields that the schema does not know. */
void api_schema_prune(const struct api_schema *schema, json_t *object);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of a write that depend on the kind. `old` is the stored object, NULL for a new one. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/strategy.h"

/* Drops fields that the schema does not know, sets defaults, then runs the strategy's `prepare`.
 * Metadata is only normalized (nulls and empty maps are dropped). */
void apiserver_prepare(const struct apiserver_resource *resource, const struct apiserver_env *env,
		       json_t *object, const json_t *old);
/* Adds all errors of metadata, schema and strategy. */
void apiserver_validate(const struct apiserver_resource *resource, const struct apiserver_env *env,
			const json_t *object, const json_t *old, struct api_errors *errs);
/* The same for a write to the status subresource: `object` becomes `old` with the new status; of
 * built-in kinds with the new metadata, too. */
void apiserver_prepare_status(const struct apiserver_resource *resource, json_t *object,
			      const json_t *old);
void apiserver_validate_status(const struct apiserver_resource *resource, const json_t *object,
			       const json_t *old, struct api_errors *errs);

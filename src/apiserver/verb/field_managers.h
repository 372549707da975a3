/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Field ownership (metadata.managedFields) of writes, by the rules in api/apply/managed.h. */
#pragma once

#include <jansson.h>

#include "apiserver/verb/write.h"

/* The fields that the server sets and the client left out, as a bit set for the function below.
 * Call it before defaulting. */
unsigned apiserver_field_managers_unset(const struct apiserver_resource *resource,
					const json_t *asked);
/* *ret: a copy of `object` with its managedFields after a create, update or patch. `unset` as
 * above, `old` NULL for a new object. */
MUST_CHECK int apiserver_field_managers_update(const struct apiserver_writing *writing,
					       unsigned unset, const json_t *old,
					       const json_t *object, json_t **ret);
/* *ret: the object after `config` was applied to `old` (NULL: there is none). */
MUST_CHECK int apiserver_field_managers_apply(const struct apiserver_writing *writing,
					      const json_t *old, const json_t *config, bool force,
					      json_t **ret);

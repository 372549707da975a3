/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Server-side apply of a configuration. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct api_conflicts;
struct api_managed_write;

/* The object after `config` was applied, with its managedFields, not defaulted yet; what was
 * emptied is null. ERR_CONFLICT: others own what it would change and `force` is not set:
 * `conflicts` has them. ERR_CONFIG (400): there are managedFields in it. ERR_TYPE (500 as the
 * server has it): it does not fit the schema, a list key is missing or there twice. ERR_PARSE
 * (500): managedFields of live cannot be read. ERR_LIMIT: too large, too many appliers. All with
 * the server's sentence. The caller has seen to it that apiVersion and kind are right. */
MUST_CHECK int api_managed_apply(const struct api_managed_write *write, const json_t *config,
				 bool force, json_t **ret, struct api_conflicts *conflicts,
				 struct err_text err);

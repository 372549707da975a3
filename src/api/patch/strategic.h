/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategic merge patches: as JSON merge patches, but lists of things with a key are merged by it,
 * and directives say what is removed: $patch, $setElementOrder/X, $retainKeys,
 * $deleteFromPrimitiveList/X. Which lists, and by which key, is in the schema:
 * x-kubernetes-patch-strategy and x-kubernetes-patch-merge-key. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"

/* `target` may be NULL. The result is a new tree; the others are not changed. Metadata goes by
 * api_objectmeta_schema(); where a schema is silent, maps are merged and lists replaced. `err` gets
 * the server's sentence:
 *	ERR_PARSE	malformed directive (400)
 *	ERR_UNSUPPORTED	lists of lists (422)
 *	ERR_TYPE	directives, keys or values that do not fit (500, as the server has it)
 *	ERR_LIMIT	nested deeper than API_PATCH_DEPTH_MAX */
MUST_CHECK int api_strategic_apply(const json_t *schema, const json_t *target, const json_t *patch,
				   json_t **ret, struct err_text err);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON patch (RFC 6902). */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"

/* All operations or none. ERR_PARSE: not a patch; ERR_NOTFOUND: a path that must exist does not;
 * ERR_CONFIG: a `test` failed; ERR_LIMIT. `err` gets a sentence with the operation's number. */
MUST_CHECK int api_json_patch(const json_t *target, const json_t *ops, json_t **ret,
			      struct err_text err);

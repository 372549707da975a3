/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a value fits its schema well enough to be merged. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/apply/type_priv.h"
#include "base/compiler.h"
#include "base/strbuf.h"

/* Does the value fit the type? 0; ERR_TYPE with the server's sentence; ERR_LIMIT. */
MUST_CHECK int managed_schema_check(struct managed_type type, const json_t *value,
				    bool allow_duplicates, struct strbuf *err);

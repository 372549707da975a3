/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategic merge patches: maps. Trees are changed in place: both are copies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"

/* The place in the object, and the buffer for errors. */
struct strategic {
	const json_t *schema; /* of the map that is merged; NULL: nothing is known */
	bool root;
	unsigned depth;
	struct err_text err;
};

enum strategic_kind { STRATEGIC_PLAIN, STRATEGIC_MERGE, STRATEGIC_REPLACE };

/* Merge keywords of a field, from its schema. */
struct strategic_field {
	const json_t *schema;
	enum strategic_kind kind;
	const char *key; /* "" */
};

int strategic_fail(const struct strategic *strategic, int code, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
struct strategic_field strategic_field(const struct strategic *strategic, const char *name);
/* For the items of a list. */
struct strategic strategic_below(const struct strategic *strategic, const json_t *schema);

/* `*original` becomes the merged map; `patch` is used up. */
MUST_CHECK int strategic_map(const struct strategic *strategic, json_t **original, json_t *patch);
/* Removes directives; false: the value itself is one. */
bool strategic_remove_directives(json_t *value);

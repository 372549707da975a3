/* Inside of strategic merge patches. Trees are changed in place: both are copies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"

/* Where in the object, and who hears of errors. */
struct strategic {
	const json_t *schema; /* of the map that is merged; NULL: nothing is known */
	bool root;
	unsigned depth;
	char *err;
	size_t err_n;
};

enum strategic_kind { STRATEGIC_PLAIN, STRATEGIC_MERGE, STRATEGIC_REPLACE };

/* What the schema says of a field. */
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
/* Takes directives out; false: the value itself is one. */
bool strategic_undirect(json_t *value);

/* ---- strategic_list.c ---- */

/* "$patch", "delete", ... */
extern const char strategic_directive[];
bool strategic_says(const json_t *item, const char *word);

/* The merged list of both, a new reference; `deletion`: what is in patch goes. */
MUST_CHECK int strategic_list(const struct strategic *strategic,
			      const struct strategic_field *field, const json_t *original,
			      const json_t *patch, bool deletion, json_t **ret);
/* $setElementOrder: the list of this field in patch is merged, and put in order. */
MUST_CHECK int strategic_order(const struct strategic *strategic, const char *name,
			       const json_t *order, json_t *original, json_t *patch);
/* As Go names types: "[]interface {}". */
const char *strategic_go_type(const json_t *value);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types that values have before an expression is run. Whoever compiles expressions describes the
 * type of `self` with these structs (api/schema does it for the schemas of CRDs); the checker
 * refuses what does not fit, and values from JSON are read by the same description. */
#pragma once

#include <stdbool.h>

#include "base/map.h"

enum cel_kind {
	CEL_KIND_DYN, /* not known before there is a value */
	CEL_KIND_NULL,
	CEL_KIND_BOOL,
	CEL_KIND_INT,
	CEL_KIND_DOUBLE,
	CEL_KIND_STRING,
	CEL_KIND_LIST,
	CEL_KIND_MAP,
	CEL_KIND_OBJECT,
	CEL_KIND_RESOURCE, /* an object with apiVersion, kind and metadata */
	CEL_KIND_METADATA,
	CEL_KIND_OPTIONAL,
	CEL_KIND_OTHER, /* times and bytes, which have no operations here */
};

/* Two types of kind OBJECT are the same only if they are the same struct. The caller keeps all of
 * it alive and unchanged as long as expressions and values refer to it. */
struct cel_type {
	enum cel_kind kind;
	bool hidden;	/* the API server knows no type for it: expressions cannot select it */
	bool unordered; /* a list that is compared without regard to order */
	const struct cel_type *items;  /* of a list's items; NULL: not known */
	const struct cel_type *values; /* of a map's values; NULL: not known, or no map */
	struct map fields;	       /* of an object: name -> struct cel_type * */
};

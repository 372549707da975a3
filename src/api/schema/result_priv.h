/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of a validation, collected while an object is walked. */
#pragma once

#include "api/fielderr.h"
#include "base/compiler.h"
#include "base/regex/regex.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* The errors below one place, and the number of checks that succeeded, which decides between
 * alternatives. */
struct schema_result {
	struct api_errors errs;
	VEC(char *) keys; /* for each error, the text by which equal ones are found */
	unsigned n_passed;
};

/* A value's place in the object: a member of another value, or an item of it. Paths are written only
 * for errors. */
struct schema_place {
	const struct schema_place *around; /* NULL: where the walk began */
	const char *key;		   /* NULL: an item */
	size_t index;
};

/* One walk over an object. */
struct schema_walk {
	struct regex_scratch *scratch;
	const struct schema_place *place; /* of the current value; NULL: where the walk began */
	const char *under;     /* where the walk began: "" or "status"; messages leave it out */
	unsigned alternatives; /* nesting depth in anyOf, oneOf, allOf and not */
};

/* Appends the path of the current value: "spec.list[1].name". */
void schema_walk_path(const struct schema_walk *walk, struct strbuf *out);
void schema_result_done(struct schema_result *result);
/* Adds `from` and empties it. */
void schema_result_merge(struct schema_result *result, struct schema_result *from);
/* An error at the walk's path, whose text goes on with `fmt`: "spec.x in body should be ...". */
void schema_result_add(struct schema_result *result, const struct schema_walk *walk,
		       enum api_fielderr_type type, const char *value, const char *fmt, ...)
	PRINTF_LIKE(5, 6);
/* An error without a place of its own. */
void schema_result_add_global(struct schema_result *result, const struct schema_walk *walk,
			      const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The type checker. */
#pragma once

#include "cel/parse.h"
#include "base/err_text.h"

/* Checks an expression against the declared types: 0, or ERR_TYPE with a sentence in `err`. */
MUST_CHECK int cel_check(const struct cel_expr *expr, const struct cel_env *env,
			 struct arena *arena, struct err_text err);

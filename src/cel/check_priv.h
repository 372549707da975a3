/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The type checker. */
#pragma once

#include "base/err_text.h"
#include "cel/parse.h"

/* Checks an expression against the declared types: 0, or ERR_TYPE with a sentence in `err`. */
MUST_CHECK int cel_check(const struct cel_expr *expr, const struct cel_env *env,
			 struct arena *arena, struct err_text err);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What expressions of `view` and of template's `var` and `expr` may ask about a query. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/srcpos.h"
#include "expr/expr.h"

struct query;

/* The context of one evaluation (expr_run.ctx). */
struct exprenv {
	struct query *q;
	/* Text of a group of the pattern that matched, by name or number; NULL: no groups. */
	struct slice (*group)(const void *ctx, struct slice key);
	const void *group_ctx;
	/* Set by evaluation: other plugins were asked, which may keep what they took of the
	 * query's arena. */
	bool asked_others;
};

/* The functions; `group` comes last, so that an environment without it passes a count that is one
 * less. */
enum { EXPRENV_FUNCS = 16, EXPRENV_FUNCS_NO_GROUP = EXPRENV_FUNCS - 1 };
extern const struct expr_func exprenv_funcs[EXPRENV_FUNCS];

/* Parses the words joined by one blank. Errors are placed at the first word (or at `line` when
 * there is none) and start with `what` unless that is NULL. */
MUST_CHECK int exprenv_parse(const struct word *words, size_t count, const struct word *line,
			     const struct expr_env *env, const char *what, struct expr **ret,
			     struct srcerr *err);

/* Evaluates with the query's arena and scratch; the errors of expr_eval, without their text. */
MUST_CHECK int exprenv_eval(const struct expr *expr, struct exprenv *env,
			    const struct expr_value *vars, struct expr_value *ret);
/* True when the value is the boolean true; anything else counts as false. */
static inline bool exprenv_is_true(const struct expr_value *value)
{
	return value->type == EXPR_BOOL && value->b;
}

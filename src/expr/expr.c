/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public face: parse, ask, evaluate, free. */
#include "expr/expr.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "expr/builtin_priv.h"
#include "expr/check_priv.h"
#include "expr/eval_priv.h"
#include "expr/expr_priv.h"
#include "expr/fold_priv.h"
#include "expr/lex_priv.h"
#include "expr/parse_priv.h"
#include "expr/pattern_priv.h"
#include "expr/run_priv.h"

static const enum expr_type type_of_shape[SHAPE_COUNT] = {
	[SHAPE_UNKNOWN] = EXPR_ANY,	[SHAPE_ANY] = EXPR_ANY,	    [SHAPE_NIL] = EXPR_NIL,
	[SHAPE_BOOL] = EXPR_BOOL,	[SHAPE_INT] = EXPR_INT,	    [SHAPE_FLOAT] = EXPR_FLOAT,
	[SHAPE_STRING] = EXPR_STRING,	[SHAPE_BYTES] = EXPR_BYTES, [SHAPE_LIST] = EXPR_LIST,
	[SHAPE_STRINGS] = EXPR_STRINGS, [SHAPE_MAP] = EXPR_MAP,	    [SHAPE_ANYMAP] = EXPR_ANYMAP,
	[SHAPE_GROUPS] = EXPR_ANYMAP,	[SHAPE_INTS] = EXPR_LIST,   [SHAPE_FLOATS] = EXPR_LIST,
};

int expr_parse(struct slice text, struct srcpos base, const struct expr_env *env, struct expr **ret,
	       struct srcerr *reterr)
{
	if (text.n > EXPR_TEXT_MAX)
		return srcerr_set(reterr, base, "expression is longer than %d bytes",
				  EXPR_TEXT_MAX);
	CLEANUP(expr_freep) struct expr *e = xcalloc(1, sizeof(*e));
	arena_init(&e->arena);
	e->text = (struct slice){ arena_strndup(&e->arena, text.p, text.n), text.n };
	struct parser p = {
		.lx = { .text = e->text, .arena = &e->arena, .err = reterr, .base = base },
		.e = e,
		.env = env
	};
	e->root = expr_parse_tree(&p);
	if (e->root == NULL)
		return ERR_PARSE;
	int r = expr_check(&p, e->root);
	if (r == 0)
		r = expr_fold(&p, e->root);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(e);
	return 0;
}

void expr_free(struct expr *expr)
{
	if (expr == NULL)
		return;
	expr_patterns_free(expr->patterns);
	arena_done(&expr->arena);
	free(expr);
}

enum expr_type expr_type(const struct expr *expr)
{
	return type_of_shape[expr->root->type.shape];
}

const struct expr_value *expr_constant(const struct expr *expr)
{
	return expr->root->kind == NODE_CONST ? &expr->root->val : NULL;
}

bool expr_uses_regex(const struct expr *expr)
{
	return expr->patterns != NULL;
}

unsigned expr_regex_groups(const struct expr *expr)
{
	return expr->max_groups;
}

bool expr_reserved_name(struct slice name)
{
	static const char *const words[] = { "true",	 "false",      "nil",	   "not",  "in",
					     "or",	 "and",	       "matches",  "let",  "if",
					     "contains", "startsWith", "endsWith", "else", "type" };
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (slice_is(name, words[i]))
			return true;
	}
	return expr_find_builtin(name) != NULL;
}

int expr_eval(const struct expr *expr, const struct expr_run *run, struct expr_value *ret,
	      char *errtext, size_t n_errtext)
{
	struct ev ev = { .e = expr, .run = run, .errtext = errtext, .n_errtext = n_errtext };
	int r = 0;
	if (n_errtext > 0)
		errtext[0] = '\0';
	if (expr->n_slots > 0) {
		ev.slots = expr_alloc_values(&ev, expr->n_slots);
		if (ev.slots == NULL)
			return ERR_LIMIT;
	}
	r = expr_eval_node(&ev, expr->root, ret);
	if (r < 0 && ev.err_node != NULL && n_errtext > 0) {
		unsigned line, col;
		size_t used = strlen(errtext);
		expr_line_col(expr->text, ev.err_node->at, &line, &col);
		snprintf(errtext + used, n_errtext - used, " (%u:%u)", line, col);
	}
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folds constants after the check, as expr-lang's optimiser does where it can be noticed: literal
 * arithmetic, `and`/`or` with a constant side, constant lists, early ends of count(). Patterns of
 * `matches` become regexes here; one that is not constant is refused. */
#include "expr/fold_priv.h"

#include "base/err.h"
#include "expr/eval_priv.h"
#include "expr/expr_priv.h"
#include "expr/lex_priv.h"
#include "expr/pattern_priv.h"
#include "expr/value_priv.h"

static bool is_scalar_const(const struct node *node)
{
	return node->kind == NODE_CONST && node->val.type >= EXPR_BOOL &&
	       node->val.type <= EXPR_STRING;
}

static bool is_const(const struct node *node, enum expr_type type)
{
	return node->kind == NODE_CONST && node->val.type == type;
}

static void set_const(struct node *node, struct expr_value value)
{
	node->kind = NODE_CONST;
	node->val = value;
	node->calls = false;
}

static bool is_bool_const(const struct node *node, bool value)
{
	return is_const(node, EXPR_BOOL) && node->val.b == value;
}

/* `true and x` is x, `false and x` is false; with `or` the other way round. */
static void fold_logic(struct node *node)
{
	bool neutral = node->op == OP_AND;
	if (is_bool_const(node->a, neutral))
		*node = *node->b;
	else if (is_bool_const(node->b, neutral))
		*node = *node->a;
	else if (is_bool_const(node->a, !neutral) || is_bool_const(node->b, !neutral))
		set_const(node, expr_bool(!neutral));
}

static void fold_unary(struct node *node)
{
	if (node->op == OP_NOT && is_const(node->a, EXPR_BOOL))
		set_const(node, expr_bool(!node->a->val.b));
	else if (node->op == OP_NEG && is_const(node->a, EXPR_INT))
		set_const(node, expr_int((int64_t) - (uint64_t)node->a->val.i));
	else if (node->op == OP_NEG && is_const(node->a, EXPR_FLOAT))
		set_const(node, expr_float(-node->a->val.f));
	else if (node->op == OP_PLUS && node->a->kind == NODE_CONST &&
		 expr_is_number(&node->a->val))
		set_const(node, node->a->val);
}

static int fold_arith(struct parser *parser, struct node *node)
{
	char text[64];
	struct expr_run run = { .arena = &parser->e->arena };
	struct ev ev = { .e = parser->e, .run = &run, .errtext = text, .n_errtext = sizeof(text) };
	struct expr_value v;
	if (node->op == OP_MOD && node->b->val.i == 0)
		return expr_error_at(&parser->lx, node->at, "integer divide by zero");
	if (expr_arith(&ev, node->op, &node->a->val, &node->b->val, &v) == 0)
		set_const(node, v);
	return 0;
}

static int fold_matches(struct parser *parser, struct node *node)
{
	struct slice pattern = { NULL, 0 };
	if (node->re != NULL)
		return 0;
	if (is_const(node->b, EXPR_STRING)) {
		pattern = node->b->val.s;
	} else if (node->b->kind == NODE_VAR) {
		const struct expr_value *v = parser->env->vars[node->b->index].constant;
		if (v != NULL && v->type == EXPR_STRING)
			pattern = v->s;
	}
	if (pattern.p == NULL)
		return expr_error_at(&parser->lx, node->b->at,
				     "matches is supported only with a constant pattern");
	return expr_pattern_new(parser, node, pattern, &node->re);
}

/* count(list, p) > 3 need not look further than the fourth. */
static void fold_count(struct node *node)
{
	struct node *count = node->a;
	if (count->kind != NODE_BUILTIN || count->builtin->form != FORM_LOOP ||
	    count->builtin->loop != LOOP_COUNT || count->n_args != 2 ||
	    !is_const(node->b, EXPR_INT) || node->b->val.i < 0 || node->b->val.i > EXPR_MEMORY_MAX)
		return;
	uint32_t limit = (uint32_t)node->b->val.i + (node->op == OP_GT || node->op == OP_LE);
	if (limit > 1 || (limit == 1 && (node->op == OP_GT || node->op == OP_GE)))
		count->index = limit;
}

static int fold_binary(struct parser *parser, struct node *node)
{
	bool both = is_scalar_const(node->a) && is_scalar_const(node->b);
	switch (node->op) {
	case OP_AND:
	case OP_OR:
		fold_logic(node);
		return 0;
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_DIV:
	case OP_MOD:
	case OP_POW:
		return both ? fold_arith(parser, node) : 0;
	case OP_EQ:
		if (both && node->a->val.type == node->b->val.type &&
		    node->a->val.type != EXPR_FLOAT)
			set_const(node, expr_bool(expr_key_cmp(&node->a->val, &node->b->val) == 0));
		return 0;
	case OP_MATCHES:
		return fold_matches(parser, node);
	case OP_LT:
	case OP_GT:
	case OP_GE:
	case OP_LE:
		fold_count(node);
		return 0;
	case OP_PIPE:
	case OP_NE:
	case OP_IN:
	case OP_CONTAINS:
	case OP_STARTS:
	case OP_ENDS:
	case OP_RANGE:
	case OP_COALESCE:
	case OP_NOT:
	case OP_NEG:
	case OP_PLUS:
		return 0;
	}
	return 0;
}

static void fold_array(struct parser *parser, struct node *node)
{
	for (uint32_t i = 0; i < node->n_args; i++) {
		if (!is_scalar_const(node->args[i]))
			return;
	}
	if (node->n_args == 0)
		return;
	struct expr_value *v = arena_alloc(&parser->e->arena, node->n_args * sizeof(*v));
	struct expr_value list = { .type = EXPR_LIST, .depth = 1 };
	for (uint32_t i = 0; i < node->n_args; i++)
		v[i] = node->args[i]->val;
	list.list.v = v;
	list.list.n = node->n_args;
	set_const(node, list);
}

static int fold_children(struct parser *parser, struct node *node)
{
	struct node *kids[] = { node->a, node->b, node->c };
	node->calls = node->kind == NODE_CALL;
	for (size_t i = 0; i < ARRAY_LEN(kids); i++) {
		int r = kids[i] != NULL ? expr_fold(parser, kids[i]) : 0;
		if (r < 0)
			return r;
		node->calls = node->calls || (kids[i] != NULL && kids[i]->calls);
	}
	for (uint32_t i = 0; i < node->n_args; i++) {
		int r = expr_fold(parser, node->args[i]);
		if (r < 0)
			return r;
		node->calls = node->calls || node->args[i]->calls;
	}
	return 0;
}

int expr_fold(struct parser *parser, struct node *node)
{
	if (node->folded)
		return 0;
	node->folded = true;
	int r = fold_children(parser, node);
	if (r < 0)
		return r;
	if (node->kind == NODE_UNARY)
		fold_unary(node);
	else if (node->kind == NODE_BINARY)
		return fold_binary(parser, node);
	else if (node->kind == NODE_ARRAY)
		fold_array(parser, node);
	return 0;
}

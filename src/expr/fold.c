/* Folds constants after the check, as expr-lang's optimiser does where it can be noticed: literal
 * arithmetic, `and`/`or` with a constant side, constant lists, early ends of count(). Patterns of
 * `matches` become regexes here; one that is not constant is refused. */
#include "base/err.h"
#include "expr/expr_priv.h"

static bool is_scalar_const(const struct node *n)
{
	return n->kind == NODE_CONST && n->val.type >= EXPR_BOOL && n->val.type <= EXPR_STRING;
}

static bool is_const(const struct node *n, enum expr_type type)
{
	return n->kind == NODE_CONST && n->val.type == type;
}

static void set_const(struct node *n, struct expr_value v)
{
	n->kind = NODE_CONST;
	n->val = v;
	n->calls = false;
}

static bool is_bool_const(const struct node *n, bool b)
{
	return is_const(n, EXPR_BOOL) && n->val.b == b;
}

/* `true and x` is x, `false and x` is false; with `or` the other way round. */
static void fold_logic(struct node *n)
{
	bool neutral = n->op == OP_AND;
	if (is_bool_const(n->a, neutral))
		*n = *n->b;
	else if (is_bool_const(n->b, neutral))
		*n = *n->a;
	else if (is_bool_const(n->a, !neutral) || is_bool_const(n->b, !neutral))
		set_const(n, expr_bool(!neutral));
}

static void fold_unary(struct node *n)
{
	if (n->op == OP_NOT && is_const(n->a, EXPR_BOOL))
		set_const(n, expr_bool(!n->a->val.b));
	else if (n->op == OP_NEG && is_const(n->a, EXPR_INT))
		set_const(n, expr_int((int64_t) - (uint64_t)n->a->val.i));
	else if (n->op == OP_NEG && is_const(n->a, EXPR_FLOAT))
		set_const(n, expr_float(-n->a->val.f));
	else if (n->op == OP_PLUS && n->a->kind == NODE_CONST && expr_is_number(&n->a->val))
		set_const(n, n->a->val);
}

static int fold_arith(struct parser *p, struct node *n)
{
	char text[64];
	struct expr_run run = { .arena = &p->e->arena };
	struct ev ev = { .e = p->e, .run = &run, .errtext = text, .n_errtext = sizeof(text) };
	struct expr_value v;
	if (n->op == OP_MOD && n->b->val.i == 0)
		return expr_error_at(&p->lx, n->at, "integer divide by zero");
	if (expr_arith(&ev, n->op, &n->a->val, &n->b->val, &v) == 0)
		set_const(n, v);
	return 0;
}

static int fold_matches(struct parser *p, struct node *n)
{
	struct slice pattern = { NULL, 0 };
	if (n->re != NULL)
		return 0;
	if (is_const(n->b, EXPR_STRING)) {
		pattern = n->b->val.s;
	} else if (n->b->kind == NODE_VAR) {
		const struct expr_value *v = p->env->vars[n->b->index].constant;
		if (v != NULL && v->type == EXPR_STRING)
			pattern = v->s;
	}
	if (pattern.p == NULL)
		return expr_error_at(&p->lx, n->b->at,
				     "matches is supported only with a constant pattern");
	return expr_pattern_new(p, n, pattern, &n->re);
}

/* count(list, p) > 3 need not look further than the fourth. */
static void fold_count(struct node *n)
{
	struct node *count = n->a;
	if (count->kind != NODE_BUILTIN || count->builtin->form != FORM_LOOP ||
	    count->builtin->loop != LOOP_COUNT || count->n_args != 2 || !is_const(n->b, EXPR_INT) ||
	    n->b->val.i < 0 || n->b->val.i > EXPR_MEMORY_MAX)
		return;
	uint32_t limit = (uint32_t)n->b->val.i + (n->op == OP_GT || n->op == OP_LE);
	if (limit > 1 || (limit == 1 && (n->op == OP_GT || n->op == OP_GE)))
		count->index = limit;
}

static int fold_binary(struct parser *p, struct node *n)
{
	bool both = is_scalar_const(n->a) && is_scalar_const(n->b);
	switch (n->op) {
	case OP_AND:
	case OP_OR:
		fold_logic(n);
		return 0;
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_DIV:
	case OP_MOD:
	case OP_POW:
		return both ? fold_arith(p, n) : 0;
	case OP_EQ:
		if (both && n->a->val.type == n->b->val.type && n->a->val.type != EXPR_FLOAT)
			set_const(n, expr_bool(expr_key_cmp(&n->a->val, &n->b->val) == 0));
		return 0;
	case OP_MATCHES:
		return fold_matches(p, n);
	case OP_LT:
	case OP_GT:
	case OP_GE:
	case OP_LE:
		fold_count(n);
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

static void fold_array(struct parser *p, struct node *n)
{
	for (uint32_t i = 0; i < n->n_args; i++) {
		if (!is_scalar_const(n->args[i]))
			return;
	}
	if (n->n_args == 0)
		return;
	struct expr_value *v = arena_alloc(&p->e->arena, n->n_args * sizeof(*v));
	struct expr_value list = { .type = EXPR_LIST, .depth = 1 };
	for (uint32_t i = 0; i < n->n_args; i++)
		v[i] = n->args[i]->val;
	list.list.v = v;
	list.list.n = n->n_args;
	set_const(n, list);
}

static int fold_children(struct parser *p, struct node *n)
{
	struct node *kids[] = { n->a, n->b, n->c };
	n->calls = n->kind == NODE_CALL;
	for (size_t i = 0; i < ARRAY_LEN(kids); i++) {
		int r = kids[i] != NULL ? expr_fold(p, kids[i]) : 0;
		if (r < 0)
			return r;
		n->calls = n->calls || (kids[i] != NULL && kids[i]->calls);
	}
	for (uint32_t i = 0; i < n->n_args; i++) {
		int r = expr_fold(p, n->args[i]);
		if (r < 0)
			return r;
		n->calls = n->calls || n->args[i]->calls;
	}
	return 0;
}

int expr_fold(struct parser *p, struct node *n)
{
	if (n->folded)
		return 0;
	n->folded = true;
	int r = fold_children(p, n);
	if (r < 0)
		return r;
	if (n->kind == NODE_UNARY)
		fold_unary(n);
	else if (n->kind == NODE_BINARY)
		return fold_binary(p, n);
	else if (n->kind == NODE_ARRAY)
		fold_array(p, n);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives every node its static type and refuses what cannot work, in expr-lang's words. Names are
 * resolved here: to let variables, environment variables and functions. */
#include "expr/check_priv.h"

#include "base/err.h"
#include "expr/builtin_priv.h"
#include "expr/check_builtin_priv.h"
#include "expr/pattern_priv.h"

static const char *const shape_names[SHAPE_COUNT] = {
	[SHAPE_UNKNOWN] = "unknown",
	[SHAPE_ANY] = "interface {}",
	[SHAPE_NIL] = "unknown",
	[SHAPE_BOOL] = "bool",
	[SHAPE_INT] = "int",
	[SHAPE_FLOAT] = "float64",
	[SHAPE_STRING] = "string",
	[SHAPE_BYTES] = "[]uint8",
	[SHAPE_LIST] = "[]interface {}",
	[SHAPE_STRINGS] = "[]string",
	[SHAPE_MAP] = "map[string]interface {}",
	[SHAPE_ANYMAP] = "map[interface {}]interface {}",
	[SHAPE_GROUPS] = "map[interface {}][]interface {}",
	[SHAPE_INTS] = "[]int",
	[SHAPE_FLOATS] = "[]float64",
};

static const enum shape shape_of_type[] = {
	[EXPR_NIL] = SHAPE_ANY,		[EXPR_BOOL] = SHAPE_BOOL,     [EXPR_INT] = SHAPE_INT,
	[EXPR_FLOAT] = SHAPE_FLOAT,	[EXPR_STRING] = SHAPE_STRING, [EXPR_BYTES] = SHAPE_BYTES,
	[EXPR_LIST] = SHAPE_LIST,	[EXPR_MAP] = SHAPE_MAP,	      [EXPR_ANYMAP] = SHAPE_ANYMAP,
	[EXPR_STRINGS] = SHAPE_STRINGS, [EXPR_ANY] = SHAPE_ANY,
};

static const char *const op_names[] = {
	[OP_PIPE] = "|",
	[OP_OR] = "or",
	[OP_AND] = "and",
	[OP_EQ] = "==",
	[OP_NE] = "!=",
	[OP_LT] = "<",
	[OP_GT] = ">",
	[OP_GE] = ">=",
	[OP_LE] = "<=",
	[OP_IN] = "in",
	[OP_MATCHES] = "matches",
	[OP_CONTAINS] = "contains",
	[OP_STARTS] = "startsWith",
	[OP_ENDS] = "endsWith",
	[OP_RANGE] = "..",
	[OP_ADD] = "+",
	[OP_SUB] = "-",
	[OP_MUL] = "*",
	[OP_DIV] = "/",
	[OP_MOD] = "%",
	[OP_POW] = "**",
	[OP_COALESCE] = "??",
	[OP_NOT] = "not",
	[OP_NEG] = "-",
	[OP_PLUS] = "+",
};

const char *expr_shape_name(enum shape shape)
{
	return shape_names[shape];
}

/* Go's kind: what a list literal compares its elements by. */
static int kind_of(struct stype type)
{
	if (type.shape == SHAPE_NIL)
		return SHAPE_UNKNOWN;
	if (is_array(type))
		return SHAPE_LIST;
	return is_map(type) ? SHAPE_MAP : (int)type.shape;
}

bool expr_check_assignable(struct stype from, struct stype to)
{
	if (from.shape == SHAPE_NIL && (to.shape == SHAPE_ANY || is_array(to) || is_map(to)))
		return true;
	if (from.shape == SHAPE_UNKNOWN || to.shape == SHAPE_UNKNOWN || from.shape == SHAPE_NIL ||
	    to.shape == SHAPE_NIL)
		return false;
	return to.shape == SHAPE_ANY || from.shape == to.shape;
}

static bool are_comparable(struct stype left, struct stype right)
{
	return is_unknown(left) || is_unknown(right) || left.shape == SHAPE_NIL ||
	       right.shape == SHAPE_NIL || (is_number(left) && is_number(right)) ||
	       (is_array(left) && is_array(right)) || expr_check_assignable(left, right);
}

struct stype expr_check_elem(struct stype type)
{
	if (type.shape == SHAPE_LIST && type.elem != NULL)
		return *type.elem;
	if (type.shape == SHAPE_STRINGS)
		return shape_type(SHAPE_STRING);
	if (type.shape == SHAPE_BYTES)
		return shape_type(SHAPE_INT);
	return shape_type(type.shape == SHAPE_GROUPS ? SHAPE_LIST : SHAPE_ANY);
}

struct stype expr_check_array_of(struct checker *checker, struct stype elem)
{
	return (struct stype){ .shape = SHAPE_LIST,
			       .elem = arena_memdup(&checker->p->e->arena, &elem, sizeof(elem)) };
}

int expr_check_args(struct checker *checker, const struct node *node)
{
	for (uint32_t i = 0; i < node->n_args; i++) {
		int r = expr_check_node(checker, node->args[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- names --- */

const struct expr_func *expr_find_func(const struct expr_env *env, struct slice name)
{
	for (size_t i = 0; i < env->n_funcs; i++) {
		if (slice_is(name, env->funcs[i].name))
			return &env->funcs[i];
	}
	return NULL;
}

const struct expr_var *expr_find_var(const struct expr_env *env, struct slice name)
{
	for (size_t i = 0; i < env->n_vars; i++) {
		if (slice_eq(name, env->vars[i].name))
			return &env->vars[i];
	}
	return NULL;
}

static int unknown_name(struct checker *checker, const struct node *node, struct slice name)
{
	return CHECK_ERROR(checker, node, "unknown name %.*s", (int)MIN(name.n, 200U), name.p);
}

/* An environment variable; functions are no values. */
static int resolve_env(struct checker *checker, struct node *node, struct slice name)
{
	const struct expr_env *env = checker->p->env;
	const struct expr_var *v = expr_find_var(env, name);
	if (v == NULL && expr_find_func(env, name) == NULL)
		return unknown_name(checker, node, name);
	if (v == NULL)
		return CHECK_ERROR(checker, node,
				   "%.*s is a function and must be called: %.*s(...)", (int)name.n,
				   name.p, (int)name.n, name.p);
	node->kind = NODE_VAR;
	node->index = (uint32_t)(v - env->vars);
	node->type = shape_type(shape_of_type[v->type]);
	return 0;
}

static int check_ident(struct checker *checker, struct node *node)
{
	struct slice name = node->name;
	for (const struct let_scope *s = checker->lets; s != NULL; s = s->up) {
		if (!slice_eq(s->name, name))
			continue;
		node->kind = NODE_LOCAL;
		node->index = s->index;
		node->type = s->type;
		return 0;
	}
	if (slice_is(name, "$env"))
		return CHECK_ERROR(checker, node, "$env is supported only as $env.name");
	const struct expr_env *env = checker->p->env;
	if (expr_find_builtin(name) != NULL && expr_find_func(env, name) == NULL &&
	    expr_find_var(env, name) == NULL)
		return CHECK_ERROR(checker, node,
				   "%.*s is a function and must be called: %.*s(...)", (int)name.n,
				   name.p, (int)name.n, name.p);
	return resolve_env(checker, node, name);
}

static int check_let(struct checker *checker, struct node *node)
{
	const struct expr_env *env = checker->p->env;
	struct slice name = node->name;
	const char *what = NULL;
	if (expr_find_func(env, name) != NULL || expr_find_var(env, name) != NULL)
		what = "";
	else if (expr_find_builtin(name) != NULL)
		what = "builtin ";
	for (const struct let_scope *s = checker->lets; s != NULL && what == NULL; s = s->up)
		what = slice_eq(s->name, name) ? "variable " : NULL;
	if (what != NULL)
		return CHECK_ERROR(checker, node, "cannot redeclare %s%.*s", what,
				   (int)MIN(name.n, 200U), name.p);
	int r = expr_check_node(checker, node->a);
	if (r < 0)
		return r;
	struct let_scope s = { .up = checker->lets,
			       .name = name,
			       .type = node->a->type,
			       .index = checker->lets != NULL ? checker->lets->index + 1 : 0 };
	node->index = s.index;
	checker->p->e->n_slots = MAX(checker->p->e->n_slots, s.index + 1);
	checker->lets = &s;
	r = expr_check_node(checker, node->b);
	checker->lets = s.up;
	node->type = node->b->type;
	return r;
}

static int check_pointer(struct checker *checker, struct node *node)
{
	const struct pred_scope *s = checker->pred;
	if (s == NULL)
		return CHECK_ERROR(checker, node, "cannot use pointer accessor outside predicate");
	if (node->kind == NODE_ELEM)
		node->type = is_unknown(s->collection) ? shape_type(SHAPE_UNKNOWN)
						       : expr_check_elem(s->collection);
	else if (node->kind == NODE_INDEX && s->has_index)
		node->type = shape_type(SHAPE_INT);
	else if (node->kind == NODE_ACC && s->has_acc)
		node->type = shape_type(SHAPE_UNKNOWN);
	else
		return CHECK_ERROR(checker, node, "unknown pointer #%.*s",
				   (int)MIN(node->name.n, 200U), node->name.p);
	return 0;
}

/* --- operators --- */

static int check_unary(struct checker *checker, struct node *node)
{
	int r = expr_check_node(checker, node->a);
	if (r < 0)
		return r;
	struct stype t = node->a->type;
	if (node->op == OP_NOT) {
		node->type = shape_type(SHAPE_BOOL);
		if (t.shape == SHAPE_BOOL || is_unknown(t))
			return 0;
	} else {
		node->type = is_unknown(t) ? shape_type(SHAPE_UNKNOWN) : t;
		if (is_number(t) || is_unknown(t))
			return 0;
	}
	bool bang = checker->p->lx.text.p[node->at] == '!';
	return CHECK_ERROR(checker, node, "invalid operation: %s (mismatched type %s)",
			   bang ? "!" : op_names[node->op], type_name(t));
}

static int fail_mismatch(struct checker *checker, const struct node *node)
{
	/* and, && and so on share an operator; the text has the one that was written. */
	const char *name = op_names[node->op], *at = checker->p->lx.text.p + node->at;
	if (node->op == OP_AND && at[0] == '&')
		name = "&&";
	else if (node->op == OP_OR && at[0] == '|')
		name = "||";
	else if (node->op == OP_AND && at[0] != 'a')
		name = "&&";
	else if (node->op == OP_POW && at[0] == '^')
		name = "^";
	return CHECK_ERROR(checker, node, "invalid operation: %s (mismatched types %s and %s)",
			   name, type_name(node->a->type), type_name(node->b->type));
}

/* Which operands an operator takes, and what it gives. */
enum { NUM = 1, STR = 2, BOOLEAN = 4, INTEGER = 8 };

static const struct {
	uint8_t takes;
	enum shape result; /* UNKNOWN: that of the operands */
} op_rules[] = {
	[OP_OR] = { BOOLEAN, SHAPE_BOOL },    [OP_AND] = { BOOLEAN, SHAPE_BOOL },
	[OP_LT] = { NUM | STR, SHAPE_BOOL },  [OP_GT] = { NUM | STR, SHAPE_BOOL },
	[OP_GE] = { NUM | STR, SHAPE_BOOL },  [OP_LE] = { NUM | STR, SHAPE_BOOL },
	[OP_MATCHES] = { STR, SHAPE_BOOL },   [OP_CONTAINS] = { STR, SHAPE_BOOL },
	[OP_STARTS] = { STR, SHAPE_BOOL },    [OP_ENDS] = { STR, SHAPE_BOOL },
	[OP_RANGE] = { INTEGER, SHAPE_LIST }, [OP_ADD] = { NUM | STR, SHAPE_UNKNOWN },
	[OP_SUB] = { NUM, SHAPE_UNKNOWN },    [OP_MUL] = { NUM, SHAPE_UNKNOWN },
	[OP_DIV] = { NUM, SHAPE_FLOAT },      [OP_MOD] = { INTEGER, SHAPE_INT },
	[OP_POW] = { NUM, SHAPE_FLOAT },
};

static unsigned class_of(struct stype type)
{
	static const uint8_t classes[SHAPE_COUNT] = { [SHAPE_BOOL] = BOOLEAN,
						      [SHAPE_INT] = NUM | INTEGER,
						      [SHAPE_FLOAT] = NUM,
						      [SHAPE_STRING] = STR };
	return classes[type.shape];
}

static int check_ruled(struct checker *checker, struct node *node)
{
	struct stype l = node->a->type, r = node->b->type;
	unsigned takes = op_rules[node->op].takes;
	unsigned both = is_unknown(l)	? (is_unknown(r) ? takes : class_of(r))
			: is_unknown(r) ? class_of(l)
					: class_of(l) & class_of(r);
	if (node->op == OP_MATCHES && l.shape == SHAPE_BYTES && r.shape == SHAPE_STRING)
		both = STR;
	if ((both & takes) == 0)
		return fail_mismatch(checker, node);
	node->type = shape_type(op_rules[node->op].result);
	if (node->op == OP_RANGE)
		node->type = expr_check_array_of(checker, shape_type(SHAPE_INT));
	if (node->type.shape == SHAPE_UNKNOWN && !is_unknown(l) && !is_unknown(r))
		node->type = l.shape == SHAPE_FLOAT ? l : r;
	return 0;
}

static int check_in(struct checker *checker, struct node *node)
{
	struct stype l = node->a->type, r = node->b->type;
	node->type = shape_type(SHAPE_BOOL);
	if (is_map(r)) {
		struct stype key = shape_type(r.shape == SHAPE_MAP ? SHAPE_STRING : SHAPE_ANY);
		if (!is_unknown(l) && !expr_check_assignable(l, key))
			return CHECK_ERROR(checker, node, "cannot use %s as type %s in map key",
					   type_name(l), type_name(key));
		return 0;
	}
	if (is_array(r)) {
		if (!are_comparable(l, expr_check_elem(r)))
			return CHECK_ERROR(checker, node, "cannot use %s as type %s in array",
					   type_name(l), type_name(expr_check_elem(r)));
		return 0;
	}
	if (is_unknown(r) || (is_unknown(l) && r.shape == SHAPE_STRING))
		return 0;
	return fail_mismatch(checker, node);
}

static void check_coalesce(struct node *node)
{
	struct stype l = node->a->type, r = node->b->type;
	if (l.shape == SHAPE_NIL)
		node->type = r;
	else if (r.shape == SHAPE_NIL || expr_check_assignable(r, l))
		node->type = l;
	else
		node->type = shape_type(SHAPE_UNKNOWN);
}

static int check_binary(struct checker *checker, struct node *node)
{
	int r = expr_check_node(checker, node->a);
	if (r == 0)
		r = expr_check_node(checker, node->b);
	if (r < 0)
		return r;
	if (node->op == OP_MATCHES && node->b->kind == NODE_CONST &&
	    node->b->val.type == EXPR_STRING) {
		r = expr_pattern_new(checker->p, node, node->b->val.s, &node->re);
		if (r < 0)
			return r;
	}
	if (node->op == OP_IN)
		return check_in(checker, node);
	if (node->op == OP_COALESCE) {
		check_coalesce(node);
		return 0;
	}
	if (node->op != OP_EQ && node->op != OP_NE)
		return check_ruled(checker, node);
	enum shape l = node->a->type.shape;
	node->type = shape_type(SHAPE_BOOL);
	node->strict = l == node->b->type.shape && (l == SHAPE_INT || l == SHAPE_STRING);
	return are_comparable(node->a->type, node->b->type) ? 0 : fail_mismatch(checker, node);
}

static int check_cond(struct checker *checker, struct node *node)
{
	int r = expr_check_node(checker, node->a);
	if (r < 0)
		return r;
	if (node->a->type.shape != SHAPE_BOOL && !is_unknown(node->a->type))
		return CHECK_ERROR(checker, node->a,
				   "non-bool expression (type %s) used as condition",
				   type_name(node->a->type));
	r = expr_check_node(checker, node->b);
	if (r == 0)
		r = expr_check_node(checker, node->c);
	if (r < 0)
		return r;
	struct stype t1 = node->b->type, t2 = node->c->type;
	if (t1.shape == SHAPE_NIL)
		node->type = t2;
	else if (t2.shape == SHAPE_NIL)
		node->type = t1;
	else if (!expr_check_assignable(t1, t2))
		node->type = shape_type(SHAPE_UNKNOWN);
	else if (is_array(t1) && is_array(t2) &&
		 (!expr_check_assignable(expr_check_elem(t1), expr_check_elem(t2)) ||
		  !expr_check_assignable(expr_check_elem(t2), expr_check_elem(t1))))
		node->type = shape_type(SHAPE_LIST);
	else
		node->type = t1;
	return 0;
}

/* --- members, calls --- */

static bool is_env(const struct node *node)
{
	return node->kind == NODE_IDENT && slice_is(node->name, "$env");
}

static bool is_text(const struct node *node)
{
	return node->kind == NODE_CONST && node->val.type == EXPR_STRING;
}

/* $env.name; with ?. the name need not exist. */
static int check_env_member(struct checker *checker, struct node *node)
{
	struct slice name = node->b->val.s;
	if (node->optional && expr_find_var(checker->p->env, name) == NULL &&
	    expr_find_func(checker->p->env, name) == NULL) {
		node->kind = NODE_CONST;
		node->val = expr_nil();
		node->type = shape_type(SHAPE_UNKNOWN);
		node->a = node->b = NULL;
		return 0;
	}
	int r = resolve_env(checker, node, name);
	if (r == 0)
		node->a = node->b = NULL;
	return r;
}

static int no_member(struct checker *checker, const struct node *node, bool method)
{
	struct stype base = node->a->type;
	if (!is_text(node->b))
		return CHECK_ERROR(checker, node, "type %s[%s] is undefined", type_name(base),
				   type_name(node->b->type));
	struct slice name = node->b->val.s;
	return CHECK_ERROR(checker, node, "type %s has no %s %.*s",
			   base.shape == SHAPE_NIL ? "nil" : type_name(base),
			   method ? "method" : "field", (int)MIN(name.n, 100U), name.p);
}

static int check_member(struct checker *checker, struct node *node, bool method)
{
	if (is_env(node->a) && is_text(node->b))
		return check_env_member(checker, node);
	int r = expr_check_node(checker, node->a);
	if (r == 0)
		r = expr_check_node(checker, node->b);
	if (r < 0)
		return r;
	struct stype base = node->a->type, key = node->b->type;
	node->type = shape_type(SHAPE_UNKNOWN);
	if (is_unknown(base))
		return 0;
	if (is_map(base)) {
		struct stype want = shape_type(base.shape == SHAPE_MAP ? SHAPE_STRING : SHAPE_ANY);
		if (!is_unknown(key) && !expr_check_assignable(key, want))
			return CHECK_ERROR(checker, node->b,
					   "cannot use %s to get an element from %s",
					   type_name(key), type_name(base));
	} else if (is_array(base)) {
		if (key.shape != SHAPE_INT && !is_unknown(key))
			return CHECK_ERROR(checker, node->b,
					   "array elements can only be selected using an integer "
					   "(got %s)",
					   type_name(key));
	} else {
		return no_member(checker, node, method);
	}
	node->type = expr_check_elem(base);
	return 0;
}

static int check_slice(struct checker *checker, struct node *node)
{
	struct node *ends[] = { node->b, node->c };
	int r = expr_check_node(checker, node->a);
	if (r < 0)
		return r;
	struct stype t = node->a->type;
	if (!is_unknown(t) && !is_array(t) && t.shape != SHAPE_STRING)
		return CHECK_ERROR(checker, node, "cannot slice %s", type_name(t));
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends[i] == NULL)
			continue;
		r = expr_check_node(checker, ends[i]);
		if (r < 0)
			return r;
		if (ends[i]->type.shape != SHAPE_INT && !is_unknown(ends[i]->type))
			return CHECK_ERROR(checker, ends[i], "non-integer slice index %s",
					   type_name(ends[i]->type));
	}
	node->type = is_unknown(t) ? shape_type(SHAPE_UNKNOWN) : t;
	return 0;
}

/* The type of the let or environment variable of that name, or NULL. */
static const char *variable_type(const struct checker *checker, struct slice name)
{
	for (const struct let_scope *s = checker->lets; s != NULL; s = s->up) {
		if (slice_eq(s->name, name))
			return type_name(s->type);
	}
	const struct expr_var *v = expr_find_var(checker->p->env, name);
	return v != NULL ? expr_shape_name(shape_of_type[v->type]) : NULL;
}

/* The function a call names, or NULL with the error set. */
static const struct expr_func *find_callee(struct checker *checker, struct node *node)
{
	const char *variable = node->a == NULL ? variable_type(checker, node->name) : NULL;
	const struct expr_func *f = NULL;
	if (variable == NULL && (node->a == NULL || (is_env(node->a->a) && is_text(node->a->b))))
		f = expr_find_func(checker->p->env, node->name);
	if (f != NULL)
		return f;
	if (node->a != NULL && check_member(checker, node->a, true) < 0)
		return NULL;
	if (variable != NULL)
		CHECK_ERROR(checker, node, "%s is not callable", variable);
	else if (node->a == NULL)
		IGNORE(unknown_name(checker, node, node->name)); /* NULL says it */
	else
		CHECK_ERROR(checker, node, "%.*s is not callable", (int)MIN(node->name.n, 100U),
			    node->name.p);
	return NULL;
}

static int check_call(struct checker *checker, struct node *node)
{
	enum shape params[EXPR_FUNC_ARGS_MAX];
	node->func = find_callee(checker, node);
	if (node->func == NULL)
		return ERR_PARSE;
	for (unsigned i = 0; i < node->func->n_args; i++)
		params[i] = shape_of_type[node->func->args[i]];
	int r = expr_check_params(checker, node, node->name, params, node->func->n_args);
	node->type = shape_type(shape_of_type[node->func->result]);
	return r > 0 ? ERR_PARSE : r;
}

/* --- the rest --- */

static int check_const(struct checker *checker, struct node *node)
{
	(void)checker;
	node->type =
		shape_type(node->val.type == EXPR_NIL ? SHAPE_NIL : shape_of_type[node->val.type]);
	return 0;
}

static int check_array(struct checker *checker, struct node *node)
{
	struct stype elem = shape_type(SHAPE_UNKNOWN);
	bool same = true;
	int r = expr_check_args(checker, node);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < node->n_args; i++) {
		same = same && (i == 0 || kind_of(node->args[i]->type) == kind_of(elem));
		elem = node->args[i]->type;
	}
	node->type = same ? expr_check_array_of(checker, elem) : shape_type(SHAPE_LIST);
	return 0;
}

static int check_map(struct checker *checker, struct node *node)
{
	node->type = shape_type(SHAPE_MAP);
	return expr_check_args(checker, node);
}

static int check_seq(struct checker *checker, struct node *node)
{
	int r = expr_check_args(checker, node);
	node->type = node->args[node->n_args - 1]->type;
	return r;
}

/* Chains and predicates are of the type of what they hold. */
static int check_inner(struct checker *checker, struct node *node)
{
	int r = expr_check_node(checker, node->a);
	node->type = node->a->type;
	return r;
}

static int check_plain_member(struct checker *checker, struct node *node)
{
	return check_member(checker, node, false);
}

static int (*const checks[NODE_KINDS])(struct checker *c, struct node *n) = {
	[NODE_CONST] = check_const,
	[NODE_IDENT] = check_ident,
	[NODE_UNARY] = check_unary,
	[NODE_BINARY] = check_binary,
	[NODE_MEMBER] = check_plain_member,
	[NODE_CHAIN] = check_inner,
	[NODE_SLICE] = check_slice,
	[NODE_CALL] = check_call,
	[NODE_BUILTIN] = expr_check_builtin,
	[NODE_PREDICATE] = check_inner,
	[NODE_ELEM] = check_pointer,
	[NODE_INDEX] = check_pointer,
	[NODE_ACC] = check_pointer,
	[NODE_POINTER] = check_pointer,
	[NODE_LET] = check_let,
	[NODE_SEQ] = check_seq,
	[NODE_COND] = check_cond,
	[NODE_ARRAY] = check_array,
	[NODE_MAP] = check_map,
};

int expr_check_node(struct checker *checker, struct node *node)
{
	if (node->checked)
		return 0;
	node->checked = true;
	return checks[node->kind](checker, node);
}

int expr_check(struct parser *parser, struct node *node)
{
	struct checker c = { .p = parser };
	return expr_check_node(&c, node);
}

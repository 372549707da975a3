/* Gives every node its static type and refuses what cannot work, in expr-lang's words. Names are
 * resolved here: to let variables, environment variables and functions. */
#include "expr/check_priv.h"

#include "base/err.h"

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

const char *expr_shape_name(enum shape s)
{
	return shape_names[s];
}

/* Go's kind: what a list literal compares its elements by. */
static int kind_of(struct stype t)
{
	if (t.shape == SHAPE_NIL)
		return SHAPE_UNKNOWN;
	if (is_array(t))
		return SHAPE_LIST;
	return is_map(t) ? SHAPE_MAP : (int)t.shape;
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

static bool comparable(struct stype l, struct stype r)
{
	return is_unknown(l) || is_unknown(r) || l.shape == SHAPE_NIL || r.shape == SHAPE_NIL ||
	       (is_number(l) && is_number(r)) || (is_array(l) && is_array(r)) ||
	       expr_check_assignable(l, r);
}

struct stype expr_check_elem(struct stype t)
{
	if (t.shape == SHAPE_LIST && t.elem != NULL)
		return *t.elem;
	if (t.shape == SHAPE_STRINGS)
		return of(SHAPE_STRING);
	if (t.shape == SHAPE_BYTES)
		return of(SHAPE_INT);
	return of(t.shape == SHAPE_GROUPS ? SHAPE_LIST : SHAPE_ANY);
}

struct stype expr_check_array_of(struct checker *c, struct stype elem)
{
	return (struct stype){ .shape = SHAPE_LIST,
			       .elem = arena_memdup(&c->p->e->arena, &elem, sizeof(elem)) };
}

int expr_check_args(struct checker *c, const struct node *n)
{
	for (uint32_t i = 0; i < n->n_args; i++) {
		int r = expr_check_node(c, n->args[i]);
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

static int unknown_name(struct checker *c, const struct node *n, struct slice name)
{
	return CHECK_ERROR(c, n, "unknown name %.*s", (int)MIN(name.n, 200U), name.p);
}

/* An environment variable; functions are no values. */
static int resolve_env(struct checker *c, struct node *n, struct slice name)
{
	const struct expr_env *env = c->p->env;
	const struct expr_var *v = expr_find_var(env, name);
	if (v == NULL && expr_find_func(env, name) == NULL)
		return unknown_name(c, n, name);
	if (v == NULL)
		return CHECK_ERROR(c, n, "%.*s is a function and must be called: %.*s(...)",
				   (int)name.n, name.p, (int)name.n, name.p);
	n->kind = NODE_VAR;
	n->index = (uint32_t)(v - env->vars);
	n->type = of(shape_of_type[v->type]);
	return 0;
}

static int check_ident(struct checker *c, struct node *n)
{
	struct slice name = n->name;
	for (const struct let_scope *s = c->lets; s != NULL; s = s->up) {
		if (!slice_eq(s->name, name))
			continue;
		n->kind = NODE_LOCAL;
		n->index = s->index;
		n->type = s->type;
		return 0;
	}
	if (slice_is(name, "$env"))
		return CHECK_ERROR(c, n, "$env is supported only as $env.name");
	const struct expr_env *env = c->p->env;
	if (expr_find_builtin(name) != NULL && expr_find_func(env, name) == NULL &&
	    expr_find_var(env, name) == NULL)
		return CHECK_ERROR(c, n, "%.*s is a function and must be called: %.*s(...)",
				   (int)name.n, name.p, (int)name.n, name.p);
	return resolve_env(c, n, name);
}

static int check_let(struct checker *c, struct node *n)
{
	const struct expr_env *env = c->p->env;
	struct slice name = n->name;
	const char *what = NULL;
	if (expr_find_func(env, name) != NULL || expr_find_var(env, name) != NULL)
		what = "";
	else if (expr_find_builtin(name) != NULL)
		what = "builtin ";
	for (const struct let_scope *s = c->lets; s != NULL && what == NULL; s = s->up)
		what = slice_eq(s->name, name) ? "variable " : NULL;
	if (what != NULL)
		return CHECK_ERROR(c, n, "cannot redeclare %s%.*s", what, (int)MIN(name.n, 200U),
				   name.p);
	int r = expr_check_node(c, n->a);
	if (r < 0)
		return r;
	struct let_scope s = { .up = c->lets,
			       .name = name,
			       .type = n->a->type,
			       .index = c->lets != NULL ? c->lets->index + 1 : 0 };
	n->index = s.index;
	c->p->e->n_slots = MAX(c->p->e->n_slots, s.index + 1);
	c->lets = &s;
	r = expr_check_node(c, n->b);
	c->lets = s.up;
	n->type = n->b->type;
	return r;
}

static int check_pointer(struct checker *c, struct node *n)
{
	const struct pred_scope *s = c->pred;
	if (s == NULL)
		return CHECK_ERROR(c, n, "cannot use pointer accessor outside predicate");
	if (n->kind == NODE_ELEM)
		n->type = is_unknown(s->collection) ? of(SHAPE_UNKNOWN)
						    : expr_check_elem(s->collection);
	else if (n->kind == NODE_INDEX && s->has_index)
		n->type = of(SHAPE_INT);
	else if (n->kind == NODE_ACC && s->has_acc)
		n->type = of(SHAPE_UNKNOWN);
	else
		return CHECK_ERROR(c, n, "unknown pointer #%.*s", (int)MIN(n->name.n, 200U),
				   n->name.p);
	return 0;
}

/* --- operators --- */

static int check_unary(struct checker *c, struct node *n)
{
	int r = expr_check_node(c, n->a);
	if (r < 0)
		return r;
	struct stype t = n->a->type;
	if (n->op == OP_NOT) {
		n->type = of(SHAPE_BOOL);
		if (t.shape == SHAPE_BOOL || is_unknown(t))
			return 0;
	} else {
		n->type = is_unknown(t) ? of(SHAPE_UNKNOWN) : t;
		if (is_number(t) || is_unknown(t))
			return 0;
	}
	bool bang = c->p->lx.text.p[n->at] == '!';
	return CHECK_ERROR(c, n, "invalid operation: %s (mismatched type %s)",
			   bang ? "!" : op_names[n->op], type_name(t));
}

static int mismatch(struct checker *c, const struct node *n)
{
	/* and, && and so on share an operator; the text has the one that was written. */
	const char *name = op_names[n->op], *at = c->p->lx.text.p + n->at;
	if (n->op == OP_AND && at[0] == '&')
		name = "&&";
	else if (n->op == OP_OR && at[0] == '|')
		name = "||";
	else if (n->op == OP_AND && at[0] != 'a')
		name = "&&";
	else if (n->op == OP_POW && at[0] == '^')
		name = "^";
	return CHECK_ERROR(c, n, "invalid operation: %s (mismatched types %s and %s)", name,
			   type_name(n->a->type), type_name(n->b->type));
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

static unsigned class_of(struct stype t)
{
	static const uint8_t classes[SHAPE_COUNT] = { [SHAPE_BOOL] = BOOLEAN,
						      [SHAPE_INT] = NUM | INTEGER,
						      [SHAPE_FLOAT] = NUM,
						      [SHAPE_STRING] = STR };
	return classes[t.shape];
}

static int check_ruled(struct checker *c, struct node *n)
{
	struct stype l = n->a->type, r = n->b->type;
	unsigned takes = op_rules[n->op].takes;
	unsigned both = is_unknown(l)	? (is_unknown(r) ? takes : class_of(r))
			: is_unknown(r) ? class_of(l)
					: class_of(l) & class_of(r);
	if (n->op == OP_MATCHES && l.shape == SHAPE_BYTES && r.shape == SHAPE_STRING)
		both = STR;
	if ((both & takes) == 0)
		return mismatch(c, n);
	n->type = of(op_rules[n->op].result);
	if (n->op == OP_RANGE)
		n->type = expr_check_array_of(c, of(SHAPE_INT));
	if (n->type.shape == SHAPE_UNKNOWN && !is_unknown(l) && !is_unknown(r))
		n->type = l.shape == SHAPE_FLOAT ? l : r;
	return 0;
}

static int check_in(struct checker *c, struct node *n)
{
	struct stype l = n->a->type, r = n->b->type;
	n->type = of(SHAPE_BOOL);
	if (is_map(r)) {
		struct stype key = of(r.shape == SHAPE_MAP ? SHAPE_STRING : SHAPE_ANY);
		if (!is_unknown(l) && !expr_check_assignable(l, key))
			return CHECK_ERROR(c, n, "cannot use %s as type %s in map key",
					   type_name(l), type_name(key));
		return 0;
	}
	if (is_array(r)) {
		if (!comparable(l, expr_check_elem(r)))
			return CHECK_ERROR(c, n, "cannot use %s as type %s in array", type_name(l),
					   type_name(expr_check_elem(r)));
		return 0;
	}
	if (is_unknown(r) || (is_unknown(l) && r.shape == SHAPE_STRING))
		return 0;
	return mismatch(c, n);
}

static void check_coalesce(struct node *n)
{
	struct stype l = n->a->type, r = n->b->type;
	if (l.shape == SHAPE_NIL)
		n->type = r;
	else if (r.shape == SHAPE_NIL || expr_check_assignable(r, l))
		n->type = l;
	else
		n->type = of(SHAPE_UNKNOWN);
}

static int check_binary(struct checker *c, struct node *n)
{
	int r = expr_check_node(c, n->a);
	if (r == 0)
		r = expr_check_node(c, n->b);
	if (r < 0)
		return r;
	if (n->op == OP_MATCHES && n->b->kind == NODE_CONST && n->b->val.type == EXPR_STRING) {
		r = expr_pattern_new(c->p, n, n->b->val.s, &n->re);
		if (r < 0)
			return r;
	}
	if (n->op == OP_IN)
		return check_in(c, n);
	if (n->op == OP_COALESCE) {
		check_coalesce(n);
		return 0;
	}
	if (n->op != OP_EQ && n->op != OP_NE)
		return check_ruled(c, n);
	enum shape l = n->a->type.shape;
	n->type = of(SHAPE_BOOL);
	n->strict = l == n->b->type.shape && (l == SHAPE_INT || l == SHAPE_STRING);
	return comparable(n->a->type, n->b->type) ? 0 : mismatch(c, n);
}

static int check_cond(struct checker *c, struct node *n)
{
	int r = expr_check_node(c, n->a);
	if (r < 0)
		return r;
	if (n->a->type.shape != SHAPE_BOOL && !is_unknown(n->a->type))
		return CHECK_ERROR(c, n->a, "non-bool expression (type %s) used as condition",
				   type_name(n->a->type));
	r = expr_check_node(c, n->b);
	if (r == 0)
		r = expr_check_node(c, n->c);
	if (r < 0)
		return r;
	struct stype t1 = n->b->type, t2 = n->c->type;
	if (t1.shape == SHAPE_NIL)
		n->type = t2;
	else if (t2.shape == SHAPE_NIL)
		n->type = t1;
	else if (!expr_check_assignable(t1, t2))
		n->type = of(SHAPE_UNKNOWN);
	else if (is_array(t1) && is_array(t2) &&
		 (!expr_check_assignable(expr_check_elem(t1), expr_check_elem(t2)) ||
		  !expr_check_assignable(expr_check_elem(t2), expr_check_elem(t1))))
		n->type = of(SHAPE_LIST);
	else
		n->type = t1;
	return 0;
}

/* --- members, calls --- */

static bool is_env(const struct node *n)
{
	return n->kind == NODE_IDENT && slice_is(n->name, "$env");
}

static bool is_text(const struct node *n)
{
	return n->kind == NODE_CONST && n->val.type == EXPR_STRING;
}

/* $env.name; with ?. the name need not exist. */
static int check_env_member(struct checker *c, struct node *n)
{
	struct slice name = n->b->val.s;
	if (n->optional && expr_find_var(c->p->env, name) == NULL &&
	    expr_find_func(c->p->env, name) == NULL) {
		n->kind = NODE_CONST;
		n->val = expr_nil();
		n->type = of(SHAPE_UNKNOWN);
		n->a = n->b = NULL;
		return 0;
	}
	int r = resolve_env(c, n, name);
	if (r == 0)
		n->a = n->b = NULL;
	return r;
}

static int no_member(struct checker *c, const struct node *n, bool method)
{
	struct stype base = n->a->type;
	if (!is_text(n->b))
		return CHECK_ERROR(c, n, "type %s[%s] is undefined", type_name(base),
				   type_name(n->b->type));
	struct slice name = n->b->val.s;
	return CHECK_ERROR(c, n, "type %s has no %s %.*s",
			   base.shape == SHAPE_NIL ? "nil" : type_name(base),
			   method ? "method" : "field", (int)MIN(name.n, 100U), name.p);
}

static int check_member(struct checker *c, struct node *n, bool method)
{
	if (is_env(n->a) && is_text(n->b))
		return check_env_member(c, n);
	int r = expr_check_node(c, n->a);
	if (r == 0)
		r = expr_check_node(c, n->b);
	if (r < 0)
		return r;
	struct stype base = n->a->type, key = n->b->type;
	n->type = of(SHAPE_UNKNOWN);
	if (is_unknown(base))
		return 0;
	if (is_map(base)) {
		struct stype want = of(base.shape == SHAPE_MAP ? SHAPE_STRING : SHAPE_ANY);
		if (!is_unknown(key) && !expr_check_assignable(key, want))
			return CHECK_ERROR(c, n->b, "cannot use %s to get an element from %s",
					   type_name(key), type_name(base));
	} else if (is_array(base)) {
		if (key.shape != SHAPE_INT && !is_unknown(key))
			return CHECK_ERROR(c, n->b,
					   "array elements can only be selected using an integer "
					   "(got %s)",
					   type_name(key));
	} else {
		return no_member(c, n, method);
	}
	n->type = expr_check_elem(base);
	return 0;
}

static int check_slice(struct checker *c, struct node *n)
{
	struct node *ends[] = { n->b, n->c };
	int r = expr_check_node(c, n->a);
	if (r < 0)
		return r;
	struct stype t = n->a->type;
	if (!is_unknown(t) && !is_array(t) && t.shape != SHAPE_STRING)
		return CHECK_ERROR(c, n, "cannot slice %s", type_name(t));
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends[i] == NULL)
			continue;
		r = expr_check_node(c, ends[i]);
		if (r < 0)
			return r;
		if (ends[i]->type.shape != SHAPE_INT && !is_unknown(ends[i]->type))
			return CHECK_ERROR(c, ends[i], "non-integer slice index %s",
					   type_name(ends[i]->type));
	}
	n->type = is_unknown(t) ? of(SHAPE_UNKNOWN) : t;
	return 0;
}

/* The type of the let or environment variable of that name, or NULL. */
static const char *variable_type(const struct checker *c, struct slice name)
{
	for (const struct let_scope *s = c->lets; s != NULL; s = s->up) {
		if (slice_eq(s->name, name))
			return type_name(s->type);
	}
	const struct expr_var *v = expr_find_var(c->p->env, name);
	return v != NULL ? expr_shape_name(shape_of_type[v->type]) : NULL;
}

/* The function a call names, or NULL with the error set. */
static const struct expr_func *find_callee(struct checker *c, struct node *n)
{
	const char *variable = n->a == NULL ? variable_type(c, n->name) : NULL;
	const struct expr_func *f = NULL;
	if (variable == NULL && (n->a == NULL || (is_env(n->a->a) && is_text(n->a->b))))
		f = expr_find_func(c->p->env, n->name);
	if (f != NULL)
		return f;
	if (n->a != NULL && check_member(c, n->a, true) < 0)
		return NULL;
	if (variable != NULL)
		CHECK_ERROR(c, n, "%s is not callable", variable);
	else if (n->a == NULL)
		IGNORE(unknown_name(c, n, n->name)); /* NULL says it */
	else
		CHECK_ERROR(c, n, "%.*s is not callable", (int)MIN(n->name.n, 100U), n->name.p);
	return NULL;
}

static int check_call(struct checker *c, struct node *n)
{
	enum shape params[EXPR_FUNC_ARGS_MAX];
	n->func = find_callee(c, n);
	if (n->func == NULL)
		return ERR_PARSE;
	for (unsigned i = 0; i < n->func->n_args; i++)
		params[i] = shape_of_type[n->func->args[i]];
	int r = expr_check_params(c, n, n->name, params, n->func->n_args);
	n->type = of(shape_of_type[n->func->result]);
	return r > 0 ? ERR_PARSE : r;
}

/* --- the rest --- */

static int check_const(struct checker *c, struct node *n)
{
	(void)c;
	n->type = of(n->val.type == EXPR_NIL ? SHAPE_NIL : shape_of_type[n->val.type]);
	return 0;
}

static int check_array(struct checker *c, struct node *n)
{
	struct stype elem = of(SHAPE_UNKNOWN);
	bool same = true;
	int r = expr_check_args(c, n);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n->n_args; i++) {
		same = same && (i == 0 || kind_of(n->args[i]->type) == kind_of(elem));
		elem = n->args[i]->type;
	}
	n->type = same ? expr_check_array_of(c, elem) : of(SHAPE_LIST);
	return 0;
}

static int check_map(struct checker *c, struct node *n)
{
	n->type = of(SHAPE_MAP);
	return expr_check_args(c, n);
}

static int check_seq(struct checker *c, struct node *n)
{
	int r = expr_check_args(c, n);
	n->type = n->args[n->n_args - 1]->type;
	return r;
}

/* Chains and predicates are of the type of what they hold. */
static int check_inner(struct checker *c, struct node *n)
{
	int r = expr_check_node(c, n->a);
	n->type = n->a->type;
	return r;
}

static int check_plain_member(struct checker *c, struct node *n)
{
	return check_member(c, n, false);
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

int expr_check_node(struct checker *c, struct node *n)
{
	if (n->checked)
		return 0;
	n->checked = true;
	return checks[n->kind](c, n);
}

int expr_check(struct parser *p, struct node *n)
{
	struct checker c = { .p = p };
	return expr_check_node(&c, n);
}

/* CEL expressions into trees: precedence by table, macros and variables settled on the way. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/cel_priv.h"
#include "base/err.h"

struct parse {
	struct slice rest;
	struct cel_token t; /* the one that is looked at */
	struct arena *a;
	struct cel_expr *e;
	struct slice var[CEL_SLOTS_MAX];
	unsigned n_vars, nodes, depth;
	char *err;
	size_t err_n;
};

static int parse_expr(struct parse *p, struct cel_node **ret);

static int refuse(struct parse *p, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int refuse(struct parse *p, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(p->err, p->err_n, fmt, ap);
	va_end(ap);
	return code;
}

static int advance(struct parse *p)
{
	return cel_lex(&p->rest, p->a, &p->t, p->err, p->err_n);
}

static bool is_op(const struct parse *p, const char *op)
{
	return p->t.type == CEL_T_OP && slice_is(p->t.text, op);
}

static int expect(struct parse *p, const char *op)
{
	if (!is_op(p, op))
		return refuse(p, ERR_PARSE, "'%s' is missing", op);
	return advance(p);
}

static int make(struct parse *p, enum cel_op op, size_t n_args, struct cel_node **ret)
{
	if (++p->nodes > CEL_NODES_MAX) {
		refuse(p, ERR_LIMIT, "the expression is too long");
		return ERR_LIMIT;
	}
	struct cel_node *n = arena_calloc(p->a, sizeof(*n));
	n->op = op;
	n->arg = arena_calloc(p->a, (n_args + 1) * sizeof(struct cel_node *));
	n->n_args = n_args;
	*ret = n;
	return 0;
}

static int make_one(struct parse *p, enum cel_op op, struct cel_node *arg, struct cel_node **ret)
{
	int r = make(p, op, 1, ret);
	if (r >= 0)
		(*ret)->arg[0] = arg;
	return r;
}

static int make_two(struct parse *p, enum cel_op op, struct cel_node *a, struct cel_node *b,
		    struct cel_node **ret)
{
	int r = make(p, op, 2, ret);
	if (r < 0)
		return r;
	(*ret)->arg[0] = a;
	(*ret)->arg[1] = b;
	return 0;
}

static int make_literal(struct parse *p, struct cel_value v, struct cel_node **ret)
{
	int r = make(p, CEL_OP_LITERAL, 0, ret);
	if (r >= 0)
		(*ret)->literal = v;
	return r;
}

/* ---- lists of expressions ---- */

/* Expressions up to `end`, which is cut off too; with `pairs`, key: value. */
static int parse_list(struct parse *p, const char *end, bool pairs, enum cel_op op,
		      struct cel_node **ret)
{
	VEC(struct cel_node *) v = { 0 };
	int r = 0;
	while (r >= 0 && !is_op(p, end)) {
		struct cel_node *x = NULL;
		if (v.n != 0 && (r = expect(p, ",")) < 0)
			break;
		if (is_op(p, end) && op != CEL_OP_CALL)
			break; /* a comma may stand last */
		if ((r = parse_expr(p, &x)) < 0)
			break;
		vec_push(&v, x);
		if (pairs && ((r = expect(p, ":")) < 0 || (r = parse_expr(p, &x)) < 0))
			break;
		if (pairs)
			vec_push(&v, x);
	}
	if (r >= 0)
		r = expect(p, end);
	if (r >= 0)
		r = make(p, op, v.n, ret);
	if (r >= 0 && v.n != 0)
		memcpy((*ret)->arg, v.v, v.n * sizeof(*v.v));
	vec_done(&v);
	return MIN(r, 0);
}

/* ---- macros ---- */

static int parse_has(struct parse *p, struct cel_node **ret)
{
	struct cel_node *x;
	int r = parse_expr(p, &x);
	if (r < 0 || (r = expect(p, ")")) < 0)
		return r;
	if (x->op != CEL_OP_SELECT)
		return refuse(p, ERR_PARSE, "has() needs a field: has(self.x)");
	x->op = CEL_OP_HAS;
	*ret = x;
	return 0;
}

static const struct {
	const char *name;
	enum cel_loop loop;
} loops[] = {
	{ "all", CEL_ALL },	  { "exists", CEL_EXISTS }, { "exists_one", CEL_EXISTS_ONE },
	{ "filter", CEL_FILTER }, { "map", CEL_TRANSFORM },
};

/* `range.all(x, ...)`, behind its parenthesis. */
static int parse_loop(struct parse *p, enum cel_loop loop, struct cel_node *range,
		      struct cel_node **ret)
{
	struct cel_node *n;
	int r = make(p, CEL_OP_LOOP, 3, &n);
	if (r < 0)
		return r;
	if (p->t.type != CEL_T_NAME)
		return refuse(p, ERR_PARSE, "a macro needs the name of a variable");
	if (p->n_vars >= CEL_SLOTS_MAX)
		return refuse(p, ERR_LIMIT, "too many macros inside each other");
	n->loop = loop;
	n->arg[0] = range;
	n->n_args = 2;
	n->slot = p->n_vars++;
	p->var[n->slot] = p->t.text;
	if ((r = advance(p)) < 0 || (r = expect(p, ",")) < 0 || (r = parse_expr(p, &n->arg[1])) < 0)
		return r;
	if (loop == CEL_TRANSFORM && is_op(p, ",")) {
		if ((r = advance(p)) < 0 || (r = parse_expr(p, &n->arg[2])) < 0)
			return r;
		n->n_args = 3;
	}
	p->n_vars--;
	*ret = n;
	return expect(p, ")");
}

/* ---- calls and names ---- */

static int settle_pattern(struct parse *p, struct cel_node *n)
{
	struct srcerr err = { 0 };
	const struct cel_node *pattern = n->arg[1];
	if (pattern->op != CEL_OP_LITERAL || pattern->literal.type != CEL_STRING)
		return refuse(p, ERR_UNSUPPORTED, "matches() needs a literal pattern");
	int r = regex_new(pattern->literal.u.s, &n->re, &err);
	if (r < 0)
		return refuse(p, r, "%s", err.text);
	vec_push(&p->e->patterns, n->re);
	return 0;
}

static int parse_call(struct parse *p, struct slice name, struct cel_node *receiver,
		      struct cel_node **ret)
{
	struct cel_node *list, *n;
	int r = parse_list(p, ")", false, CEL_OP_CALL, &list);
	if (r < 0)
		return r;
	size_t first = receiver != NULL;
	if ((r = make(p, CEL_OP_CALL, list->n_args + first, &n)) < 0)
		return r;
	if (receiver != NULL)
		n->arg[0] = receiver;
	if (list->n_args != 0)
		memcpy(n->arg + first, list->arg, list->n_args * sizeof(struct cel_node *));
	n->fn = cel_function_find(name, receiver != NULL, n->n_args);
	if (n->fn == NULL)
		return refuse(p, ERR_UNSUPPORTED, "function '%.*s' is not supported", (int)name.n,
			      name.p);
	*ret = n;
	return strcmp(n->fn->name, "matches") == 0 ? settle_pattern(p, n) : 0;
}

static int parse_name(struct parse *p, struct cel_node **ret)
{
	struct slice name = p->t.text;
	int r = advance(p);
	if (r < 0)
		return r;
	if (slice_is(name, "true") || slice_is(name, "false"))
		return make_literal(p, cel_bool(slice_is(name, "true")), ret);
	if (slice_is(name, "null"))
		return make_literal(p, (struct cel_value){ .type = CEL_NULL }, ret);
	if (is_op(p, "(")) {
		if ((r = advance(p)) < 0)
			return r;
		return slice_is(name, "has") ? parse_has(p, ret) : parse_call(p, name, NULL, ret);
	}
	for (unsigned i = p->n_vars; i-- != 0;) {
		if (!slice_eq(name, p->var[i]))
			continue;
		if ((r = make(p, CEL_OP_SLOT, 0, ret)) < 0)
			return r;
		(*ret)->slot = i;
		p->e->uses_old = p->e->uses_old || i == CEL_SLOT_OLD;
		return 0;
	}
	return refuse(p, ERR_TYPE, "undeclared reference to '%.*s'", (int)name.n, name.p);
}

static int parse_primary(struct parse *p, struct cel_node **ret)
{
	struct cel_token t = p->t;
	int r;
	if (t.type == CEL_T_NAME)
		return parse_name(p, ret);
	if (is_op(p, "(")) {
		if ((r = advance(p)) < 0 || (r = parse_expr(p, ret)) < 0)
			return r;
		return expect(p, ")");
	}
	if (is_op(p, "[") || is_op(p, "{")) {
		bool map = is_op(p, "{");
		if ((r = advance(p)) < 0)
			return r;
		return parse_list(p, map ? "}" : "]", map, map ? CEL_OP_MAP : CEL_OP_LIST, ret);
	}
	if (t.type == CEL_T_END || t.type == CEL_T_OP)
		return refuse(p, ERR_PARSE, "a value is missing");
	if ((r = advance(p)) < 0)
		return r;
	struct cel_value v = { .type = CEL_STRING, .u.s = t.text };
	if (t.type == CEL_T_INT)
		v = cel_int(t.i);
	if (t.type == CEL_T_DOUBLE)
		v = (struct cel_value){ .type = CEL_DOUBLE, .u.d = t.d };
	return make_literal(p, v, ret);
}

/* Behind a dot: a field, a function or a macro. */
static int parse_member(struct parse *p, struct cel_node **x)
{
	struct slice name = p->t.text;
	struct cel_node *of = *x;
	int r;
	if (p->t.type != CEL_T_NAME)
		return refuse(p, ERR_PARSE, "a field's name is missing");
	if ((r = advance(p)) < 0)
		return r;
	if (!is_op(p, "(")) {
		if ((r = make_one(p, CEL_OP_SELECT, of, x)) >= 0)
			(*x)->name = cel_field_name(name, p->a);
		return r;
	}
	if ((r = advance(p)) < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(loops); i++) {
		if (slice_is(name, loops[i].name))
			return parse_loop(p, loops[i].loop, of, x);
	}
	return parse_call(p, name, of, x);
}

static int parse_postfix(struct parse *p, struct cel_node **ret)
{
	struct cel_node *key;
	int r = parse_primary(p, ret);
	while (r >= 0) {
		if (is_op(p, ".")) {
			if ((r = advance(p)) >= 0)
				r = parse_member(p, ret);
		} else if (is_op(p, "[")) {
			if ((r = advance(p)) >= 0 && (r = parse_expr(p, &key)) >= 0 &&
			    (r = expect(p, "]")) >= 0)
				r = make_two(p, CEL_OP_INDEX, *ret, key, ret);
		} else {
			break;
		}
	}
	return r;
}

static int parse_unary(struct parse *p, struct cel_node **ret)
{
	bool not = is_op(p, "!"), minus = is_op(p, "-");
	struct cel_node *x;
	if (!not &&!minus)
		return parse_postfix(p, ret);
	if (++p->depth > CEL_DEPTH_MAX)
		return refuse(p, ERR_LIMIT, "the expression is nested too deeply");
	int r = advance(p);
	if (r < 0 || (r = parse_unary(p, &x)) < 0)
		return r;
	p->depth--;
	return make_one(p, not ? CEL_OP_NOT : CEL_OP_NEGATE, x, ret);
}

/* ---- operators ---- */

enum { LEVELS = 5 };
static const struct {
	const char *text;
	int level; /* 0 binds least */
	enum cel_op op;
} binaries[] = {
	{ "||", 0, CEL_OP_OR }, { "&&", 1, CEL_OP_AND }, { "==", 2, CEL_OP_EQ },
	{ "!=", 2, CEL_OP_NE }, { "<", 2, CEL_OP_LT },	 { "<=", 2, CEL_OP_LE },
	{ ">", 2, CEL_OP_GT },	{ ">=", 2, CEL_OP_GE },	 { "in", 2, CEL_OP_IN },
	{ "+", 3, CEL_OP_ADD }, { "-", 3, CEL_OP_SUB },	 { "*", 4, CEL_OP_MUL },
	{ "/", 4, CEL_OP_DIV }, { "%", 4, CEL_OP_MOD },
};

static bool binary_here(const struct parse *p, int level, enum cel_op *ret)
{
	if (p->t.type != CEL_T_OP && p->t.type != CEL_T_NAME)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(binaries); i++) {
		if (binaries[i].level == level && slice_is(p->t.text, binaries[i].text)) {
			*ret = binaries[i].op;
			return true;
		}
	}
	return false;
}

static int parse_level(struct parse *p, int level, struct cel_node **ret)
{
	struct cel_node *right;
	enum cel_op op;
	if (level == LEVELS)
		return parse_unary(p, ret);
	int r = parse_level(p, level + 1, ret);
	/* A long chain makes a deep tree on its left side. */
	for (unsigned n = 0; r >= 0 && binary_here(p, level, &op); n++) {
		if (n + p->depth >= CEL_DEPTH_MAX)
			return refuse(p, ERR_LIMIT, "the expression is nested too deeply");
		if ((r = advance(p)) >= 0 && (r = parse_level(p, level + 1, &right)) >= 0)
			r = make_two(p, op, *ret, right, ret);
	}
	return r;
}

static int parse_expr(struct parse *p, struct cel_node **ret)
{
	struct cel_node *n, *cond;
	if (++p->depth > CEL_DEPTH_MAX)
		return refuse(p, ERR_LIMIT, "the expression is nested too deeply");
	int r = parse_level(p, 0, ret);
	if (r >= 0 && is_op(p, "?")) {
		cond = *ret;
		if ((r = make(p, CEL_OP_COND, 3, &n)) < 0 || (r = advance(p)) < 0 ||
		    (r = parse_level(p, 0, &n->arg[1])) < 0 || (r = expect(p, ":")) < 0 ||
		    (r = parse_expr(p, &n->arg[2])) < 0)
			return r;
		n->arg[0] = cond;
		*ret = n;
	}
	p->depth--;
	return r;
}

void cel_expr_done(struct cel_expr *e)
{
	if (e == NULL)
		return;
	for (size_t i = 0; i < e->patterns.n; i++)
		regex_free(e->patterns.v[i]);
	vec_done(&e->patterns);
}

int cel_parse(struct slice text, const struct cel_env *env, struct arena *a, struct cel_expr **ret,
	      char *err, size_t err_n)
{
	struct parse p = { .rest = text, .a = a, .err = err, .err_n = err_n };
	if (text.n > CEL_BYTES_MAX)
		return refuse(&p, ERR_LIMIT, "the expression is too long");
	p.e = arena_calloc(a, sizeof(*p.e));
	p.var[p.n_vars++] = SLICE("self");
	p.var[p.n_vars++] = SLICE("oldSelf");
	int r = advance(&p);
	if (r >= 0)
		r = parse_expr(&p, &p.e->root);
	if (r >= 0 && p.t.type != CEL_T_END)
		r = refuse(&p, ERR_PARSE, "something is left behind the expression's end");
	if (r >= 0)
		r = cel_check(p.e, env, a, err, err_n);
	if (r < 0) {
		cel_expr_done(p.e);
		return r;
	}
	*ret = p.e;
	return 0;
}

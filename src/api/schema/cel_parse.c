/* CEL expressions into trees: precedence by table, macros and variables settled on the way. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/schema/cel_priv.h"
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

static int refuse(struct parse *parse, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(parse->err, parse->err_n, fmt, ap);
	va_end(ap);
	return code;
}

static int advance(struct parse *parse)
{
	return cel_lex(&parse->rest, parse->a, &parse->t, parse->err, parse->err_n);
}

static bool is_op(const struct parse *parse, const char *op)
{
	return parse->t.type == CEL_T_OP && slice_is(parse->t.text, op);
}

static int expect(struct parse *parse, const char *op)
{
	if (!is_op(parse, op))
		return refuse(parse, ERR_PARSE, "'%s' is missing", op);
	return advance(parse);
}

static int make(struct parse *parse, enum cel_op op, size_t n_args, struct cel_node **ret)
{
	if (++parse->nodes > CEL_NODES_MAX) {
		refuse(parse, ERR_LIMIT, "the expression is too long");
		return ERR_LIMIT;
	}
	struct cel_node *n = arena_calloc(parse->a, sizeof(*n));
	n->op = op;
	n->arg = arena_calloc(parse->a, (n_args + 1) * sizeof(struct cel_node *));
	n->n_args = n_args;
	*ret = n;
	return 0;
}

static int make_one(struct parse *parse, enum cel_op op, struct cel_node *arg,
		    struct cel_node **ret)
{
	int r = make(parse, op, 1, ret);
	if (r >= 0)
		(*ret)->arg[0] = arg;
	return r;
}

static int make_two(struct parse *parse, enum cel_op op, struct cel_node *left,
		    struct cel_node *right, struct cel_node **ret)
{
	int r = make(parse, op, 2, ret);
	if (r < 0)
		return r;
	(*ret)->arg[0] = left;
	(*ret)->arg[1] = right;
	return 0;
}

static int make_literal(struct parse *parse, struct cel_value value, struct cel_node **ret)
{
	int r = make(parse, CEL_OP_LITERAL, 0, ret);
	if (r >= 0)
		(*ret)->literal = value;
	return r;
}

/* ---- lists of expressions ---- */

/* Expressions up to `end`, which is cut off too; with `pairs`, key: value. */
static int parse_list(struct parse *parse, const char *end, bool pairs, enum cel_op op,
		      struct cel_node **ret)
{
	VEC(struct cel_node *) v = { 0 };
	int r = 0;
	while (r >= 0 && !is_op(parse, end)) {
		struct cel_node *x = NULL;
		if (v.n != 0 && (r = expect(parse, ",")) < 0)
			break;
		if (is_op(parse, end) && op != CEL_OP_CALL)
			break; /* a comma may stand last */
		if ((r = parse_expr(parse, &x)) < 0)
			break;
		vec_push(&v, x);
		if (pairs && ((r = expect(parse, ":")) < 0 || (r = parse_expr(parse, &x)) < 0))
			break;
		if (pairs)
			vec_push(&v, x);
	}
	if (r >= 0)
		r = expect(parse, end);
	if (r >= 0)
		r = make(parse, op, v.n, ret);
	if (r >= 0 && v.n != 0)
		memcpy((*ret)->arg, v.v, v.n * sizeof(*v.v));
	vec_done(&v);
	return MIN(r, 0);
}

/* ---- macros ---- */

static int parse_has(struct parse *parse, struct cel_node **ret)
{
	struct cel_node *x;
	int r = parse_expr(parse, &x);
	if (r < 0 || (r = expect(parse, ")")) < 0)
		return r;
	if (x->op != CEL_OP_SELECT)
		return refuse(parse, ERR_PARSE, "has() needs a field: has(self.x)");
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
static int parse_loop(struct parse *parse, enum cel_loop loop, struct cel_node *range,
		      struct cel_node **ret)
{
	struct cel_node *n;
	int r = make(parse, CEL_OP_LOOP, 3, &n);
	if (r < 0)
		return r;
	if (parse->t.type != CEL_T_NAME)
		return refuse(parse, ERR_PARSE, "a macro needs the name of a variable");
	if (parse->n_vars >= CEL_SLOTS_MAX)
		return refuse(parse, ERR_LIMIT, "too many macros inside each other");
	n->loop = loop;
	n->arg[0] = range;
	n->n_args = 2;
	n->slot = parse->n_vars++;
	parse->var[n->slot] = parse->t.text;
	if ((r = advance(parse)) < 0 || (r = expect(parse, ",")) < 0 ||
	    (r = parse_expr(parse, &n->arg[1])) < 0)
		return r;
	if (loop == CEL_TRANSFORM && is_op(parse, ",")) {
		if ((r = advance(parse)) < 0 || (r = parse_expr(parse, &n->arg[2])) < 0)
			return r;
		n->n_args = 3;
	}
	parse->n_vars--;
	*ret = n;
	return expect(parse, ")");
}

/* ---- calls and names ---- */

static int settle_pattern(struct parse *parse, struct cel_node *node)
{
	struct srcerr err = { 0 };
	const struct cel_node *pattern = node->arg[1];
	if (pattern->op != CEL_OP_LITERAL || pattern->literal.type != CEL_STRING)
		return refuse(parse, ERR_UNSUPPORTED, "matches() needs a literal pattern");
	int r = regex_new(pattern->literal.u.s, &node->re, &err);
	if (r < 0)
		return refuse(parse, r, "%s", err.text);
	vec_push(&parse->e->patterns, node->re);
	return 0;
}

static int parse_call(struct parse *parse, struct slice name, struct cel_node *receiver,
		      struct cel_node **ret)
{
	struct cel_node *list, *n;
	int r = parse_list(parse, ")", false, CEL_OP_CALL, &list);
	if (r < 0)
		return r;
	size_t first = receiver != NULL;
	if ((r = make(parse, CEL_OP_CALL, list->n_args + first, &n)) < 0)
		return r;
	if (receiver != NULL)
		n->arg[0] = receiver;
	if (list->n_args != 0)
		memcpy(n->arg + first, list->arg, list->n_args * sizeof(struct cel_node *));
	n->fn = cel_function_find(name, receiver != NULL, n->n_args);
	if (n->fn == NULL)
		return refuse(parse, ERR_UNSUPPORTED, "function '%.*s' is not supported",
			      (int)name.n, name.p);
	*ret = n;
	return strcmp(n->fn->name, "matches") == 0 ? settle_pattern(parse, n) : 0;
}

static int parse_name(struct parse *parse, struct cel_node **ret)
{
	struct slice name = parse->t.text;
	int r = advance(parse);
	if (r < 0)
		return r;
	if (slice_is(name, "true") || slice_is(name, "false"))
		return make_literal(parse, cel_bool(slice_is(name, "true")), ret);
	if (slice_is(name, "null"))
		return make_literal(parse, (struct cel_value){ .type = CEL_NULL }, ret);
	if (is_op(parse, "(")) {
		if ((r = advance(parse)) < 0)
			return r;
		return slice_is(name, "has") ? parse_has(parse, ret)
					     : parse_call(parse, name, NULL, ret);
	}
	for (unsigned i = parse->n_vars; i-- != 0;) {
		if (!slice_eq(name, parse->var[i]))
			continue;
		if ((r = make(parse, CEL_OP_SLOT, 0, ret)) < 0)
			return r;
		(*ret)->slot = i;
		parse->e->uses_old = parse->e->uses_old || i == CEL_SLOT_OLD;
		return 0;
	}
	return refuse(parse, ERR_TYPE, "undeclared reference to '%.*s'", (int)name.n, name.p);
}

static int parse_primary(struct parse *parse, struct cel_node **ret)
{
	struct cel_token t = parse->t;
	int r;
	if (t.type == CEL_T_NAME)
		return parse_name(parse, ret);
	if (is_op(parse, "(")) {
		if ((r = advance(parse)) < 0 || (r = parse_expr(parse, ret)) < 0)
			return r;
		return expect(parse, ")");
	}
	if (is_op(parse, "[") || is_op(parse, "{")) {
		bool map = is_op(parse, "{");
		if ((r = advance(parse)) < 0)
			return r;
		return parse_list(parse, map ? "}" : "]", map, map ? CEL_OP_MAP : CEL_OP_LIST, ret);
	}
	if (t.type == CEL_T_END || t.type == CEL_T_OP)
		return refuse(parse, ERR_PARSE, "a value is missing");
	if ((r = advance(parse)) < 0)
		return r;
	struct cel_value v = { .type = CEL_STRING, .u.s = t.text };
	if (t.type == CEL_T_INT)
		v = cel_int(t.i);
	if (t.type == CEL_T_DOUBLE)
		v = (struct cel_value){ .type = CEL_DOUBLE, .u.d = t.d };
	return make_literal(parse, v, ret);
}

/* Behind a dot: a field, a function or a macro. */
static int parse_member(struct parse *parse, struct cel_node **node)
{
	struct slice name = parse->t.text;
	struct cel_node *of = *node;
	int r;
	if (parse->t.type != CEL_T_NAME)
		return refuse(parse, ERR_PARSE, "a field's name is missing");
	if ((r = advance(parse)) < 0)
		return r;
	if (!is_op(parse, "(")) {
		if ((r = make_one(parse, CEL_OP_SELECT, of, node)) >= 0)
			(*node)->name = cel_field_name(name, parse->a);
		return r;
	}
	if ((r = advance(parse)) < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(loops); i++) {
		if (slice_is(name, loops[i].name))
			return parse_loop(parse, loops[i].loop, of, node);
	}
	return parse_call(parse, name, of, node);
}

static int parse_postfix(struct parse *parse, struct cel_node **ret)
{
	struct cel_node *key;
	int r = parse_primary(parse, ret);
	while (r >= 0) {
		if (is_op(parse, ".")) {
			if ((r = advance(parse)) >= 0)
				r = parse_member(parse, ret);
		} else if (is_op(parse, "[")) {
			if ((r = advance(parse)) >= 0 && (r = parse_expr(parse, &key)) >= 0 &&
			    (r = expect(parse, "]")) >= 0)
				r = make_two(parse, CEL_OP_INDEX, *ret, key, ret);
		} else {
			break;
		}
	}
	return r;
}

static int parse_unary(struct parse *parse, struct cel_node **ret)
{
	bool not = is_op(parse, "!"), minus = is_op(parse, "-");
	struct cel_node *x;
	if (!not &&!minus)
		return parse_postfix(parse, ret);
	if (++parse->depth > CEL_DEPTH_MAX)
		return refuse(parse, ERR_LIMIT, "the expression is nested too deeply");
	int r = advance(parse);
	if (r < 0 || (r = parse_unary(parse, &x)) < 0)
		return r;
	parse->depth--;
	return make_one(parse, not ? CEL_OP_NOT : CEL_OP_NEGATE, x, ret);
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

static bool binary_here(const struct parse *parse, int level, enum cel_op *ret)
{
	if (parse->t.type != CEL_T_OP && parse->t.type != CEL_T_NAME)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(binaries); i++) {
		if (binaries[i].level == level && slice_is(parse->t.text, binaries[i].text)) {
			*ret = binaries[i].op;
			return true;
		}
	}
	return false;
}

static int parse_level(struct parse *parse, int level, struct cel_node **ret)
{
	struct cel_node *right;
	enum cel_op op;
	if (level == LEVELS)
		return parse_unary(parse, ret);
	int r = parse_level(parse, level + 1, ret);
	/* A long chain makes a deep tree on its left side. */
	for (unsigned n = 0; r >= 0 && binary_here(parse, level, &op); n++) {
		if (n + parse->depth >= CEL_DEPTH_MAX)
			return refuse(parse, ERR_LIMIT, "the expression is nested too deeply");
		if ((r = advance(parse)) >= 0 && (r = parse_level(parse, level + 1, &right)) >= 0)
			r = make_two(parse, op, *ret, right, ret);
	}
	return r;
}

static int parse_expr(struct parse *parse, struct cel_node **ret)
{
	struct cel_node *n, *cond;
	if (++parse->depth > CEL_DEPTH_MAX)
		return refuse(parse, ERR_LIMIT, "the expression is nested too deeply");
	int r = parse_level(parse, 0, ret);
	if (r >= 0 && is_op(parse, "?")) {
		cond = *ret;
		if ((r = make(parse, CEL_OP_COND, 3, &n)) < 0 || (r = advance(parse)) < 0 ||
		    (r = parse_level(parse, 0, &n->arg[1])) < 0 || (r = expect(parse, ":")) < 0 ||
		    (r = parse_expr(parse, &n->arg[2])) < 0)
			return r;
		n->arg[0] = cond;
		*ret = n;
	}
	parse->depth--;
	return r;
}

void cel_expr_done(struct cel_expr *expr)
{
	if (expr == NULL)
		return;
	for (size_t i = 0; i < expr->patterns.n; i++)
		regex_free(expr->patterns.v[i]);
	vec_done(&expr->patterns);
}

int cel_parse(struct slice text, const struct cel_env *env, struct arena *arena,
	      struct cel_expr **ret, char *err, size_t err_n)
{
	struct parse p = { .rest = text, .a = arena, .err = err, .err_n = err_n };
	if (text.n > CEL_BYTES_MAX)
		return refuse(&p, ERR_LIMIT, "the expression is too long");
	p.e = arena_calloc(arena, sizeof(*p.e));
	p.var[p.n_vars++] = SLICE("self");
	p.var[p.n_vars++] = SLICE("oldSelf");
	int r = advance(&p);
	if (r >= 0)
		r = parse_expr(&p, &p.e->root);
	if (r >= 0 && p.t.type != CEL_T_END)
		r = refuse(&p, ERR_PARSE, "something is left behind the expression's end");
	if (r >= 0)
		r = cel_check(p.e, env, arena, err, err_n);
	if (r < 0) {
		cel_expr_done(p.e);
		return r;
	}
	*ret = p.e;
	return 0;
}

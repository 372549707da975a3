/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses CEL expressions into trees of nodes: operators by a table of precedence; macros become
 * loops and variables become slots on the way. */
#include "cel/parse.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/err_text.h"
#include "cel/check_priv.h"
#include "cel/eval.h"
#include "cel/funcs_priv.h"
#include "cel/lex_priv.h"
#include "cel/node_priv.h"

struct parse {
	struct slice rest;
	struct cel_token token; /* the current one */
	struct arena *arena;
	struct cel_expr *expr;
	struct slice vars[CEL_SLOTS_MAX]; /* names by slot */
	unsigned n_vars, nodes, depth;
	struct err_text err;
};

static int parse_expr(struct parse *parse, struct cel_node **ret);

static int set_error(struct parse *parse, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int set_error(struct parse *parse, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_text_vset(parse->err, fmt, ap);
	va_end(ap);
	return code;
}

static int next_token(struct parse *parse)
{
	return cel_lex(&parse->rest, parse->arena, &parse->token, parse->err);
}

static bool is_op(const struct parse *parse, const char *op)
{
	return parse->token.type == CEL_T_OP && slice_is(parse->token.text, op);
}

static int expect_op(struct parse *parse, const char *op)
{
	if (!is_op(parse, op))
		return set_error(parse, ERR_PARSE, "'%s' is missing", op);
	return next_token(parse);
}

static int make_node(struct parse *parse, enum cel_op op, size_t n_args, struct cel_node **ret)
{
	if (++parse->nodes > CEL_NODES_MAX) {
		set_error(parse, ERR_LIMIT, "the expression is too long");
		return ERR_LIMIT;
	}
	struct cel_node *n = arena_calloc(parse->arena, sizeof(*n));
	n->op = op;
	n->args = arena_calloc(parse->arena, (n_args + 1) * sizeof(struct cel_node *));
	n->n_args = n_args;
	*ret = n;
	return 0;
}

static int make_unary(struct parse *parse, enum cel_op op, struct cel_node *arg,
		      struct cel_node **ret)
{
	int r = make_node(parse, op, 1, ret);
	if (r >= 0)
		(*ret)->args[0] = arg;
	return r;
}

static int make_binary(struct parse *parse, enum cel_op op, struct cel_node *left,
		       struct cel_node *right, struct cel_node **ret)
{
	int r = make_node(parse, op, 2, ret);
	if (r < 0)
		return r;
	(*ret)->args[0] = left;
	(*ret)->args[1] = right;
	return 0;
}

static int make_literal(struct parse *parse, struct cel_value value, struct cel_node **ret)
{
	int r = make_node(parse, CEL_OP_LITERAL, 0, ret);
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
		if (v.n != 0 && (r = expect_op(parse, ",")) < 0)
			break;
		if (is_op(parse, end) && op != CEL_OP_CALL)
			break; /* a comma may stand last */
		if ((r = parse_expr(parse, &x)) < 0)
			break;
		vec_push(&v, x);
		if (pairs && ((r = expect_op(parse, ":")) < 0 || (r = parse_expr(parse, &x)) < 0))
			break;
		if (pairs)
			vec_push(&v, x);
	}
	if (r >= 0)
		r = expect_op(parse, end);
	if (r >= 0)
		r = make_node(parse, op, v.n, ret);
	if (r >= 0 && v.n != 0)
		memcpy((*ret)->args, v.v, v.n * sizeof(*v.v));
	vec_done(&v);
	return MIN(r, 0);
}

/* ---- macros ---- */

static int parse_has(struct parse *parse, struct cel_node **ret)
{
	struct cel_node *x;
	int r = parse_expr(parse, &x);
	if (r < 0 || (r = expect_op(parse, ")")) < 0)
		return r;
	if (x->op != CEL_OP_SELECT)
		return set_error(parse, ERR_PARSE, "has() needs a field: has(self.x)");
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
	int r = make_node(parse, CEL_OP_LOOP, 3, &n);
	if (r < 0)
		return r;
	if (parse->token.type != CEL_T_NAME)
		return set_error(parse, ERR_PARSE, "a macro needs the name of a variable");
	if (parse->n_vars >= CEL_SLOTS_MAX)
		return set_error(parse, ERR_LIMIT, "macros are nested too deeply");
	n->loop = loop;
	n->args[0] = range;
	n->n_args = 2;
	n->slot = parse->n_vars++;
	parse->vars[n->slot] = parse->token.text;
	if ((r = next_token(parse)) < 0 || (r = expect_op(parse, ",")) < 0 ||
	    (r = parse_expr(parse, &n->args[1])) < 0)
		return r;
	if (loop == CEL_TRANSFORM && is_op(parse, ",")) {
		if ((r = next_token(parse)) < 0 || (r = parse_expr(parse, &n->args[2])) < 0)
			return r;
		n->n_args = 3;
	}
	parse->n_vars--;
	*ret = n;
	return expect_op(parse, ")");
}

/* ---- calls and names ---- */

static int compile_pattern(struct parse *parse, struct cel_node *node)
{
	struct srcerr err = { 0 };
	const struct cel_node *pattern = node->args[1];
	if (pattern->op != CEL_OP_LITERAL || pattern->literal.type != CEL_STRING)
		return set_error(parse, ERR_UNSUPPORTED, "matches() needs a literal pattern");
	int r = regex_new(pattern->literal.u.text, &node->pattern, &err);
	if (r < 0)
		return set_error(parse, r, "%s", err.text);
	vec_push(&parse->expr->patterns, node->pattern);
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
	if ((r = make_node(parse, CEL_OP_CALL, list->n_args + first, &n)) < 0)
		return r;
	if (receiver != NULL)
		n->args[0] = receiver;
	if (list->n_args != 0)
		memcpy(n->args + first, list->args, list->n_args * sizeof(struct cel_node *));
	n->function = cel_funcs_find(name, receiver != NULL, n->n_args);
	if (n->function == NULL)
		return set_error(parse, ERR_UNSUPPORTED, "function '%.*s' is not supported",
				 (int)name.n, name.p);
	*ret = n;
	return strcmp(n->function->name, "matches") == 0 ? compile_pattern(parse, n) : 0;
}

static int parse_name(struct parse *parse, struct cel_node **ret)
{
	struct slice name = parse->token.text;
	int r = next_token(parse);
	if (r < 0)
		return r;
	if (slice_is(name, "true") || slice_is(name, "false"))
		return make_literal(parse, cel_bool(slice_is(name, "true")), ret);
	if (slice_is(name, "null"))
		return make_literal(parse, (struct cel_value){ .type = CEL_NULL }, ret);
	if (is_op(parse, "(")) {
		if ((r = next_token(parse)) < 0)
			return r;
		return slice_is(name, "has") ? parse_has(parse, ret)
					     : parse_call(parse, name, NULL, ret);
	}
	for (unsigned i = parse->n_vars; i-- != 0;) {
		if (!slice_eq(name, parse->vars[i]))
			continue;
		if ((r = make_node(parse, CEL_OP_SLOT, 0, ret)) < 0)
			return r;
		(*ret)->slot = i;
		parse->expr->uses_old = parse->expr->uses_old || i == CEL_SLOT_OLD;
		return 0;
	}
	return set_error(parse, ERR_TYPE, "undeclared reference to '%.*s'", (int)name.n, name.p);
}

static int parse_primary(struct parse *parse, struct cel_node **ret)
{
	struct cel_token t = parse->token;
	int r;
	if (t.type == CEL_T_NAME)
		return parse_name(parse, ret);
	if (is_op(parse, "(")) {
		if ((r = next_token(parse)) < 0 || (r = parse_expr(parse, ret)) < 0)
			return r;
		return expect_op(parse, ")");
	}
	if (is_op(parse, "[") || is_op(parse, "{")) {
		bool map = is_op(parse, "{");
		if ((r = next_token(parse)) < 0)
			return r;
		return parse_list(parse, map ? "}" : "]", map, map ? CEL_OP_MAP : CEL_OP_LIST, ret);
	}
	if (t.type == CEL_T_END || t.type == CEL_T_OP)
		return set_error(parse, ERR_PARSE, "a value is missing");
	if ((r = next_token(parse)) < 0)
		return r;
	struct cel_value v = { .type = CEL_STRING, .u.text = t.text };
	if (t.type == CEL_T_INT)
		v = cel_int(t.integer);
	if (t.type == CEL_T_DOUBLE)
		v = (struct cel_value){ .type = CEL_DOUBLE, .u.number = t.number };
	return make_literal(parse, v, ret);
}

/* Behind a dot: a field, a function or a macro. */
static int parse_member(struct parse *parse, struct cel_node **node)
{
	struct slice name = parse->token.text;
	struct cel_node *of = *node;
	int r;
	if (parse->token.type != CEL_T_NAME)
		return set_error(parse, ERR_PARSE, "a field's name is missing");
	if ((r = next_token(parse)) < 0)
		return r;
	if (!is_op(parse, "(")) {
		if ((r = make_unary(parse, CEL_OP_SELECT, of, node)) >= 0)
			(*node)->name = cel_field_name(name, parse->arena);
		return r;
	}
	if ((r = next_token(parse)) < 0)
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
			if ((r = next_token(parse)) >= 0)
				r = parse_member(parse, ret);
		} else if (is_op(parse, "[")) {
			if ((r = next_token(parse)) >= 0 && (r = parse_expr(parse, &key)) >= 0 &&
			    (r = expect_op(parse, "]")) >= 0)
				r = make_binary(parse, CEL_OP_INDEX, *ret, key, ret);
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
		return set_error(parse, ERR_LIMIT, "the expression is nested too deeply");
	int r = next_token(parse);
	if (r < 0 || (r = parse_unary(parse, &x)) < 0)
		return r;
	parse->depth--;
	return make_unary(parse, not ? CEL_OP_NOT : CEL_OP_NEGATE, x, ret);
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

static bool is_binary_op(const struct parse *parse, int level, enum cel_op *ret)
{
	if (parse->token.type != CEL_T_OP && parse->token.type != CEL_T_NAME)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(binaries); i++) {
		if (binaries[i].level == level && slice_is(parse->token.text, binaries[i].text)) {
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
	for (unsigned n = 0; r >= 0 && is_binary_op(parse, level, &op); n++) {
		if (n + parse->depth >= CEL_DEPTH_MAX)
			return set_error(parse, ERR_LIMIT, "the expression is nested too deeply");
		if ((r = next_token(parse)) >= 0 &&
		    (r = parse_level(parse, level + 1, &right)) >= 0)
			r = make_binary(parse, op, *ret, right, ret);
	}
	return r;
}

static int parse_expr(struct parse *parse, struct cel_node **ret)
{
	struct cel_node *n, *cond;
	if (++parse->depth > CEL_DEPTH_MAX)
		return set_error(parse, ERR_LIMIT, "the expression is nested too deeply");
	int r = parse_level(parse, 0, ret);
	if (r >= 0 && is_op(parse, "?")) {
		cond = *ret;
		if ((r = make_node(parse, CEL_OP_COND, 3, &n)) < 0 || (r = next_token(parse)) < 0 ||
		    (r = parse_level(parse, 0, &n->args[1])) < 0 ||
		    (r = expect_op(parse, ":")) < 0 || (r = parse_expr(parse, &n->args[2])) < 0)
			return r;
		n->args[0] = cond;
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
	      struct cel_expr **ret, struct err_text err)
{
	struct parse p = { .rest = text, .arena = arena, .err = err };
	if (text.n > CEL_BYTES_MAX)
		return set_error(&p, ERR_LIMIT, "the expression is too long");
	p.expr = arena_calloc(arena, sizeof(*p.expr));
	p.vars[p.n_vars++] = SLICE("self");
	p.vars[p.n_vars++] = SLICE("oldSelf");
	int r = next_token(&p);
	if (r >= 0)
		r = parse_expr(&p, &p.expr->root);
	if (r >= 0 && p.token.type != CEL_T_END)
		r = set_error(&p, ERR_PARSE, "unexpected input after the end of the expression");
	if (r >= 0)
		r = cel_check(p.expr, env, arena, err);
	if (r < 0) {
		cel_expr_done(p.expr);
		return r;
	}
	assert(p.depth == 0 && p.n_vars == CEL_SLOT_FREE);
	*ret = p.expr;
	return 0;
}

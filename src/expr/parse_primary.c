/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses what operators stand between: literals, names, calls and predicates, and what may follow
 * them: .name, ?.name, [index], [from:to]. */
#include "expr/parse_primary_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "expr/builtin_priv.h"
#include "expr/check_priv.h"
#include "expr/lex_priv.h"
#include "expr/parse_node_priv.h"
#include "expr/parse_priv.h"

static struct node *parse_postfix(struct parser *parser, struct node *node);

static void *bad_map_key(struct parser *parser)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	expr_add_token(&b, parser->cur);
	expr_error_at(&parser->lx, parser->cur.at,
		      "a map key must be a quoted string, a number, a identifier, or an expression "
		      "enclosed in parentheses (unexpected token %s)",
		      b.s);
	return NULL;
}

/* --- literals --- */

static struct node *parse_integer(struct parser *parser, struct tok token, const char *text,
				  int base)
{
	errno = 0;
	char *end;
	long long v = strtoll(text, &end, base);
	if (errno != 0 || *end != '\0' || end == text) {
		expr_error_at(&parser->lx, parser->cur.at, "invalid integer literal: %s",
			      errno == ERANGE ? "value out of range" : "invalid syntax");
		return NULL;
	}
	return expr_new_const(parser, token.at, expr_int(v));
}

static struct node *parse_number(struct parser *parser, struct tok token)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < token.val.n; i++) {
		if (token.val.p[i] != '_')
			strbuf_addc(&b, token.val.p[i]);
	}
	char second = b.n > 1 && b.s[0] == '0' ? ascii_lower(b.s[1]) : '\0';
	if (second == 'x')
		return parse_integer(parser, token, b.s + 2, 16);
	if (strpbrk(b.s, ".eE") != NULL) {
		char *end;
		double f = strtod(b.s, &end);
		if (*end != '\0' || f > 1.7976931348623157e308 || slice_is(token.val, ".")) {
			expr_error_at(&parser->lx, parser->cur.at, "invalid float literal");
			return NULL;
		}
		return expr_new_const(parser, token.at, expr_float(f));
	}
	if (second == 'b' || second == 'o')
		return parse_integer(parser, token, b.s + 2, second == 'b' ? 2 : 8);
	return parse_integer(parser, token, b.s, 10);
}

static struct node *parse_array(struct parser *parser, struct tok open)
{
	node_vec v = { 0 };
	struct node *n = NULL;
	if (expr_advance(parser) < 0)
		return NULL;
	while (!cur_is(parser, TOK_BRACKET, "]")) {
		if (v.n > 0 && !expr_expect(parser, TOK_OP, ","))
			goto out;
		if (v.n > 0 && cur_is(parser, TOK_BRACKET, "]"))
			break;
		struct node *item = expr_parse_expression(parser, 0);
		if (item == NULL)
			goto out;
		vec_push(&v, item);
	}
	if (expr_expect(parser, TOK_BRACKET, "]"))
		n = expr_new_many(parser, NODE_ARRAY, open.at, &v);
out:
	vec_done(&v);
	return n;
}

static struct node *parse_map_key(struct parser *parser)
{
	if (parser->cur.kind == TOK_NUMBER || parser->cur.kind == TOK_STRING ||
	    parser->cur.kind == TOK_IDENT) {
		struct node *key =
			expr_new_const(parser, parser->cur.at, expr_string(parser->cur.val));
		return key != NULL && expr_advance(parser) == 0 ? key : NULL;
	}
	if (cur_is(parser, TOK_BRACKET, "("))
		return expr_parse_expression(parser, 0);
	return bad_map_key(parser);
}

static struct node *parse_map(struct parser *parser, struct tok open)
{
	node_vec v = { 0 };
	struct node *n = NULL;
	if (expr_advance(parser) < 0)
		return NULL;
	while (!cur_is(parser, TOK_BRACKET, "}")) {
		if (v.n > 0 && !expr_expect(parser, TOK_OP, ","))
			goto out;
		if (v.n > 0 && cur_is(parser, TOK_BRACKET, "}"))
			break;
		if (v.n > 0 && cur_is(parser, TOK_OP, ",")) {
			expr_unexpected(parser, parser->cur);
			goto out;
		}
		struct node *key = parse_map_key(parser);
		if (key == NULL || !expr_expect(parser, TOK_OP, ":"))
			goto out;
		struct node *value = expr_parse_expression(parser, 0);
		if (value == NULL)
			goto out;
		vec_push(&v, key);
		vec_push(&v, value);
	}
	if (expr_expect(parser, TOK_BRACKET, "}"))
		n = expr_new_many(parser, NODE_MAP, open.at, &v);
out:
	vec_done(&v);
	return n;
}

/* --- names, calls --- */

static bool parse_arguments(struct parser *parser, node_vec *args)
{
	size_t offset = args->n;
	if (!expr_expect(parser, TOK_BRACKET, "("))
		return false;
	while (!cur_is(parser, TOK_BRACKET, ")")) {
		if (args->n > offset && !expr_expect(parser, TOK_OP, ","))
			return false;
		if (cur_is(parser, TOK_BRACKET, ")"))
			break;
		struct node *n = expr_parse_expression(parser, 0);
		if (n == NULL)
			return false;
		vec_push(args, n);
	}
	return expr_expect(parser, TOK_BRACKET, ")");
}

static struct node *parse_predicate(struct parser *parser)
{
	uint32_t at = parser->cur.at;
	bool braces = cur_is(parser, TOK_BRACKET, "{");
	if (braces && expr_advance(parser) < 0)
		return NULL;
	parser->predicates++;
	struct node *body = braces ? expr_parse_sequence(parser) : expr_parse_expression(parser, 0);
	parser->predicates--;
	if (body == NULL)
		return NULL;
	if (!braces && cur_is(parser, TOK_OP, ";")) {
		expr_error_at(&parser->lx, parser->cur.at, "wrap predicate with brackets { and }");
		return NULL;
	}
	if (braces && !expr_expect(parser, TOK_BRACKET, "}"))
		return NULL;
	struct node *n = expr_new_node(parser, NODE_PREDICATE, at);
	if (n == NULL)
		return NULL;
	n->a = body;
	return expr_seal(parser, n);
}

static bool parse_loop_arguments(struct parser *parser, const struct expr_builtin *builtin,
				 node_vec *args)
{
	const char *params = builtin->params + args->n;
	size_t count = strlen(params);
	if (!expr_expect(parser, TOK_BRACKET, "("))
		return false;
	for (size_t i = 0; i < count; i++) {
		bool optional = params[i] >= 'A' && params[i] <= 'Z';
		if (cur_is(parser, TOK_BRACKET, ")")) {
			if (optional)
				break;
			expr_error_at(&parser->lx, parser->cur.at,
				      "expected at least %zu arguments", count);
			return false;
		}
		if (i > 0 && !expr_expect(parser, TOK_OP, ","))
			return false;
		struct node *n = ascii_lower(params[i]) == 'p' ? parse_predicate(parser)
							       : expr_parse_expression(parser, 0);
		if (n == NULL)
			return false;
		vec_push(args, n);
	}
	if (cur_is(parser, TOK_OP, ",") && expr_advance(parser) < 0)
		return false;
	return expr_expect(parser, TOK_BRACKET, ")");
}

struct node *expr_parse_call(struct parser *parser, struct tok name, struct node *first, bool hide)
{
	const struct expr_builtin *b = expr_find_builtin(name.val);
	node_vec args = { 0 };
	struct node *n = NULL;
	if (hide && b != NULL &&
	    (expr_find_func(parser->env, name.val) != NULL ||
	     expr_find_var(parser->env, name.val) != NULL))
		b = NULL;
	if (first != NULL)
		vec_push(&args, first);
	bool ok = b != NULL && b->form == FORM_LOOP ? parse_loop_arguments(parser, b, &args)
						    : parse_arguments(parser, &args);
	if (ok)
		n = expr_new_many(parser, b != NULL ? NODE_BUILTIN : NODE_CALL, name.at, &args);
	vec_done(&args);
	if (n == NULL)
		return NULL;
	n->builtin = b;
	n->name = name.val;
	return n;
}

static struct node *parse_name(struct parser *parser, struct tok token)
{
	if (expr_advance(parser) < 0)
		return NULL;
	if (slice_is(token.val, "true") || slice_is(token.val, "false"))
		return expr_new_const(parser, token.at, expr_bool(token.val.n == 4));
	if (slice_is(token.val, "nil"))
		return expr_new_const(parser, token.at, expr_nil());
	struct node *n;
	if (cur_is(parser, TOK_BRACKET, "(")) {
		n = expr_parse_call(parser, token, NULL, true);
	} else {
		n = expr_new_node(parser, NODE_IDENT, token.at);
		if (n != NULL)
			n->name = token.val;
	}
	return n != NULL ? parse_postfix(parser, n) : NULL;
}

static struct node *parse_secondary(struct parser *parser)
{
	struct tok t = parser->cur;
	struct node *n = NULL;
	switch (t.kind) {
	case TOK_IDENT:
		return parse_name(parser, t);
	case TOK_NUMBER:
		return expr_advance(parser) == 0 ? parse_number(parser, t) : NULL;
	case TOK_STRING:
	case TOK_BYTES:
		if (expr_advance(parser) < 0)
			return NULL;
		n = expr_new_const(parser, t.at, expr_string(t.val));
		if (n != NULL && t.kind == TOK_BYTES) {
			n->val.type = EXPR_BYTES;
			n->val.depth = 1;
		}
		break;
	case TOK_BRACKET:
		if (slice_is(t.val, "["))
			n = parse_array(parser, t);
		else if (slice_is(t.val, "{"))
			n = parse_map(parser, t);
		else
			return expr_unexpected(parser, t);
		break;
	case TOK_OP:
	case TOK_EOF:
		return expr_unexpected(parser, t);
	}
	return n != NULL ? parse_postfix(parser, n) : NULL;
}

/* # #index #acc and, without consuming the dot, .field */
static struct node *parse_pointer(struct parser *parser)
{
	static const struct {
		const char *name;
		enum node_kind kind;
	} names[] = { { "", NODE_ELEM }, { "index", NODE_INDEX }, { "acc", NODE_ACC } };
	struct tok t = parser->cur;
	struct slice name = { "", 0 };
	if (slice_is(t.val, "#")) {
		if (expr_advance(parser) < 0)
			return NULL;
		if (parser->cur.kind == TOK_IDENT) {
			name = parser->cur.val;
			if (expr_advance(parser) < 0)
				return NULL;
		}
	}
	struct node *n = expr_new_node(parser, NODE_POINTER, t.at);
	if (n == NULL)
		return NULL;
	n->name = name;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		n->kind = slice_is(name, names[i].name) ? names[i].kind : n->kind;
	return parse_postfix(parser, n);
}

struct node *expr_parse_primary(struct parser *parser)
{
	struct tok t = parser->cur;
	const struct op_row *op = expr_unary_op(&t);
	struct node *n;
	if (op != NULL) {
		if (expr_advance(parser) < 0 ||
		    (n = expr_parse_expression(parser, op->prec)) == NULL)
			return NULL;
		n = expr_new_op(parser, op->op, t.at, n, NULL);
		return n != NULL ? parse_postfix(parser, n) : NULL;
	}
	if (token_is(&t, TOK_BRACKET, "(")) {
		if (expr_advance(parser) < 0 || (n = expr_parse_sequence(parser)) == NULL ||
		    !expr_expect(parser, TOK_BRACKET, ")"))
			return NULL;
		return parse_postfix(parser, n);
	}
	if (parser->predicates > 0 && (token_is(&t, TOK_OP, "#") || token_is(&t, TOK_OP, ".")))
		return parse_pointer(parser);
	if (token_is(&t, TOK_OP, "::")) {
		if (expr_advance(parser) < 0)
			return NULL;
		t = parser->cur;
		if (!expr_expect(parser, TOK_IDENT, NULL) ||
		    (n = expr_parse_call(parser, t, NULL, false)) == NULL)
			return NULL;
		return parse_postfix(parser, n);
	}
	return parse_secondary(parser);
}

/* --- postfix: .name ?.name [index] [from:to] --- */

static struct node *new_member(struct parser *parser, struct node *left, struct node *right,
			       bool optional, uint32_t at)
{
	struct node *n = expr_new_node(parser, NODE_MEMBER, at);
	if (n == NULL)
		return NULL;
	n->a = left;
	n->b = right;
	n->optional = optional;
	return expr_seal(parser, n);
}

static struct node *new_chain(struct parser *parser, struct node *node, uint32_t at)
{
	struct node *n = expr_new_node(parser, NODE_CHAIN, at);
	if (n == NULL)
		return NULL;
	n->a = node;
	return expr_seal(parser, n);
}

static bool is_property(const struct tok *token)
{
	return token->kind == TOK_IDENT ||
	       (token->kind == TOK_OP && token->val.n != 0 && ascii_isalpha(token->val.p[0]));
}

/* a.name, a?.name, a.name(args); the dot is consumed. */
static struct node *parse_property(struct parser *parser, struct node *node, bool optional)
{
	struct tok t = parser->cur;
	if (expr_advance(parser) < 0)
		return NULL;
	if (!is_property(&t)) {
		expr_error_at(&parser->lx, parser->cur.at, "expected name");
		return NULL;
	}
	bool chain = node->kind == NODE_CHAIN;
	struct node *key = expr_new_const(parser, t.at, expr_string(t.val));
	if (key == NULL ||
	    (node = new_member(parser, chain ? node->a : node, key, optional, t.at)) == NULL)
		return NULL;
	if (cur_is(parser, TOK_BRACKET, "(")) {
		node_vec args = { 0 };
		struct node *call = NULL;
		if (parse_arguments(parser, &args))
			call = expr_new_many(parser, NODE_CALL, t.at, &args);
		vec_done(&args);
		if (call == NULL)
			return NULL;
		call->a = node;
		call->name = t.val;
		node = expr_seal(parser, call);
	}
	return node != NULL && (chain || optional) ? new_chain(parser, node, t.at) : node;
}

static struct node *parse_slice(struct parser *parser, struct node *node, struct node *from,
				uint32_t at)
{
	struct node *s = expr_new_node(parser, NODE_SLICE, at);
	if (s == NULL || expr_advance(parser) < 0)
		return NULL;
	s->a = node;
	s->b = from;
	if (!cur_is(parser, TOK_BRACKET, "]") && (s->c = expr_parse_expression(parser, 0)) == NULL)
		return NULL;
	return expr_expect(parser, TOK_BRACKET, "]") ? expr_seal(parser, s) : NULL;
}

/* The bracket is the current token. */
static struct node *parse_index(struct parser *parser, struct node *node, bool optional)
{
	uint32_t at = parser->cur.at;
	if (expr_advance(parser) < 0)
		return NULL;
	if (cur_is(parser, TOK_OP, ":"))
		return parse_slice(parser, node, NULL, at);
	struct node *from = expr_parse_expression(parser, 0);
	if (from == NULL)
		return NULL;
	if (cur_is(parser, TOK_OP, ":"))
		return parse_slice(parser, node, from, at);
	node = new_member(parser, node, from, optional, at);
	if (node != NULL && optional)
		node = new_chain(parser, node, at);
	return node != NULL && expr_expect(parser, TOK_BRACKET, "]") ? node : NULL;
}

static struct node *parse_postfix(struct parser *parser, struct node *node)
{
	while (node != NULL) {
		bool optional = cur_is(parser, TOK_OP, "?.");
		if (optional || cur_is(parser, TOK_OP, ".")) {
			if (expr_advance(parser) < 0)
				return NULL;
			if (optional && cur_is(parser, TOK_BRACKET, "["))
				node = parse_index(parser, node, true);
			else
				node = parse_property(parser, node, optional);
		} else if (cur_is(parser, TOK_BRACKET, "[")) {
			node = parse_index(parser, node, false);
		} else {
			break;
		}
	}
	return node;
}

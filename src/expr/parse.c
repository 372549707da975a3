/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens to a tree, by precedence climbing. Follows expr-lang's parser, its error texts and places
 * included. Nesting is counted, so that no text can exhaust the C stack. */
#include "expr/lex_priv.h"
#include "expr/parse_node_priv.h"
#include "expr/parse_primary_priv.h"
#include "expr/parse_priv.h"

/* 1 < x < 5 is 1 < x && x < 5. */
static struct node *parse_comparison(struct parser *parser, struct node *left, struct tok token,
				     const struct op_row *op)
{
	struct node *root = NULL;
	for (;;) {
		struct node *right = expr_parse_expression(parser, op->prec + 1U);
		if (right == NULL)
			return NULL;
		struct node *cmp = expr_new_op(parser, op->op, token.at, left, right);
		if (cmp != NULL && root != NULL)
			cmp = expr_new_op(parser, OP_AND, token.at, root, cmp);
		if (cmp == NULL)
			return NULL;
		root = cmp;
		left = right;
		token = parser->cur;
		op = expr_binary_op(&token);
		if (op == NULL || op->op < OP_LT || op->op > OP_LE)
			return root;
		if (expr_advance(parser) < 0)
			return NULL;
	}
}

/* What follows the operator `token`, which is consumed. */
static struct node *parse_right(struct parser *parser, struct node *left, struct tok token,
				const struct op_row *op, bool negate)
{
	if (op->op == OP_PIPE) {
		struct tok name = parser->cur;
		return expr_expect(parser, TOK_IDENT, NULL)
			       ? expr_parse_call(parser, name, left, true)
			       : NULL;
	}
	if (op->op >= OP_LT && op->op <= OP_LE)
		return parse_comparison(parser, left, token, op);
	struct node *right = expr_parse_expression(parser, op->right ? op->prec : op->prec + 1U);
	if (right == NULL)
		return NULL;
	struct node *n = expr_new_op(parser, op->op, token.at, left, right);
	if (n != NULL && negate)
		n = expr_new_op(parser, OP_NOT, token.at, n, NULL);
	return n;
}

/* `not` before in, contains ...: 1 when the next token is one that binds tightly enough, 0 when it
 * belongs further out (and nothing was consumed), negative for errors. */
static int parse_negation(struct parser *parser, unsigned prec)
{
	struct tok not_tok = parser->cur;
	if (expr_advance(parser) < 0)
		return -1;
	const struct op_row *op = expr_binary_op(&parser->cur);
	if (op == NULL || !op->negatable) {
		expr_unexpected(parser, parser->cur);
		return -1;
	}
	if (op->prec >= prec)
		return 1;
	parser->stash = parser->cur;
	parser->has_stash = true;
	parser->cur = not_tok;
	return 0;
}

static struct node *parse_operators(struct parser *parser, struct node *left, unsigned prec)
{
	bool coalesced = false;
	while (left != NULL && parser->cur.kind == TOK_OP) {
		bool negate = cur_is(parser, TOK_OP, "not");
		if (negate) {
			int r = parse_negation(parser, prec);
			if (r <= 0)
				return r < 0 ? NULL : left;
		}
		struct tok t = parser->cur;
		const struct op_row *op = expr_binary_op(&t);
		if (op == NULL || op->prec < prec)
			break;
		if (expr_advance(parser) < 0)
			return NULL;
		if (coalesced && op->op != OP_COALESCE && op->op != OP_PIPE) {
			expr_error_at(
				&parser->lx, t.at,
				"Operator (%s) and coalesce expressions (?\?) cannot be mixed. "
				"Wrap either by parentheses.",
				op->text);
			return NULL;
		}
		left = parse_right(parser, left, t, op, negate);
		coalesced = op->op == OP_COALESCE;
	}
	return left;
}

static struct node *new_cond(struct parser *parser, uint32_t at, struct node *node,
			     struct node *yes, struct node *no)
{
	struct node *n = expr_new_node(parser, NODE_COND, at);
	if (n == NULL || yes == NULL || no == NULL)
		return NULL;
	n->a = node;
	n->b = yes;
	n->c = no;
	return expr_seal(parser, n);
}

static struct node *parse_ternary(struct parser *parser, struct node *node)
{
	while (node != NULL && cur_is(parser, TOK_OP, "?")) {
		struct node *yes = node;
		if (expr_advance(parser) < 0)
			return NULL;
		if (!cur_is(parser, TOK_OP, ":") &&
		    (yes = expr_parse_expression(parser, 0)) == NULL)
			return NULL;
		if (!expr_expect(parser, TOK_OP, ":"))
			return NULL;
		struct node *no = expr_parse_expression(parser, 0);
		node = no != NULL ? new_cond(parser, parser->cur.at, node, yes, no) : NULL;
	}
	return node;
}

static struct node *parse_block(struct parser *parser)
{
	if (!expr_expect(parser, TOK_BRACKET, "{"))
		return NULL;
	struct node *n = expr_parse_sequence(parser);
	return n != NULL && expr_expect(parser, TOK_BRACKET, "}") ? n : NULL;
}

static struct node *parse_if(struct parser *parser)
{
	if (expr_advance(parser) < 0)
		return NULL;
	struct node *c = expr_parse_expression(parser, 0);
	struct node *yes = c != NULL ? parse_block(parser) : NULL;
	if (yes == NULL || !expr_expect(parser, TOK_OP, "else"))
		return NULL;
	struct node *no = cur_is(parser, TOK_OP, "if") ? expr_parse_expression(parser, 0)
						       : parse_block(parser);
	return no != NULL ? new_cond(parser, 0, c, yes, no) : NULL;
}

static struct node *parse_let(struct parser *parser)
{
	if (expr_advance(parser) < 0)
		return NULL;
	struct tok name = parser->cur;
	if (!expr_expect(parser, TOK_IDENT, NULL) || !expr_expect(parser, TOK_OP, "="))
		return NULL;
	struct node *value = expr_parse_expression(parser, 0);
	if (value == NULL || !expr_expect(parser, TOK_OP, ";"))
		return NULL;
	struct node *body = expr_parse_sequence(parser);
	struct node *n = body != NULL ? expr_new_node(parser, NODE_LET, name.at) : NULL;
	if (n == NULL)
		return NULL;
	n->name = name.val;
	n->a = value;
	n->b = body;
	return expr_seal(parser, n);
}

struct node *expr_parse_expression(struct parser *parser, unsigned prec)
{
	struct node *n;
	if (parser->nesting >= EXPR_NESTING_MAX) {
		expr_error_at(&parser->lx, parser->cur.at, "expression is nested too deeply");
		return NULL;
	}
	parser->nesting++;
	if (prec == 0 && cur_is(parser, TOK_OP, "let")) {
		n = parse_let(parser);
	} else if (prec == 0 && cur_is(parser, TOK_OP, "if")) {
		n = parse_if(parser);
	} else {
		n = expr_parse_primary(parser);
		n = parse_operators(parser, n, prec);
		if (prec == 0)
			n = parse_ternary(parser, n);
	}
	parser->nesting--;
	return n;
}

struct node *expr_parse_sequence(struct parser *parser)
{
	node_vec v = { 0 };
	struct node *n = expr_parse_expression(parser, 0);
	if (n == NULL || !cur_is(parser, TOK_OP, ";"))
		return n;
	uint32_t at = n->at;
	vec_push(&v, n);
	while (n != NULL && cur_is(parser, TOK_OP, ";")) {
		n = NULL;
		if (expr_advance(parser) < 0)
			break;
		if (parser->cur.kind == TOK_EOF) {
			n = v.v[v.n - 1];
			break;
		}
		n = expr_parse_expression(parser, 0);
		if (n != NULL)
			vec_push(&v, n);
	}
	if (n != NULL && v.n > 1)
		n = expr_new_many(parser, NODE_SEQ, at, &v);
	vec_done(&v);
	return n;
}

struct node *expr_parse_tree(struct parser *parser)
{
	if (expr_advance(parser) < 0)
		return NULL;
	struct node *n = expr_parse_sequence(parser);
	if (n != NULL && parser->cur.kind != TOK_EOF)
		return expr_unexpected(parser, parser->cur);
	return n;
}

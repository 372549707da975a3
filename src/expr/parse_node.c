/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parser is made of: operators and their binding, the current token, new nodes. */
#include "expr/parse_node_priv.h"

#include "base/strbuf.h"
#include "expr/lex_priv.h"
#include "expr/parse_priv.h"

static const struct op_row binary_ops[] = {
	{ "|", OP_PIPE, 0, false, false },
	{ "or", OP_OR, 10, false, false },
	{ "||", OP_OR, 10, false, false },
	{ "and", OP_AND, 15, false, false },
	{ "&&", OP_AND, 15, false, false },
	{ "==", OP_EQ, 20, false, false },
	{ "!=", OP_NE, 20, false, false },
	{ "<", OP_LT, 20, false, false },
	{ ">", OP_GT, 20, false, false },
	{ ">=", OP_GE, 20, false, false },
	{ "<=", OP_LE, 20, false, false },
	{ "in", OP_IN, 20, false, true },
	{ "matches", OP_MATCHES, 20, false, true },
	{ "contains", OP_CONTAINS, 20, false, true },
	{ "startsWith", OP_STARTS, 20, false, true },
	{ "endsWith", OP_ENDS, 20, false, true },
	{ "..", OP_RANGE, 25, false, false },
	{ "+", OP_ADD, 30, false, false },
	{ "-", OP_SUB, 30, false, false },
	{ "*", OP_MUL, 60, false, false },
	{ "/", OP_DIV, 60, false, false },
	{ "%", OP_MOD, 60, false, false },
	{ "**", OP_POW, 100, true, false },
	{ "^", OP_POW, 100, true, false },
	{ "??", OP_COALESCE, 250, false, false },
};

static const struct op_row unary_ops[] = {
	{ "not", OP_NOT, 50, false, false },
	{ "!", OP_NOT, 50, false, false },
	{ "-", OP_NEG, 90, false, false },
	{ "+", OP_PLUS, 90, false, false },
};

void expr_add_token(struct strbuf *out, struct tok token)
{
	static const char *const kinds[] = { "EOF",   "Identifier", "Number", "String",
					     "Bytes", "Operator",   "Bracket" };
	strbuf_adds(out, kinds[token.kind]);
	if (token.val.n == 0)
		return;
	strbuf_addc(out, '(');
	strbuf_add_quoted(out, (struct slice){ token.val.p, MIN(token.val.n, 80U) });
	strbuf_addc(out, ')');
}

void *expr_unexpected(struct parser *parser, struct tok token)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	expr_add_token(&b, token);
	expr_error_at(&parser->lx, token.at, "unexpected token %s", b.s);
	return NULL;
}

int expr_advance(struct parser *parser)
{
	if (parser->has_stash) {
		parser->cur = parser->stash;
		parser->has_stash = false;
		return 0;
	}
	return expr_lex(&parser->lx, &parser->cur);
}

bool expr_expect(struct parser *parser, enum tok_kind kind, const char *text)
{
	if (text != NULL ? cur_is(parser, kind, text) : parser->cur.kind == kind)
		return expr_advance(parser) == 0;
	expr_unexpected(parser, parser->cur);
	return false;
}

static const struct op_row *find_op(const struct op_row *rows, size_t count,
				    const struct tok *token)
{
	for (size_t i = 0; token->kind == TOK_OP && i < count; i++) {
		if (slice_is(token->val, rows[i].text))
			return &rows[i];
	}
	return NULL;
}

const struct op_row *expr_binary_op(const struct tok *token)
{
	return find_op(binary_ops, ARRAY_LEN(binary_ops), token);
}

const struct op_row *expr_unary_op(const struct tok *token)
{
	return find_op(unary_ops, ARRAY_LEN(unary_ops), token);
}

struct node *expr_new_node(struct parser *parser, enum node_kind kind, uint32_t at)
{
	if (++parser->n_nodes > EXPR_NODES_MAX) {
		expr_error_at(&parser->lx, at,
			      "compilation failed: expression exceeds maximum allowed nodes");
		return NULL;
	}
	struct node *n = arena_calloc(&parser->e->arena, sizeof(*n));
	n->kind = kind;
	n->at = at;
	n->height = 1;
	return n;
}

struct node *expr_seal(struct parser *parser, struct node *node)
{
	const struct node *kids[] = { node->a, node->b, node->c };
	unsigned height = 0;
	for (size_t i = 0; i < ARRAY_LEN(kids); i++)
		height = kids[i] != NULL ? MAX(height, kids[i]->height) : height;
	for (uint32_t i = 0; i < node->n_args; i++)
		height = MAX(height, node->args[i]->height);
	if (height >= EXPR_HEIGHT_MAX) {
		expr_error_at(&parser->lx, node->at, "expression is nested too deeply");
		return NULL;
	}
	node->height = (uint16_t)(height + 1);
	return node;
}

struct node *expr_new_const(struct parser *parser, uint32_t at, struct expr_value value)
{
	struct node *n = expr_new_node(parser, NODE_CONST, at);
	if (n != NULL)
		n->val = value;
	return n;
}

struct node *expr_new_op(struct parser *parser, enum op op, uint32_t at, struct node *left,
			 struct node *right)
{
	struct node *n = expr_new_node(parser, right != NULL ? NODE_BINARY : NODE_UNARY, at);
	if (n == NULL)
		return NULL;
	n->op = op;
	n->a = left;
	n->b = right;
	return expr_seal(parser, n);
}

struct node *expr_new_many(struct parser *parser, enum node_kind kind, uint32_t at,
			   const node_vec *args)
{
	struct node *n = expr_new_node(parser, kind, at);
	if (n == NULL)
		return NULL;
	n->n_args = (uint32_t)args->n;
	n->args = arena_memdup(&parser->e->arena, args->v, args->n * sizeof(struct node *));
	return expr_seal(parser, n);
}

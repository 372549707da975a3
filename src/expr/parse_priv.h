/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the parser: its tokens, its operators and how it makes nodes. */
#pragma once

#include "base/vec.h"
#include "expr/expr_priv.h"

struct strbuf;

typedef VEC(struct node *) node_vec;

struct op_row {
	const char *text;
	enum op op;
	uint8_t prec;
	bool right;
	bool negatable;
};

static inline bool token_is(const struct tok *token, enum tok_kind kind, const char *text)
{
	return token->kind == kind && slice_is(token->val, text);
}

static inline bool cur_is(const struct parser *parser, enum tok_kind kind, const char *text)
{
	return token_is(&parser->cur, kind, text);
}

/* Parts of the grammar; NULL with the error set. */
struct node *expr_parse_expression(struct parser *parser, unsigned prec);
struct node *expr_parse_sequence(struct parser *parser);

/* Tokens to nodes, not yet checked; NULL with the error set. */
struct node *expr_parse_tree(struct parser *parser);

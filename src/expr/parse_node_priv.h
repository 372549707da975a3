/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parser is made of: operators and their binding, the current token, new nodes. */
#pragma once

#include "expr/parse_priv.h"

/* The row of an operator token, or NULL. */
const struct op_row *expr_binary_op(const struct tok *token);
const struct op_row *expr_unary_op(const struct tok *token);

/* The next token into p->cur; negative with the error set. */
MUST_CHECK int expr_advance(struct parser *parser);
/* Consumes a token of that kind (and text, when not NULL); false with the error set. */
MUST_CHECK bool expr_expect(struct parser *parser, enum tok_kind kind, const char *text);
/* As Go prints a token: Operator("+"). */
void expr_add_token(struct strbuf *out, struct tok token);
/* Sets the error; NULL. */
void *expr_unexpected(struct parser *parser, struct tok token);

/* Nodes; NULL with the error set when there are too many or the tree is too high. */
struct node *expr_new_node(struct parser *parser, enum node_kind kind, uint32_t at);
/* To be called when the children are in place. */
struct node *expr_seal(struct parser *parser, struct node *node);
struct node *expr_new_const(struct parser *parser, uint32_t at, struct expr_value value);
struct node *expr_new_op(struct parser *parser, enum op op, uint32_t at, struct node *left,
			 struct node *right);
struct node *expr_new_many(struct parser *parser, enum node_kind kind, uint32_t at,
			   const node_vec *args);

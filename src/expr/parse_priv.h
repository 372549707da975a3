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

static inline bool is(const struct tok *token, enum tok_kind kind, const char *text)
{
	return token->kind == kind && slice_is(token->val, text);
}

static inline bool cur_is(const struct parser *parser, enum tok_kind kind, const char *text)
{
	return is(&parser->cur, kind, text);
}

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

/* Parts of the grammar; NULL with the error set. */
struct node *expr_parse_expression(struct parser *parser, unsigned prec);
struct node *expr_parse_sequence(struct parser *parser);
struct node *expr_parse_primary(struct parser *parser);
/* Arguments of the name just consumed. `first`: what was piped in, or NULL. `hide`: a name of the
 * environment hides the builtin. */
struct node *expr_parse_call(struct parser *parser, struct tok name, struct node *first, bool hide);

/* Tokens to a tree, by precedence climbing. Follows expr-lang's parser, its error texts and places
 * included. Nesting is counted, so that no text can exhaust the C stack. */
#include "expr/parse_priv.h"

/* 1 < x < 5 is 1 < x && x < 5. */
static struct node *parse_comparison(struct parser *p, struct node *left, struct tok t,
				     const struct op_row *op)
{
	struct node *root = NULL;
	for (;;) {
		struct node *right = expr_parse_expression(p, op->prec + 1U);
		if (right == NULL)
			return NULL;
		struct node *cmp = expr_new_op(p, op->op, t.at, left, right);
		if (cmp != NULL && root != NULL)
			cmp = expr_new_op(p, OP_AND, t.at, root, cmp);
		if (cmp == NULL)
			return NULL;
		root = cmp;
		left = right;
		t = p->cur;
		op = expr_binary_op(&t);
		if (op == NULL || op->op < OP_LT || op->op > OP_LE)
			return root;
		if (expr_advance(p) < 0)
			return NULL;
	}
}

/* What follows the operator `t`, which is consumed. */
static struct node *parse_right(struct parser *p, struct node *left, struct tok t,
				const struct op_row *op, bool negate)
{
	if (op->op == OP_PIPE) {
		struct tok name = p->cur;
		return expr_expect(p, TOK_IDENT, NULL) ? expr_parse_call(p, name, left, true)
						       : NULL;
	}
	if (op->op >= OP_LT && op->op <= OP_LE)
		return parse_comparison(p, left, t, op);
	struct node *right = expr_parse_expression(p, op->right ? op->prec : op->prec + 1U);
	if (right == NULL)
		return NULL;
	struct node *n = expr_new_op(p, op->op, t.at, left, right);
	if (n != NULL && negate)
		n = expr_new_op(p, OP_NOT, t.at, n, NULL);
	return n;
}

/* `not` before in, contains ...: 1 when the next token is one that binds tightly enough, 0 when it
 * belongs further out (and nothing was consumed), negative for errors. */
static int parse_negation(struct parser *p, unsigned prec)
{
	struct tok not_tok = p->cur;
	if (expr_advance(p) < 0)
		return -1;
	const struct op_row *op = expr_binary_op(&p->cur);
	if (op == NULL || !op->negatable) {
		expr_unexpected(p, p->cur);
		return -1;
	}
	if (op->prec >= prec)
		return 1;
	p->stash = p->cur;
	p->has_stash = true;
	p->cur = not_tok;
	return 0;
}

static struct node *parse_operators(struct parser *p, struct node *left, unsigned prec)
{
	bool coalesced = false;
	while (left != NULL && p->cur.kind == TOK_OP) {
		bool negate = cur_is(p, TOK_OP, "not");
		if (negate) {
			int r = parse_negation(p, prec);
			if (r <= 0)
				return r < 0 ? NULL : left;
		}
		struct tok t = p->cur;
		const struct op_row *op = expr_binary_op(&t);
		if (op == NULL || op->prec < prec)
			break;
		if (expr_advance(p) < 0)
			return NULL;
		if (coalesced && op->op != OP_COALESCE && op->op != OP_PIPE) {
			expr_error_at(
				&p->lx, t.at,
				"Operator (%s) and coalesce expressions (?\?) cannot be mixed. "
				"Wrap either by parentheses.",
				op->text);
			return NULL;
		}
		left = parse_right(p, left, t, op, negate);
		coalesced = op->op == OP_COALESCE;
	}
	return left;
}

static struct node *new_cond(struct parser *p, uint32_t at, struct node *c, struct node *yes,
			     struct node *no)
{
	struct node *n = expr_new_node(p, NODE_COND, at);
	if (n == NULL || yes == NULL || no == NULL)
		return NULL;
	n->a = c;
	n->b = yes;
	n->c = no;
	return expr_seal(p, n);
}

static struct node *parse_ternary(struct parser *p, struct node *n)
{
	while (n != NULL && cur_is(p, TOK_OP, "?")) {
		struct node *yes = n;
		if (expr_advance(p) < 0)
			return NULL;
		if (!cur_is(p, TOK_OP, ":") && (yes = expr_parse_expression(p, 0)) == NULL)
			return NULL;
		if (!expr_expect(p, TOK_OP, ":"))
			return NULL;
		struct node *no = expr_parse_expression(p, 0);
		n = no != NULL ? new_cond(p, p->cur.at, n, yes, no) : NULL;
	}
	return n;
}

static struct node *parse_block(struct parser *p)
{
	if (!expr_expect(p, TOK_BRACKET, "{"))
		return NULL;
	struct node *n = expr_parse_sequence(p);
	return n != NULL && expr_expect(p, TOK_BRACKET, "}") ? n : NULL;
}

static struct node *parse_if(struct parser *p)
{
	if (expr_advance(p) < 0)
		return NULL;
	struct node *c = expr_parse_expression(p, 0);
	struct node *yes = c != NULL ? parse_block(p) : NULL;
	if (yes == NULL || !expr_expect(p, TOK_OP, "else"))
		return NULL;
	struct node *no = cur_is(p, TOK_OP, "if") ? expr_parse_expression(p, 0) : parse_block(p);
	return no != NULL ? new_cond(p, 0, c, yes, no) : NULL;
}

static struct node *parse_let(struct parser *p)
{
	if (expr_advance(p) < 0)
		return NULL;
	struct tok name = p->cur;
	if (!expr_expect(p, TOK_IDENT, NULL) || !expr_expect(p, TOK_OP, "="))
		return NULL;
	struct node *value = expr_parse_expression(p, 0);
	if (value == NULL || !expr_expect(p, TOK_OP, ";"))
		return NULL;
	struct node *body = expr_parse_sequence(p);
	struct node *n = body != NULL ? expr_new_node(p, NODE_LET, name.at) : NULL;
	if (n == NULL)
		return NULL;
	n->name = name.val;
	n->a = value;
	n->b = body;
	return expr_seal(p, n);
}

struct node *expr_parse_expression(struct parser *p, unsigned prec)
{
	struct node *n;
	if (p->nesting >= EXPR_NESTING_MAX) {
		expr_error_at(&p->lx, p->cur.at, "expression is nested too deeply");
		return NULL;
	}
	p->nesting++;
	if (prec == 0 && cur_is(p, TOK_OP, "let")) {
		n = parse_let(p);
	} else if (prec == 0 && cur_is(p, TOK_OP, "if")) {
		n = parse_if(p);
	} else {
		n = expr_parse_primary(p);
		n = parse_operators(p, n, prec);
		if (prec == 0)
			n = parse_ternary(p, n);
	}
	p->nesting--;
	return n;
}

struct node *expr_parse_sequence(struct parser *p)
{
	node_vec v = { 0 };
	struct node *n = expr_parse_expression(p, 0);
	if (n == NULL || !cur_is(p, TOK_OP, ";"))
		return n;
	uint32_t at = n->at;
	vec_push(&v, n);
	while (n != NULL && cur_is(p, TOK_OP, ";")) {
		n = NULL;
		if (expr_advance(p) < 0)
			break;
		if (p->cur.kind == TOK_EOF) {
			n = v.v[v.n - 1];
			break;
		}
		n = expr_parse_expression(p, 0);
		if (n != NULL)
			vec_push(&v, n);
	}
	if (n != NULL && v.n > 1)
		n = expr_new_many(p, NODE_SEQ, at, &v);
	vec_done(&v);
	return n;
}

struct node *expr_parse_tree(struct parser *p)
{
	if (expr_advance(p) < 0)
		return NULL;
	struct node *n = expr_parse_sequence(p);
	if (n != NULL && p->cur.kind != TOK_EOF)
		return expr_unexpected(p, p->cur);
	return n;
}

/* What the parser is made of: operators and their binding, the current token, new nodes. */
#include "base/strbuf.h"
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

void expr_add_token(struct strbuf *b, struct tok t)
{
	static const char *const kinds[] = { "EOF",   "Identifier", "Number", "String",
					     "Bytes", "Operator",   "Bracket" };
	strbuf_adds(b, kinds[t.kind]);
	if (t.val.n == 0)
		return;
	strbuf_addc(b, '(');
	strbuf_add_quoted(b, (struct slice){ t.val.p, MIN(t.val.n, 80U) });
	strbuf_addc(b, ')');
}

void *expr_unexpected(struct parser *p, struct tok t)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	expr_add_token(&b, t);
	expr_error_at(&p->lx, t.at, "unexpected token %s", b.s);
	return NULL;
}

int expr_advance(struct parser *p)
{
	if (p->has_stash) {
		p->cur = p->stash;
		p->has_stash = false;
		return 0;
	}
	return expr_lex(&p->lx, &p->cur);
}

bool expr_expect(struct parser *p, enum tok_kind kind, const char *text)
{
	if (text != NULL ? cur_is(p, kind, text) : p->cur.kind == kind)
		return expr_advance(p) == 0;
	expr_unexpected(p, p->cur);
	return false;
}

static const struct op_row *find_op(const struct op_row *rows, size_t n, const struct tok *t)
{
	for (size_t i = 0; t->kind == TOK_OP && i < n; i++) {
		if (slice_is(t->val, rows[i].text))
			return &rows[i];
	}
	return NULL;
}

const struct op_row *expr_binary_op(const struct tok *t)
{
	return find_op(binary_ops, ARRAY_LEN(binary_ops), t);
}

const struct op_row *expr_unary_op(const struct tok *t)
{
	return find_op(unary_ops, ARRAY_LEN(unary_ops), t);
}

struct node *expr_new_node(struct parser *p, enum node_kind kind, uint32_t at)
{
	if (++p->n_nodes > EXPR_NODES_MAX) {
		expr_error_at(&p->lx, at,
			      "compilation failed: expression exceeds maximum allowed nodes");
		return NULL;
	}
	struct node *n = arena_calloc(&p->e->arena, sizeof(*n));
	n->kind = kind;
	n->at = at;
	n->height = 1;
	return n;
}

struct node *expr_seal(struct parser *p, struct node *n)
{
	const struct node *kids[] = { n->a, n->b, n->c };
	unsigned height = 0;
	for (size_t i = 0; i < ARRAY_LEN(kids); i++)
		height = kids[i] != NULL ? MAX(height, kids[i]->height) : height;
	for (uint32_t i = 0; i < n->n_args; i++)
		height = MAX(height, n->args[i]->height);
	if (height >= EXPR_HEIGHT_MAX) {
		expr_error_at(&p->lx, n->at, "expression is nested too deeply");
		return NULL;
	}
	n->height = (uint16_t)(height + 1);
	return n;
}

struct node *expr_new_const(struct parser *p, uint32_t at, struct expr_value v)
{
	struct node *n = expr_new_node(p, NODE_CONST, at);
	if (n != NULL)
		n->val = v;
	return n;
}

struct node *expr_new_op(struct parser *p, enum op op, uint32_t at, struct node *a, struct node *b)
{
	struct node *n = expr_new_node(p, b != NULL ? NODE_BINARY : NODE_UNARY, at);
	if (n == NULL)
		return NULL;
	n->op = op;
	n->a = a;
	n->b = b;
	return expr_seal(p, n);
}

struct node *expr_new_many(struct parser *p, enum node_kind kind, uint32_t at, const node_vec *args)
{
	struct node *n = expr_new_node(p, kind, at);
	if (n == NULL)
		return NULL;
	n->n_args = (uint32_t)args->n;
	n->args = arena_memdup(&p->e->arena, args->v, args->n * sizeof(struct node *));
	return expr_seal(p, n);
}

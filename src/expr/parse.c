/* Tokens to a tree, by precedence climbing. Follows expr-lang's parser, its error texts and places
 * included. Nesting is counted, so that no text can exhaust the C stack. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "expr/expr_priv.h"

typedef VEC(struct node *) node_vec;

struct op_row {
	const char *text;
	enum op op;
	uint8_t prec;
	bool right;
	bool negatable;
};

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

static struct node *parse_expression(struct parser *p, unsigned prec);
static struct node *parse_sequence(struct parser *p);
static struct node *parse_call(struct parser *p, struct tok name, struct node *first, bool hide);
static struct node *parse_postfix(struct parser *p, struct node *n);

/* --- tokens --- */

static bool is(const struct tok *t, enum tok_kind kind, const char *text)
{
	return t->kind == kind && slice_is(t->val, text);
}

static bool cur_is(const struct parser *p, enum tok_kind kind, const char *text)
{
	return is(&p->cur, kind, text);
}

/* As Go prints a token: Operator("+"). */
static void add_token(struct strbuf *b, struct tok t)
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

static void *unexpected(struct parser *p, struct tok t)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	add_token(&b, t);
	expr_error_at(&p->lx, t.at, "unexpected token %s", b.s);
	return NULL;
}

static void *bad_map_key(struct parser *p)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	add_token(&b, p->cur);
	expr_error_at(&p->lx, p->cur.at,
		      "a map key must be a quoted string, a number, a identifier, or an expression "
		      "enclosed in parentheses (unexpected token %s)",
		      b.s);
	return NULL;
}

static int advance(struct parser *p)
{
	if (p->has_stash) {
		p->cur = p->stash;
		p->has_stash = false;
		return 0;
	}
	return expr_lex(&p->lx, &p->cur);
}

static bool expect(struct parser *p, enum tok_kind kind, const char *text)
{
	if (text != NULL ? cur_is(p, kind, text) : p->cur.kind == kind)
		return advance(p) == 0;
	unexpected(p, p->cur);
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

static const struct op_row *binary_op(const struct tok *t)
{
	return find_op(binary_ops, ARRAY_LEN(binary_ops), t);
}

/* --- nodes --- */

static struct node *new_node(struct parser *p, enum node_kind kind, uint32_t at)
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

/* Takes the children in; NULL when the tree becomes too high. */
static struct node *seal(struct parser *p, struct node *n)
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

static struct node *new_const(struct parser *p, uint32_t at, struct expr_value v)
{
	struct node *n = new_node(p, NODE_CONST, at);
	if (n != NULL)
		n->val = v;
	return n;
}

static struct node *new_op(struct parser *p, enum op op, uint32_t at, struct node *a,
			   struct node *b)
{
	struct node *n = new_node(p, b != NULL ? NODE_BINARY : NODE_UNARY, at);
	if (n == NULL)
		return NULL;
	n->op = op;
	n->a = a;
	n->b = b;
	return seal(p, n);
}

static struct node *new_many(struct parser *p, enum node_kind kind, uint32_t at,
			     const node_vec *args)
{
	struct node *n = new_node(p, kind, at);
	if (n == NULL)
		return NULL;
	n->n_args = (uint32_t)args->n;
	n->args = arena_memdup(&p->e->arena, args->v, args->n * sizeof(struct node *));
	return seal(p, n);
}

/* --- literals --- */

static struct node *parse_integer(struct parser *p, struct tok t, const char *text, int base)
{
	errno = 0;
	char *end;
	long long v = strtoll(text, &end, base);
	if (errno != 0 || *end != '\0' || end == text) {
		expr_error_at(&p->lx, p->cur.at, "invalid integer literal: %s",
			      errno == ERANGE ? "value out of range" : "invalid syntax");
		return NULL;
	}
	return new_const(p, t.at, expr_int(v));
}

static struct node *parse_number(struct parser *p, struct tok t)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < t.val.n; i++) {
		if (t.val.p[i] != '_')
			strbuf_addc(&b, t.val.p[i]);
	}
	char second = b.n > 1 && b.s[0] == '0' ? ascii_lower(b.s[1]) : '\0';
	if (second == 'x')
		return parse_integer(p, t, b.s + 2, 16);
	if (strpbrk(b.s, ".eE") != NULL) {
		char *end;
		double f = strtod(b.s, &end);
		if (*end != '\0' || f > 1.7976931348623157e308 || slice_is(t.val, ".")) {
			expr_error_at(&p->lx, p->cur.at, "invalid float literal");
			return NULL;
		}
		return new_const(p, t.at, expr_float(f));
	}
	if (second == 'b' || second == 'o')
		return parse_integer(p, t, b.s + 2, second == 'b' ? 2 : 8);
	return parse_integer(p, t, b.s, 10);
}

static struct node *parse_array(struct parser *p, struct tok open)
{
	node_vec v = { 0 };
	struct node *n = NULL;
	if (advance(p) < 0)
		return NULL;
	while (!cur_is(p, TOK_BRACKET, "]")) {
		if (v.n > 0 && !expect(p, TOK_OP, ","))
			goto out;
		if (v.n > 0 && cur_is(p, TOK_BRACKET, "]"))
			break;
		struct node *item = parse_expression(p, 0);
		if (item == NULL)
			goto out;
		vec_push(&v, item);
	}
	if (expect(p, TOK_BRACKET, "]"))
		n = new_many(p, NODE_ARRAY, open.at, &v);
out:
	vec_done(&v);
	return n;
}

static struct node *parse_map_key(struct parser *p)
{
	if (p->cur.kind == TOK_NUMBER || p->cur.kind == TOK_STRING || p->cur.kind == TOK_IDENT) {
		struct node *key = new_const(p, p->cur.at, expr_string(p->cur.val));
		return key != NULL && advance(p) == 0 ? key : NULL;
	}
	if (cur_is(p, TOK_BRACKET, "("))
		return parse_expression(p, 0);
	return bad_map_key(p);
}

static struct node *parse_map(struct parser *p, struct tok open)
{
	node_vec v = { 0 };
	struct node *n = NULL;
	if (advance(p) < 0)
		return NULL;
	while (!cur_is(p, TOK_BRACKET, "}")) {
		if (v.n > 0 && !expect(p, TOK_OP, ","))
			goto out;
		if (v.n > 0 && cur_is(p, TOK_BRACKET, "}"))
			break;
		if (v.n > 0 && cur_is(p, TOK_OP, ",")) {
			unexpected(p, p->cur);
			goto out;
		}
		struct node *key = parse_map_key(p);
		if (key == NULL || !expect(p, TOK_OP, ":"))
			goto out;
		struct node *value = parse_expression(p, 0);
		if (value == NULL)
			goto out;
		vec_push(&v, key);
		vec_push(&v, value);
	}
	if (expect(p, TOK_BRACKET, "}"))
		n = new_many(p, NODE_MAP, open.at, &v);
out:
	vec_done(&v);
	return n;
}

/* --- names, calls --- */

static bool parse_arguments(struct parser *p, node_vec *args)
{
	size_t offset = args->n;
	if (!expect(p, TOK_BRACKET, "("))
		return false;
	while (!cur_is(p, TOK_BRACKET, ")")) {
		if (args->n > offset && !expect(p, TOK_OP, ","))
			return false;
		if (cur_is(p, TOK_BRACKET, ")"))
			break;
		struct node *n = parse_expression(p, 0);
		if (n == NULL)
			return false;
		vec_push(args, n);
	}
	return expect(p, TOK_BRACKET, ")");
}

static struct node *parse_predicate(struct parser *p)
{
	uint32_t at = p->cur.at;
	bool braces = cur_is(p, TOK_BRACKET, "{");
	if (braces && advance(p) < 0)
		return NULL;
	p->predicates++;
	struct node *body = braces ? parse_sequence(p) : parse_expression(p, 0);
	p->predicates--;
	if (body == NULL)
		return NULL;
	if (!braces && cur_is(p, TOK_OP, ";")) {
		expr_error_at(&p->lx, p->cur.at, "wrap predicate with brackets { and }");
		return NULL;
	}
	if (braces && !expect(p, TOK_BRACKET, "}"))
		return NULL;
	struct node *n = new_node(p, NODE_PREDICATE, at);
	if (n == NULL)
		return NULL;
	n->a = body;
	return seal(p, n);
}

static bool parse_loop_arguments(struct parser *p, const struct expr_builtin *b, node_vec *args)
{
	const char *params = b->params + args->n;
	size_t count = strlen(params);
	if (!expect(p, TOK_BRACKET, "("))
		return false;
	for (size_t i = 0; i < count; i++) {
		bool optional = params[i] >= 'A' && params[i] <= 'Z';
		if (cur_is(p, TOK_BRACKET, ")")) {
			if (optional)
				break;
			expr_error_at(&p->lx, p->cur.at, "expected at least %zu arguments", count);
			return false;
		}
		if (i > 0 && !expect(p, TOK_OP, ","))
			return false;
		if (i > 0 && optional && cur_is(p, TOK_BRACKET, ")"))
			break;
		struct node *n =
			ascii_lower(params[i]) == 'p' ? parse_predicate(p) : parse_expression(p, 0);
		if (n == NULL)
			return false;
		vec_push(args, n);
	}
	if (cur_is(p, TOK_OP, ",") && advance(p) < 0)
		return false;
	return expect(p, TOK_BRACKET, ")");
}

/* `hide`: a name of the environment hides the builtin. */
static struct node *parse_call(struct parser *p, struct tok name, struct node *first, bool hide)
{
	const struct expr_builtin *b = expr_find_builtin(name.val);
	node_vec args = { 0 };
	struct node *n = NULL;
	if (hide && b != NULL &&
	    (expr_find_func(p->env, name.val) != NULL || expr_find_var(p->env, name.val) != NULL))
		b = NULL;
	if (first != NULL)
		vec_push(&args, first);
	bool ok = b != NULL && b->form == FORM_LOOP ? parse_loop_arguments(p, b, &args)
						    : parse_arguments(p, &args);
	if (ok)
		n = new_many(p, b != NULL ? NODE_BUILTIN : NODE_CALL, name.at, &args);
	vec_done(&args);
	if (n == NULL)
		return NULL;
	n->builtin = b;
	n->name = name.val;
	return n;
}

static struct node *parse_name(struct parser *p, struct tok t)
{
	if (advance(p) < 0)
		return NULL;
	if (slice_is(t.val, "true") || slice_is(t.val, "false"))
		return new_const(p, t.at, expr_bool(t.val.n == 4));
	if (slice_is(t.val, "nil"))
		return new_const(p, t.at, expr_nil());
	struct node *n;
	if (cur_is(p, TOK_BRACKET, "(")) {
		n = parse_call(p, t, NULL, true);
	} else {
		n = new_node(p, NODE_IDENT, t.at);
		if (n != NULL)
			n->name = t.val;
	}
	return n != NULL ? parse_postfix(p, n) : NULL;
}

static struct node *parse_secondary(struct parser *p)
{
	struct tok t = p->cur;
	struct node *n = NULL;
	switch (t.kind) {
	case TOK_IDENT:
		return parse_name(p, t);
	case TOK_NUMBER:
		return advance(p) == 0 ? parse_number(p, t) : NULL;
	case TOK_STRING:
	case TOK_BYTES:
		if (advance(p) < 0)
			return NULL;
		n = new_const(p, t.at, expr_string(t.val));
		if (n != NULL && t.kind == TOK_BYTES) {
			n->val.type = EXPR_BYTES;
			n->val.depth = 1;
		}
		break;
	case TOK_BRACKET:
		if (slice_is(t.val, "["))
			n = parse_array(p, t);
		else if (slice_is(t.val, "{"))
			n = parse_map(p, t);
		else
			return unexpected(p, t);
		break;
	case TOK_OP:
	case TOK_EOF:
		return unexpected(p, t);
	}
	return n != NULL ? parse_postfix(p, n) : NULL;
}

/* # #index #acc and, without consuming the dot, .field */
static struct node *parse_pointer(struct parser *p)
{
	static const struct {
		const char *name;
		enum node_kind kind;
	} names[] = { { "", NODE_ELEM }, { "index", NODE_INDEX }, { "acc", NODE_ACC } };
	struct tok t = p->cur;
	struct slice name = { "", 0 };
	if (slice_is(t.val, "#")) {
		if (advance(p) < 0)
			return NULL;
		if (p->cur.kind == TOK_IDENT) {
			name = p->cur.val;
			if (advance(p) < 0)
				return NULL;
		}
	}
	struct node *n = new_node(p, NODE_POINTER, t.at);
	if (n == NULL)
		return NULL;
	n->name = name;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		n->kind = slice_is(name, names[i].name) ? names[i].kind : n->kind;
	return parse_postfix(p, n);
}

static struct node *parse_primary(struct parser *p)
{
	struct tok t = p->cur;
	const struct op_row *op = find_op(unary_ops, ARRAY_LEN(unary_ops), &t);
	struct node *n;
	if (op != NULL) {
		if (advance(p) < 0 || (n = parse_expression(p, op->prec)) == NULL)
			return NULL;
		n = new_op(p, op->op, t.at, n, NULL);
		return n != NULL ? parse_postfix(p, n) : NULL;
	}
	if (is(&t, TOK_BRACKET, "(")) {
		if (advance(p) < 0 || (n = parse_sequence(p)) == NULL ||
		    !expect(p, TOK_BRACKET, ")"))
			return NULL;
		return parse_postfix(p, n);
	}
	if (p->predicates > 0 && (is(&t, TOK_OP, "#") || is(&t, TOK_OP, ".")))
		return parse_pointer(p);
	if (is(&t, TOK_OP, "::")) {
		if (advance(p) < 0)
			return NULL;
		t = p->cur;
		if (!expect(p, TOK_IDENT, NULL) || (n = parse_call(p, t, NULL, false)) == NULL)
			return NULL;
		return parse_postfix(p, n);
	}
	return parse_secondary(p);
}

/* --- postfix: .name ?.name [index] [from:to] --- */

static struct node *new_member(struct parser *p, struct node *a, struct node *b, bool optional,
			       uint32_t at)
{
	struct node *n = new_node(p, NODE_MEMBER, at);
	if (n == NULL)
		return NULL;
	n->a = a;
	n->b = b;
	n->optional = optional;
	return seal(p, n);
}

static struct node *new_chain(struct parser *p, struct node *a, uint32_t at)
{
	struct node *n = new_node(p, NODE_CHAIN, at);
	if (n == NULL)
		return NULL;
	n->a = a;
	return seal(p, n);
}

static bool is_property(const struct tok *t)
{
	return t->kind == TOK_IDENT ||
	       (t->kind == TOK_OP && t->val.n != 0 && ascii_isalpha(t->val.p[0]));
}

/* a.name, a?.name, a.name(args); the dot is consumed. */
static struct node *parse_property(struct parser *p, struct node *n, bool optional)
{
	struct tok t = p->cur;
	if (advance(p) < 0)
		return NULL;
	if (!is_property(&t)) {
		expr_error_at(&p->lx, p->cur.at, "expected name");
		return NULL;
	}
	bool chain = n->kind == NODE_CHAIN;
	struct node *key = new_const(p, t.at, expr_string(t.val));
	if (key == NULL || (n = new_member(p, chain ? n->a : n, key, optional, t.at)) == NULL)
		return NULL;
	if (cur_is(p, TOK_BRACKET, "(")) {
		node_vec args = { 0 };
		struct node *call = NULL;
		if (parse_arguments(p, &args))
			call = new_many(p, NODE_CALL, t.at, &args);
		vec_done(&args);
		if (call == NULL)
			return NULL;
		call->a = n;
		call->name = t.val;
		n = seal(p, call);
	}
	return n != NULL && (chain || optional) ? new_chain(p, n, t.at) : n;
}

static struct node *parse_slice(struct parser *p, struct node *n, struct node *from, uint32_t at)
{
	struct node *s = new_node(p, NODE_SLICE, at);
	if (s == NULL || advance(p) < 0)
		return NULL;
	s->a = n;
	s->b = from;
	if (!cur_is(p, TOK_BRACKET, "]") && (s->c = parse_expression(p, 0)) == NULL)
		return NULL;
	return expect(p, TOK_BRACKET, "]") ? seal(p, s) : NULL;
}

/* The bracket is the current token. */
static struct node *parse_index(struct parser *p, struct node *n, bool optional)
{
	uint32_t at = p->cur.at;
	if (advance(p) < 0)
		return NULL;
	if (cur_is(p, TOK_OP, ":"))
		return parse_slice(p, n, NULL, at);
	struct node *from = parse_expression(p, 0);
	if (from == NULL)
		return NULL;
	if (cur_is(p, TOK_OP, ":"))
		return parse_slice(p, n, from, at);
	n = new_member(p, n, from, optional, at);
	if (n != NULL && optional)
		n = new_chain(p, n, at);
	return n != NULL && expect(p, TOK_BRACKET, "]") ? n : NULL;
}

static struct node *parse_postfix(struct parser *p, struct node *n)
{
	while (n != NULL) {
		bool optional = cur_is(p, TOK_OP, "?.");
		if (optional || cur_is(p, TOK_OP, ".")) {
			if (advance(p) < 0)
				return NULL;
			if (optional && cur_is(p, TOK_BRACKET, "["))
				n = parse_index(p, n, true);
			else
				n = parse_property(p, n, optional);
		} else if (cur_is(p, TOK_BRACKET, "[")) {
			n = parse_index(p, n, false);
		} else {
			break;
		}
	}
	return n;
}

/* --- expressions --- */

/* 1 < x < 5 is 1 < x && x < 5. */
static struct node *parse_comparison(struct parser *p, struct node *left, struct tok t,
				     const struct op_row *op)
{
	struct node *root = NULL;
	for (;;) {
		struct node *right = parse_expression(p, op->prec + 1U);
		if (right == NULL)
			return NULL;
		struct node *cmp = new_op(p, op->op, t.at, left, right);
		if (cmp != NULL && root != NULL)
			cmp = new_op(p, OP_AND, t.at, root, cmp);
		if (cmp == NULL)
			return NULL;
		root = cmp;
		left = right;
		t = p->cur;
		op = binary_op(&t);
		if (op == NULL || op->op < OP_LT || op->op > OP_LE)
			return root;
		if (advance(p) < 0)
			return NULL;
	}
}

/* What follows the operator `t`, which is consumed. */
static struct node *parse_right(struct parser *p, struct node *left, struct tok t,
				const struct op_row *op, bool negate)
{
	if (op->op == OP_PIPE) {
		struct tok name = p->cur;
		return expect(p, TOK_IDENT, NULL) ? parse_call(p, name, left, true) : NULL;
	}
	if (op->op >= OP_LT && op->op <= OP_LE)
		return parse_comparison(p, left, t, op);
	struct node *right = parse_expression(p, op->right ? op->prec : op->prec + 1U);
	if (right == NULL)
		return NULL;
	struct node *n = new_op(p, op->op, t.at, left, right);
	if (n != NULL && negate)
		n = new_op(p, OP_NOT, t.at, n, NULL);
	return n;
}

/* `not` before in, contains ...: 1 when the next token is one that binds tightly enough, 0 when it
 * belongs further out (and nothing was consumed), negative for errors. */
static int parse_negation(struct parser *p, unsigned prec)
{
	struct tok not_tok = p->cur;
	if (advance(p) < 0)
		return -1;
	const struct op_row *op = binary_op(&p->cur);
	if (op == NULL || !op->negatable) {
		unexpected(p, p->cur);
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
		const struct op_row *op = binary_op(&t);
		if (op == NULL || op->prec < prec)
			break;
		if (advance(p) < 0)
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
	struct node *n = new_node(p, NODE_COND, at);
	if (n == NULL || yes == NULL || no == NULL)
		return NULL;
	n->a = c;
	n->b = yes;
	n->c = no;
	return seal(p, n);
}

static struct node *parse_ternary(struct parser *p, struct node *n)
{
	while (n != NULL && cur_is(p, TOK_OP, "?")) {
		struct node *yes = n;
		if (advance(p) < 0)
			return NULL;
		if (!cur_is(p, TOK_OP, ":") && (yes = parse_expression(p, 0)) == NULL)
			return NULL;
		if (!expect(p, TOK_OP, ":"))
			return NULL;
		struct node *no = parse_expression(p, 0);
		n = no != NULL ? new_cond(p, p->cur.at, n, yes, no) : NULL;
	}
	return n;
}

static struct node *parse_block(struct parser *p)
{
	if (!expect(p, TOK_BRACKET, "{"))
		return NULL;
	struct node *n = parse_sequence(p);
	return n != NULL && expect(p, TOK_BRACKET, "}") ? n : NULL;
}

static struct node *parse_if(struct parser *p)
{
	if (advance(p) < 0)
		return NULL;
	struct node *c = parse_expression(p, 0);
	struct node *yes = c != NULL ? parse_block(p) : NULL;
	if (yes == NULL || !expect(p, TOK_OP, "else"))
		return NULL;
	struct node *no = cur_is(p, TOK_OP, "if") ? parse_expression(p, 0) : parse_block(p);
	return no != NULL ? new_cond(p, 0, c, yes, no) : NULL;
}

static struct node *parse_let(struct parser *p)
{
	if (advance(p) < 0)
		return NULL;
	struct tok name = p->cur;
	if (!expect(p, TOK_IDENT, NULL) || !expect(p, TOK_OP, "="))
		return NULL;
	struct node *value = parse_expression(p, 0);
	if (value == NULL || !expect(p, TOK_OP, ";"))
		return NULL;
	struct node *body = parse_sequence(p);
	struct node *n = body != NULL ? new_node(p, NODE_LET, name.at) : NULL;
	if (n == NULL)
		return NULL;
	n->name = name.val;
	n->a = value;
	n->b = body;
	return seal(p, n);
}

static struct node *parse_expression(struct parser *p, unsigned prec)
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
		n = parse_primary(p);
		n = parse_operators(p, n, prec);
		if (prec == 0)
			n = parse_ternary(p, n);
	}
	p->nesting--;
	return n;
}

static struct node *parse_sequence(struct parser *p)
{
	node_vec v = { 0 };
	struct node *n = parse_expression(p, 0);
	if (n == NULL || !cur_is(p, TOK_OP, ";"))
		return n;
	uint32_t at = n->at;
	vec_push(&v, n);
	while (n != NULL && cur_is(p, TOK_OP, ";")) {
		n = NULL;
		if (advance(p) < 0)
			break;
		if (p->cur.kind == TOK_EOF) {
			n = v.v[v.n - 1];
			break;
		}
		n = parse_expression(p, 0);
		if (n != NULL)
			vec_push(&v, n);
	}
	if (n != NULL && v.n > 1)
		n = new_many(p, NODE_SEQ, at, &v);
	vec_done(&v);
	return n;
}

struct node *expr_parse_tree(struct parser *p)
{
	if (advance(p) < 0)
		return NULL;
	struct node *n = parse_sequence(p);
	if (n != NULL && p->cur.kind != TOK_EOF)
		return unexpected(p, p->cur);
	return n;
}

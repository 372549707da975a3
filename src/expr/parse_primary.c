/* Parses what operators stand between: literals, names, calls and predicates, and what may follow
 * them: .name, ?.name, [index], [from:to]. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "expr/parse_priv.h"

static struct node *parse_postfix(struct parser *p, struct node *n);

static void *bad_map_key(struct parser *p)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	expr_add_token(&b, p->cur);
	expr_error_at(&p->lx, p->cur.at,
		      "a map key must be a quoted string, a number, a identifier, or an expression "
		      "enclosed in parentheses (unexpected token %s)",
		      b.s);
	return NULL;
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
	return expr_new_const(p, t.at, expr_int(v));
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
		return expr_new_const(p, t.at, expr_float(f));
	}
	if (second == 'b' || second == 'o')
		return parse_integer(p, t, b.s + 2, second == 'b' ? 2 : 8);
	return parse_integer(p, t, b.s, 10);
}

static struct node *parse_array(struct parser *p, struct tok open)
{
	node_vec v = { 0 };
	struct node *n = NULL;
	if (expr_advance(p) < 0)
		return NULL;
	while (!cur_is(p, TOK_BRACKET, "]")) {
		if (v.n > 0 && !expr_expect(p, TOK_OP, ","))
			goto out;
		if (v.n > 0 && cur_is(p, TOK_BRACKET, "]"))
			break;
		struct node *item = expr_parse_expression(p, 0);
		if (item == NULL)
			goto out;
		vec_push(&v, item);
	}
	if (expr_expect(p, TOK_BRACKET, "]"))
		n = expr_new_many(p, NODE_ARRAY, open.at, &v);
out:
	vec_done(&v);
	return n;
}

static struct node *parse_map_key(struct parser *p)
{
	if (p->cur.kind == TOK_NUMBER || p->cur.kind == TOK_STRING || p->cur.kind == TOK_IDENT) {
		struct node *key = expr_new_const(p, p->cur.at, expr_string(p->cur.val));
		return key != NULL && expr_advance(p) == 0 ? key : NULL;
	}
	if (cur_is(p, TOK_BRACKET, "("))
		return expr_parse_expression(p, 0);
	return bad_map_key(p);
}

static struct node *parse_map(struct parser *p, struct tok open)
{
	node_vec v = { 0 };
	struct node *n = NULL;
	if (expr_advance(p) < 0)
		return NULL;
	while (!cur_is(p, TOK_BRACKET, "}")) {
		if (v.n > 0 && !expr_expect(p, TOK_OP, ","))
			goto out;
		if (v.n > 0 && cur_is(p, TOK_BRACKET, "}"))
			break;
		if (v.n > 0 && cur_is(p, TOK_OP, ",")) {
			expr_unexpected(p, p->cur);
			goto out;
		}
		struct node *key = parse_map_key(p);
		if (key == NULL || !expr_expect(p, TOK_OP, ":"))
			goto out;
		struct node *value = expr_parse_expression(p, 0);
		if (value == NULL)
			goto out;
		vec_push(&v, key);
		vec_push(&v, value);
	}
	if (expr_expect(p, TOK_BRACKET, "}"))
		n = expr_new_many(p, NODE_MAP, open.at, &v);
out:
	vec_done(&v);
	return n;
}

/* --- names, calls --- */

static bool parse_arguments(struct parser *p, node_vec *args)
{
	size_t offset = args->n;
	if (!expr_expect(p, TOK_BRACKET, "("))
		return false;
	while (!cur_is(p, TOK_BRACKET, ")")) {
		if (args->n > offset && !expr_expect(p, TOK_OP, ","))
			return false;
		if (cur_is(p, TOK_BRACKET, ")"))
			break;
		struct node *n = expr_parse_expression(p, 0);
		if (n == NULL)
			return false;
		vec_push(args, n);
	}
	return expr_expect(p, TOK_BRACKET, ")");
}

static struct node *parse_predicate(struct parser *p)
{
	uint32_t at = p->cur.at;
	bool braces = cur_is(p, TOK_BRACKET, "{");
	if (braces && expr_advance(p) < 0)
		return NULL;
	p->predicates++;
	struct node *body = braces ? expr_parse_sequence(p) : expr_parse_expression(p, 0);
	p->predicates--;
	if (body == NULL)
		return NULL;
	if (!braces && cur_is(p, TOK_OP, ";")) {
		expr_error_at(&p->lx, p->cur.at, "wrap predicate with brackets { and }");
		return NULL;
	}
	if (braces && !expr_expect(p, TOK_BRACKET, "}"))
		return NULL;
	struct node *n = expr_new_node(p, NODE_PREDICATE, at);
	if (n == NULL)
		return NULL;
	n->a = body;
	return expr_seal(p, n);
}

static bool parse_loop_arguments(struct parser *p, const struct expr_builtin *b, node_vec *args)
{
	const char *params = b->params + args->n;
	size_t count = strlen(params);
	if (!expr_expect(p, TOK_BRACKET, "("))
		return false;
	for (size_t i = 0; i < count; i++) {
		bool optional = params[i] >= 'A' && params[i] <= 'Z';
		if (cur_is(p, TOK_BRACKET, ")")) {
			if (optional)
				break;
			expr_error_at(&p->lx, p->cur.at, "expected at least %zu arguments", count);
			return false;
		}
		if (i > 0 && !expr_expect(p, TOK_OP, ","))
			return false;
		struct node *n = ascii_lower(params[i]) == 'p' ? parse_predicate(p)
							       : expr_parse_expression(p, 0);
		if (n == NULL)
			return false;
		vec_push(args, n);
	}
	if (cur_is(p, TOK_OP, ",") && expr_advance(p) < 0)
		return false;
	return expr_expect(p, TOK_BRACKET, ")");
}

struct node *expr_parse_call(struct parser *p, struct tok name, struct node *first, bool hide)
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
		n = expr_new_many(p, b != NULL ? NODE_BUILTIN : NODE_CALL, name.at, &args);
	vec_done(&args);
	if (n == NULL)
		return NULL;
	n->builtin = b;
	n->name = name.val;
	return n;
}

static struct node *parse_name(struct parser *p, struct tok t)
{
	if (expr_advance(p) < 0)
		return NULL;
	if (slice_is(t.val, "true") || slice_is(t.val, "false"))
		return expr_new_const(p, t.at, expr_bool(t.val.n == 4));
	if (slice_is(t.val, "nil"))
		return expr_new_const(p, t.at, expr_nil());
	struct node *n;
	if (cur_is(p, TOK_BRACKET, "(")) {
		n = expr_parse_call(p, t, NULL, true);
	} else {
		n = expr_new_node(p, NODE_IDENT, t.at);
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
		return expr_advance(p) == 0 ? parse_number(p, t) : NULL;
	case TOK_STRING:
	case TOK_BYTES:
		if (expr_advance(p) < 0)
			return NULL;
		n = expr_new_const(p, t.at, expr_string(t.val));
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
			return expr_unexpected(p, t);
		break;
	case TOK_OP:
	case TOK_EOF:
		return expr_unexpected(p, t);
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
		if (expr_advance(p) < 0)
			return NULL;
		if (p->cur.kind == TOK_IDENT) {
			name = p->cur.val;
			if (expr_advance(p) < 0)
				return NULL;
		}
	}
	struct node *n = expr_new_node(p, NODE_POINTER, t.at);
	if (n == NULL)
		return NULL;
	n->name = name;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		n->kind = slice_is(name, names[i].name) ? names[i].kind : n->kind;
	return parse_postfix(p, n);
}

struct node *expr_parse_primary(struct parser *p)
{
	struct tok t = p->cur;
	const struct op_row *op = expr_unary_op(&t);
	struct node *n;
	if (op != NULL) {
		if (expr_advance(p) < 0 || (n = expr_parse_expression(p, op->prec)) == NULL)
			return NULL;
		n = expr_new_op(p, op->op, t.at, n, NULL);
		return n != NULL ? parse_postfix(p, n) : NULL;
	}
	if (is(&t, TOK_BRACKET, "(")) {
		if (expr_advance(p) < 0 || (n = expr_parse_sequence(p)) == NULL ||
		    !expr_expect(p, TOK_BRACKET, ")"))
			return NULL;
		return parse_postfix(p, n);
	}
	if (p->predicates > 0 && (is(&t, TOK_OP, "#") || is(&t, TOK_OP, ".")))
		return parse_pointer(p);
	if (is(&t, TOK_OP, "::")) {
		if (expr_advance(p) < 0)
			return NULL;
		t = p->cur;
		if (!expr_expect(p, TOK_IDENT, NULL) ||
		    (n = expr_parse_call(p, t, NULL, false)) == NULL)
			return NULL;
		return parse_postfix(p, n);
	}
	return parse_secondary(p);
}

/* --- postfix: .name ?.name [index] [from:to] --- */

static struct node *new_member(struct parser *p, struct node *a, struct node *b, bool optional,
			       uint32_t at)
{
	struct node *n = expr_new_node(p, NODE_MEMBER, at);
	if (n == NULL)
		return NULL;
	n->a = a;
	n->b = b;
	n->optional = optional;
	return expr_seal(p, n);
}

static struct node *new_chain(struct parser *p, struct node *a, uint32_t at)
{
	struct node *n = expr_new_node(p, NODE_CHAIN, at);
	if (n == NULL)
		return NULL;
	n->a = a;
	return expr_seal(p, n);
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
	if (expr_advance(p) < 0)
		return NULL;
	if (!is_property(&t)) {
		expr_error_at(&p->lx, p->cur.at, "expected name");
		return NULL;
	}
	bool chain = n->kind == NODE_CHAIN;
	struct node *key = expr_new_const(p, t.at, expr_string(t.val));
	if (key == NULL || (n = new_member(p, chain ? n->a : n, key, optional, t.at)) == NULL)
		return NULL;
	if (cur_is(p, TOK_BRACKET, "(")) {
		node_vec args = { 0 };
		struct node *call = NULL;
		if (parse_arguments(p, &args))
			call = expr_new_many(p, NODE_CALL, t.at, &args);
		vec_done(&args);
		if (call == NULL)
			return NULL;
		call->a = n;
		call->name = t.val;
		n = expr_seal(p, call);
	}
	return n != NULL && (chain || optional) ? new_chain(p, n, t.at) : n;
}

static struct node *parse_slice(struct parser *p, struct node *n, struct node *from, uint32_t at)
{
	struct node *s = expr_new_node(p, NODE_SLICE, at);
	if (s == NULL || expr_advance(p) < 0)
		return NULL;
	s->a = n;
	s->b = from;
	if (!cur_is(p, TOK_BRACKET, "]") && (s->c = expr_parse_expression(p, 0)) == NULL)
		return NULL;
	return expr_expect(p, TOK_BRACKET, "]") ? expr_seal(p, s) : NULL;
}

/* The bracket is the current token. */
static struct node *parse_index(struct parser *p, struct node *n, bool optional)
{
	uint32_t at = p->cur.at;
	if (expr_advance(p) < 0)
		return NULL;
	if (cur_is(p, TOK_OP, ":"))
		return parse_slice(p, n, NULL, at);
	struct node *from = expr_parse_expression(p, 0);
	if (from == NULL)
		return NULL;
	if (cur_is(p, TOK_OP, ":"))
		return parse_slice(p, n, from, at);
	n = new_member(p, n, from, optional, at);
	if (n != NULL && optional)
		n = new_chain(p, n, at);
	return n != NULL && expr_expect(p, TOK_BRACKET, "]") ? n : NULL;
}

static struct node *parse_postfix(struct parser *p, struct node *n)
{
	while (n != NULL) {
		bool optional = cur_is(p, TOK_OP, "?.");
		if (optional || cur_is(p, TOK_OP, ".")) {
			if (expr_advance(p) < 0)
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

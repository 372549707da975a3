/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks the checked tree. Every operator looks at the values it gets: static types only promise,
 * as find() and the arms of a condition may give nil or another type. */
#include "expr/eval_priv.h"

#include <string.h>

#include "base/err.h"
#include "expr/expr_priv.h"
#include "expr/loop_priv.h"
#include "expr/pattern_priv.h"
#include "expr/run_priv.h"
#include "expr/value_priv.h"

enum { ARGS_ON_STACK = 4 };

/* --- operators on values --- */

static int add_strings(struct ev *ev, struct slice left, struct slice right, struct expr_value *ret)
{
	char *p = expr_alloc(ev, left.n + right.n);
	if (p == NULL)
		return ERR_LIMIT;
	if (left.n != 0)
		memcpy(p, left.p, left.n);
	if (right.n != 0)
		memcpy(p + left.n, right.p, right.n);
	*ret = expr_string((struct slice){ p, left.n + right.n });
	return 0;
}

static int bad_operands(struct ev *ev, enum op op, const struct expr_value *left,
			const struct expr_value *right)
{
	static const char *const names[] = { [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*",
					     [OP_DIV] = "/", [OP_MOD] = "%", [OP_POW] = "**" };
	return expr_fail(ev, "invalid operation: %s %s %s", expr_value_type_name(left), names[op],
			 expr_value_type_name(right));
}

/* Integers wrap, as Go's do. */
static int int_arith(struct ev *ev, enum op op, int64_t left, int64_t right, struct expr_value *ret)
{
	uint64_t a = (uint64_t)left, b = (uint64_t)right;
	if (op == OP_MOD && right == 0)
		return expr_fail(ev, "runtime error: integer divide by zero");
	if (op == OP_MOD)
		*ret = expr_int(right == -1 ? 0 : left % right);
	else
		*ret = expr_int((int64_t)(op == OP_ADD ? a + b : op == OP_SUB ? a - b : a * b));
	return 0;
}

int expr_arith(struct ev *ev, enum op op, const struct expr_value *left,
	       const struct expr_value *right, struct expr_value *ret)
{
	if (op == OP_ADD && left->type == EXPR_STRING && right->type == EXPR_STRING)
		return add_strings(ev, left->s, right->s, ret);
	if (!expr_is_number(left) || !expr_is_number(right))
		return bad_operands(ev, op, left, right);
	bool ints = left->type == EXPR_INT && right->type == EXPR_INT;
	if (ints && op != OP_DIV && op != OP_POW)
		return int_arith(ev, op, left->i, right->i, ret);
	double x = expr_to_float(left), y = expr_to_float(right);
	if (op == OP_MOD)
		return bad_operands(ev, op, left, right);
	*ret = expr_float(op == OP_ADD	 ? x + y
			  : op == OP_SUB ? x - y
			  : op == OP_MUL ? x * y
			  : op == OP_DIV ? x / y
					 : expr_pow(x, y));
	return 0;
}

static int make_range(struct ev *ev, const struct expr_value *left, const struct expr_value *right,
		      struct expr_value *ret)
{
	int64_t from = 0, to = 0;
	int r = expr_to_int(ev, left, &from);
	if (r == 0)
		r = expr_to_int(ev, right, &to);
	if (r < 0)
		return r;
	uint64_t n = to >= from ? (uint64_t)to - (uint64_t)from + 1 : 0;
	/* All of the integers: the count wraps to zero. */
	if (to >= from && n == 0)
		return expr_no_memory(ev);
	r = expr_grow(ev, n);
	if (r < 0)
		return r;
	*ret = (struct expr_value){ .type = EXPR_LIST, .depth = 1, .range = true };
	ret->list.from = from;
	ret->list.n = n;
	return 0;
}

static int in_list(struct ev *ev, const struct expr_value *value, const struct expr_value *list)
{
	size_t n = expr_list_len(list);
	if (list->range && value->type == EXPR_INT)
		return n > 0 && value->i >= list->list.from &&
		       value->i - list->list.from < (int64_t)n;
	for (size_t i = 0; i < n; i++) {
		struct expr_value item = expr_list_at(list, i);
		int r = expr_equal(ev, &item, value);
		if (r != 0)
			return r;
	}
	return 0;
}

static int is_in(struct ev *ev, const struct expr_value *left, const struct expr_value *right)
{
	struct expr_value v;
	if (right->type == EXPR_NIL)
		return 0;
	if (expr_is_list(right))
		return in_list(ev, left, right);
	if (!expr_is_map(right))
		return expr_fail(ev, "operator \"in\" not defined on %s",
				 expr_value_type_name(right));
	int r = expr_fetch(ev, right, left, &v);
	return r < 0 ? r : r == 0;
}

static const char *find_bytes(struct slice in, struct slice what)
{
	return what.n == 0 ? in.p : memmem(in.p, in.n, what.p, what.n);
}

static int string_test(struct ev *ev, enum op op, const struct expr_value *left,
		       const struct expr_value *right)
{
	if (expr_is_nil(left) || expr_is_nil(right))
		return 0;
	int r = expr_want(ev, left, EXPR_STRING);
	if (r == 0)
		r = expr_want(ev, right, EXPR_STRING);
	if (r < 0)
		return r;
	if (op == OP_STARTS)
		return slice_starts(left->s, right->s);
	if (op == OP_ENDS)
		return slice_ends(left->s, right->s);
	return right->s.n == 0 || (left->s.n != 0 && find_bytes(left->s, right->s) != NULL);
}

static int match_pattern(struct ev *ev, const struct node *node, const struct expr_value *value)
{
	if (expr_is_nil(value))
		return 0;
	if (value->type != EXPR_BYTES) {
		int r = expr_want(ev, value, EXPR_STRING);
		if (r < 0)
			return r;
	}
	int r = expr_pattern_match(node->re, ev->run, value->s);
	if (r < 0)
		IGNORE(expr_fail(ev, "no memory to match a pattern with")); /* r says it */
	return r;
}

static int compare_equal(struct ev *ev, const struct node *node, const struct expr_value *left,
			 const struct expr_value *right)
{
	if (node->strict) {
		enum expr_type t = node->a->type.shape == SHAPE_INT ? EXPR_INT : EXPR_STRING;
		int r = expr_want(ev, left, t);
		if (r == 0)
			r = expr_want(ev, right, t);
		if (r < 0)
			return r;
	}
	int r = expr_equal(ev, left, right);
	return r < 0 ? r : (r != 0) == (node->op == OP_EQ);
}

/* Operators that answer yes or no. */
static int test_operator(struct ev *ev, const struct node *node, const struct expr_value *left,
			 const struct expr_value *right)
{
	if (node->op == OP_EQ || node->op == OP_NE)
		return compare_equal(ev, node, left, right);
	if (node->op >= OP_LT && node->op <= OP_LE)
		return expr_order(ev, node->op, left, right);
	if (node->op == OP_IN)
		return is_in(ev, left, right);
	if (node->op == OP_MATCHES)
		return match_pattern(ev, node, left);
	return string_test(ev, node->op, left, right);
}

/* x in 1..n with constants is a comparison and uses no memory, however large n. */
static int in_const_range(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct expr_value a;
	int r = expr_eval_node(ev, node->a, &a);
	if (r < 0)
		return r;
	r = expr_order(ev, OP_GE, &a, &node->b->a->val);
	if (r > 0)
		r = expr_order(ev, OP_LE, &a, &node->b->b->val);
	*ret = expr_bool(r > 0);
	return MIN(r, 0);
}

static bool is_const_range(const struct node *node)
{
	return node->kind == NODE_BINARY && node->op == OP_RANGE && node->a->kind == NODE_CONST &&
	       node->b->kind == NODE_CONST && node->a->val.type == EXPR_INT &&
	       node->b->val.type == EXPR_INT;
}

static int eval_logic(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_eval_node(ev, node->a, ret);
	if (r < 0)
		return r;
	if (node->op == OP_COALESCE)
		return expr_is_nil(ret) ? expr_eval_node(ev, node->b, ret) : 0;
	r = expr_want(ev, ret, EXPR_BOOL);
	if (r < 0 || ret->b == (node->op == OP_OR))
		return r;
	return expr_eval_node(ev, node->b, ret);
}

static int eval_binary(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct expr_value a = { 0 }, b = { 0 };
	if (node->op == OP_AND || node->op == OP_OR || node->op == OP_COALESCE)
		return eval_logic(ev, node, ret);
	if (node->op == OP_IN && node->a->type.shape == SHAPE_INT && is_const_range(node->b))
		return in_const_range(ev, node, ret);
	int r = expr_eval_node(ev, node->a, &a);
	if (r == 0)
		r = expr_eval_node(ev, node->b, &b);
	if (r < 0)
		return r;
	if (node->op == OP_RANGE)
		return make_range(ev, &a, &b, ret);
	if (node->op >= OP_ADD && node->op <= OP_POW)
		return expr_arith(ev, node->op, &a, &b, ret);
	r = test_operator(ev, node, &a, &b);
	if (r < 0)
		return r;
	*ret = expr_bool(r > 0);
	return 0;
}

static int eval_unary(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_eval_node(ev, node->a, ret);
	if (r < 0 || node->op == OP_PLUS)
		return r;
	if (node->op == OP_NOT) {
		r = expr_want(ev, ret, EXPR_BOOL);
		ret->b = !ret->b;
		return r;
	}
	if (!expr_is_number(ret))
		return expr_fail(ev, "invalid operation: - %s", expr_value_type_name(ret));
	if (ret->type == EXPR_INT)
		ret->i = (int64_t) - (uint64_t)ret->i;
	else
		ret->f = -ret->f;
	return 0;
}

/* --- members --- */

static int fetch_index(struct ev *ev, const struct expr_value *from, const struct expr_value *key,
		       struct expr_value *ret)
{
	struct expr_value list = *from;
	int64_t i = 0;
	int r = expr_to_int(ev, key, &i);
	if (r < 0)
		return r;
	if (list.type == EXPR_STRING)
		list.type = EXPR_BYTES;
	size_t n = expr_list_len(&list);
	if (i < 0)
		i += (int64_t)n;
	if (i < 0 || (uint64_t)i >= n)
		return expr_fail(ev, "index out of range: %lld (array length is %zu)", (long long)i,
				 n);
	*ret = expr_list_at(&list, (size_t)i);
	return 0;
}

int expr_fetch(struct ev *ev, const struct expr_value *from, const struct expr_value *key,
	       struct expr_value *ret)
{
	struct expr_value empty = expr_string(SLICE(""));
	if (expr_is_list(from) || from->type == EXPR_STRING)
		return fetch_index(ev, from, key, ret);
	if (!expr_is_map(from))
		return expr_fail(ev, "cannot fetch from %s", expr_value_type_name(from));
	if (from->type == EXPR_MAP && key->type == EXPR_NIL)
		key = &empty;
	if (key->depth > 0 || (from->type == EXPR_MAP && key->type != EXPR_STRING))
		return expr_fail(ev, "cannot use %s as a key of %s", expr_value_type_name(key),
				 expr_value_type_name(from));
	const struct expr_value *v = expr_map_get(from, key);
	*ret = v != NULL ? *v : expr_nil();
	return v == NULL;
}

static int eval_member(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct expr_value base = { 0 }, key = { 0 };
	int r = expr_eval_node(ev, node->a, &base);
	if (r < 0)
		return r;
	if (ev->stop || (node->optional && expr_is_nil(&base))) {
		ev->stop = true;
		*ret = expr_nil();
		return 0;
	}
	r = expr_eval_node(ev, node->b, &key);
	if (r == 0)
		r = expr_fetch(ev, &base, &key, ret);
	if (r == 1 && node->a->type.shape == SHAPE_GROUPS) {
		/* Go gives the zero value of a list there. */
		*ret = expr_nil_list();
	}
	return MIN(r, 0);
}

static int eval_chain(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_eval_node(ev, node->a, ret);
	ev->stop = false;
	if (r == 0 && expr_is_nil(ret))
		*ret = expr_nil();
	return r;
}

/* An end of a slice, clamped to 0..n. */
static int slice_end(struct ev *ev, const struct node *node, size_t len, size_t absent, size_t *ret)
{
	struct expr_value v;
	int64_t i = 0;
	*ret = absent;
	if (node == NULL)
		return 0;
	int r = expr_eval_node(ev, node, &v);
	if (r == 0)
		r = expr_to_int(ev, &v, &i);
	if (r < 0)
		return r;
	if (i < 0)
		i += (int64_t)len;
	*ret = i < 0 ? 0 : MIN((size_t)i, len);
	return 0;
}

static int eval_slice(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct expr_value v = { 0 };
	size_t from = 0, to = 0;
	int r = expr_eval_node(ev, node->a, &v);
	if (r < 0)
		return r;
	if (!expr_is_list(&v) && v.type != EXPR_STRING)
		return expr_fail(ev, "cannot slice %s", expr_value_type_name(&v));
	size_t len = v.type == EXPR_STRING ? v.s.n : expr_list_len(&v);
	r = slice_end(ev, node->c, len, len, &to);
	if (r == 0)
		r = slice_end(ev, node->b, len, 0, &from);
	if (r < 0)
		return r;
	from = MIN(from, to);
	if (v.type != EXPR_LIST) {
		v.s = (struct slice){ v.s.n != 0 ? v.s.p + from : v.s.p, to - from };
	} else {
		if (v.range)
			v.list.from += (int64_t)from;
		else if (len != 0)
			v.list.v += from;
		v.list.n = to - from;
	}
	*ret = v;
	return 0;
}

/* --- calls --- */

static int eval_args(struct ev *ev, const struct node *node, struct expr_value **args)
{
	if (node->n_args > ARGS_ON_STACK)
		*args = expr_alloc_values(ev, node->n_args);
	if (*args == NULL)
		return ERR_LIMIT;
	for (uint32_t i = 0; i < node->n_args; i++) {
		int r = expr_eval_node(ev, node->args[i], &(*args)[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int eval_call(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct expr_value few[ARGS_ON_STACK], *args = few;
	const struct expr_func *f = node->func;
	int r = eval_args(ev, node, &args);
	for (unsigned i = 0; r == 0 && i < f->n_args; i++) {
		if (f->args[i] == EXPR_FLOAT && args[i].type == EXPR_INT)
			args[i] = expr_float((double)args[i].i);
		if (f->args[i] != EXPR_ANY)
			r = expr_want(ev, &args[i], f->args[i]);
	}
	return r == 0 ? f->fn(ev->run, args, ret, ev->errtext, ev->n_errtext) : r;
}

static int eval_builtin(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct expr_value few[ARGS_ON_STACK], *args = few;
	if (node->builtin->form == FORM_LOOP)
		return expr_eval_loop(ev, node, ret);
	int r = eval_args(ev, node, &args);
	return r == 0 ? node->builtin->fn(ev, args, node->n_args, ret) : r;
}

/* --- the rest --- */

static int eval_const(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	(void)ev;
	*ret = node->val;
	return 0;
}

static int eval_local(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	*ret = ev->slots[node->index];
	return 0;
}

static int eval_var(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	*ret = ev->run->vars[node->index];
	return 0;
}

static int eval_predicate(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	return expr_eval_node(ev, node->a, ret);
}

static int eval_elem(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	(void)node;
	*ret = expr_list_at(&ev->scope->list, ev->scope->index);
	return 0;
}

static int eval_index(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	(void)node;
	*ret = expr_int((int64_t)ev->scope->index);
	return 0;
}

static int eval_acc(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	(void)node;
	*ret = ev->scope->acc;
	return 0;
}

static int eval_let(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_eval_node(ev, node->a, &ev->slots[node->index]);
	return r == 0 ? expr_eval_node(ev, node->b, ret) : r;
}

static int eval_seq(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = 0;
	for (uint32_t i = 0; i < node->n_args && r == 0; i++)
		r = expr_eval_node(ev, node->args[i], ret);
	return r;
}

static int eval_cond(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_eval_node(ev, node->a, ret);
	if (r == 0)
		r = expr_want(ev, ret, EXPR_BOOL);
	if (r < 0 || (ret->b && node->a == node->b)) /* a ?: b */
		return r;
	return expr_eval_node(ev, ret->b ? node->b : node->c, ret);
}

static int eval_array(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_grow(ev, node->n_args);
	struct expr_value *v = r == 0 ? expr_alloc_values(ev, node->n_args) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (uint32_t i = 0; i < node->n_args; i++) {
		r = expr_eval_node(ev, node->args[i], &v[i]);
		if (r < 0)
			return r;
	}
	return expr_make_list(ev, v, node->n_args, ret);
}

static int eval_map(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	size_t count = node->n_args / 2;
	int r = expr_grow(ev, count);
	struct expr_pair *v = r == 0 ? expr_alloc(ev, count * sizeof(*v)) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0; i < count; i++) {
		r = expr_eval_node(ev, node->args[2 * i], &v[i].key);
		if (r == 0)
			r = expr_eval_node(ev, node->args[2 * i + 1], &v[i].value);
		if (r == 0)
			r = expr_want(ev, &v[i].key, EXPR_STRING);
		if (r < 0)
			return r;
	}
	/* expr-lang fills its map from the last pair to the first. */
	return expr_make_map(ev, EXPR_MAP, v, count, true, ret);
}

static int (*const evals[NODE_KINDS])(struct ev *ev, const struct node *n,
				      struct expr_value *ret) = {
	[NODE_CONST] = eval_const,
	[NODE_LOCAL] = eval_local,
	[NODE_VAR] = eval_var,
	[NODE_UNARY] = eval_unary,
	[NODE_BINARY] = eval_binary,
	[NODE_MEMBER] = eval_member,
	[NODE_CHAIN] = eval_chain,
	[NODE_SLICE] = eval_slice,
	[NODE_CALL] = eval_call,
	[NODE_BUILTIN] = eval_builtin,
	[NODE_PREDICATE] = eval_predicate,
	[NODE_ELEM] = eval_elem,
	[NODE_INDEX] = eval_index,
	[NODE_ACC] = eval_acc,
	[NODE_LET] = eval_let,
	[NODE_SEQ] = eval_seq,
	[NODE_COND] = eval_cond,
	[NODE_ARRAY] = eval_array,
	[NODE_MAP] = eval_map,
};

int expr_eval_node(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_spend(ev, 1);
	if (r == 0)
		r = evals[node->kind](ev, node, ret);
	if (r < 0 && ev->err_node == NULL)
		ev->err_node = node;
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CEL's arithmetic: numbers of one type with overflow as an error, strings and lists joined. */
#include "cel/arithmetic_priv.h"

#include <string.h>

static struct cel_value join_lists(struct cel_run *run, const struct cel_value *left,
				   const struct cel_value *right)
{
	size_t n = cel_items_n(left), m = cel_items_n(right);
	cel_spend(run, n + m);
	if (run->cost > run->cost_max)
		return cel_error("");
	struct cel_value *v = arena_alloc(run->arena, (n + m + 1) * sizeof(*v));
	for (size_t i = 0; i < n + m; i++)
		v[i] = i < n ? cel_item(left, i) : cel_item(right, i - n);
	return (struct cel_value){ .type = CEL_LIST, .u.items = { .values = v, .count = n + m } };
}

static struct cel_value join_strings(struct cel_run *run, struct slice left, struct slice right)
{
	cel_spend(run, cel_text_cost(left.n + right.n));
	if (run->cost > run->cost_max)
		return cel_error("");
	char *p = arena_alloc(run->arena, left.n + right.n + 1);
	memcpy(p, left.p, left.n);
	memcpy(p + left.n, right.p, right.n);
	return (struct cel_value){ .type = CEL_STRING, .u.text = { p, left.n + right.n } };
}

static struct cel_value compute_int(enum cel_op op, int64_t left, int64_t right)
{
	int64_t v = 0;
	bool over = false;
	if ((op == CEL_OP_DIV || op == CEL_OP_MOD) && right == 0)
		return cel_error(op == CEL_OP_DIV ? "division by zero" : "modulus by zero");
	if ((op == CEL_OP_DIV || op == CEL_OP_MOD) && left == INT64_MIN && right == -1)
		over = true;
	else if (op == CEL_OP_ADD)
		over = __builtin_add_overflow(left, right, &v);
	else if (op == CEL_OP_SUB)
		over = __builtin_sub_overflow(left, right, &v);
	else if (op == CEL_OP_MUL)
		over = __builtin_mul_overflow(left, right, &v);
	else
		v = op == CEL_OP_DIV ? left / right : left % right;
	return over ? cel_error("integer overflow") : cel_int(v);
}

static struct cel_value compute_double(enum cel_op op, double left, double right)
{
	struct cel_value v = { .type = CEL_DOUBLE };
	if (op == CEL_OP_MOD)
		return cel_no_overload();
	if (op == CEL_OP_ADD)
		v.u.number = left + right;
	else if (op == CEL_OP_SUB)
		v.u.number = left - right;
	else
		v.u.number = op == CEL_OP_MUL ? left * right : left / right;
	return v;
}

struct cel_value cel_compute(struct cel_run *run, enum cel_op op, const struct cel_value *left,
			     const struct cel_value *right)
{
	if (left->type != right->type)
		return cel_no_overload();
	if (left->type == CEL_INT)
		return compute_int(op, left->u.integer, right->u.integer);
	if (left->type == CEL_DOUBLE)
		return compute_double(op, left->u.number, right->u.number);
	if (op == CEL_OP_ADD && left->type == CEL_STRING)
		return join_strings(run, left->u.text, right->u.text);
	if (op == CEL_OP_ADD && left->type == CEL_LIST)
		return join_lists(run, left, right);
	return cel_no_overload();
}

struct cel_value cel_negate(const struct cel_value *value)
{
	if (value->type == CEL_INT)
		return compute_int(CEL_OP_SUB, 0, value->u.integer);
	if (value->type == CEL_DOUBLE)
		return (struct cel_value){ .type = CEL_DOUBLE, .u.number = -value->u.number };
	return cel_no_overload();
}

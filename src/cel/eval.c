/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates CEL expressions. An error is a value: &&, ||, all and exists ignore the error of one part
 * when another part decides the result. */
#include "cel/eval.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cel/arithmetic_priv.h"
#include "cel/funcs_priv.h"
#include "cel/node_priv.h"

static struct cel_value eval_node(struct cel_run *run, const struct cel_node *node);

void cel_spend(struct cel_run *run, uint64_t cost)
{
	run->cost += cost;
}

uint64_t cel_text_cost(size_t length)
{
	return length / 10 + 1; /* as the API server counts reading a string */
}

/* The API server's name of a type, in CEL or in Go. */
static const char *type_name(const struct cel_value *value, bool go)
{
	static const struct {
		const char *cel, *go;
	} names[] = {
		[CEL_NULL] = { "null_type", "types.Null" },
		[CEL_BOOL] = { "bool", "types.Bool" },
		[CEL_INT] = { "int", "types.Int" },
		[CEL_DOUBLE] = { "double", "types.Double" },
		[CEL_STRING] = { "string", "types.String" },
		[CEL_LIST] = { "list", "list" },
		[CEL_MAP] = { "map", "map" },
		[CEL_OPTIONAL] = { "optional_type", "*types.Optional" },
		[CEL_ERROR] = { "error", "*types.Err" },
	};
	return go ? names[value->type].go : names[value->type].cel;
}

/* ---- members ---- */

static struct cel_value no_such_key(struct cel_run *run, const struct cel_value *key)
{
	if (key->type == CEL_STRING)
		return cel_errorf(run, "no such key: %.*s", (int)key->u.text.n, key->u.text.p);
	if (key->type == CEL_INT)
		return cel_errorf(run, "no such key: %lld", (long long)key->u.integer);
	return cel_no_overload();
}

static struct cel_value eval_select(struct cel_run *run, const struct cel_node *node, bool test)
{
	struct cel_value of = eval_node(run, node->args[0]), ret;
	struct cel_value key = { .type = CEL_STRING, .u.text = slice_of(node->name) };
	if (of.type == CEL_ERROR)
		return of;
	bool found = of.type == CEL_MAP && cel_member(&of, &key, &ret);
	if (test)
		return cel_bool(found);
	return found ? ret : no_such_key(run, &key);
}

static struct cel_value eval_index(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value of = eval_node(run, node->args[0]), key = eval_node(run, node->args[1]),
			 ret;
	if (of.type == CEL_ERROR)
		return of;
	if (key.type == CEL_ERROR)
		return key;
	if (of.type != CEL_LIST)
		return of.type == CEL_MAP && cel_member(&of, &key, &ret) ? ret
									 : no_such_key(run, &key);
	if (key.type != CEL_INT)
		return cel_errorf(run, "unsupported index type '%s' in list",
				  type_name(&key, false));
	if (key.u.integer < 0 || (uint64_t)key.u.integer >= cel_items_n(&of))
		return cel_errorf(run, "index out of bounds: %lld", (long long)key.u.integer);
	return cel_item(&of, (size_t)key.u.integer);
}

/* ---- lists and maps ---- */

static struct cel_value eval_items(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value *v = arena_calloc(run->arena, (node->n_args + 1) * sizeof(*v));
	for (size_t i = 0; i < node->n_args; i++) {
		v[i] = eval_node(run, node->args[i]);
		if (v[i].type == CEL_ERROR)
			return v[i];
	}
	bool map = node->op == CEL_OP_MAP;
	return (struct cel_value){ .type = map ? CEL_MAP : CEL_LIST,
				   .u.items = { .values = v,
						.count = map ? node->n_args / 2 : node->n_args } };
}

static struct cel_value eval_in(struct cel_run *run, const struct cel_value *value,
				const struct cel_value *of)
{
	struct cel_value ignored;
	if (of->type == CEL_MAP)
		return cel_bool(cel_member(of, value, &ignored));
	if (of->type != CEL_LIST)
		return cel_no_overload();
	for (size_t i = 0; i < cel_items_n(of) && run->cost <= run->cost_max; i++) {
		struct cel_value item = cel_item(of, i);
		if (cel_equal(run, value, &item))
			return cel_bool(true);
	}
	return cel_bool(false);
}

/* ---- operators ---- */

static struct cel_value compare_order(enum cel_op op, const struct cel_value *left,
				      const struct cel_value *right)
{
	int c = cel_compare(left, right);
	if (c == 2)
		return cel_no_overload();
	if (op == CEL_OP_LT || op == CEL_OP_LE)
		return cel_bool(op == CEL_OP_LT ? c < 0 : c <= 0);
	return cel_bool(op == CEL_OP_GT ? c > 0 : c >= 0);
}

static struct cel_value eval_binary(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value a = eval_node(run, node->args[0]), b = eval_node(run, node->args[1]);
	if (a.type == CEL_ERROR)
		return a;
	if (b.type == CEL_ERROR)
		return b;
	if (node->op == CEL_OP_EQ || node->op == CEL_OP_NE)
		return cel_bool(cel_equal(run, &a, &b) == (node->op == CEL_OP_EQ));
	if (node->op == CEL_OP_IN)
		return eval_in(run, &a, &b);
	if (node->op >= CEL_OP_LT && node->op <= CEL_OP_GE)
		return compare_order(node->op, &a, &b);
	return cel_compute(run, node->op, &a, &b);
}

static struct cel_value eval_unary(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value v = eval_node(run, node->args[0]);
	if (v.type == CEL_ERROR)
		return v;
	if (node->op == CEL_OP_NOT)
		return v.type == CEL_BOOL ? cel_bool(!v.u.boolean) : cel_no_overload();
	return cel_negate(&v);
}

/* ---- operators that need not evaluate all of their parts ---- */

/* && and ||: the value `decisive` on either side is the result, whatever the other is. */
static struct cel_value eval_logic(struct cel_run *run, const struct cel_node *node, bool decisive)
{
	struct cel_value a = eval_node(run, node->args[0]);
	if (a.type == CEL_BOOL && a.u.boolean == decisive)
		return a;
	struct cel_value b = eval_node(run, node->args[1]);
	if (b.type == CEL_BOOL && b.u.boolean == decisive)
		return b;
	if (a.type == CEL_ERROR || b.type == CEL_ERROR)
		return a.type == CEL_ERROR ? a : b;
	return a.type == CEL_BOOL && b.type == CEL_BOOL ? cel_bool(!decisive) : cel_no_overload();
}

static struct cel_value eval_conditional(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value c = eval_node(run, node->args[0]);
	if (c.type == CEL_ERROR)
		return c;
	return c.type == CEL_BOOL ? eval_node(run, node->args[c.u.boolean ? 1 : 2])
				  : cel_no_overload();
}

/* all and exists. */
static struct cel_value eval_quantifier(struct cel_run *run, const struct cel_node *node,
					const struct cel_value *range, bool decisive)
{
	struct cel_value bad = cel_bool(!decisive);
	for (size_t i = 0; i < cel_items_n(range) && run->cost <= run->cost_max; i++) {
		run->slots[node->slot] = cel_item(range, i);
		struct cel_value v = eval_node(run, node->args[1]);
		if (v.type == CEL_BOOL && v.u.boolean == decisive)
			return v;
		if (v.type != CEL_BOOL && bad.type != CEL_ERROR)
			bad = v.type == CEL_ERROR ? v : cel_no_overload();
	}
	return bad;
}

static struct cel_value eval_exists_one(struct cel_run *run, const struct cel_node *node,
					const struct cel_value *range)
{
	size_t found = 0;
	for (size_t i = 0; i < cel_items_n(range) && run->cost <= run->cost_max; i++) {
		run->slots[node->slot] = cel_item(range, i);
		struct cel_value v = eval_node(run, node->args[1]);
		if (v.type != CEL_BOOL)
			return v.type == CEL_ERROR ? v : cel_no_overload();
		found += v.u.boolean;
	}
	return cel_bool(found == 1);
}

/* filter and map: with a condition, those that it holds for; with a transformation, its values. */
static struct cel_value eval_collection(struct cel_run *run, const struct cel_node *node,
					const struct cel_value *range)
{
	const struct cel_node *where =
		node->loop == CEL_FILTER || node->n_args == 3 ? node->args[1] : NULL;
	const struct cel_node *what =
		node->loop == CEL_FILTER ? NULL : node->args[node->n_args - 1];
	struct cel_value *out = arena_alloc(run->arena, (cel_items_n(range) + 1) * sizeof(*out));
	size_t kept = 0;
	for (size_t i = 0; i < cel_items_n(range) && run->cost <= run->cost_max; i++) {
		struct cel_value x = cel_item(range, i), ok = cel_bool(true);
		run->slots[node->slot] = x;
		if (where != NULL)
			ok = eval_node(run, where);
		if (ok.type != CEL_BOOL)
			return ok.type == CEL_ERROR ? ok : cel_no_overload();
		if (!ok.u.boolean)
			continue;
		run->slots[node->slot] = x;
		out[kept] = what != NULL ? eval_node(run, what) : x;
		if (out[kept].type == CEL_ERROR)
			return out[kept];
		kept++;
	}
	return (struct cel_value){ .type = CEL_LIST, .u.items = { .values = out, .count = kept } };
}

static struct cel_value eval_loop(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value range = eval_node(run, node->args[0]), outer = run->slots[node->slot], v;
	if (range.type == CEL_ERROR)
		return range;
	if (range.type == CEL_MAP)
		range = cel_keys(run, &range);
	if (range.type != CEL_LIST)
		return cel_errorf(run, "got '%s', expected iterable type", type_name(&range, true));
	switch (node->loop) {
	case CEL_ALL:
	case CEL_EXISTS:
		v = eval_quantifier(run, node, &range, node->loop == CEL_EXISTS);
		break;
	case CEL_EXISTS_ONE:
		v = eval_exists_one(run, node, &range);
		break;
	case CEL_FILTER:
	case CEL_TRANSFORM:
		v = eval_collection(run, node, &range);
		break;
	}
	run->slots[node->slot] = outer;
	return v;
}

static struct cel_value eval_call(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value arg[CEL_ARGS_MAX] = { 0 };
	assert(node->n_args == node->function->n_args && node->n_args <= CEL_ARGS_MAX);
	for (size_t i = 0; i < node->n_args; i++) {
		arg[i] = eval_node(run, node->args[i]);
		if (arg[i].type == CEL_ERROR)
			return arg[i];
	}
	return node->function->call(run, node, arg);
}

static struct cel_value eval_node(struct cel_run *run, const struct cel_node *node)
{
	cel_spend(run, 1);
	if (run->cost > run->cost_max)
		return cel_error("");
	switch (node->op) {
	case CEL_OP_LITERAL:
		return node->literal;
	case CEL_OP_SLOT:
		return run->slots[node->slot];
	case CEL_OP_SELECT:
	case CEL_OP_HAS:
		return eval_select(run, node, node->op == CEL_OP_HAS);
	case CEL_OP_INDEX:
		return eval_index(run, node);
	case CEL_OP_LIST:
	case CEL_OP_MAP:
		return eval_items(run, node);
	case CEL_OP_COND:
		return eval_conditional(run, node);
	case CEL_OP_AND:
	case CEL_OP_OR:
		return eval_logic(run, node, node->op == CEL_OP_OR);
	case CEL_OP_NOT:
	case CEL_OP_NEGATE:
		return eval_unary(run, node);
	case CEL_OP_ADD:
	case CEL_OP_SUB:
	case CEL_OP_MUL:
	case CEL_OP_DIV:
	case CEL_OP_MOD:
	case CEL_OP_EQ:
	case CEL_OP_NE:
	case CEL_OP_LT:
	case CEL_OP_LE:
	case CEL_OP_GT:
	case CEL_OP_GE:
	case CEL_OP_IN:
		return eval_binary(run, node);
	case CEL_OP_CALL:
		return eval_call(run, node);
	case CEL_OP_LOOP:
		return eval_loop(run, node);
	}
	return cel_no_overload();
}

struct cel_value cel_eval(struct cel_run *run, const struct cel_expr *expr)
{
	return eval_node(run, expr->root);
}

/* Evaluating CEL. An error is a value: && and ||, all and exists come to a result without it when
 * another part decides. */
#include <stdio.h>
#include <string.h>

#include "api/schema/cel_priv.h"

void cel_spend(struct cel_run *run, uint64_t cost)
{
	run->cost += cost;
}

uint64_t cel_text_cost(size_t count)
{
	return count / 10 + 1; /* as the server counts going through a text */
}

/* How the server calls a type, in CEL or in Go. */
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

static struct cel_value missing(struct cel_run *run, const struct cel_value *key)
{
	if (key->type == CEL_STRING)
		return cel_errorf(run, "no such key: %.*s", (int)key->u.s.n, key->u.s.p);
	if (key->type == CEL_INT)
		return cel_errorf(run, "no such key: %lld", (long long)key->u.i);
	return cel_no_overload();
}

static struct cel_value select_field(struct cel_run *run, const struct cel_node *node, bool test)
{
	struct cel_value of = cel_eval(run, node->arg[0]), ret;
	struct cel_value key = { .type = CEL_STRING, .u.s = slice_of(node->name) };
	if (of.type == CEL_ERROR)
		return of;
	bool found = of.type == CEL_MAP && cel_member(&of, &key, &ret);
	if (test)
		return cel_bool(found);
	return found ? ret : missing(run, &key);
}

static struct cel_value index_of(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value of = cel_eval(run, node->arg[0]), key = cel_eval(run, node->arg[1]), ret;
	if (of.type == CEL_ERROR)
		return of;
	if (key.type == CEL_ERROR)
		return key;
	if (of.type != CEL_LIST)
		return of.type == CEL_MAP && cel_member(&of, &key, &ret) ? ret : missing(run, &key);
	if (key.type != CEL_INT)
		return cel_errorf(run, "unsupported index type '%s' in list",
				  type_name(&key, false));
	if (key.u.i < 0 || (uint64_t)key.u.i >= cel_items_n(&of))
		return cel_errorf(run, "index out of bounds: %lld", (long long)key.u.i);
	return cel_item(&of, (size_t)key.u.i);
}

/* ---- lists and maps ---- */

static struct cel_value literal_items(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value *v = arena_calloc(run->arena, (node->n_args + 1) * sizeof(*v));
	for (size_t i = 0; i < node->n_args; i++) {
		v[i] = cel_eval(run, node->arg[i]);
		if (v[i].type == CEL_ERROR)
			return v[i];
	}
	bool map = node->op == CEL_OP_MAP;
	return (struct cel_value){ .type = map ? CEL_MAP : CEL_LIST,
				   .u.items = { .v = v,
						.n = map ? node->n_args / 2 : node->n_args } };
}

static struct cel_value join(struct cel_run *run, const struct cel_value *left,
			     const struct cel_value *right)
{
	size_t n = cel_items_n(left), m = cel_items_n(right);
	cel_spend(run, n + m);
	if (run->cost > run->cost_max)
		return cel_error("");
	struct cel_value *v = arena_alloc(run->arena, (n + m + 1) * sizeof(*v));
	for (size_t i = 0; i < n + m; i++)
		v[i] = i < n ? cel_item(left, i) : cel_item(right, i - n);
	return (struct cel_value){ .type = CEL_LIST, .u.items = { .v = v, .n = n + m } };
}

static struct cel_value is_in(struct cel_run *run, const struct cel_value *value,
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

/* ---- arithmetic ---- */

static struct cel_value add_texts(struct cel_run *run, struct slice left, struct slice right)
{
	cel_spend(run, cel_text_cost(left.n + right.n));
	if (run->cost > run->cost_max)
		return cel_error("");
	char *p = arena_alloc(run->arena, left.n + right.n + 1);
	memcpy(p, left.p, left.n);
	memcpy(p + left.n, right.p, right.n);
	return (struct cel_value){ .type = CEL_STRING, .u.s = { p, left.n + right.n } };
}

static struct cel_value whole(enum cel_op op, int64_t left, int64_t right)
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

static struct cel_value real(enum cel_op op, double left, double right)
{
	struct cel_value v = { .type = CEL_DOUBLE };
	if (op == CEL_OP_MOD)
		return cel_no_overload();
	if (op == CEL_OP_ADD)
		v.u.d = left + right;
	else if (op == CEL_OP_SUB)
		v.u.d = left - right;
	else
		v.u.d = op == CEL_OP_MUL ? left * right : left / right;
	return v;
}

static struct cel_value arithmetic(struct cel_run *run, enum cel_op op,
				   const struct cel_value *left, const struct cel_value *right)
{
	if (left->type != right->type)
		return cel_no_overload();
	if (left->type == CEL_INT)
		return whole(op, left->u.i, right->u.i);
	if (left->type == CEL_DOUBLE)
		return real(op, left->u.d, right->u.d);
	if (op == CEL_OP_ADD && left->type == CEL_STRING)
		return add_texts(run, left->u.s, right->u.s);
	if (op == CEL_OP_ADD && left->type == CEL_LIST)
		return join(run, left, right);
	return cel_no_overload();
}

static struct cel_value ordered(enum cel_op op, const struct cel_value *left,
				const struct cel_value *right)
{
	int c = cel_compare(left, right);
	if (c == 2)
		return cel_no_overload();
	if (op == CEL_OP_LT || op == CEL_OP_LE)
		return cel_bool(op == CEL_OP_LT ? c < 0 : c <= 0);
	return cel_bool(op == CEL_OP_GT ? c > 0 : c >= 0);
}

static struct cel_value binary(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value a = cel_eval(run, node->arg[0]), b = cel_eval(run, node->arg[1]);
	if (a.type == CEL_ERROR)
		return a;
	if (b.type == CEL_ERROR)
		return b;
	if (node->op == CEL_OP_EQ || node->op == CEL_OP_NE)
		return cel_bool(cel_equal(run, &a, &b) == (node->op == CEL_OP_EQ));
	if (node->op == CEL_OP_IN)
		return is_in(run, &a, &b);
	if (node->op >= CEL_OP_LT && node->op <= CEL_OP_GE)
		return ordered(node->op, &a, &b);
	return arithmetic(run, node->op, &a, &b);
}

static struct cel_value unary(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value v = cel_eval(run, node->arg[0]);
	if (v.type == CEL_ERROR)
		return v;
	if (node->op == CEL_OP_NOT)
		return v.type == CEL_BOOL ? cel_bool(!v.u.b) : cel_no_overload();
	if (v.type == CEL_INT)
		return whole(CEL_OP_SUB, 0, v.u.i);
	if (v.type == CEL_DOUBLE)
		return (struct cel_value){ .type = CEL_DOUBLE, .u.d = -v.u.d };
	return cel_no_overload();
}

/* ---- what need not look at everything ---- */

/* && and ||: the value `decisive` on either side is the result, whatever the other is. */
static struct cel_value both(struct cel_run *run, const struct cel_node *node, bool decisive)
{
	struct cel_value a = cel_eval(run, node->arg[0]);
	if (a.type == CEL_BOOL && a.u.b == decisive)
		return a;
	struct cel_value b = cel_eval(run, node->arg[1]);
	if (b.type == CEL_BOOL && b.u.b == decisive)
		return b;
	if (a.type == CEL_ERROR || b.type == CEL_ERROR)
		return a.type == CEL_ERROR ? a : b;
	return a.type == CEL_BOOL && b.type == CEL_BOOL ? cel_bool(!decisive) : cel_no_overload();
}

static struct cel_value conditional(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value c = cel_eval(run, node->arg[0]);
	if (c.type == CEL_ERROR)
		return c;
	return c.type == CEL_BOOL ? cel_eval(run, node->arg[c.u.b ? 1 : 2]) : cel_no_overload();
}

/* all and exists. */
static struct cel_value quantify(struct cel_run *run, const struct cel_node *node,
				 const struct cel_value *range, bool decisive)
{
	struct cel_value bad = cel_bool(!decisive);
	for (size_t i = 0; i < cel_items_n(range) && run->cost <= run->cost_max; i++) {
		run->slot[node->slot] = cel_item(range, i);
		struct cel_value v = cel_eval(run, node->arg[1]);
		if (v.type == CEL_BOOL && v.u.b == decisive)
			return v;
		if (v.type != CEL_BOOL && bad.type != CEL_ERROR)
			bad = v.type == CEL_ERROR ? v : cel_no_overload();
	}
	return bad;
}

static struct cel_value exists_one(struct cel_run *run, const struct cel_node *node,
				   const struct cel_value *range)
{
	size_t found = 0;
	for (size_t i = 0; i < cel_items_n(range) && run->cost <= run->cost_max; i++) {
		run->slot[node->slot] = cel_item(range, i);
		struct cel_value v = cel_eval(run, node->arg[1]);
		if (v.type != CEL_BOOL)
			return v.type == CEL_ERROR ? v : cel_no_overload();
		found += v.u.b;
	}
	return cel_bool(found == 1);
}

/* filter and map: with a condition, those that it holds for; with a transformation, its values. */
static struct cel_value collect(struct cel_run *run, const struct cel_node *node,
				const struct cel_value *range)
{
	const struct cel_node *where =
		node->loop == CEL_FILTER || node->n_args == 3 ? node->arg[1] : NULL;
	const struct cel_node *what = node->loop == CEL_FILTER ? NULL : node->arg[node->n_args - 1];
	struct cel_value *out = arena_alloc(run->arena, (cel_items_n(range) + 1) * sizeof(*out));
	size_t kept = 0;
	for (size_t i = 0; i < cel_items_n(range) && run->cost <= run->cost_max; i++) {
		struct cel_value x = cel_item(range, i), ok = cel_bool(true);
		run->slot[node->slot] = x;
		if (where != NULL)
			ok = cel_eval(run, where);
		if (ok.type != CEL_BOOL)
			return ok.type == CEL_ERROR ? ok : cel_no_overload();
		if (!ok.u.b)
			continue;
		run->slot[node->slot] = x;
		out[kept] = what != NULL ? cel_eval(run, what) : x;
		if (out[kept].type == CEL_ERROR)
			return out[kept];
		kept++;
	}
	return (struct cel_value){ .type = CEL_LIST, .u.items = { .v = out, .n = kept } };
}

static struct cel_value loop(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value range = cel_eval(run, node->arg[0]), outer = run->slot[node->slot], v;
	if (range.type == CEL_ERROR)
		return range;
	if (range.type == CEL_MAP)
		range = cel_keys(run, &range);
	if (range.type != CEL_LIST)
		return cel_errorf(run, "got '%s', expected iterable type", type_name(&range, true));
	switch (node->loop) {
	case CEL_ALL:
	case CEL_EXISTS:
		v = quantify(run, node, &range, node->loop == CEL_EXISTS);
		break;
	case CEL_EXISTS_ONE:
		v = exists_one(run, node, &range);
		break;
	case CEL_FILTER:
	case CEL_TRANSFORM:
		v = collect(run, node, &range);
		break;
	}
	run->slot[node->slot] = outer;
	return v;
}

static struct cel_value call(struct cel_run *run, const struct cel_node *node)
{
	struct cel_value arg[CEL_ARGS_MAX] = { 0 };
	for (size_t i = 0; i < node->n_args; i++) {
		arg[i] = cel_eval(run, node->arg[i]);
		if (arg[i].type == CEL_ERROR)
			return arg[i];
	}
	return node->fn->call(run, node, arg);
}

struct cel_value cel_eval(struct cel_run *run, const struct cel_node *node)
{
	cel_spend(run, 1);
	if (run->cost > run->cost_max)
		return cel_error("");
	switch (node->op) {
	case CEL_OP_LITERAL:
		return node->literal;
	case CEL_OP_SLOT:
		return run->slot[node->slot];
	case CEL_OP_SELECT:
	case CEL_OP_HAS:
		return select_field(run, node, node->op == CEL_OP_HAS);
	case CEL_OP_INDEX:
		return index_of(run, node);
	case CEL_OP_LIST:
	case CEL_OP_MAP:
		return literal_items(run, node);
	case CEL_OP_COND:
		return conditional(run, node);
	case CEL_OP_AND:
	case CEL_OP_OR:
		return both(run, node, node->op == CEL_OP_OR);
	case CEL_OP_NOT:
	case CEL_OP_NEGATE:
		return unary(run, node);
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
		return binary(run, node);
	case CEL_OP_CALL:
		return call(run, node);
	case CEL_OP_LOOP:
		return loop(run, node);
	}
	return cel_no_overload();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builtins with a predicate: all, filter, map, reduce and the others walk a list and evaluate
 * their second argument for each element. */
#include "expr/loop_priv.h"

#include "base/err.h"
#include "expr/eval_priv.h"
#include "expr/expr_priv.h"
#include "expr/run_priv.h"
#include "expr/value_priv.h"

/* The list to walk. As in Go, a string is one of bytes. */
static int loop_list(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	int r = expr_eval_node(ev, node, ret);
	if (r < 0)
		return r;
	if (ret->type == EXPR_STRING)
		ret->type = EXPR_BYTES;
	if (expr_is_map(ret) && ret->map.n == 0)
		*ret = expr_nil_list();
	if (!expr_is_list(ret))
		return expr_fail(ev, "cannot loop over %s", expr_value_type_name(ret));
	return 0;
}

/* What the predicate gives for the current element; the element itself when there is none. */
static int loop_value(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	if (node->n_args > 1)
		return expr_eval_node(ev, node->args[1], ret);
	*ret = expr_list_at(&ev->scope->list, ev->scope->index);
	return expr_spend(ev, 1);
}

/* The predicate as yes or no; what it allocated is given back, unless a function of the
 * environment may have kept it. */
static int loop_test(struct ev *ev, const struct node *node)
{
	struct expr_value v;
	const struct arena before = *ev->run->arena;
	int r = loop_value(ev, node, &v);
	if (r == 0)
		r = expr_want(ev, &v, EXPR_BOOL);
	if (r < 0)
		return r;
	if (node->n_args > 1 && !node->args[1]->calls)
		expr_release(ev, before.cur, before.end);
	return v.b;
}

/* all, none, any: the answer is known at the first element that decides. */
static int loop_decide(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	enum loop loop = node->builtin->loop;
	size_t len = expr_list_len(&s->list);
	for (s->index = 0; s->index < len; s->index++) {
		int r = loop_test(ev, node);
		if (r < 0)
			return r;
		if ((r > 0) == (loop != LOOP_ALL)) {
			*ret = expr_bool(loop == LOOP_ANY);
			return 0;
		}
	}
	*ret = expr_bool(loop != LOOP_ANY);
	return 0;
}

/* one, count */
static int loop_count(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	size_t len = expr_list_len(&s->list), count = 0;
	for (s->index = 0; s->index < len; s->index++) {
		int r = loop_test(ev, node);
		if (r < 0)
			return r;
		count += (size_t)r;
		if (node->index != 0 && count >= node->index)
			break;
	}
	*ret = node->builtin->loop == LOOP_ONE ? expr_bool(count == 1) : expr_int((int64_t)count);
	return 0;
}

static int loop_filter(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	size_t len = expr_list_len(&s->list), count = 0;
	struct expr_value *v = expr_alloc_values(ev, len);
	if (v == NULL)
		return ERR_LIMIT;
	const struct arena before = *ev->run->arena;
	for (s->index = 0; s->index < len; s->index++) {
		int r = loop_test(ev, node);
		if (r < 0)
			return r;
		if (r > 0)
			v[count++] = expr_list_at(&s->list, s->index);
	}
	if (ev->run->arena->cur == before.cur)
		expr_release(ev, (char *)(v + count), before.end);
	int r = expr_grow(ev, count);
	return r == 0 ? expr_make_list(ev, v, count, ret) : r;
}

static int loop_map(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	size_t len = expr_list_len(&s->list);
	struct expr_value *v = expr_alloc_values(ev, len);
	if (v == NULL)
		return ERR_LIMIT;
	for (s->index = 0; s->index < len; s->index++) {
		int r = loop_value(ev, node, &v[s->index]);
		if (r < 0)
			return r;
	}
	int r = expr_grow(ev, len);
	return r == 0 ? expr_make_list(ev, v, len, ret) : r;
}

/* sum([a, b]) with elements not known at load is a + b, and so joins strings too. */
static int sum_literal(struct ev *ev, struct expr_value *ret)
{
	const struct expr_value *list = &ev->scope->list;
	size_t i = list->list.n - 1;
	*ret = list->list.v[i];
	while (i-- > 0) {
		int r = expr_arith(ev, OP_ADD, &list->list.v[i], ret, ret);
		if (r < 0)
			return r;
	}
	return 0;
}

static int loop_sum(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	size_t len = expr_list_len(&s->list);
	if (node->n_args == 1 && node->args[0]->kind == NODE_ARRAY && len >= 2)
		return sum_literal(ev, ret);
	struct expr_value acc = expr_int(0);
	for (s->index = 0; s->index < len; s->index++) {
		struct expr_value v;
		int r = loop_value(ev, node, &v);
		if (r == 0)
			r = expr_arith(ev, OP_ADD, &v, &acc, &acc);
		if (r < 0)
			return r;
	}
	*ret = acc;
	return 0;
}

/* find, findIndex, findLast, findLastIndex */
static int loop_find(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	enum loop loop = node->builtin->loop;
	bool back = loop == LOOP_FIND_LAST || loop == LOOP_FIND_LAST_INDEX;
	bool index = loop == LOOP_FIND_INDEX || loop == LOOP_FIND_LAST_INDEX;
	size_t len = expr_list_len(&s->list);
	for (size_t i = 0; i < len; i++) {
		s->index = back ? len - 1 - i : i;
		int r = loop_test(ev, node);
		if (r < 0)
			return r;
		if (r > 0) {
			*ret = index ? expr_int((int64_t)s->index)
				     : expr_list_at(&s->list, s->index);
			return 0;
		}
	}
	*ret = expr_nil();
	return 0;
}

/* The elements that have the key of element `first`, in order. */
static int collect_group(struct ev *ev, const struct expr_value *keys, size_t first, size_t len,
			 struct expr_value *ret)
{
	size_t n = 0;
	for (size_t i = first; i < len; i++)
		n += expr_key_cmp(&keys[i], &keys[first]) == 0;
	int r = expr_spend(ev, len - first);
	struct expr_value *v = r == 0 ? expr_alloc_values(ev, n) : NULL;
	if (v == NULL)
		return ERR_LIMIT;
	n = 0;
	for (size_t i = first; i < len; i++) {
		if (expr_key_cmp(&keys[i], &keys[first]) == 0)
			v[n++] = expr_list_at(&ev->scope->list, i);
	}
	return expr_make_list(ev, v, n, ret);
}

static bool has_key(const struct expr_pair *pairs, size_t count, const struct expr_value *key)
{
	for (size_t i = 0; i < count; i++) {
		if (expr_key_cmp(&pairs[i].key, key) == 0)
			return true;
	}
	return false;
}

static int loop_group(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	size_t len = expr_list_len(&s->list), count = 0;
	struct expr_value *keys = expr_alloc_values(ev, len);
	struct expr_pair *pairs = keys != NULL ? expr_alloc(ev, len * sizeof(*pairs)) : NULL;
	if (pairs == NULL)
		return ERR_LIMIT;
	for (s->index = 0; s->index < len; s->index++) {
		int r = loop_value(ev, node, &keys[s->index]);
		if (r < 0)
			return r;
		if (keys[s->index].depth > 0)
			return expr_fail(ev, "cannot group by %s",
					 expr_value_type_name(&keys[s->index]));
	}
	for (size_t i = 0; i < len; i++) {
		int r = expr_spend(ev, count + 1);
		if (r < 0)
			return r;
		if (has_key(pairs, count, &keys[i]))
			continue;
		r = collect_group(ev, keys, i, len, &pairs[count].value);
		if (r < 0)
			return r;
		pairs[count++].key = keys[i];
	}
	return expr_make_map(ev, EXPR_ANYMAP, pairs, count, true, ret);
}

static int sort_order(struct ev *ev, const struct node *node, bool *ret_desc)
{
	const struct expr_value *order = &ev->scope->acc;
	*ret_desc = false;
	if (node->n_args < 3)
		return 0;
	int r = expr_want(ev, order, EXPR_STRING);
	if (r < 0)
		return r;
	*ret_desc = slice_is(order->s, "desc");
	if (!*ret_desc && !slice_is(order->s, "asc"))
		return expr_fail(ev, "unknown order, use asc or desc");
	return 0;
}

static int loop_sort(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	size_t len = expr_list_len(&s->list);
	bool desc;
	int r = sort_order(ev, node, &desc);
	if (r < 0)
		return r;
	struct expr_value *items = expr_alloc_values(ev, len);
	struct expr_value *keys = items != NULL ? expr_alloc_values(ev, len) : NULL;
	if (keys == NULL)
		return ERR_LIMIT;
	for (s->index = 0; s->index < len; s->index++) {
		items[s->index] = expr_list_at(&s->list, s->index);
		r = loop_value(ev, node, &keys[s->index]);
		if (r < 0)
			return r;
	}
	r = expr_sort(ev, keys, items, len, desc);
	if (r == 0)
		r = expr_grow(ev, len);
	return r == 0 ? expr_make_list(ev, items, len, ret) : r;
}

static int loop_reduce(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope *s = ev->scope;
	size_t len = expr_list_len(&s->list), first = 0;
	int r = 0;
	if (node->n_args < 3) {
		if (len == 0)
			return expr_fail(ev, "reduce of empty array with no initial value");
		s->acc = expr_list_at(&s->list, 0);
		first = 1;
	}
	for (s->index = first; r == 0 && s->index < len; s->index++) {
		struct expr_value acc;
		r = expr_eval_node(ev, node->args[1], &acc);
		s->acc = acc;
	}
	*ret = s->acc;
	return r;
}

static int (*const loops[])(struct ev *ev, const struct node *n, struct expr_value *ret) = {
	[LOOP_ALL] = loop_decide,     [LOOP_NONE] = loop_decide,
	[LOOP_ANY] = loop_decide,     [LOOP_ONE] = loop_count,
	[LOOP_FILTER] = loop_filter,  [LOOP_MAP] = loop_map,
	[LOOP_COUNT] = loop_count,    [LOOP_SUM] = loop_sum,
	[LOOP_FIND] = loop_find,      [LOOP_FIND_INDEX] = loop_find,
	[LOOP_FIND_LAST] = loop_find, [LOOP_FIND_LAST_INDEX] = loop_find,
	[LOOP_GROUP_BY] = loop_group, [LOOP_SORT_BY] = loop_sort,
	[LOOP_REDUCE] = loop_reduce,
};

int expr_eval_loop(struct ev *ev, const struct node *node, struct expr_value *ret)
{
	struct scope s = { .acc = expr_nil() };
	struct scope *up = ev->scope;
	int r = loop_list(ev, node->args[0], &s.list);
	/* The start of reduce and the order of sortBy are not of the loop: # is the outer one's. */
	if (r == 0 && node->n_args > 2)
		r = expr_eval_node(ev, node->args[2], &s.acc);
	if (r < 0)
		return r;
	ev->scope = &s;
	r = loops[node->builtin->loop](ev, node, ret);
	ev->scope = up;
	return r;
}

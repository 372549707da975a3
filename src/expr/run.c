/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every evaluation needs: failing with a reason, spending steps, memory from the arena, and
 * building, sorting and comparing values within those limits. */
#include "expr/run_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "expr/expr_priv.h"
#include "expr/value_priv.h"

int expr_fail(struct ev *ev, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(ev->errtext, ev->n_errtext, fmt, ap);
	va_end(ap);
	return ERR_TYPE;
}

int expr_no_memory(struct ev *ev)
{
	IGNORE(expr_fail(ev, "memory budget exceeded")); /* the code differs */
	return ERR_LIMIT;
}

int expr_spend(struct ev *ev, size_t steps)
{
	if (steps <= EXPR_STEPS_MAX - ev->steps) {
		ev->steps += (uint32_t)steps;
		return 0;
	}
	IGNORE(expr_fail(ev, "evaluation takes too many steps")); /* the code differs */
	return ERR_LIMIT;
}

int expr_grow(struct ev *ev, size_t units)
{
	/* The language's own budget: an error of the expression, as it is in CoreDNS. */
	if (units >= EXPR_MEMORY_MAX - ev->memory)
		return expr_fail(ev, "memory budget exceeded");
	ev->memory += (uint32_t)units;
	return 0;
}

void *expr_alloc(struct ev *ev, size_t count)
{
	void *p = arena_alloc(ev->run->arena, count);
	if (p == NULL)
		IGNORE(expr_no_memory(ev)); /* NULL says it */
	return p;
}

struct expr_value *expr_alloc_values(struct ev *ev, size_t count)
{
	if (count > EXPR_MEMORY_MAX) {
		IGNORE(expr_no_memory(ev)); /* NULL says it */
		return NULL;
	}
	return expr_alloc(ev, count * sizeof(struct expr_value));
}

void expr_release(struct ev *ev, char *cur, const char *end)
{
	struct arena *a = ev->run->arena;
	if (a->end == end)
		a->cur = cur;
}

int expr_want(struct ev *ev, const struct expr_value *value, enum expr_type type)
{
	if (value->type == type)
		return 0;
	struct expr_value want = { .type = type };
	return expr_fail(ev, "interface conversion: %s, not %s", expr_value_type_name(value),
			 expr_value_type_name(&want));
}

int expr_make_list(struct ev *ev, const struct expr_value *value, size_t count,
		   struct expr_value *ret)
{
	unsigned depth = 0;
	for (size_t i = 0; i < count; i++)
		depth = MAX(depth, value[i].depth);
	if (depth >= EXPR_VALUE_DEPTH_MAX)
		return expr_fail(ev, "value is nested too deeply");
	*ret = (struct expr_value){ .type = EXPR_LIST, .depth = (uint16_t)(depth + 1) };
	ret->list.v = value;
	ret->list.n = count;
	return 0;
}

/* --- sorting --- */

/* Merges two sorted runs; pairs of (key, companion), the companion may be absent. */
struct sorter {
	struct ev *ev;
	struct expr_value *v, *along, *tmp, *tmp_along;
	bool desc;
};

static void move_element(const struct sorter *sorter, size_t to, size_t from)
{
	sorter->tmp[to] = sorter->v[from];
	if (sorter->along != NULL)
		sorter->tmp_along[to] = sorter->along[from];
}

static int merge_halves(const struct sorter *sorter, size_t lo, size_t mid, size_t hi)
{
	size_t i = lo, j = mid;
	for (size_t k = lo; k < hi; k++) {
		int second = i >= mid;
		if (!second && j < hi)
			second = sorter->desc ? expr_order(sorter->ev, OP_LT, &sorter->v[i],
							   &sorter->v[j])
					      : expr_order(sorter->ev, OP_LT, &sorter->v[j],
							   &sorter->v[i]);
		if (second < 0)
			return second;
		move_element(sorter, k, second ? j++ : i++);
	}
	return expr_spend(sorter->ev, hi - lo);
}

int expr_sort(struct ev *ev, struct expr_value *value, struct expr_value *along, size_t count,
	      bool desc)
{
	struct sorter s = { .ev = ev, .v = value, .along = along, .desc = desc };
	if (count < 2)
		return 0;
	s.tmp = expr_alloc_values(ev, count);
	s.tmp_along = along != NULL ? expr_alloc_values(ev, count) : NULL;
	if (s.tmp == NULL || (along != NULL && s.tmp_along == NULL))
		return ERR_LIMIT;
	for (size_t width = 1; width < count; width *= 2) {
		for (size_t lo = 0; lo < count; lo += 2 * width) {
			int r = merge_halves(&s, lo, MIN(lo + width, count),
					     MIN(lo + 2 * width, count));
			if (r < 0)
				return r;
		}
		memcpy(value, s.tmp, count * sizeof(*value));
		if (along != NULL)
			memcpy(along, s.tmp_along, count * sizeof(*along));
	}
	return 0;
}

/* Stable, so that the winner among equal keys is known; pairs mostly come in order. */
static int sort_pairs(struct ev *ev, struct expr_pair *pair, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct expr_pair p = pair[i];
		size_t lo = 0, hi = i;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			if (expr_key_cmp(&p.key, &pair[mid].key) < 0)
				hi = mid;
			else
				lo = mid + 1;
		}
		int r = expr_spend(ev, i - lo + 1);
		if (r < 0)
			return r;
		memmove(pair + lo + 1, pair + lo, (i - lo) * sizeof(*pair));
		pair[lo] = p;
	}
	return 0;
}

int expr_make_map(struct ev *ev, enum expr_type type, struct expr_pair *pair, size_t count,
		  bool first_wins, struct expr_value *ret)
{
	unsigned depth = 0;
	size_t kept = 0;
	int r = sort_pairs(ev, pair, count);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		depth = MAX(depth, pair[i].value.depth);
		if (kept > 0 && expr_key_cmp(&pair[kept - 1].key, &pair[i].key) == 0) {
			if (!first_wins)
				pair[kept - 1] = pair[i];
		} else {
			pair[kept++] = pair[i];
		}
	}
	if (depth >= EXPR_VALUE_DEPTH_MAX)
		return expr_fail(ev, "value is nested too deeply");
	*ret = (struct expr_value){ .type = type, .depth = (uint16_t)(depth + 1) };
	ret->map.v = pair;
	ret->map.n = kept;
	return 0;
}

/* --- comparing --- */

static int equal_maps(struct ev *ev, const struct expr_value *left, const struct expr_value *right);

/* Go's reflect.DeepEqual, which is what values inside maps are compared by: 1 is not 1.0. */
static int equal_deeply(struct ev *ev, const struct expr_value *left,
			const struct expr_value *right)
{
	int r = expr_spend(ev, 1);
	if (r < 0)
		return r;
	if (left->type != right->type)
		return 0;
	if (expr_is_map(left))
		return equal_maps(ev, left, right);
	if (!expr_is_list(left))
		return expr_equal(ev, left, right);
	size_t n = expr_list_len(left);
	if (n != expr_list_len(right))
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct expr_value x = expr_list_at(left, i), y = expr_list_at(right, i);
		r = equal_deeply(ev, &x, &y);
		if (r <= 0)
			return r;
	}
	return 1;
}

static int equal_maps(struct ev *ev, const struct expr_value *left, const struct expr_value *right)
{
	if (left->map.n != right->map.n)
		return 0;
	for (size_t i = 0; i < left->map.n; i++) {
		if (expr_key_cmp(&left->map.v[i].key, &right->map.v[i].key) != 0)
			return 0;
		int r = equal_deeply(ev, &left->map.v[i].value, &right->map.v[i].value);
		if (r <= 0)
			return r;
	}
	return 1;
}

static int equal_lists(struct ev *ev, const struct expr_value *left, const struct expr_value *right)
{
	size_t n = expr_list_len(left);
	if (n != expr_list_len(right))
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct expr_value x = expr_list_at(left, i), y = expr_list_at(right, i);
		int r = expr_equal(ev, &x, &y);
		if (r <= 0)
			return r;
	}
	return 1;
}

int expr_equal(struct ev *ev, const struct expr_value *left, const struct expr_value *right)
{
	int r = expr_spend(ev, 1);
	if (r < 0)
		return r;
	if (left->type == EXPR_INT && right->type == EXPR_INT)
		return left->i == right->i;
	if (expr_is_number(left) && expr_is_number(right))
		return expr_to_float(left) == expr_to_float(right);
	if (expr_is_list(left) && expr_is_list(right))
		return equal_lists(ev, left, right);
	if (expr_is_nil(left) && expr_is_nil(right))
		return 1;
	if (left->type != right->type)
		return 0;
	if (expr_is_map(left))
		return equal_maps(ev, left, right);
	if (left->type == EXPR_STRING)
		return slice_eq(left->s, right->s);
	return left->b == right->b;
}

int expr_order(struct ev *ev, enum op op, const struct expr_value *left,
	       const struct expr_value *right)
{
	bool lt, eq;
	if (left->type == EXPR_STRING && right->type == EXPR_STRING) {
		int c = slice_cmp(left->s, right->s);
		lt = c < 0;
		eq = c == 0;
	} else if (left->type == EXPR_INT && right->type == EXPR_INT) {
		lt = left->i < right->i;
		eq = left->i == right->i;
	} else if (expr_is_number(left) && expr_is_number(right)) {
		double x = expr_to_float(left), y = expr_to_float(right);
		if (x != x || y != y)
			return 0; /* nothing is ordered with NaN */
		lt = x < y;
		eq = x == y;
	} else {
		static const char *const names[] = {
			[OP_LT] = "<", [OP_GT] = ">", [OP_GE] = ">=", [OP_LE] = "<="
		};
		return expr_fail(ev, "invalid operation: %s %s %s", expr_value_type_name(left),
				 names[op], expr_value_type_name(right));
	}
	return op == OP_LT ? lt : op == OP_LE ? lt || eq : op == OP_GT ? !lt && !eq : !lt;
}

int expr_write(struct ev *ev, expr_writer write, const struct expr_value *value,
	       struct expr_value *ret)
{
	struct out o = { .max = EXPR_MEMORY_MAX };
	int r = write(ev, &o, value);
	if (r < 0)
		return r;
	if (o.full)
		return expr_no_memory(ev);
	r = expr_spend(ev, o.n / 16);
	char *p = r == 0 ? expr_alloc(ev, o.n) : NULL;
	if (p == NULL)
		return ERR_LIMIT;
	o = (struct out){ .p = p, .max = o.n };
	r = write(ev, &o, value);
	*ret = expr_string((struct slice){ p, o.n });
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builtins on lists and maps. */
#include "base/err.h"
#include "expr/builtin_priv.h"
#include "expr/eval_priv.h"
#include "expr/expr_priv.h"
#include "expr/run_priv.h"
#include "expr/value_priv.h"

static int want_list(struct ev *ev, const struct expr_value *value, const char *what)
{
	if (expr_is_list(value))
		return 0;
	return expr_fail(ev, "cannot %s %s", what, expr_value_type_name(value));
}

static int want_map(struct ev *ev, const struct expr_value *value, const char *what)
{
	if (expr_is_map(value))
		return 0;
	return expr_fail(ev, "cannot get %s from %s", what, expr_value_type_name(value));
}

/* `count` values, the steps of going over them spent. */
static struct expr_value *alloc_counted(struct ev *ev, size_t count)
{
	return expr_spend(ev, count) == 0 ? expr_alloc_values(ev, count) : NULL;
}

/* get() answers nil where an index would fail. */
BUILTIN(get)
{
	struct expr_value list = *a;
	(void)n;
	*ret = expr_nil();
	if (a->type == EXPR_STRING)
		list.type = EXPR_BYTES;
	if (expr_is_map(a)) {
		int r = expr_fetch(ev, a, &a[1], ret);
		return MIN(r, 0);
	}
	if (!expr_is_list(&list))
		return 0;
	int64_t i = 0;
	int r = expr_to_int(ev, &a[1], &i);
	if (r < 0)
		return r;
	size_t len = expr_list_len(&list);
	if (i < 0)
		i += (int64_t)len;
	if (i >= 0 && (uint64_t)i < len)
		*ret = expr_list_at(&list, (size_t)i);
	return 0;
}

/* first() and last() swallow every error. */
static int end_of(const struct expr_value *a, bool last, struct expr_value *ret)
{
	struct expr_value list = *a;
	if (a->type == EXPR_STRING)
		list.type = EXPR_BYTES;
	size_t len = expr_list_len(&list);
	*ret = len != 0 ? expr_list_at(&list, last ? len - 1 : 0) : expr_nil();
	return 0;
}

BUILTIN(first)
{
	(void)ev;
	(void)n;
	return end_of(a, false, ret);
}

BUILTIN(last)
{
	(void)ev;
	(void)n;
	return end_of(a, true, ret);
}

BUILTIN(take)
{
	(void)n;
	int r = want_list(ev, a, "take from");
	if (r == 0)
		r = expr_want(ev, &a[1], EXPR_INT);
	if (r < 0)
		return r;
	if (a[1].i < 0)
		return expr_fail(ev, "slice bounds out of range");
	size_t len = MIN(expr_list_len(a), (uint64_t)a[1].i);
	*ret = *a;
	if (a->type == EXPR_LIST)
		ret->list.n = len;
	else
		ret->s.n = len;
	return 0;
}

/* keys() and values(); in the order of the keys, where Go has none. */
static int one_side(struct ev *ev, const struct expr_value *a, bool keys, struct expr_value *ret)
{
	int r = want_map(ev, a, keys ? "keys" : "values");
	struct expr_value *v = r == 0 ? alloc_counted(ev, a->map.n) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0; i < a->map.n; i++)
		v[i] = keys ? a->map.v[i].key : a->map.v[i].value;
	return expr_make_list(ev, v, a->map.n, ret);
}

BUILTIN(keys)
{
	(void)n;
	return one_side(ev, a, true, ret);
}

BUILTIN(values)
{
	(void)n;
	return one_side(ev, a, false, ret);
}

BUILTIN(to_pairs)
{
	(void)n;
	int r = want_map(ev, a, "pairs");
	struct expr_value *v = r == 0 ? alloc_counted(ev, 3 * a->map.n) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	struct expr_value *pair = v + a->map.n;
	for (size_t i = 0; i < a->map.n; i++, pair += 2) {
		pair[0] = a->map.v[i].key;
		pair[1] = a->map.v[i].value;
		r = expr_make_list(ev, pair, 2, &v[i]);
		if (r < 0)
			return r;
	}
	return expr_make_list(ev, v, a->map.n, ret);
}

BUILTIN(from_pairs)
{
	size_t len = expr_list_len(a);
	(void)n;
	int r = want_list(ev, a, "transform from pairs");
	if (r == 0)
		r = expr_spend(ev, len);
	struct expr_pair *v = r == 0 ? expr_alloc(ev, len * sizeof(*v)) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0; i < len; i++) {
		struct expr_value pair = expr_list_at(a, i);
		if (!expr_is_list(&pair) || expr_list_len(&pair) != 2)
			return expr_fail(ev, "invalid pair");
		v[i].key = expr_list_at(&pair, 0);
		v[i].value = expr_list_at(&pair, 1);
		if (v[i].key.depth > 0)
			return expr_fail(ev, "cannot use %s as a key",
					 expr_value_type_name(&v[i].key));
	}
	return expr_make_map(ev, EXPR_ANYMAP, v, len, false, ret);
}

BUILTIN(reverse)
{
	size_t len = expr_list_len(a);
	(void)n;
	int r = want_list(ev, a, "reverse");
	if (r == 0)
		r = expr_grow(ev, len);
	struct expr_value *v = r == 0 ? alloc_counted(ev, len) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0; i < len; i++)
		v[i] = expr_list_at(a, len - 1 - i);
	return expr_make_list(ev, v, len, ret);
}

BUILTIN(uniq)
{
	size_t len = expr_list_len(a), kept = 0;
	(void)n;
	int r = want_list(ev, a, "uniq");
	struct expr_value *v = r == 0 ? alloc_counted(ev, len) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0; i < len; i++) {
		struct expr_value item = expr_list_at(a, i);
		r = 0;
		for (size_t k = 0; k < kept && r == 0; k++)
			r = expr_equal(ev, &item, &v[k]);
		if (r < 0)
			return r;
		if (r == 0)
			v[kept++] = item;
	}
	return expr_make_list(ev, v, kept, ret);
}

BUILTIN(concat)
{
	size_t len = 0, k = 0;
	for (unsigned i = 0; i < n; i++) {
		int r = want_list(ev, &a[i], "concat");
		if (r < 0)
			return r;
		len += expr_list_len(&a[i]);
	}
	*ret = expr_nil_list();
	if (len == 0)
		return 0;
	int r = expr_grow(ev, len);
	struct expr_value *v = r == 0 ? alloc_counted(ev, len) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (unsigned i = 0; i < n; i++) {
		for (size_t j = 0; j < expr_list_len(&a[i]); j++)
			v[k++] = expr_list_at(&a[i], j);
	}
	return expr_make_list(ev, v, len, ret);
}

/* Counts what flatten() gives, or writes it to `out`. */
static int flatten(struct ev *ev, const struct expr_value *v, struct expr_value *out, size_t *n)
{
	for (size_t i = 0; i < expr_list_len(v); i++) {
		struct expr_value item = expr_list_at(v, i);
		int r = expr_spend(ev, 1);
		if (r == 0 && expr_is_list(&item))
			r = flatten(ev, &item, out, n);
		else if (r == 0 && out != NULL)
			out[(*n)++] = item;
		else if (r == 0)
			++*n;
		if (r < 0)
			return r;
	}
	return 0;
}

BUILTIN(flatten)
{
	size_t len = 0;
	(void)n;
	int r = want_list(ev, a, "flatten");
	if (r == 0)
		r = flatten(ev, a, NULL, &len);
	if (r == 0)
		r = expr_grow(ev, len);
	struct expr_value *v = r == 0 ? expr_alloc_values(ev, len) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	len = 0;
	r = flatten(ev, a, v, &len);
	return r == 0 ? expr_make_list(ev, v, len, ret) : r;
}

BUILTIN(sort)
{
	size_t len = expr_list_len(a);
	bool desc = false;
	int r = n > 1 ? expr_want(ev, &a[1], EXPR_STRING) : 0;
	if (r < 0)
		return r;
	if (n > 1) {
		desc = slice_is(a[1].s, "desc");
		if (!desc && !slice_is(a[1].s, "asc"))
			return expr_fail(ev, "invalid order %.*s, expected asc or desc",
					 (int)MIN(a[1].s.n, 100U), a[1].s.p);
	}
	if (a->type != EXPR_LIST) {
		/* expr-lang finds nothing to sort, and reports no error. */
		*ret = expr_nil_list();
		return 0;
	}
	r = expr_grow(ev, len);
	struct expr_value *v = r == 0 ? alloc_counted(ev, len) : NULL;
	if (v == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0; i < len; i++)
		v[i] = expr_list_at(a, i);
	r = expr_sort(ev, v, NULL, len, desc);
	return r == 0 ? expr_make_list(ev, v, len, ret) : r;
}

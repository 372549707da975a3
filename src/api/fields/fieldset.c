/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of fields: a sorted tree, and the operations on two of them as merges of sorted lists. */
#include "api/fields/fieldset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

struct fieldset *fieldset_new(void)
{
	struct fieldset *s = xmalloc(sizeof(*s)); /* calloc bypasses glibc's cache of the thread */
	*s = (struct fieldset){ .refs = 1 };
	return s;
}

struct fieldset *fieldset_ref(struct fieldset *fieldset)
{
	assert(fieldset->refs != 0);
	fieldset->refs++;
	return fieldset;
}

void fieldset_unref(struct fieldset *fieldset)
{
	assert(fieldset == NULL || fieldset->refs != 0);
	if (fieldset == NULL || --fieldset->refs > 0)
		return;
	for (size_t i = 0; i < fieldset->n; i++) {
		fieldset_el_unref(fieldset->v[i].el);
		fieldset_unref(fieldset->v[i].sub);
	}
	free(fieldset->v);
	free(fieldset);
}

/* Where the element is or belongs. What is built is mostly built in order. */
static size_t find_place(const struct fieldset *fieldset, const struct fieldset_el *element,
			 bool *ret_found)
{
	size_t lo = 0, hi = fieldset->n;
	*ret_found = false;
	if (hi > 0) {
		int c = fieldset_el_cmp(fieldset->v[hi - 1].el, element);
		*ret_found = c == 0;
		if (c <= 0)
			return c == 0 ? hi - 1 : hi;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = fieldset_el_cmp(fieldset->v[mid].el, element);
		if (c == 0) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct fieldset_node *descend_to(struct fieldset *fieldset, struct fieldset_el *element)
{
	bool found;
	size_t i = find_place(fieldset, element, &found);
	if (!found) {
		vec_reserve_one(fieldset);
		memmove(&fieldset->v[i + 1], &fieldset->v[i],
			(fieldset->n - i) * sizeof(*fieldset->v));
		fieldset->n++;
		fieldset->v[i] = (struct fieldset_node){ .el = fieldset_el_ref(element) };
	}
	return &fieldset->v[i];
}

void fieldset_insert(struct fieldset *fieldset, struct fieldset_el *const *path, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fieldset_node *node = descend_to(fieldset, path[i]);
		if (i + 1 == count) {
			node->member = true;
			return;
		}
		if (node->sub == NULL)
			node->sub = fieldset_new();
		fieldset = node->sub;
	}
}

const struct fieldset_node *fieldset_find(const struct fieldset *fieldset,
					  const struct fieldset_el *element)
{
	bool found;
	if (fieldset == NULL)
		return NULL;
	size_t i = find_place(fieldset, element, &found);
	return found ? &fieldset->v[i] : NULL;
}

bool fieldset_empty(const struct fieldset *fieldset)
{
	return fieldset->n == 0;
}

void fieldset_append(struct fieldset *fieldset, struct fieldset_el *element, bool member,
		     struct fieldset *sub)
{
	if (sub != NULL && sub->n == 0) {
		fieldset_unref(sub);
		sub = NULL;
	}
	if (member || sub != NULL)
		vec_push(fieldset, (struct fieldset_node){ .el = fieldset_el_ref(element),
							   .sub = sub,
							   .member = member });
}

static int by_element(const void *left, const void *right)
{
	const struct fieldset_node *x = left, *y = right;
	return fieldset_el_cmp(x->el, y->el);
}

void fieldset_sort(struct fieldset *fieldset)
{
	for (size_t i = 1; i < fieldset->n; i++) {
		if (by_element(&fieldset->v[i - 1], &fieldset->v[i]) > 0) {
			qsort(fieldset->v, fieldset->n, sizeof(*fieldset->v), by_element);
			return;
		}
	}
}

static struct fieldset *ref_or_null(struct fieldset *fieldset)
{
	return fieldset != NULL ? fieldset_ref(fieldset) : NULL;
}

/* What an operation makes of an element that is in one set only, and of one that is in both. */
struct operation {
	bool left, right; /* keep what is only there */
	void (*both)(struct fieldset *out, const struct fieldset_node *left,
		     const struct fieldset_node *right);
};

static struct fieldset *combine_sets(const struct fieldset *left, const struct fieldset *right,
				     const struct operation *op)
{
	struct fieldset *out = fieldset_new();
	size_t i = 0, j = 0;
	while (i < left->n || j < right->n) {
		int c = i == left->n	? 1
			: j == right->n ? -1
					: fieldset_el_cmp(left->v[i].el, right->v[j].el);
		if (c == 0) {
			op->both(out, &left->v[i++], &right->v[j++]);
			continue;
		}
		const struct fieldset_node *one = c < 0 ? &left->v[i++] : &right->v[j++];
		if (c < 0 ? op->left : op->right)
			fieldset_append(out, one->el, one->member, ref_or_null(one->sub));
	}
	return out;
}

static void union_both(struct fieldset *out, const struct fieldset_node *left,
		       const struct fieldset_node *right)
{
	struct fieldset *sub = left->sub != NULL && right->sub != NULL
				       ? fieldset_union(left->sub, right->sub)
				       : ref_or_null(left->sub != NULL ? left->sub : right->sub);
	fieldset_append(out, right->member ? right->el : left->el, left->member || right->member,
			sub);
}

struct fieldset *fieldset_union(struct fieldset *left, struct fieldset *right)
{
	static const struct operation op = { true, true, union_both };
	if (left->n == 0 || right->n == 0)
		return fieldset_ref(left->n == 0 ? right : left);
	return combine_sets(left, right, &op);
}

static void intersection_both(struct fieldset *out, const struct fieldset_node *left,
			      const struct fieldset_node *right)
{
	struct fieldset *sub = left->sub != NULL && right->sub != NULL
				       ? fieldset_intersection(left->sub, right->sub)
				       : NULL;
	fieldset_append(out, left->el, left->member && right->member, sub);
}

struct fieldset *fieldset_intersection(struct fieldset *left, struct fieldset *right)
{
	static const struct operation op = { false, false, intersection_both };
	return combine_sets(left, right, &op);
}

static void difference_both(struct fieldset *out, const struct fieldset_node *left,
			    const struct fieldset_node *right)
{
	struct fieldset *sub = left->sub != NULL && right->sub != NULL
				       ? fieldset_difference(left->sub, right->sub)
				       : ref_or_null(left->sub);
	fieldset_append(out, left->el, left->member && !right->member, sub);
}

struct fieldset *fieldset_difference(struct fieldset *left, struct fieldset *right)
{
	static const struct operation op = { true, false, difference_both };
	if (left->n == 0 || right->n == 0)
		return fieldset_ref(left);
	return combine_sets(left, right, &op);
}

static void without_both(struct fieldset *out, const struct fieldset_node *left,
			 const struct fieldset_node *right)
{
	if (right->member)
		return;
	struct fieldset *sub = left->sub != NULL && right->sub != NULL
				       ? fieldset_without(left->sub, right->sub)
				       : ref_or_null(left->sub);
	fieldset_append(out, left->el, left->member, sub);
}

struct fieldset *fieldset_without(struct fieldset *left, struct fieldset *right)
{
	static const struct operation op = { true, false, without_both };
	if (left->n == 0 || right->n == 0)
		return fieldset_ref(left);
	return combine_sets(left, right, &op);
}

struct each {
	fieldset_each_fn fn;
	void *ctx;
	VEC(struct fieldset_el *) path;
};

static void each_below(const struct fieldset *fieldset, struct each *each)
{
	vec_push(&each->path, NULL);
	for (size_t i = 0; i < fieldset->n; i++) {
		if (!fieldset->v[i].member)
			continue;
		each->path.v[each->path.n - 1] = fieldset->v[i].el;
		each->fn(each->ctx, each->path.v, each->path.n);
	}
	for (size_t i = 0; i < fieldset->n; i++) {
		if (fieldset->v[i].sub == NULL)
			continue;
		each->path.v[each->path.n - 1] = fieldset->v[i].el;
		each_below(fieldset->v[i].sub, each);
	}
	each->path.n--;
}

void fieldset_each(const struct fieldset *fieldset, fieldset_each_fn fn, void *ctx)
{
	struct each e = { .fn = fn, .ctx = ctx };
	each_below(fieldset, &e);
	vec_done(&e.path);
}

void fieldset_path_text(struct strbuf *out, struct fieldset_el *const *path, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fieldset_el_text(out, path[i]);
}

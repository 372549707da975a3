/* Sets of fields: a sorted tree, and the operations on two of them as merges of sorted lists. */
#include <stdlib.h>
#include <string.h>

#include "api/fieldset_priv.h"
#include "base/mem.h"
#include "base/vec.h"

struct fieldset *fieldset_new(void)
{
	struct fieldset *s = xcalloc(1, sizeof(*s));
	s->refs = 1;
	return s;
}

struct fieldset *fieldset_ref(struct fieldset *s)
{
	s->refs++;
	return s;
}

void fieldset_unref(struct fieldset *s)
{
	if (s == NULL || --s->refs > 0)
		return;
	for (size_t i = 0; i < s->n; i++) {
		fieldset_el_unref(s->v[i].el);
		fieldset_unref(s->v[i].sub);
	}
	free(s->v);
	free(s);
}

/* Where the element is or belongs. What is built is mostly built in order. */
static size_t place(const struct fieldset *s, const struct fieldset_el *e, bool *ret_found)
{
	size_t lo = 0, hi = s->n;
	*ret_found = false;
	if (hi > 0) {
		int c = fieldset_el_cmp(s->v[hi - 1].el, e);
		*ret_found = c == 0;
		if (c <= 0)
			return c == 0 ? hi - 1 : hi;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = fieldset_el_cmp(s->v[mid].el, e);
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

static struct fieldset_node *descend(struct fieldset *s, struct fieldset_el *e)
{
	bool found;
	size_t i = place(s, e, &found);
	if (!found) {
		vec_reserve_one(s);
		memmove(&s->v[i + 1], &s->v[i], (s->n - i) * sizeof(*s->v));
		s->n++;
		s->v[i] = (struct fieldset_node){ .el = fieldset_el_ref(e) };
	}
	return &s->v[i];
}

void fieldset_insert(struct fieldset *s, struct fieldset_el *const *path, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct fieldset_node *node = descend(s, path[i]);
		if (i + 1 == n) {
			node->member = true;
			return;
		}
		if (node->sub == NULL)
			node->sub = fieldset_new();
		s = node->sub;
	}
}

const struct fieldset_node *fieldset_find(const struct fieldset *s, const struct fieldset_el *e)
{
	bool found;
	if (s == NULL)
		return NULL;
	size_t i = place(s, e, &found);
	return found ? &s->v[i] : NULL;
}

bool fieldset_has(const struct fieldset *s, struct fieldset_el *const *path, size_t n)
{
	const struct fieldset_node *node = NULL;
	for (size_t i = 0; i < n; i++) {
		node = fieldset_find(s, path[i]);
		if (node == NULL)
			return false;
		s = node->sub;
	}
	return node != NULL && node->member;
}

bool fieldset_empty(const struct fieldset *s)
{
	return s->n == 0;
}

size_t fieldset_count(const struct fieldset *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].member + (s->v[i].sub != NULL ? fieldset_count(s->v[i].sub) : 0);
	return n;
}

bool fieldset_equal(const struct fieldset *a, const struct fieldset *b)
{
	if (a == b)
		return true;
	if (a == NULL || b == NULL || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i].member != b->v[i].member ||
		    fieldset_el_cmp(a->v[i].el, b->v[i].el) != 0 ||
		    !fieldset_equal(a->v[i].sub, b->v[i].sub))
			return false;
	}
	return true;
}

/* Appends a node unless there is nothing in it; takes `sub`. */
static void keep(struct fieldset *s, struct fieldset_el *e, bool member, struct fieldset *sub)
{
	if (sub != NULL && sub->n == 0) {
		fieldset_unref(sub);
		sub = NULL;
	}
	if (member || sub != NULL)
		vec_push(s, (struct fieldset_node){
				    .el = fieldset_el_ref(e), .sub = sub, .member = member });
}

static struct fieldset *ref_or_null(struct fieldset *s)
{
	return s != NULL ? fieldset_ref(s) : NULL;
}

/* What an operation makes of an element that is in one set only, and of one that is in both. */
struct operation {
	bool left, right; /* keep what is only there */
	void (*both)(struct fieldset *out, const struct fieldset_node *a,
		     const struct fieldset_node *b);
};

static struct fieldset *combine(const struct fieldset *a, const struct fieldset *b,
				const struct operation *op)
{
	struct fieldset *out = fieldset_new();
	size_t i = 0, j = 0;
	while (i < a->n || j < b->n) {
		int c = i == a->n ? 1 : j == b->n ? -1 : fieldset_el_cmp(a->v[i].el, b->v[j].el);
		if (c == 0) {
			op->both(out, &a->v[i++], &b->v[j++]);
			continue;
		}
		const struct fieldset_node *one = c < 0 ? &a->v[i++] : &b->v[j++];
		if (c < 0 ? op->left : op->right)
			keep(out, one->el, one->member, ref_or_null(one->sub));
	}
	return out;
}

static void union_both(struct fieldset *out, const struct fieldset_node *a,
		       const struct fieldset_node *b)
{
	struct fieldset *sub = a->sub != NULL && b->sub != NULL
				       ? fieldset_union(a->sub, b->sub)
				       : ref_or_null(a->sub != NULL ? a->sub : b->sub);
	keep(out, b->member ? b->el : a->el, a->member || b->member, sub);
}

struct fieldset *fieldset_union(struct fieldset *a, struct fieldset *b)
{
	static const struct operation op = { true, true, union_both };
	if (a->n == 0 || b->n == 0)
		return fieldset_ref(a->n == 0 ? b : a);
	return combine(a, b, &op);
}

static void intersection_both(struct fieldset *out, const struct fieldset_node *a,
			      const struct fieldset_node *b)
{
	struct fieldset *sub =
		a->sub != NULL && b->sub != NULL ? fieldset_intersection(a->sub, b->sub) : NULL;
	keep(out, a->el, a->member && b->member, sub);
}

struct fieldset *fieldset_intersection(struct fieldset *a, struct fieldset *b)
{
	static const struct operation op = { false, false, intersection_both };
	return combine(a, b, &op);
}

static void difference_both(struct fieldset *out, const struct fieldset_node *a,
			    const struct fieldset_node *b)
{
	struct fieldset *sub = a->sub != NULL && b->sub != NULL
				       ? fieldset_difference(a->sub, b->sub)
				       : ref_or_null(a->sub);
	keep(out, a->el, a->member && !b->member, sub);
}

struct fieldset *fieldset_difference(struct fieldset *a, struct fieldset *b)
{
	static const struct operation op = { true, false, difference_both };
	if (a->n == 0 || b->n == 0)
		return fieldset_ref(a);
	return combine(a, b, &op);
}

static void without_both(struct fieldset *out, const struct fieldset_node *a,
			 const struct fieldset_node *b)
{
	if (b->member)
		return;
	struct fieldset *sub = a->sub != NULL && b->sub != NULL ? fieldset_without(a->sub, b->sub)
								: ref_or_null(a->sub);
	keep(out, a->el, a->member, sub);
}

struct fieldset *fieldset_without(struct fieldset *a, struct fieldset *b)
{
	static const struct operation op = { true, false, without_both };
	if (a->n == 0 || b->n == 0)
		return fieldset_ref(a);
	return combine(a, b, &op);
}

struct fieldset *fieldset_leaves(struct fieldset *s)
{
	struct fieldset *out = fieldset_new();
	for (size_t i = 0; i < s->n; i++) {
		const struct fieldset_node *node = &s->v[i];
		keep(out, node->el, node->member && node->sub == NULL,
		     node->sub != NULL ? fieldset_leaves(node->sub) : NULL);
	}
	return out;
}

struct each {
	fieldset_each_fn fn;
	void *ctx;
	VEC(struct fieldset_el *) path;
};

static void each_below(const struct fieldset *s, struct each *e)
{
	vec_push(&e->path, NULL);
	for (size_t i = 0; i < s->n; i++) {
		if (!s->v[i].member)
			continue;
		e->path.v[e->path.n - 1] = s->v[i].el;
		e->fn(e->ctx, e->path.v, e->path.n);
	}
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].sub == NULL)
			continue;
		e->path.v[e->path.n - 1] = s->v[i].el;
		each_below(s->v[i].sub, e);
	}
	e->path.n--;
}

void fieldset_each(const struct fieldset *s, fieldset_each_fn fn, void *ctx)
{
	struct each e = { .fn = fn, .ctx = ctx };
	each_below(s, &e);
	vec_done(&e.path);
}

void fieldset_path_text(struct strbuf *out, struct fieldset_el *const *path, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fieldset_el_text(out, path[i]);
}

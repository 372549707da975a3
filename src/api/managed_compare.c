/* What two values of a type differ in: paths removed, modified, added. */
#include "api/managed_priv.h"
#include "api/tree.h"

bool managed_equal(const json_t *a, const json_t *b)
{
	const char *k;
	json_t *v;
	size_t i;
	if (json_is_object(a) && json_is_object(b)) {
		if (json_object_size(a) != json_object_size(b))
			return false;
		json_object_foreach (api_tree(a), k, v) {
			const json_t *w = json_object_get(b, k);
			if (w == NULL || !managed_equal(v, w))
				return false;
		}
		return true;
	}
	if (json_is_array(a) && json_is_array(b)) {
		if (json_array_size(a) != json_array_size(b))
			return false;
		json_array_foreach (a, i, v) {
			if (!managed_equal(v, json_array_get(b, i)))
				return false;
		}
		return true;
	}
	return fieldset_value_cmp(a, b) == 0;
}

void managed_change_done(struct managed_change *c)
{
	fieldset_unref(c->removed);
	fieldset_unref(c->modified);
	fieldset_unref(c->added);
}

static void take_out(struct fieldset **s, struct fieldset *fields)
{
	struct fieldset *rest = fieldset_without(*s, fields);
	fieldset_unref(*s);
	*s = rest;
}

void managed_change_without(struct managed_change *c, struct fieldset *fields)
{
	if (fields == NULL)
		return;
	take_out(&c->removed, fields);
	take_out(&c->modified, fields);
	take_out(&c->added, fields);
}

struct comparing {
	struct managed_path path;
	struct managed_change *change;
};

/* Two values at the path, at most one of them NULL. `leaf`: nothing below is looked at. */
struct pair {
	const json_t *from, *to;
	bool leaf;
};

static void compare(struct comparing *w, struct managed_type t, struct pair p);

static void here(const struct comparing *w, struct fieldset *s)
{
	fieldset_insert(s, w->path.v, w->path.n);
}

static void leaf(struct comparing *w, struct pair *p)
{
	if (p->leaf)
		return;
	p->leaf = true;
	if (p->from == NULL)
		here(w, w->change->added);
	else if (p->to == NULL)
		here(w, w->change->removed);
	else if (!managed_equal(p->from, p->to))
		here(w, w->change->modified);
}

static void compare_map(struct comparing *w, const struct managed_atom *a, struct pair *p)
{
	struct managed_names names;
	const json_t *from = json_is_object(p->from) ? p->from : NULL;
	const json_t *to = json_is_object(p->to) ? p->to : NULL;
	if (a->map_atomic || (json_object_size(from) == 0 && json_object_size(to) == 0)) {
		leaf(w, p);
		return;
	}
	managed_names_init(&names, from, to);
	for (size_t i = 0; i < names.n; i++) {
		struct managed_type t;
		managed_type_field(a, names.v[i], &t, NULL);
		managed_path_push_name(&w->path, names.v[i]);
		compare(w, t,
			(struct pair){ json_object_get(from, names.v[i]),
				       json_object_get(to, names.v[i]), p->leaf });
		managed_path_pop(&w->path);
	}
	managed_names_done(&names);
}

/* The items of one element, from *at on; *at is moved behind them. */
static size_t run(const struct managed_items *l, size_t *at, const struct fieldset_el *e)
{
	size_t n = 0;
	while (*at < l->n && fieldset_el_cmp(l->sorted[*at]->el, e) == 0) {
		(*at)++;
		n++;
	}
	return n;
}

static bool same_items(const struct managed_items *a, size_t i, const struct managed_items *b,
		       size_t j, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		if (!managed_equal(a->sorted[i + k]->v, b->sorted[j + k]->v))
			return false;
	}
	return true;
}

/* Items of one element, n before and m after. What is there twice is one value. */
static void compare_items(struct comparing *w, const struct managed_atom *a,
			  const struct managed_items *from, size_t i, size_t n,
			  const struct managed_items *to, size_t j, size_t m)
{
	struct managed_type t = managed_type_items(a);
	const json_t *x = n > 0 ? from->sorted[i]->v : NULL;
	const json_t *y = m > 0 ? to->sorted[j]->v : NULL;
	if (n <= 1 && m <= 1) {
		compare(w, t, (struct pair){ x, y, false });
	} else if (n >= 2 && m >= 2) {
		if (n != m || !same_items(from, i, to, j, n))
			here(w, w->change->modified);
	} else if (n >= 2) {
		if (y != NULL)
			compare(w, t, (struct pair){ NULL, y, false });
		here(w, w->change->removed);
	} else {
		if (x != NULL)
			compare(w, t, (struct pair){ x, NULL, false });
		here(w, w->change->added);
	}
}

static void compare_list(struct comparing *w, const struct managed_atom *a, struct pair *p)
{
	struct managed_items from, to;
	const json_t *x = json_is_array(p->from) ? p->from : NULL;
	const json_t *y = json_is_array(p->to) ? p->to : NULL;
	if (a->list_atomic || (json_array_size(x) == 0 && json_array_size(y) == 0)) {
		leaf(w, p);
		return;
	}
	managed_items_init(&from, a, x);
	managed_items_init(&to, a, y);
	for (size_t i = 0, j = 0; i < from.n || j < to.n;) {
		bool left = j == to.n || (i < from.n && fieldset_el_cmp(from.sorted[i]->el,
									to.sorted[j]->el) <= 0);
		struct fieldset_el *e = left ? from.sorted[i]->el : to.sorted[j]->el;
		size_t i0 = i, j0 = j;
		managed_path_push(&w->path, e);
		size_t n = run(&from, &i, e), m = run(&to, &j, e);
		compare_items(w, a, &from, i0, n, &to, j0, m);
		managed_path_pop(&w->path);
	}
	managed_items_done(&from);
	managed_items_done(&to);
}

static void compare_as(struct comparing *w, const struct managed_atom *a, struct pair *p)
{
	if (a->map)
		compare_map(w, a, p);
	else if (a->scalar != MANAGED_SCALAR_NONE)
		leaf(w, p);
	else if (a->list)
		compare_list(w, a, p);
}

static void compare(struct comparing *w, struct managed_type t, struct pair p)
{
	struct managed_atom a = managed_type_resolve(t);
	struct managed_atom from = managed_type_deduce(a, p.from);
	struct managed_atom to = managed_type_deduce(a, p.to);
	if (p.to == NULL) {
		compare_as(w, &from, &p);
	} else {
		if (p.from != NULL && !managed_type_same(&from, &to)) {
			struct pair before = p;
			compare_as(w, &from, &before);
		}
		compare_as(w, &to, &p);
	}
	if (p.leaf)
		return;
	if (p.from == NULL)
		here(w, w->change->added);
	else if (p.to == NULL)
		here(w, w->change->removed);
}

void managed_compare(struct managed_type t, const json_t *from, const json_t *to,
		     struct managed_change *ret)
{
	struct comparing w = { .change = ret };
	*ret = (struct managed_change){ fieldset_new(), fieldset_new(), fieldset_new() };
	compare(&w, t, (struct pair){ from, to, false });
	managed_path_done(&w.path);
}

/* What two values of a type differ in: paths removed, modified, added. */
#include "api/apply/managed_priv.h"
#include "api/tree.h"

bool managed_equal(const json_t *left, const json_t *right)
{
	const char *k;
	json_t *v;
	size_t i;
	if (json_is_object(left) && json_is_object(right)) {
		if (json_object_size(left) != json_object_size(right))
			return false;
		json_object_foreach (api_tree(left), k, v) {
			const json_t *w = json_object_get(right, k);
			if (w == NULL || !managed_equal(v, w))
				return false;
		}
		return true;
	}
	if (json_is_array(left) && json_is_array(right)) {
		if (json_array_size(left) != json_array_size(right))
			return false;
		json_array_foreach (left, i, v) {
			if (!managed_equal(v, json_array_get(right, i)))
				return false;
		}
		return true;
	}
	return fieldset_value_cmp(left, right) == 0;
}

void managed_change_done(struct managed_change *change)
{
	fieldset_unref(change->removed);
	fieldset_unref(change->modified);
	fieldset_unref(change->added);
}

static void take_out(struct fieldset **fieldset, struct fieldset *fields)
{
	struct fieldset *rest = fieldset_without(*fieldset, fields);
	fieldset_unref(*fieldset);
	*fieldset = rest;
}

void managed_change_without(struct managed_change *change, struct fieldset *fields)
{
	if (fields == NULL)
		return;
	take_out(&change->removed, fields);
	take_out(&change->modified, fields);
	take_out(&change->added, fields);
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

static void here(const struct comparing *comparing, struct fieldset *fieldset)
{
	fieldset_insert(fieldset, comparing->path.v, comparing->path.n);
}

static void leaf(struct comparing *comparing, struct pair *pair)
{
	if (pair->leaf)
		return;
	pair->leaf = true;
	if (pair->from == NULL)
		here(comparing, comparing->change->added);
	else if (pair->to == NULL)
		here(comparing, comparing->change->removed);
	else if (!managed_equal(pair->from, pair->to))
		here(comparing, comparing->change->modified);
}

static void compare_map(struct comparing *comparing, const struct managed_atom *atom,
			struct pair *pair)
{
	struct managed_names names;
	const json_t *from = json_is_object(pair->from) ? pair->from : NULL;
	const json_t *to = json_is_object(pair->to) ? pair->to : NULL;
	if (atom->map_atomic || (json_object_size(from) == 0 && json_object_size(to) == 0)) {
		leaf(comparing, pair);
		return;
	}
	managed_names_init(&names, from, to);
	for (size_t i = 0; i < names.n; i++) {
		struct managed_type t;
		managed_type_field(atom, names.v[i], &t, NULL);
		managed_path_push_name(&comparing->path, names.v[i]);
		compare(comparing, t,
			(struct pair){ json_object_get(from, names.v[i]),
				       json_object_get(to, names.v[i]), pair->leaf });
		managed_path_pop(&comparing->path);
	}
	managed_names_done(&names);
}

/* The items of one element, from *at on; *at is moved behind them. */
static size_t run(const struct managed_items *items, size_t *at, const struct fieldset_el *element)
{
	size_t n = 0;
	while (*at < items->n && fieldset_el_cmp(items->sorted[*at]->el, element) == 0) {
		(*at)++;
		n++;
	}
	return n;
}

static bool same_items(const struct managed_items *left, size_t i,
		       const struct managed_items *right, size_t j, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		if (!managed_equal(left->sorted[i + k]->v, right->sorted[j + k]->v))
			return false;
	}
	return true;
}

/* Items of one element, n before and m after. What is there twice is one value. */
static void compare_items(struct comparing *comparing, const struct managed_atom *atom,
			  const struct managed_items *from, size_t i, size_t n,
			  const struct managed_items *to, size_t j, size_t m)
{
	struct managed_type t = managed_type_items(atom);
	const json_t *x = n > 0 ? from->sorted[i]->v : NULL;
	const json_t *y = m > 0 ? to->sorted[j]->v : NULL;
	if (n <= 1 && m <= 1) {
		compare(comparing, t, (struct pair){ x, y, false });
	} else if (n >= 2 && m >= 2) {
		if (n != m || !same_items(from, i, to, j, n))
			here(comparing, comparing->change->modified);
	} else if (n >= 2) {
		if (y != NULL)
			compare(comparing, t, (struct pair){ NULL, y, false });
		here(comparing, comparing->change->removed);
	} else {
		if (x != NULL)
			compare(comparing, t, (struct pair){ x, NULL, false });
		here(comparing, comparing->change->added);
	}
}

static void compare_list(struct comparing *comparing, const struct managed_atom *atom,
			 struct pair *pair)
{
	struct managed_items from, to;
	const json_t *x = json_is_array(pair->from) ? pair->from : NULL;
	const json_t *y = json_is_array(pair->to) ? pair->to : NULL;
	if (atom->list_atomic || (json_array_size(x) == 0 && json_array_size(y) == 0)) {
		leaf(comparing, pair);
		return;
	}
	managed_items_init(&from, atom, x);
	managed_items_init(&to, atom, y);
	for (size_t i = 0, j = 0; i < from.n || j < to.n;) {
		bool left = j == to.n || (i < from.n && fieldset_el_cmp(from.sorted[i]->el,
									to.sorted[j]->el) <= 0);
		struct fieldset_el *e = left ? from.sorted[i]->el : to.sorted[j]->el;
		size_t i0 = i, j0 = j;
		managed_path_push(&comparing->path, e);
		size_t n = run(&from, &i, e), m = run(&to, &j, e);
		compare_items(comparing, atom, &from, i0, n, &to, j0, m);
		managed_path_pop(&comparing->path);
	}
	managed_items_done(&from);
	managed_items_done(&to);
}

static void compare_as(struct comparing *comparing, const struct managed_atom *atom,
		       struct pair *pair)
{
	if (atom->map)
		compare_map(comparing, atom, pair);
	else if (atom->scalar != MANAGED_SCALAR_NONE)
		leaf(comparing, pair);
	else if (atom->list)
		compare_list(comparing, atom, pair);
}

static void compare(struct comparing *comparing, struct managed_type type, struct pair pair)
{
	struct managed_atom a = managed_type_resolve(type);
	struct managed_atom from = managed_type_deduce(a, pair.from);
	struct managed_atom to = managed_type_deduce(a, pair.to);
	if (pair.to == NULL) {
		compare_as(comparing, &from, &pair);
	} else {
		if (pair.from != NULL && !managed_type_same(&from, &to)) {
			struct pair before = pair;
			compare_as(comparing, &from, &before);
		}
		compare_as(comparing, &to, &pair);
	}
	if (pair.leaf)
		return;
	if (pair.from == NULL)
		here(comparing, comparing->change->added);
	else if (pair.to == NULL)
		here(comparing, comparing->change->removed);
}

void managed_compare(struct managed_type type, const json_t *from, const json_t *to,
		     struct managed_change *ret)
{
	struct comparing w = { .change = ret };
	*ret = (struct managed_change){ fieldset_new(), fieldset_new(), fieldset_new() };
	compare(&w, type, (struct pair){ from, to, false });
	managed_path_done(&w.path);
}

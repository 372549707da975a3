/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares two objects by their schema: the paths that were removed, modified and added. */
#include "api/apply/compare_priv.h"

#include "api/apply/item_priv.h"
#include "api/apply/walk_path_priv.h"
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

static void subtract_fields(struct fieldset **fieldset, struct fieldset *fields)
{
	struct fieldset *rest = fieldset_without(*fieldset, fields);
	fieldset_unref(*fieldset);
	*fieldset = rest;
}

void managed_change_without(struct managed_change *change, struct fieldset *fields)
{
	if (fields == NULL)
		return;
	subtract_fields(&change->removed, fields);
	subtract_fields(&change->modified, fields);
	subtract_fields(&change->added, fields);
}

struct comparison {
	struct managed_path path;
	struct managed_change *change;
};

enum { EQUAL_DEPTH_MAX = 2 }; /* metadata.labels, spec.replicas */

/* Two values at the path, at most one of them NULL. `leaf`: nothing below is compared. */
struct pair {
	const json_t *from, *to;
	bool leaf;
};

static void compare_values(struct comparison *comparison, struct managed_type type,
			   struct pair pair);

static void add_path(const struct comparison *comparison, struct fieldset *fieldset)
{
	fieldset_insert(fieldset, comparison->path.v, comparison->path.n);
}

static void compare_leaf(struct comparison *comparison, struct pair *pair)
{
	if (pair->leaf)
		return;
	pair->leaf = true;
	if (pair->from == NULL)
		add_path(comparison, comparison->change->added);
	else if (pair->to == NULL)
		add_path(comparison, comparison->change->removed);
	else if (!managed_equal(pair->from, pair->to))
		add_path(comparison, comparison->change->modified);
}

static void compare_map(struct comparison *comparison, const struct managed_atom *atom,
			struct pair *pair)
{
	struct managed_names names;
	const json_t *from = json_is_object(pair->from) ? pair->from : NULL;
	const json_t *to = json_is_object(pair->to) ? pair->to : NULL;
	if (atom->map_atomic || (json_object_size(from) == 0 && json_object_size(to) == 0)) {
		compare_leaf(comparison, pair);
		return;
	}
	managed_names_init(&names, from, to);
	for (size_t i = 0; i < names.n; i++) {
		struct managed_type t;
		managed_type_field(atom, names.v[i], &t, NULL);
		managed_path_push_name(&comparison->path, names.v[i]);
		compare_values(comparison, t,
			       (struct pair){ json_object_get(from, names.v[i]),
					      json_object_get(to, names.v[i]), pair->leaf });
		managed_path_pop(&comparison->path);
	}
	managed_names_done(&names);
}

/* Neighbours in the sorted items of a list that have the same element. */
struct span {
	const struct managed_items *items;
	size_t first, count;
};

/* The items of one element, from *at on; *at is moved behind them. */
static struct span equal_items(const struct managed_items *items, size_t *at,
			       const struct fieldset_el *element)
{
	struct span span = { items, *at, 0 };
	while (*at < items->n && fieldset_el_cmp(items->sorted[*at]->el, element) == 0) {
		(*at)++;
		span.count++;
	}
	return span;
}

static const json_t *value_of(const struct span *span, size_t index)
{
	return index < span->count ? span->items->sorted[span->first + index]->value : NULL;
}

static bool spans_equal(const struct span *from, const struct span *to)
{
	if (from->count != to->count)
		return false;
	for (size_t k = 0; k < from->count; k++) {
		if (!managed_equal(value_of(from, k), value_of(to, k)))
			return false;
	}
	return true;
}

/* The items of one element before and after. Items that are there twice are compared as one value.
 */
static void compare_items(struct comparison *comparison, const struct managed_atom *atom,
			  const struct span *from, const struct span *to)
{
	struct managed_type t = managed_type_items(atom);
	const json_t *before = value_of(from, 0), *after = value_of(to, 0);
	if (from->count <= 1 && to->count <= 1) {
		compare_values(comparison, t, (struct pair){ before, after, false });
	} else if (from->count >= 2 && to->count >= 2) {
		if (!spans_equal(from, to))
			add_path(comparison, comparison->change->modified);
	} else if (from->count >= 2) {
		if (after != NULL)
			compare_values(comparison, t, (struct pair){ NULL, after, false });
		add_path(comparison, comparison->change->removed);
	} else {
		if (before != NULL)
			compare_values(comparison, t, (struct pair){ before, NULL, false });
		add_path(comparison, comparison->change->added);
	}
}

static void compare_list(struct comparison *comparison, const struct managed_atom *atom,
			 struct pair *pair)
{
	struct managed_items from, to;
	const json_t *x = json_is_array(pair->from) ? pair->from : NULL;
	const json_t *y = json_is_array(pair->to) ? pair->to : NULL;
	if (atom->list_atomic || (json_array_size(x) == 0 && json_array_size(y) == 0)) {
		compare_leaf(comparison, pair);
		return;
	}
	managed_items_init(&from, atom, x);
	managed_items_init(&to, atom, y);
	for (size_t i = 0, j = 0; i < from.n || j < to.n;) {
		bool left = j == to.n || (i < from.n && fieldset_el_cmp(from.sorted[i]->el,
									to.sorted[j]->el) <= 0);
		struct fieldset_el *e = left ? from.sorted[i]->el : to.sorted[j]->el;
		managed_path_push(&comparison->path, e);
		struct span before = equal_items(&from, &i, e), after = equal_items(&to, &j, e);
		compare_items(comparison, atom, &before, &after);
		managed_path_pop(&comparison->path);
	}
	managed_items_done(&from);
	managed_items_done(&to);
}

static void compare_as(struct comparison *comparison, const struct managed_atom *atom,
		       struct pair *pair)
{
	if (atom->map)
		compare_map(comparison, atom, pair);
	else if (atom->scalar != MANAGED_SCALAR_NONE)
		compare_leaf(comparison, pair);
	else if (atom->list)
		compare_list(comparison, atom, pair);
}

static void compare_values(struct comparison *comparison, struct managed_type type,
			   struct pair pair)
{
	/* Most members of an object stay as they are, which costs less to see without types. Not at any
	 * depth: a difference far down would be searched for at each level again. */
	if (comparison->path.n <= EQUAL_DEPTH_MAX && pair.from != NULL && pair.to != NULL &&
	    managed_equal(pair.from, pair.to))
		return;
	struct managed_atom a = managed_type_resolve(type);
	struct managed_atom from = managed_type_deduce(a, pair.from);
	struct managed_atom to = managed_type_deduce(a, pair.to);
	if (pair.to == NULL) {
		compare_as(comparison, &from, &pair);
	} else {
		if (pair.from != NULL && !managed_type_same_shape(&from, &to)) {
			struct pair before = pair;
			compare_as(comparison, &from, &before);
		}
		compare_as(comparison, &to, &pair);
	}
	if (pair.leaf)
		return;
	if (pair.from == NULL)
		add_path(comparison, comparison->change->added);
	else if (pair.to == NULL)
		add_path(comparison, comparison->change->removed);
}

void managed_compare(struct managed_type type, const json_t *from, const json_t *to,
		     struct managed_change *ret)
{
	struct comparison w = { .change = ret };
	*ret = (struct managed_change){ fieldset_new(), fieldset_new(), fieldset_new() };
	compare_values(&w, type, (struct pair){ from, to, false });
	managed_path_done(&w.path);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares two objects by their schema: the paths that were removed, modified and added. Their sets are
 * built level by level, from the leaves up: most places have nothing to add. */
#include "api/apply/compare_priv.h"

#include "api/apply/item_priv.h"
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

/* Two values of the same place, at most one of them NULL. */
struct pair {
	const json_t *from, *to;
	unsigned depth;
};

enum { EQUAL_DEPTH_MAX = 2 }; /* metadata.labels, spec.replicas */

/* Most members of an object stay as they are, which costs less to see without types. Not at any depth:
 * a difference far down would be searched for at each level again. */
static bool is_same(const struct pair *pair)
{
	return pair->depth <= EQUAL_DEPTH_MAX && pair->from != NULL && pair->to != NULL &&
	       managed_equal(pair->from, pair->to);
}

enum { REMOVED, MODIFIED, ADDED, N_SETS };

/* How two values differ: the place itself, and fields below it (NULL: none). */
struct difference {
	struct fieldset *below[N_SETS];
	bool here[N_SETS];
};

static bool is_different(const struct difference *difference)
{
	for (size_t i = 0; i < N_SETS; i++) {
		if (difference->here[i] || difference->below[i] != NULL)
			return true;
	}
	return false;
}

/* Adds how the values of one element differ, of which nothing is left. */
static void add_element(struct difference *difference, struct fieldset_el *element,
			const struct difference *of_element)
{
	for (size_t i = 0; i < N_SETS; i++) {
		if (!of_element->here[i] && of_element->below[i] == NULL)
			continue;
		if (difference->below[i] == NULL)
			difference->below[i] = fieldset_new();
		fieldset_append(difference->below[i], element, of_element->here[i],
				of_element->below[i]);
	}
}

/* Adds what another comparison of the same values found, of which nothing is left. */
static void add_difference(struct difference *difference, const struct difference *other)
{
	for (size_t i = 0; i < N_SETS; i++) {
		difference->here[i] |= other->here[i];
		if (difference->below[i] == NULL) {
			difference->below[i] = other->below[i];
		} else if (other->below[i] != NULL) {
			struct fieldset *both =
				fieldset_union(difference->below[i], other->below[i]);
			fieldset_unref(difference->below[i]);
			fieldset_unref(other->below[i]);
			difference->below[i] = both;
		}
	}
}

static void compare_values(struct managed_type type, const struct pair *pair,
			   struct difference *ret);

/* Whether there is a value at all is seen by compare_values. */
static void compare_leaf(const struct pair *pair, struct difference *ret)
{
	if (pair->from != NULL && pair->to != NULL && !managed_equal(pair->from, pair->to))
		ret->here[MODIFIED] = true;
}

static void compare_member(const struct managed_atom *atom, const char *name,
			   const struct pair *pair, struct difference *ret)
{
	struct managed_type type;
	struct difference found = { 0 };
	if (is_same(pair))
		return;
	managed_type_field(atom, name, &type, NULL);
	compare_values(type, pair, &found);
	if (!is_different(&found))
		return;
	struct fieldset_el *element = fieldset_el_name(name);
	add_element(ret, element, &found);
	fieldset_el_unref(element);
}

static void compare_map(const struct managed_atom *atom, const struct pair *pair,
			struct difference *ret)
{
	json_t *from = json_is_object(pair->from) ? api_tree(pair->from) : NULL;
	json_t *to = json_is_object(pair->to) ? api_tree(pair->to) : NULL, *value;
	const char *name;
	size_t n;
	if (atom->map_atomic || (json_object_size(from) == 0 && json_object_size(to) == 0)) {
		compare_leaf(pair, ret);
		return;
	}
	json_object_keylen_foreach(from, name, n, value) compare_member(
		atom, name, &(struct pair){ value, json_object_getn(to, name, n), pair->depth + 1 },
		ret);
	json_object_keylen_foreach(to, name, n, value)
	{
		if (from == NULL || json_object_getn(from, name, n) == NULL)
			compare_member(atom, name, &(struct pair){ NULL, value, pair->depth + 1 },
				       ret);
	}
	for (size_t i = 0; i < N_SETS; i++) {
		if (ret->below[i] != NULL)
			fieldset_sort(ret->below[i]);
	}
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
static void compare_items(const struct managed_atom *atom, const struct span *from,
			  const struct span *to, unsigned depth, struct difference *ret)
{
	const bool once_before = from->count <= 1, once_after = to->count <= 1;
	const struct pair pair = { once_before ? value_of(from, 0) : NULL,
				   once_after ? value_of(to, 0) : NULL, depth };
	if (!once_before && !once_after) {
		ret->here[MODIFIED] = !spans_equal(from, to);
		return;
	}
	if ((pair.from != NULL || pair.to != NULL) && !is_same(&pair))
		compare_values(managed_type_items(atom), &pair, ret);
	ret->here[REMOVED] |= !once_before;
	ret->here[ADDED] |= !once_after;
}

static void compare_list(const struct managed_atom *atom, const struct pair *pair,
			 struct difference *ret)
{
	struct managed_items from, to;
	const json_t *x = json_is_array(pair->from) ? pair->from : NULL;
	const json_t *y = json_is_array(pair->to) ? pair->to : NULL;
	if (atom->list_atomic || (json_array_size(x) == 0 && json_array_size(y) == 0)) {
		compare_leaf(pair, ret);
		return;
	}
	managed_items_init(&from, atom, x);
	managed_items_init(&to, atom, y);
	for (size_t i = 0, j = 0; i < from.n || j < to.n;) {
		bool left = j == to.n || (i < from.n && fieldset_el_cmp(from.sorted[i]->el,
									to.sorted[j]->el) <= 0);
		struct fieldset_el *e = left ? from.sorted[i]->el : to.sorted[j]->el;
		struct span before = equal_items(&from, &i, e), after = equal_items(&to, &j, e);
		struct difference found = { 0 };
		compare_items(atom, &before, &after, pair->depth + 1, &found);
		add_element(ret, e, &found);
	}
	managed_items_done(&from);
	managed_items_done(&to);
}

static void compare_as(const struct managed_atom *atom, const struct pair *pair,
		       struct difference *ret)
{
	if (atom->map)
		compare_map(atom, pair, ret);
	else if (atom->scalar != MANAGED_SCALAR_NONE)
		compare_leaf(pair, ret);
	else if (atom->list)
		compare_list(atom, pair, ret);
}

static void compare_values(struct managed_type type, const struct pair *pair,
			   struct difference *ret)
{
	struct managed_atom a = managed_type_resolve(type);
	struct managed_atom from = managed_type_deduce(a, pair->from);
	struct managed_atom to = managed_type_deduce(a, pair->to);
	compare_as(pair->to == NULL ? &from : &to, pair, ret);
	if (pair->from != NULL && pair->to != NULL && !managed_type_same_shape(&from, &to)) {
		struct difference before = { 0 };
		compare_as(&from, pair, &before);
		add_difference(ret, &before);
	}
	ret->here[ADDED] |= pair->from == NULL;
	ret->here[REMOVED] |= pair->from != NULL && pair->to == NULL;
}

void managed_compare(struct managed_type type, const json_t *from, const json_t *to,
		     struct managed_change *ret)
{
	struct difference found = { 0 };
	compare_values(type, &(struct pair){ from, to, 0 }, &found);
	for (size_t i = 0; i < N_SETS; i++) {
		if (found.below[i] == NULL)
			found.below[i] = fieldset_new();
	}
	*ret = (struct managed_change){ .removed = found.below[REMOVED],
					.modified = found.below[MODIFIED],
					.added = found.below[ADDED] };
}

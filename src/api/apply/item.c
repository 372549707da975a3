/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Identifies items of lists of type set and map: the path element of an item (its value, or its
 * keys with their defaults), and an index of a list's items sorted by element, duplicates
 * marked. */
#include "api/apply/item_priv.h"

#include <stdlib.h>

#include "api/tree.h"
#include "api/tree_copy.h"
#include "base/err.h"
#include "base/mem.h"

/* One key of an item, or its default; NULL when there is none. */
static const json_t *find_key(const struct managed_atom *list, const json_t *item, const char *name)
{
	const json_t *value = json_object_get(item, name);
	if (value != NULL)
		return value;
	struct managed_atom items = managed_type_resolve(managed_type_items(list));
	struct managed_type t;
	if (items.map)
		managed_type_field(&items, name, &t, &value);
	return value;
}

static void quote_keys(struct strbuf *err, const json_t *keys)
{
	size_t i;
	json_t *k;
	strbuf_addc(err, '[');
	json_array_foreach (keys, i, k) {
		strbuf_adds(err, i > 0 ? " " : "");
		strbuf_add_quoted(err, slice_of(api_text(k)));
	}
	strbuf_addc(err, ']');
}

static int element_by_keys(const struct managed_atom *list, const json_t *item,
			   struct fieldset_el **ret, struct strbuf *err)
{
	size_t i;
	json_t *k;
	json_t *one = json_is_string(list->keys) ? json_pack("[s]", api_text(list->keys)) : NULL;
	const json_t *names = one != NULL ? one : list->keys;
	json_t *keys = json_object();
	int r = 0;
	json_array_foreach (names, i, k) {
		const json_t *value = json_is_string(k) ? find_key(list, item, api_text(k)) : NULL;
		if (value != NULL)
			json_object_set_new_nocheck(keys, api_text(k), api_tree_copy(value));
	}
	if (json_object_size(keys) == 0) {
		strbuf_adds(err, "associative list with keys has an element that omits all key "
				 "fields ");
		quote_keys(err, names);
		strbuf_adds(err, " (and doesn't have default values for any key fields)");
		r = ERR_PARSE;
	} else {
		*ret = fieldset_el_key_new(TAKE_PTR(keys));
	}
	json_decref(keys);
	json_decref(one);
	return r;
}

bool managed_item_has_element(const struct managed_atom *list, const json_t *item)
{
	size_t i;
	json_t *k;
	if (list->keys == NULL)
		return !json_is_object(item) && !json_is_array(item) && !json_is_null(item);
	if (!json_is_object(item))
		return false;
	if (json_is_string(list->keys))
		return find_key(list, item, api_text(list->keys)) != NULL;
	json_array_foreach (list->keys, i, k) {
		if (json_is_string(k) && find_key(list, item, api_text(k)) != NULL)
			return true;
	}
	return false;
}

int managed_item_element(const struct managed_atom *list, const json_t *item,
			 struct fieldset_el **ret, struct strbuf *err)
{
	const char *wrong = NULL;
	if (list->keys != NULL && json_is_null(item))
		wrong = "associative list with keys may not have a null element";
	else if (list->keys != NULL && !json_is_object(item))
		wrong = "associative list with keys may not have non-map elements";
	else if (list->keys != NULL)
		return element_by_keys(list, item, ret, err);
	else if (json_is_object(item))
		wrong = "associative list without keys has an element that's a map type";
	else if (json_is_array(item))
		wrong = "not supported: associative list with lists as elements";
	else if (json_is_null(item))
		wrong = "associative list without keys has an element that's an explicit null";
	if (wrong != NULL) {
		strbuf_adds(err, wrong);
		return ERR_PARSE;
	}
	*ret = fieldset_el_value(item);
	return 0;
}

static int by_element(const void *left, const void *right)
{
	const struct managed_item *x = *(struct managed_item *const *)left;
	const struct managed_item *y = *(struct managed_item *const *)right;
	int c = fieldset_el_cmp(x->el, y->el);
	return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

void managed_items_init(struct managed_items *items, const struct managed_atom *atom,
			const json_t *list)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	size_t i;
	json_t *item;
	*items = (struct managed_items){ 0 };
	if (json_array_size(list) == 0)
		return;
	items->v = xreallocarray(NULL, json_array_size(list), sizeof(*items->v));
	items->sorted = xreallocarray(NULL, json_array_size(list), sizeof(struct managed_item *));
	json_array_foreach (list, i, item) {
		struct managed_item *it = &items->v[items->n];
		*it = (struct managed_item){ .value = item, .at = i };
		if (managed_item_element(atom, item, &it->el, &err) == 0)
			items->sorted[items->n++] = it;
	}
	if (items->n > 1)
		qsort(items->sorted, items->n, sizeof(struct managed_item *), by_element);
	for (i = 1; i < items->n; i++) {
		if (fieldset_el_cmp(items->sorted[i - 1]->el, items->sorted[i]->el) == 0)
			items->sorted[i - 1]->twice = items->sorted[i]->twice = true;
	}
}

void managed_items_done(struct managed_items *items)
{
	for (size_t i = 0; i < items->n; i++)
		fieldset_el_unref(items->v[i].el);
	free(items->v);
	free(items->sorted);
}

const struct managed_item *managed_items_find(const struct managed_items *items,
					      const struct fieldset_el *element)
{
	size_t lo = 0, hi = items->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (fieldset_el_cmp(items->sorted[mid]->el, element) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < items->n && fieldset_el_cmp(items->sorted[lo]->el, element) == 0
		       ? items->sorted[lo]
		       : NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists in strategic merge patches: merges a patch's list into the object's, objects by their
 * merge key and scalars by value, and applies $patch, $deleteFromPrimitiveList and
 * $setElementOrder. Items of the patch keep the patch's order; the object's other items keep
 * theirs between them. */
#include "api/patch/strategic_list_priv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/fields/fieldset.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

const char strategic_directive[] = "$patch";

const char *strategic_go_type(const json_t *value)
{
	return fieldset_go_type(value, "%!s(<nil>)");
}

/* Is it an item with the directive `word`: {"$patch": "delete"}? */
static bool is_directive(const json_t *item, const char *word)
{
	return strcmp(api_text(json_object_get(item, strategic_directive)), word) == 0;
}

static int set_type_error(const struct strategic *strategic, const char *want, const json_t *got)
{
	return strategic_fail(strategic, ERR_TYPE, "expected a %s, but received a %s", want,
			      strategic_go_type(got));
}

static int set_missing_key_error(const struct strategic *strategic, const json_t *item,
				 const char *key)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	fieldset_go_value(&b, item);
	return strategic_fail(strategic, ERR_TYPE,
			      "map: %s does not contain declared merge key: %s", b.s, key);
}

/* ---- places by key ---- */

/* The text by which an item is found: that of its key, or its own. */
static char *item_key_text(const json_t *item, const char *key)
{
	const json_t *v = json_is_object(item) ? json_object_get(item, key) : item;
	return v != NULL ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS)
			 : xstrdup("null");
}

/* Where the first item of each text stands in a list. */
struct places {
	struct map m;
	const char *key;
};

static void places_add(struct places *item_index, const json_t *item, size_t at)
{
	CLEANUP(freep) char *text = item_key_text(item, item_index->key);
	if (!map_has(&item_index->m, slice_of(text)))
		map_set(&item_index->m, slice_of(text), (void *)(uintptr_t)(at + 1));
}

static void places_init(struct places *item_index, const json_t *list, const char *key)
{
	size_t i;
	json_t *item;
	map_init(&item_index->m);
	item_index->key = key;
	json_array_foreach (list, i, item)
		places_add(item_index, item, i);
}

static void places_done(struct places *item_index)
{
	map_done(&item_index->m);
}

/* Index plus one; 0: not found. */
static size_t find_item(const struct places *item_index, const json_t *item)
{
	CLEANUP(freep) char *text = item_key_text(item, item_index->key);
	return (size_t)(uintptr_t)map_get(&item_index->m, slice_of(text));
}

/* ---- checks ---- */

/* Every item is a map with the key. */
static int check_keys(const struct strategic *strategic, const json_t *list, const char *key)
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item) {
		if (!json_is_object(item))
			return set_type_error(strategic, "map[string]interface {}", item);
		if (json_object_get(item, key) == NULL)
			return set_missing_key_error(strategic, item, key);
	}
	return 0;
}

/* Both lists, as an error shows them. */
static int set_mixed_error(const struct strategic *strategic, const json_t *left,
			   const json_t *right)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	fieldset_go_value(&t, left);
	strbuf_addc(&t, ' ');
	fieldset_go_value(&t, right);
	return strategic_fail(strategic, ERR_TYPE, "list element types are not identical: [%s]",
			      t.s);
}

/* All items of both lists are of one type: `*ret` is one of them. */
static int item_type(const struct strategic *strategic, const json_t *left, const json_t *right,
		     const json_t **ret)
{
	const json_t *const lists[] = { left, right };
	const char *type = NULL;
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		size_t i;
		json_t *item;
		json_array_foreach (lists[l], i, item) {
			if (type == NULL && json_is_array(item))
				return strategic_fail(strategic, ERR_UNSUPPORTED,
						      "lists of lists are not supported");
			if (type == NULL) {
				type = strategic_go_type(item);
				*ret = item;
			}
			if (strcmp(type, strategic_go_type(item)) != 0)
				return set_mixed_error(strategic, left, right);
		}
	}
	return type != NULL ? 0
			    : strategic_fail(strategic, ERR_TYPE,
					     "no elements in any of the given slices");
}

/* ---- order ---- */

struct ranked {
	json_t *item;
	size_t rank, at;
};

static int by_rank(const void *left, const void *right)
{
	const struct ranked *x = left, *y = right;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Items of `list` that `in` has (or has not), in the order of `order`. */
static struct ranked *sort_items(const json_t *list, const struct places *in, bool present,
				 const struct places *order, size_t *ret_n)
{
	size_t i, n = 0;
	json_t *item;
	struct ranked *v = xcalloc(json_array_size(list) + 1, sizeof(*v));
	json_array_foreach (list, i, item) {
		if ((find_item(in, item) > 0) == present)
			v[n++] = (struct ranked){ item, find_item(order, item), i };
	}
	qsort(v, n, sizeof(*v), by_rank);
	*ret_n = n;
	return v;
}

/* Items of the patch in its order, with the object's own items between them by their order. */
static json_t *order_items(const json_t *merged, const json_t *patch_order,
			   const json_t *live_order, const char *key)
{
	struct places patch, live;
	size_t n, m, i = 0, j = 0;
	places_init(&patch, patch_order, key);
	places_init(&live, live_order, key);
	struct ranked *own = sort_items(merged, &patch, false, &live, &n);
	struct ranked *patched = sort_items(merged, &patch, true, &patch, &m);
	json_t *out = json_array();
	while (i < n || j < m) {
		bool first = j == m;
		if (i < n && j < m) {
			size_t here = find_item(&live, own[i].item);
			size_t there = find_item(&live, patched[j].item);
			first = here > 0 && there > 0 && here < there;
		}
		json_array_append(out, first ? own[i++].item : patched[j++].item);
	}
	free(own);
	free(patched);
	places_done(&patch);
	places_done(&live);
	return out;
}

/* ---- scalars ---- */

static json_t *merge_scalars(const json_t *original, const json_t *patch, bool deletion)
{
	size_t i;
	json_t *v;
	struct places seen;
	json_t *out = json_array();
	places_init(&seen, deletion ? patch : NULL, "");
	const json_t *const lists[] = { original, deletion ? NULL : patch };
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		json_array_foreach (lists[l], i, v) {
			if (find_item(&seen, v) > 0)
				continue;
			if (!deletion)
				places_add(&seen, v, i);
			json_array_append(out, v);
		}
	}
	places_done(&seen);
	return out;
}

/* ---- maps ---- */

static void remove_matching(json_t *list, const char *key, const json_t *value)
{
	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *v = json_object_get(json_array_get(list, i), key);
		if (v != NULL && json_equal(v, value))
			json_array_remove(list, i);
	}
}

/* Applies the items with a $patch directive to `original`; the others are appended to `ret`. With
 * `replace`, the others become the list. */
static int apply_directives(const struct strategic *strategic, const char *key, json_t *original,
			    const json_t *patch, json_t *ret)
{
	size_t i;
	json_t *item;
	bool replace = false;
	json_array_foreach (patch, i, item) {
		const json_t *what = json_object_get(item, strategic_directive);
		if (what == NULL) {
			json_array_append(ret, item);
		} else if (is_directive(item, "delete")) {
			const json_t *v = json_object_get(item, key);
			if (v == NULL)
				return set_missing_key_error(strategic, item, key);
			remove_matching(original, key, v);
		} else if (is_directive(item, "replace")) {
			replace = true;
		} else if (is_directive(item, "merge")) {
			return strategic_fail(strategic, ERR_TYPE,
					      "merging lists cannot yet be specified "
					      "in the patch");
		} else {
			CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
			fieldset_go_value(&b, what);
			strbuf_adds(&b, " in map: ");
			fieldset_go_value(&b, item);
			return strategic_fail(strategic, ERR_TYPE, "unknown patch type: %s", b.s);
		}
	}
	if (replace) {
		json_array_clear(original);
		json_array_extend(original, ret);
		json_array_clear(ret);
	}
	return 0;
}

static int merge_items(const struct strategic *strategic, const struct strategic_field *field,
		       json_t *original, const json_t *patch)
{
	size_t i;
	json_t *item;
	struct places at;
	struct strategic below =
		strategic_below(strategic, json_object_get(field->schema, "items"));
	int r = 0;
	places_init(&at, original, field->key);
	json_array_foreach (patch, i, item) {
		if (r < 0)
			break;
		size_t found = json_object_get(item, field->key) != NULL ? find_item(&at, item) : 0;
		if (json_object_get(item, field->key) == NULL) {
			r = set_missing_key_error(strategic, item, field->key);
		} else if (found > 0) {
			json_t *merged = json_incref(json_array_get(original, found - 1));
			r = strategic_map(&below, &merged, item);
			json_array_set_new(original, found - 1, merged);
		} else {
			json_array_append(original, item);
			places_add(&at, item, json_array_size(original) - 1);
		}
	}
	places_done(&at);
	return r;
}

static int merge_maps(const struct strategic *strategic, const struct strategic_field *field,
		      json_t *original, const json_t *patch, json_t **ret)
{
	json_t *patched = json_array();
	if (field->key[0] == '\0') {
		json_decref(patched);
		return strategic_fail(strategic, ERR_TYPE,
				      "cannot merge lists without merge key for %s", "struct");
	}
	int r = apply_directives(strategic, field->key, original, patch, patched);
	json_t *before = json_copy(original);
	if (r == 0)
		r = merge_items(strategic, field, original, patched);
	if (r == 0)
		r = check_keys(strategic, original, field->key);
	if (r == 0)
		*ret = order_items(original, patched, before, field->key);
	json_decref(before);
	json_decref(patched);
	return r;
}

int strategic_list(const struct strategic *strategic, const struct strategic_field *field,
		   const json_t *original, const json_t *patch, bool deletion, json_t **ret)
{
	const json_t *one = NULL;
	if (field->kind != STRATEGIC_MERGE && !deletion) {
		*ret = json_deep_copy(patch);
		return 0;
	}
	if (json_array_size(original) == 0 && json_array_size(patch) == 0) {
		*ret = json_array();
		return 0;
	}
	int r = item_type(strategic, original, patch, &one);
	if (r < 0)
		return r;
	if (json_is_object(one)) {
		json_t *copy = json_deep_copy(original);
		r = merge_maps(strategic, field, copy, patch, ret);
		json_decref(copy);
		return r;
	}
	json_t *merged = merge_scalars(original, patch, deletion);
	*ret = deletion ? json_incref(merged) : order_items(merged, patch, original, "");
	json_decref(merged);
	return 0;
}

/* ---- $setElementOrder ---- */

/* Checks that the patch's items occur in $setElementOrder, in the same order. */
static int check_order(const struct strategic *strategic, const json_t *patch, const json_t *order,
		       const char *key)
{
	size_t i = 0, j = 0, n = json_array_size(patch), m = json_array_size(order);
	if (n == 0 || m == 0)
		return 0;
	while (i < n && j < m) {
		const json_t *x = json_array_get(patch, i), *y = json_array_get(order, j);
		if (key[0] != '\0' && !json_is_object(x))
			return set_type_error(strategic, "map[string]interface {}", x);
		if (json_object_get(x, strategic_directive) != NULL) {
			i++;
			continue;
		}
		if (key[0] != '\0') {
			if (json_object_get(x, key) == NULL)
				return set_missing_key_error(strategic, x, key);
			if (!json_is_object(y))
				return set_type_error(strategic, "map[string]interface {}", y);
			if (json_object_get(y, key) == NULL)
				return set_missing_key_error(strategic, y, key);
			x = json_object_get(x, key);
			y = json_object_get(y, key);
		}
		i += json_equal(x, y) != 0;
		j++;
	}
	while (i < n && key[0] != '\0' && is_directive(json_array_get(patch, i), "delete"))
		i++;
	if (i == n)
		return 0;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_adds(&b, "The order in patch list:\n");
	fieldset_go_value(&b, patch);
	strbuf_adds(&b, "\n doesn't match $setElementOrder list:\n");
	fieldset_go_value(&b, order);
	return strategic_fail(strategic, ERR_TYPE, "%s\n", b.s);
}

/* The list before it is put in order. */
static int merge_list(const struct strategic *strategic, const struct strategic_field *field,
		      const json_t *original, const json_t *patch, json_t **ret)
{
	if (patch == NULL) {
		*ret = json_deep_copy(original);
		return 0;
	}
	if (original != NULL)
		return strategic_list(strategic, field, original, patch, false, ret);
	*ret = json_deep_copy(patch);
	strategic_remove_directives(*ret);
	return 0;
}

int strategic_order(const struct strategic *strategic, const char *name, const json_t *order,
		    json_t *original, json_t *patch)
{
	struct strategic_field f = strategic_field(strategic, name);
	const json_t *live = json_object_get(original, name),
		     *patched = json_object_get(patch, name);
	const json_t *const lists[] = { order, live, patched };
	const json_t *one = NULL;
	json_t *merged = NULL;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (lists[i] != NULL && !json_is_array(lists[i]))
			return set_type_error(strategic, "[]interface {}", lists[i]);
	}
	int r = check_order(strategic, patched, order, f.key);
	if (r < 0 || (live == NULL && patched == NULL))
		return r;
	r = merge_list(strategic, &f, live, patched, &merged);
	if (r < 0)
		return r;
	r = f.key[0] != '\0' ? check_keys(strategic, merged, f.key) : 0;
	if (r == 0)
		r = item_type(strategic, live, patched, &one);
	if (r == 0 && json_is_object(one))
		r = check_keys(strategic, order, f.key);
	if (r == 0) {
		json_object_set_new(original, name, order_items(merged, order, live, f.key));
		json_object_del(patch, name);
	}
	json_decref(merged);
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of CEL: made from JSON, compared, and their items and members read. */
#include "cel/value.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"
#include "cel/eval.h"

struct cel_value cel_error(const char *text)
{
	return (struct cel_value){ .type = CEL_ERROR, .u.error = text };
}

struct cel_value cel_errorf(struct cel_run *run, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	return cel_error(arena_strdup(run->arena, text.s));
}

struct cel_value cel_no_overload(void)
{
	return cel_error("no such overload");
}

struct cel_value cel_bool(bool value)
{
	return (struct cel_value){ .type = CEL_BOOL, .u.boolean = value };
}

struct cel_value cel_int(int64_t number)
{
	return (struct cel_value){ .type = CEL_INT, .u.integer = number };
}

static struct cel_value value_of_number(const json_t *value, const struct cel_type *declared)
{
	bool whole = json_is_integer(value);
	if (declared != NULL && declared->kind == CEL_KIND_DOUBLE)
		whole = false; /* a double, even if it is written without a point */
	if (whole)
		return cel_int(json_integer_value(value));
	return (struct cel_value){ .type = CEL_DOUBLE, .u.number = json_number_value(value) };
}

struct cel_value cel_of_json(const json_t *value, const struct cel_type *declared)
{
	switch (json_typeof(value)) {
	case JSON_TRUE:
	case JSON_FALSE:
		return cel_bool(json_is_true(value));
	case JSON_INTEGER:
	case JSON_REAL:
		return value_of_number(value, declared);
	case JSON_STRING:
		return (struct cel_value){ .type = CEL_STRING,
					   .u.text = { json_string_value(value),
						       json_string_length(value) } };
	case JSON_ARRAY:
		return (struct cel_value){ .type = CEL_LIST,
					   .u.items = { .json = value, .declared = declared } };
	case JSON_OBJECT:
		return (struct cel_value){ .type = CEL_MAP,
					   .u.items = { .json = value, .declared = declared } };
	case JSON_NULL:
		break;
	}
	return (struct cel_value){ .type = CEL_NULL };
}

size_t cel_items_n(const struct cel_value *value)
{
	const struct cel_items *x = &value->u.items;
	if (x->json != NULL)
		return value->type == CEL_LIST ? json_array_size(x->json)
					       : json_object_size(x->json);
	return x->count;
}

struct cel_value cel_item(const struct cel_value *list, size_t index)
{
	const struct cel_items *x = &list->u.items;
	assert(list->type == CEL_LIST && index < cel_items_n(list));
	if (x->json == NULL)
		return x->values[index];
	return cel_of_json(json_array_get(x->json, index),
			   x->declared != NULL ? x->declared->items : NULL);
}

struct cel_value cel_keys(struct cel_run *run, const struct cel_value *map)
{
	const struct cel_items *x = &map->u.items;
	size_t n = 0, count = cel_items_n(map);
	struct cel_value *key = arena_alloc(run->arena, (count + 1) * sizeof(*key));
	const char *name;
	json_t *value;
	cel_spend(run, count);
	if (x->json != NULL) {
		/* jansson iterates only over what it may change. */
		json_object_foreach ((json_t *)(uintptr_t)x->json, name, value)
			key[n++] =
				(struct cel_value){ .type = CEL_STRING, .u.text = slice_of(name) };
	}
	for (size_t i = 0; x->json == NULL && i < count; i++)
		key[n++] = x->values[2 * i];
	return (struct cel_value){ .type = CEL_LIST, .u.items = { .values = key, .count = n } };
}

static bool member_of_json(const struct cel_items *items, struct slice key, struct cel_value *ret)
{
	const json_t *v = json_object_getn(items->json, key.p, key.n);
	/* A field that is null is as good as absent; a map's value may be null. */
	bool fields = items->declared != NULL && items->declared->fields.n != 0;
	if (v == NULL || (fields && json_is_null(v)))
		return false;
	const struct cel_type *declared =
		items->declared != NULL ? map_get(&items->declared->fields, key) : NULL;
	if (declared == NULL && items->declared != NULL)
		declared = items->declared->values;
	*ret = cel_of_json(v, declared);
	return true;
}

bool cel_member(const struct cel_value *value, const struct cel_value *key, struct cel_value *ret)
{
	const struct cel_items *x = &value->u.items;
	if (x->json != NULL)
		return key->type == CEL_STRING && member_of_json(x, key->u.text, ret);
	for (size_t i = 0; i < x->count; i++) {
		if (cel_compare(&x->values[2 * i], key) == 0) {
			*ret = x->values[2 * i + 1];
			return true;
		}
	}
	return false;
}

static int compare_numbers(const struct cel_value *left, const struct cel_value *right)
{
	if (left->type == CEL_INT && right->type == CEL_INT)
		return (left->u.integer > right->u.integer) - (left->u.integer < right->u.integer);
	double x = left->type == CEL_INT ? (double)left->u.integer : left->u.number;
	double y = right->type == CEL_INT ? (double)right->u.integer : right->u.number;
	return (x > y) - (x < y);
}

int cel_compare(const struct cel_value *left, const struct cel_value *right)
{
	bool numbers = (left->type == CEL_INT || left->type == CEL_DOUBLE) &&
		       (right->type == CEL_INT || right->type == CEL_DOUBLE);
	if (numbers)
		return compare_numbers(left, right);
	if (left->type != right->type)
		return 2;
	if (left->type == CEL_BOOL)
		return left->u.boolean - right->u.boolean;
	if (left->type == CEL_STRING) {
		int c = slice_cmp(left->u.text, right->u.text);
		return (c > 0) - (c < 0);
	}
	return 2;
}

/* ---- equality ---- */

/* Is every item of `left` one of `right`, as often? Order does not count in sets; in maps, items
 * with the same keys are compared. */
static bool equal_unordered(struct cel_run *run, const struct cel_value *left,
			    const struct cel_value *right)
{
	size_t n = cel_items_n(left);
	for (size_t i = 0; i < n && run->cost <= run->cost_max; i++) {
		struct cel_value x = cel_item(left, i);
		bool found = false;
		for (size_t k = 0; k < n && !found; k++) {
			struct cel_value y = cel_item(right, k);
			found = cel_equal(run, &x, &y);
		}
		if (!found)
			return false;
	}
	return true;
}

static bool equal_lists(struct cel_run *run, const struct cel_value *left,
			const struct cel_value *right)
{
	const struct cel_type *declared =
		left->u.items.json != NULL ? left->u.items.declared : NULL;
	size_t n = cel_items_n(left);
	if (n != cel_items_n(right))
		return false;
	if (declared != NULL && declared->unordered)
		return equal_unordered(run, left, right);
	for (size_t i = 0; i < n && run->cost <= run->cost_max; i++) {
		struct cel_value x = cel_item(left, i), y = cel_item(right, i);
		if (!cel_equal(run, &x, &y))
			return false;
	}
	return true;
}

static bool equal_maps(struct cel_run *run, const struct cel_value *left,
		       const struct cel_value *right)
{
	size_t n = cel_items_n(left);
	if (n != cel_items_n(right))
		return false;
	struct cel_value keys = cel_keys(run, left);
	for (size_t i = 0; i < n && run->cost <= run->cost_max; i++) {
		struct cel_value key = cel_item(&keys, i), x, y;
		bool found = cel_member(left, &key, &x);
		if (found != cel_member(right, &key, &y) || (found && !cel_equal(run, &x, &y)))
			return false;
	}
	return true;
}

bool cel_equal(struct cel_run *run, const struct cel_value *left, const struct cel_value *right)
{
	cel_spend(run, left->type == CEL_STRING ? cel_text_cost(left->u.text.n) : 1);
	if (left->type == CEL_NULL || right->type == CEL_NULL)
		return left->type == right->type;
	if (left->type == CEL_LIST && right->type == CEL_LIST)
		return equal_lists(run, left, right);
	if (left->type == CEL_MAP && right->type == CEL_MAP)
		return equal_maps(run, left, right);
	return cel_compare(left, right) == 0;
}

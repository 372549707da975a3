/* Values of CEL: made of JSON and schema, compared, looked into. */
#include <stdarg.h>
#include <string.h>

#include "api/schema/cel_priv.h"
#include "api/tree.h"

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
	return (struct cel_value){ .type = CEL_BOOL, .u.b = value };
}

struct cel_value cel_int(int64_t number)
{
	return (struct cel_value){ .type = CEL_INT, .u.i = number };
}

static struct cel_value of_number(const json_t *value, const struct schema_node *node)
{
	bool whole = json_is_integer(value);
	if (node != NULL && !node->int_or_string && node->type == SCHEMA_NUMBER)
		whole = false; /* a number of the schema is a double, however it is written */
	if (whole)
		return cel_int(json_integer_value(value));
	return (struct cel_value){ .type = CEL_DOUBLE, .u.d = json_number_value(value) };
}

struct cel_value cel_of_json(const json_t *value, const struct schema_node *node)
{
	switch (json_typeof(value)) {
	case JSON_TRUE:
	case JSON_FALSE:
		return cel_bool(json_is_true(value));
	case JSON_INTEGER:
	case JSON_REAL:
		return of_number(value, node);
	case JSON_STRING:
		return (struct cel_value){ .type = CEL_STRING, .u.s = api_text_slice(value) };
	case JSON_ARRAY:
		return (struct cel_value){ .type = CEL_LIST,
					   .u.items = { .json = value, .node = node } };
	case JSON_OBJECT:
		return (struct cel_value){ .type = CEL_MAP,
					   .u.items = { .json = value, .node = node } };
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
	return x->n;
}

struct cel_value cel_item(const struct cel_value *value, size_t index)
{
	const struct cel_items *x = &value->u.items;
	if (x->json == NULL)
		return x->v[index];
	return cel_of_json(json_array_get(x->json, index), x->node != NULL ? x->node->items : NULL);
}

struct cel_value cel_keys(struct cel_run *run, const struct cel_value *cel_value)
{
	const struct cel_items *x = &cel_value->u.items;
	size_t n = 0, count = cel_items_n(cel_value);
	struct cel_value *key = arena_alloc(run->arena, (count + 1) * sizeof(*key));
	const char *name;
	json_t *value;
	cel_spend(run, count);
	if (x->json != NULL) {
		json_object_foreach (api_tree(x->json), name, value)
			key[n++] = (struct cel_value){ .type = CEL_STRING, .u.s = slice_of(name) };
	}
	for (size_t i = 0; x->json == NULL && i < count; i++)
		key[n++] = x->v[2 * i];
	return (struct cel_value){ .type = CEL_LIST, .u.items = { .v = key, .n = n } };
}

static bool member_of_json(const struct cel_items *items, struct slice key, struct cel_value *ret)
{
	const json_t *v = json_object_getn(items->json, key.p, key.n);
	/* A field that is null is as good as absent; a map's value may be null. */
	bool fields = items->node != NULL && items->node->properties.n != 0;
	if (v == NULL || (fields && json_is_null(v)))
		return false;
	const struct schema_node *node =
		items->node != NULL ? map_get(&items->node->properties, key) : NULL;
	if (node == NULL && items->node != NULL)
		node = items->node->additional;
	*ret = cel_of_json(v, node);
	return true;
}

bool cel_member(const struct cel_value *value, const struct cel_value *key, struct cel_value *ret)
{
	const struct cel_items *x = &value->u.items;
	if (x->json != NULL)
		return key->type == CEL_STRING && member_of_json(x, key->u.s, ret);
	for (size_t i = 0; i < x->n; i++) {
		if (cel_compare(&x->v[2 * i], key) == 0) {
			*ret = x->v[2 * i + 1];
			return true;
		}
	}
	return false;
}

static int compare_numbers(const struct cel_value *left, const struct cel_value *right)
{
	if (left->type == CEL_INT && right->type == CEL_INT)
		return (left->u.i > right->u.i) - (left->u.i < right->u.i);
	double x = left->type == CEL_INT ? (double)left->u.i : left->u.d;
	double y = right->type == CEL_INT ? (double)right->u.i : right->u.d;
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
		return left->u.b - right->u.b;
	if (left->type == CEL_STRING) {
		int c = slice_cmp(left->u.s, right->u.s);
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
	const struct schema_node *node = left->u.items.json != NULL ? left->u.items.node : NULL;
	size_t n = cel_items_n(left);
	if (n != cel_items_n(right))
		return false;
	if (node != NULL && node->list != SCHEMA_LIST_ATOMIC)
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
	cel_spend(run, left->type == CEL_STRING ? cel_text_cost(left->u.s.n) : 1);
	if (left->type == CEL_NULL || right->type == CEL_NULL)
		return left->type == right->type;
	if (left->type == CEL_LIST && right->type == CEL_LIST)
		return equal_lists(run, left, right);
	if (left->type == CEL_MAP && right->type == CEL_MAP)
		return equal_maps(run, left, right);
	return cel_compare(left, right) == 0;
}

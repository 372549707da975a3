/* Values of CEL: made of JSON and schema, compared, looked into. */
#include <stdarg.h>
#include <string.h>

#include "api/cel_priv.h"
#include "api/tree.h"

struct cel_value cel_error(const char *text)
{
	return (struct cel_value){ .type = CEL_ERROR, .u.error = text };
}

struct cel_value cel_errorf(struct cel_run *r, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	return cel_error(arena_strdup(r->arena, text.s));
}

struct cel_value cel_no_overload(void)
{
	return cel_error("no such overload");
}

struct cel_value cel_bool(bool b)
{
	return (struct cel_value){ .type = CEL_BOOL, .u.b = b };
}

struct cel_value cel_int(int64_t i)
{
	return (struct cel_value){ .type = CEL_INT, .u.i = i };
}

static struct cel_value of_number(const json_t *v, const struct schema_node *node)
{
	bool whole = json_is_integer(v);
	if (node != NULL && !node->int_or_string && node->type == SCHEMA_NUMBER)
		whole = false; /* a number of the schema is a double, however it is written */
	if (whole)
		return cel_int(json_integer_value(v));
	return (struct cel_value){ .type = CEL_DOUBLE, .u.d = json_number_value(v) };
}

struct cel_value cel_of_json(const json_t *v, const struct schema_node *node)
{
	switch (json_typeof(v)) {
	case JSON_TRUE:
	case JSON_FALSE:
		return cel_bool(json_is_true(v));
	case JSON_INTEGER:
	case JSON_REAL:
		return of_number(v, node);
	case JSON_STRING:
		return (struct cel_value){ .type = CEL_STRING, .u.s = api_text_slice(v) };
	case JSON_ARRAY:
		return (struct cel_value){ .type = CEL_LIST,
					   .u.items = { .json = v, .node = node } };
	case JSON_OBJECT:
		return (struct cel_value){ .type = CEL_MAP,
					   .u.items = { .json = v, .node = node } };
	case JSON_NULL:
		break;
	}
	return (struct cel_value){ .type = CEL_NULL };
}

size_t cel_items_n(const struct cel_value *v)
{
	const struct cel_items *x = &v->u.items;
	if (x->json != NULL)
		return v->type == CEL_LIST ? json_array_size(x->json) : json_object_size(x->json);
	return x->n;
}

struct cel_value cel_item(const struct cel_value *v, size_t i)
{
	const struct cel_items *x = &v->u.items;
	if (x->json == NULL)
		return x->v[i];
	return cel_of_json(json_array_get(x->json, i), x->node != NULL ? x->node->items : NULL);
}

struct cel_value cel_keys(struct cel_run *r, const struct cel_value *v)
{
	const struct cel_items *x = &v->u.items;
	size_t n = 0, count = cel_items_n(v);
	struct cel_value *key = arena_alloc(r->arena, (count + 1) * sizeof(*key));
	const char *name;
	json_t *value;
	cel_spend(r, count);
	if (x->json != NULL) {
		json_object_foreach (api_tree(x->json), name, value)
			key[n++] = (struct cel_value){ .type = CEL_STRING, .u.s = slice_of(name) };
	}
	for (size_t i = 0; x->json == NULL && i < count; i++)
		key[n++] = x->v[2 * i];
	return (struct cel_value){ .type = CEL_LIST, .u.items = { .v = key, .n = n } };
}

static bool member_of_json(const struct cel_items *x, struct slice key, struct cel_value *ret)
{
	const json_t *v = json_object_getn(x->json, key.p, key.n);
	/* A field that is null is as good as absent; a map's value may be null. */
	bool fields = x->node != NULL && x->node->properties.n != 0;
	if (v == NULL || (fields && json_is_null(v)))
		return false;
	const struct schema_node *node =
		x->node != NULL ? map_get(&x->node->properties, key) : NULL;
	if (node == NULL && x->node != NULL)
		node = x->node->additional;
	*ret = cel_of_json(v, node);
	return true;
}

bool cel_member(const struct cel_value *v, const struct cel_value *key, struct cel_value *ret)
{
	const struct cel_items *x = &v->u.items;
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

static int compare_numbers(const struct cel_value *a, const struct cel_value *b)
{
	if (a->type == CEL_INT && b->type == CEL_INT)
		return (a->u.i > b->u.i) - (a->u.i < b->u.i);
	double x = a->type == CEL_INT ? (double)a->u.i : a->u.d;
	double y = b->type == CEL_INT ? (double)b->u.i : b->u.d;
	return (x > y) - (x < y);
}

int cel_compare(const struct cel_value *a, const struct cel_value *b)
{
	bool numbers = (a->type == CEL_INT || a->type == CEL_DOUBLE) &&
		       (b->type == CEL_INT || b->type == CEL_DOUBLE);
	if (numbers)
		return compare_numbers(a, b);
	if (a->type != b->type)
		return 2;
	if (a->type == CEL_BOOL)
		return a->u.b - b->u.b;
	if (a->type == CEL_STRING) {
		int c = slice_cmp(a->u.s, b->u.s);
		return (c > 0) - (c < 0);
	}
	return 2;
}

/* ---- equality ---- */

/* Is every item of `a` one of `b`, as often? Order does not count in sets; in maps, items with the
 * same keys are compared. */
static bool equal_unordered(struct cel_run *r, const struct cel_value *a, const struct cel_value *b)
{
	size_t n = cel_items_n(a);
	for (size_t i = 0; i < n && r->cost <= r->cost_max; i++) {
		struct cel_value x = cel_item(a, i);
		bool found = false;
		for (size_t k = 0; k < n && !found; k++) {
			struct cel_value y = cel_item(b, k);
			found = cel_equal(r, &x, &y);
		}
		if (!found)
			return false;
	}
	return true;
}

static bool equal_lists(struct cel_run *r, const struct cel_value *a, const struct cel_value *b)
{
	const struct schema_node *node = a->u.items.json != NULL ? a->u.items.node : NULL;
	size_t n = cel_items_n(a);
	if (n != cel_items_n(b))
		return false;
	if (node != NULL && node->list != SCHEMA_LIST_ATOMIC)
		return equal_unordered(r, a, b);
	for (size_t i = 0; i < n && r->cost <= r->cost_max; i++) {
		struct cel_value x = cel_item(a, i), y = cel_item(b, i);
		if (!cel_equal(r, &x, &y))
			return false;
	}
	return true;
}

static bool equal_maps(struct cel_run *r, const struct cel_value *a, const struct cel_value *b)
{
	size_t n = cel_items_n(a);
	if (n != cel_items_n(b))
		return false;
	struct cel_value keys = cel_keys(r, a);
	for (size_t i = 0; i < n && r->cost <= r->cost_max; i++) {
		struct cel_value key = cel_item(&keys, i), x, y;
		bool found = cel_member(a, &key, &x);
		if (found != cel_member(b, &key, &y) || (found && !cel_equal(r, &x, &y)))
			return false;
	}
	return true;
}

bool cel_equal(struct cel_run *r, const struct cel_value *a, const struct cel_value *b)
{
	cel_spend(r, a->type == CEL_STRING ? cel_text_cost(a->u.s.n) : 1);
	if (a->type == CEL_NULL || b->type == CEL_NULL)
		return a->type == b->type;
	if (a->type == CEL_LIST && b->type == CEL_LIST)
		return equal_lists(r, a, b);
	if (a->type == CEL_MAP && b->type == CEL_MAP)
		return equal_maps(r, a, b);
	return cel_compare(a, b) == 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values: what they are called, whether they are true, how they compare, what is in them. */
#include "tmpl/value_priv.h"

#include "tmpl/tmpl_priv.h"

#include <stdarg.h>

#include "base/err.h"

int tmpl_fail(struct tmpl_call *call, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(call->err, call->err_cap, fmt, ap);
	va_end(ap);
	return ERR_TYPE;
}

struct tmpl_value tmpl_list(const struct tmpl_list *type, const void *self)
{
	uint32_t n = self != NULL ? (uint32_t)type->len(self) : 0;
	return (struct tmpl_value){ .kind = TMPL_LIST,
				    .list = { .type = type, .self = self, .n = n, .cap = n } };
}

struct slice tmpl_type_name(const struct tmpl_value *value)
{
	static const char *const ints[] = { "int", "int8", "int16", "int32", "int64" };
	static const char *const uints[] = { "uint", "uint8", "uint16", "uint32", "uint64" };
	size_t size = value->bits == 8	  ? 1
		      : value->bits == 16 ? 2
		      : value->bits == 32 ? 3
		      : value->bits == 64 ? 4
					  : 0;
	switch (value->kind) {
	case TMPL_NIL:
		return SLICE("<nil>");
	case TMPL_BOOL:
		return SLICE("bool");
	case TMPL_INT:
		return slice_of(ints[size]);
	case TMPL_UINT:
		return slice_of(uints[size]);
	case TMPL_FLOAT:
		return value->bits == 32 ? SLICE("float32") : SLICE("float64");
	case TMPL_STRING:
		return SLICE("string");
	case TMPL_LIST:
		return slice_of(value->list.type->name);
	case TMPL_MAP:
		return slice_of(value->map.type->name);
	case TMPL_OBJECT:
		return slice_of(value->obj.cls->name);
	case TMPL_ANY:
		return SLICE("interface {}");
	}
	return SLICE("");
}

struct slice tmpl_elem_name(const struct tmpl_value *value)
{
	struct slice name = tmpl_type_name(value);
	return slice_from(name, name.n > 0 && name.p[0] == '*');
}

static bool is_nil(const struct tmpl_value *value)
{
	switch (value->kind) {
	case TMPL_NIL:
		return true;
	case TMPL_LIST:
		return value->list.self == NULL;
	case TMPL_MAP:
		return value->map.self == NULL;
	case TMPL_OBJECT:
		return value->obj.self == NULL;
	case TMPL_BOOL:
	case TMPL_INT:
	case TMPL_UINT:
	case TMPL_FLOAT:
	case TMPL_STRING:
	case TMPL_ANY:
		return false;
	}
	return false;
}

static size_t map_len(const struct tmpl_value *value)
{
	return value->map.self != NULL ? value->map.type->len(value->map.self) : 0;
}

bool tmpl_truth(const struct tmpl_value *value)
{
	switch (value->kind) {
	case TMPL_NIL:
	case TMPL_ANY:
		return false;
	case TMPL_BOOL:
		return value->b;
	case TMPL_INT:
		return value->i != 0;
	case TMPL_UINT:
		return value->u != 0;
	case TMPL_FLOAT:
		return value->f < 0 || value->f > 0 || value->f != value->f; /* NaN is true */
	case TMPL_STRING:
		return value->s.n != 0;
	case TMPL_LIST:
		return value->list.n != 0;
	case TMPL_MAP:
		return map_len(value) != 0;
	case TMPL_OBJECT:
		return value->obj.self != NULL;
	}
	return false;
}

struct tmpl_value tmpl_zero(const struct tmpl_type *type)
{
	struct tmpl_value v = { .kind = type->kind, .bits = type->bits };
	switch (type->kind) {
	case TMPL_STRING:
		v.s = SLICE("");
		break;
	case TMPL_LIST:
		v.list.type = type->list;
		break;
	case TMPL_MAP:
		v.map.type = type->map;
		break;
	case TMPL_OBJECT:
		v.obj.cls = type->cls;
		break;
	case TMPL_FLOAT:
		v.f = 0;
		break;
	case TMPL_ANY:
	case TMPL_NIL:
	case TMPL_BOOL:
	case TMPL_INT:
	case TMPL_UINT:
		break;
	}
	return v;
}

int tmpl_len(struct tmpl_call *call, const struct tmpl_value *value, size_t *ret)
{
	struct slice name = tmpl_elem_name(value);
	switch (value->kind) {
	case TMPL_STRING:
		*ret = value->s.n;
		return 0;
	case TMPL_LIST:
		*ret = value->list.n;
		return 0;
	case TMPL_MAP:
		*ret = map_len(value);
		return 0;
	case TMPL_OBJECT:
		if (value->obj.self == NULL)
			return tmpl_fail(call, "len of nil pointer");
		break;
	case TMPL_NIL: /* what Go stumbles over */
		return tmpl_fail(call, "reflect: call of reflect.Value.Type on zero Value");
	case TMPL_BOOL:
	case TMPL_INT:
	case TMPL_UINT:
	case TMPL_FLOAT:
	case TMPL_ANY:
		break;
	}
	return tmpl_fail(call, "len of type %.*s", (int)name.n, name.p);
}

int tmpl_list_get(struct tmpl_call *call, const struct tmpl_value *value, size_t index,
		  struct tmpl_value *ret)
{
	if (index >= value->list.n)
		return tmpl_fail(call, "reflect: slice index out of range");
	return value->list.type->get(value->list.self, value->list.off + index, call->arena, ret);
}

static int cmp_entries(const void *left, const void *right)
{
	const struct tmpl_entry *x = left, *y = right;
	return slice_cmp(x->key, y->key);
}

/* In place and without memory of its own, which qsort does not promise. Maps are small: they fit
 * the arena of an execution. */
static void sort_entries(struct tmpl_entry *entry, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct tmpl_entry e = entry[i];
		size_t k = i;
		for (; k > 0 && cmp_entries(&entry[k - 1], &e) > 0; k--)
			entry[k] = entry[k - 1];
		entry[k] = e;
	}
}

int tmpl_map_sorted(struct tmpl_call *call, const struct tmpl_value *value, struct tmpl_entry **ret,
		    size_t *ret_n)
{
	size_t n = map_len(value);
	if (n > TMPL_MAX_ITERATIONS)
		return ERR_LIMIT;
	struct tmpl_entry *e = arena_alloc(call->arena, n * sizeof(*e));
	if (e == NULL)
		return ERR_SPACE;
	for (size_t i = 0; i < n; i++) {
		int r = value->map.type->entry(value->map.self, i, &e[i].key, call->arena,
					       &e[i].value);
		if (r < 0)
			return r;
	}
	sort_entries(e, n);
	*ret = e;
	*ret_n = n;
	return 0;
}

static bool is_basic(const struct tmpl_value *value)
{
	return value->kind >= TMPL_BOOL && value->kind <= TMPL_STRING;
}

static bool int_equals_uint(const struct tmpl_value *left, const struct tmpl_value *right)
{
	return left->i >= 0 && (uint64_t)left->i == right->u;
}

static bool basic_equal(const struct tmpl_value *left, const struct tmpl_value *right)
{
	switch (left->kind) {
	case TMPL_BOOL:
		return left->b == right->b;
	case TMPL_INT:
		return left->i == right->i;
	case TMPL_UINT:
		return left->u == right->u;
	case TMPL_FLOAT:
		return left->f <= right->f && left->f >= right->f;
	case TMPL_STRING:
		return slice_eq(left->s, right->s);
	case TMPL_NIL:
	case TMPL_LIST:
	case TMPL_MAP:
	case TMPL_OBJECT:
	case TMPL_ANY:
		break;
	}
	return false;
}

static int fail_incompatible(struct tmpl_call *call, const struct tmpl_value *left,
			     const struct tmpl_value *right)
{
	struct slice x = tmpl_type_name(left), y = tmpl_type_name(right);
	return tmpl_fail(call, "incompatible types for comparison: %.*s and %.*s", (int)x.n, x.p,
			 (int)y.n, y.p);
}

/* Neither is of a basic kind: nil compares with all, pointers with each other. */
static int reference_equal(struct tmpl_call *call, const struct tmpl_value *left,
			   const struct tmpl_value *right, bool *ret)
{
	struct slice name = tmpl_type_name(right);
	if (left->kind != right->kind && left->kind != TMPL_NIL && right->kind != TMPL_NIL)
		return tmpl_fail(call, "non-comparable types");
	if (is_nil(left) || is_nil(right)) {
		*ret = is_nil(left) == is_nil(right);
		return 0;
	}
	if (left->kind != TMPL_OBJECT)
		return tmpl_fail(call, "non-comparable type %.*s", (int)name.n, name.p);
	*ret = left->obj.cls == right->obj.cls && left->obj.self == right->obj.self;
	return 0;
}

int tmpl_equal(struct tmpl_call *call, const struct tmpl_value *left,
	       const struct tmpl_value *right, bool *ret)
{
	*ret = false;
	if (!is_basic(left) && !is_basic(right))
		return reference_equal(call, left, right, ret);
	if (left->kind == right->kind)
		*ret = basic_equal(left, right);
	else if (left->kind == TMPL_INT && right->kind == TMPL_UINT)
		*ret = int_equals_uint(left, right);
	else if (left->kind == TMPL_UINT && right->kind == TMPL_INT)
		*ret = int_equals_uint(right, left);
	else if (left->kind != TMPL_NIL && right->kind != TMPL_NIL)
		return fail_incompatible(call, left, right);
	return 0;
}

int tmpl_less(struct tmpl_call *call, const struct tmpl_value *left, const struct tmpl_value *right,
	      bool *ret)
{
	if (!is_basic(left) || !is_basic(right))
		return tmpl_fail(call, "invalid type for comparison");
	if (left->kind == TMPL_INT && right->kind == TMPL_UINT) {
		*ret = left->i < 0 || (uint64_t)left->i < right->u;
		return 0;
	}
	if (left->kind == TMPL_UINT && right->kind == TMPL_INT) {
		*ret = right->i >= 0 && left->u < (uint64_t)right->i;
		return 0;
	}
	if (left->kind != right->kind)
		return fail_incompatible(call, left, right);
	switch (left->kind) {
	case TMPL_INT:
		*ret = left->i < right->i;
		return 0;
	case TMPL_UINT:
		*ret = left->u < right->u;
		return 0;
	case TMPL_FLOAT:
		*ret = left->f < right->f;
		return 0;
	case TMPL_STRING:
		*ret = slice_cmp(left->s, right->s) < 0;
		return 0;
	case TMPL_NIL:
	case TMPL_BOOL:
	case TMPL_LIST:
	case TMPL_MAP:
	case TMPL_OBJECT:
	case TMPL_ANY:
		break;
	}
	return tmpl_fail(call, "invalid type for comparison");
}

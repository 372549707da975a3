/* Values: what they are called, whether they are true, how they compare, what is in them. */
#include "tmpl/tmpl_priv.h"

#include <stdarg.h>

#include "base/err.h"

int tmpl_fail(struct tmpl_call *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(c->err, c->err_cap, fmt, ap);
	va_end(ap);
	return ERR_TYPE;
}

struct tmpl_value tmpl_list(const struct tmpl_list *type, const void *self)
{
	uint32_t n = self != NULL ? (uint32_t)type->len(self) : 0;
	return (struct tmpl_value){ .kind = TMPL_LIST,
				    .list = { .type = type, .self = self, .n = n, .cap = n } };
}

struct slice tmpl_type_name(const struct tmpl_value *v)
{
	static const char *const ints[] = { "int", "int8", "int16", "int32", "int64" };
	static const char *const uints[] = { "uint", "uint8", "uint16", "uint32", "uint64" };
	size_t size = v->bits == 8    ? 1
		      : v->bits == 16 ? 2
		      : v->bits == 32 ? 3
		      : v->bits == 64 ? 4
				      : 0;
	switch (v->kind) {
	case TMPL_NIL:
		return SLICE("<nil>");
	case TMPL_BOOL:
		return SLICE("bool");
	case TMPL_INT:
		return slice_of(ints[size]);
	case TMPL_UINT:
		return slice_of(uints[size]);
	case TMPL_FLOAT:
		return v->bits == 32 ? SLICE("float32") : SLICE("float64");
	case TMPL_STRING:
		return SLICE("string");
	case TMPL_LIST:
		return slice_of(v->list.type->name);
	case TMPL_MAP:
		return slice_of(v->map.type->name);
	case TMPL_OBJECT:
		return slice_of(v->obj.cls->name);
	case TMPL_ANY:
		return SLICE("interface {}");
	}
	return SLICE("");
}

struct slice tmpl_elem_name(const struct tmpl_value *v)
{
	struct slice name = tmpl_type_name(v);
	return slice_from(name, name.n > 0 && name.p[0] == '*');
}

bool tmpl_is_nil(const struct tmpl_value *v)
{
	switch (v->kind) {
	case TMPL_NIL:
		return true;
	case TMPL_LIST:
		return v->list.self == NULL;
	case TMPL_MAP:
		return v->map.self == NULL;
	case TMPL_OBJECT:
		return v->obj.self == NULL;
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

static size_t map_len(const struct tmpl_value *v)
{
	return v->map.self != NULL ? v->map.type->len(v->map.self) : 0;
}

bool tmpl_truth(const struct tmpl_value *v)
{
	switch (v->kind) {
	case TMPL_NIL:
	case TMPL_ANY:
		return false;
	case TMPL_BOOL:
		return v->b;
	case TMPL_INT:
		return v->i != 0;
	case TMPL_UINT:
		return v->u != 0;
	case TMPL_FLOAT:
		return v->f < 0 || v->f > 0 || v->f != v->f; /* NaN is true */
	case TMPL_STRING:
		return v->s.n != 0;
	case TMPL_LIST:
		return v->list.n != 0;
	case TMPL_MAP:
		return map_len(v) != 0;
	case TMPL_OBJECT:
		return v->obj.self != NULL;
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

int tmpl_len(struct tmpl_call *c, const struct tmpl_value *v, size_t *ret)
{
	struct slice name = tmpl_elem_name(v);
	switch (v->kind) {
	case TMPL_STRING:
		*ret = v->s.n;
		return 0;
	case TMPL_LIST:
		*ret = v->list.n;
		return 0;
	case TMPL_MAP:
		*ret = map_len(v);
		return 0;
	case TMPL_OBJECT:
		if (v->obj.self == NULL)
			return tmpl_fail(c, "len of nil pointer");
		break;
	case TMPL_NIL: /* what Go stumbles over */
		return tmpl_fail(c, "reflect: call of reflect.Value.Type on zero Value");
	case TMPL_BOOL:
	case TMPL_INT:
	case TMPL_UINT:
	case TMPL_FLOAT:
	case TMPL_ANY:
		break;
	}
	return tmpl_fail(c, "len of type %.*s", (int)name.n, name.p);
}

int tmpl_list_get(struct tmpl_call *c, const struct tmpl_value *v, size_t i, struct tmpl_value *ret)
{
	if (i >= v->list.n)
		return tmpl_fail(c, "reflect: slice index out of range");
	return v->list.type->get(v->list.self, v->list.off + i, c->arena, ret);
}

static int cmp_entries(const void *a, const void *b)
{
	const struct tmpl_entry *x = a, *y = b;
	return slice_cmp(x->key, y->key);
}

/* In place and without memory of its own, which qsort does not promise. Maps are small: they fit
 * the arena of an execution. */
static void sort_entries(struct tmpl_entry *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct tmpl_entry e = v[i];
		size_t k = i;
		for (; k > 0 && cmp_entries(&v[k - 1], &e) > 0; k--)
			v[k] = v[k - 1];
		v[k] = e;
	}
}

int tmpl_map_sorted(struct tmpl_call *c, const struct tmpl_value *v, struct tmpl_entry **ret,
		    size_t *ret_n)
{
	size_t n = map_len(v);
	if (n > TMPL_MAX_ITERATIONS)
		return ERR_LIMIT;
	struct tmpl_entry *e = arena_alloc(c->arena, n * sizeof(*e));
	if (e == NULL)
		return ERR_SPACE;
	for (size_t i = 0; i < n; i++) {
		int r = v->map.type->entry(v->map.self, i, &e[i].key, c->arena, &e[i].value);
		if (r < 0)
			return r;
	}
	sort_entries(e, n);
	*ret = e;
	*ret_n = n;
	return 0;
}

static bool is_basic(const struct tmpl_value *v)
{
	return v->kind >= TMPL_BOOL && v->kind <= TMPL_STRING;
}

static bool int_equals_uint(const struct tmpl_value *i, const struct tmpl_value *u)
{
	return i->i >= 0 && (uint64_t)i->i == u->u;
}

static bool basic_equal(const struct tmpl_value *a, const struct tmpl_value *b)
{
	switch (a->kind) {
	case TMPL_BOOL:
		return a->b == b->b;
	case TMPL_INT:
		return a->i == b->i;
	case TMPL_UINT:
		return a->u == b->u;
	case TMPL_FLOAT:
		return a->f <= b->f && a->f >= b->f;
	case TMPL_STRING:
		return slice_eq(a->s, b->s);
	case TMPL_NIL:
	case TMPL_LIST:
	case TMPL_MAP:
	case TMPL_OBJECT:
	case TMPL_ANY:
		break;
	}
	return false;
}

static int incompatible(struct tmpl_call *c, const struct tmpl_value *a, const struct tmpl_value *b)
{
	struct slice x = tmpl_type_name(a), y = tmpl_type_name(b);
	return tmpl_fail(c, "incompatible types for comparison: %.*s and %.*s", (int)x.n, x.p,
			 (int)y.n, y.p);
}

/* Neither is of a basic kind: nil compares with all, pointers with each other. */
static int reference_equal(struct tmpl_call *c, const struct tmpl_value *a,
			   const struct tmpl_value *b, bool *ret)
{
	struct slice name = tmpl_type_name(b);
	if (a->kind != b->kind && a->kind != TMPL_NIL && b->kind != TMPL_NIL)
		return tmpl_fail(c, "non-comparable types");
	if (tmpl_is_nil(a) || tmpl_is_nil(b)) {
		*ret = tmpl_is_nil(a) == tmpl_is_nil(b);
		return 0;
	}
	if (a->kind != TMPL_OBJECT)
		return tmpl_fail(c, "non-comparable type %.*s", (int)name.n, name.p);
	*ret = a->obj.cls == b->obj.cls && a->obj.self == b->obj.self;
	return 0;
}

int tmpl_equal(struct tmpl_call *c, const struct tmpl_value *a, const struct tmpl_value *b,
	       bool *ret)
{
	*ret = false;
	if (!is_basic(a) && !is_basic(b))
		return reference_equal(c, a, b, ret);
	if (a->kind == b->kind)
		*ret = basic_equal(a, b);
	else if (a->kind == TMPL_INT && b->kind == TMPL_UINT)
		*ret = int_equals_uint(a, b);
	else if (a->kind == TMPL_UINT && b->kind == TMPL_INT)
		*ret = int_equals_uint(b, a);
	else if (a->kind != TMPL_NIL && b->kind != TMPL_NIL)
		return incompatible(c, a, b);
	return 0;
}

int tmpl_less(struct tmpl_call *c, const struct tmpl_value *a, const struct tmpl_value *b,
	      bool *ret)
{
	if (!is_basic(a) || !is_basic(b))
		return tmpl_fail(c, "invalid type for comparison");
	if (a->kind == TMPL_INT && b->kind == TMPL_UINT) {
		*ret = a->i < 0 || (uint64_t)a->i < b->u;
		return 0;
	}
	if (a->kind == TMPL_UINT && b->kind == TMPL_INT) {
		*ret = b->i >= 0 && a->u < (uint64_t)b->i;
		return 0;
	}
	if (a->kind != b->kind)
		return incompatible(c, a, b);
	switch (a->kind) {
	case TMPL_INT:
		*ret = a->i < b->i;
		return 0;
	case TMPL_UINT:
		*ret = a->u < b->u;
		return 0;
	case TMPL_FLOAT:
		*ret = a->f < b->f;
		return 0;
	case TMPL_STRING:
		*ret = slice_cmp(a->s, b->s) < 0;
		return 0;
	case TMPL_NIL:
	case TMPL_BOOL:
	case TMPL_LIST:
	case TMPL_MAP:
	case TMPL_OBJECT:
	case TMPL_ANY:
		break;
	}
	return tmpl_fail(c, "invalid type for comparison");
}

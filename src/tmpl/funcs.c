/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions every template has, and CoreDNS's parseInt. */
#include "tmpl/funcs_priv.h"

#include "tmpl/tmpl_priv.h"

#include "base/err.h"
#include "tmpl/const_priv.h"
#include "tmpl/escape_priv.h"
#include "tmpl/out_priv.h"
#include "tmpl/printf_priv.h"
#include "tmpl/value_priv.h"

/* Text is built behind the output and moved into the arena. */
static int take_text(struct tmpl_call *call, size_t start, struct tmpl_value *ret)
{
	size_t n = call->out->n - start;
	call->out->n = start;
	if (call->out->full)
		return ERR_SPACE;
	char *p = arena_memdup(call->arena, call->out->p + start, n);
	if (p == NULL)
		return ERR_SPACE;
	*ret = tmpl_string((struct slice){ p, n });
	return 0;
}

static int fn_print(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		    struct tmpl_value *ret)
{
	size_t start = call->out->n;
	int r = tmpl_print(call, args, count);
	return r < 0 ? r : take_text(call, start, ret);
}

static int fn_println(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		      struct tmpl_value *ret)
{
	size_t start = call->out->n;
	int r = tmpl_println(call, args, count);
	return r < 0 ? r : take_text(call, start, ret);
}

static int fn_printf(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		     struct tmpl_value *ret)
{
	size_t start = call->out->n;
	int r = tmpl_printf(call, args[0].s, args + 1, count - 1);
	return r < 0 ? r : take_text(call, start, ret);
}

static int escape_args(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		       void (*fn)(struct tmpl_out *, struct slice), struct tmpl_value *ret)
{
	static const struct slice no_value = { "<no value>", 10 };
	struct tmpl_value text, shown[TMPL_MAX_ARGS + 1];
	if (count > ARRAY_LEN(shown))
		return ERR_LIMIT;
	for (size_t i = 0; i < count; i++)
		shown[i] = args[i].kind == TMPL_NIL ? tmpl_string(no_value) : args[i];
	int r = fn_print(call, shown, count, &text);
	if (r < 0)
		return r;
	size_t start = call->out->n;
	fn(call->out, text.s);
	return take_text(call, start, ret);
}

static int fn_html(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		   struct tmpl_value *ret)
{
	return escape_args(call, args, count, tmpl_escape_html, ret);
}

static int fn_js(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		 struct tmpl_value *ret)
{
	return escape_args(call, args, count, tmpl_escape_js, ret);
}

static int fn_urlquery(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		       struct tmpl_value *ret)
{
	return escape_args(call, args, count, tmpl_escape_url, ret);
}

static int fn_len(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret)
{
	size_t len;
	(void)count;
	int r = tmpl_len(call, &args[0], &len);
	if (r < 0)
		return r;
	*ret = tmpl_int((int64_t)len);
	return 0;
}

static int fn_not(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret)
{
	(void)call;
	(void)count;
	*ret = tmpl_bool(!tmpl_truth(&args[0]));
	return 0;
}

/* A number of an element, up to and including `cap`. */
static int index_arg(struct tmpl_call *call, const struct tmpl_value *value, size_t cap,
		     size_t *ret)
{
	int64_t x;
	struct slice name = tmpl_type_name(value);
	if (value->kind == TMPL_NIL)
		return tmpl_fail(call, "cannot index slice/array with nil");
	if (value->kind != TMPL_INT && value->kind != TMPL_UINT)
		return tmpl_fail(call, "cannot index slice/array with type %.*s", (int)name.n,
				 name.p);
	x = value->kind == TMPL_INT ? value->i : (int64_t)value->u;
	if (x < 0 || (uint64_t)x > cap)
		return tmpl_fail(call, "index out of range: %lld", (long long)x);
	*ret = (size_t)x;
	return 0;
}

static int index_map(struct tmpl_call *call, const struct tmpl_value *map,
		     const struct tmpl_value *key, struct tmpl_value *ret)
{
	struct slice name = tmpl_type_name(key);
	if (key->kind == TMPL_NIL)
		return tmpl_fail(call, "value is nil; should be of type string");
	if (key->kind != TMPL_STRING)
		return tmpl_fail(call, "value has type %.*s; should be string", (int)name.n,
				 name.p);
	int r = 0;
	if (map->map.self != NULL)
		r = map->map.type->find(map->map.self, key->s, call->arena, ret);
	if (r == 0) {
		*ret = tmpl_zero(&map->map.type->elem);
		if (ret->kind == TMPL_ANY)
			ret->kind = TMPL_NIL;
	}
	return r < 0 ? r : 0;
}

static int index_once(struct tmpl_call *call, const struct tmpl_value *item,
		      const struct tmpl_value *key, struct tmpl_value *ret)
{
	size_t i;
	struct slice name = tmpl_elem_name(item);
	if (item->kind == TMPL_MAP)
		return index_map(call, item, key, ret);
	if (item->kind == TMPL_NIL || (item->kind == TMPL_OBJECT && item->obj.self == NULL))
		return tmpl_fail(call, "index of nil pointer");
	if (item->kind != TMPL_LIST && item->kind != TMPL_STRING)
		return tmpl_fail(call, "can't index item of type %.*s", (int)name.n, name.p);
	size_t n = item->kind == TMPL_LIST ? item->list.n : item->s.n;
	int r = index_arg(call, key, n, &i);
	if (r < 0)
		return r;
	if (item->kind == TMPL_LIST)
		return tmpl_list_get(call, item, i, ret);
	if (i >= n)
		return tmpl_fail(call, "reflect: string index out of range");
	*ret = tmpl_uint((unsigned char)item->s.p[i], 8);
	return 0;
}

int tmpl_fn_index(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret)
{
	struct tmpl_value item = args[0];
	if (item.kind == TMPL_NIL)
		return tmpl_fail(call, "index of untyped nil");
	for (size_t i = 1; i < count; i++) {
		struct tmpl_value inner;
		int r = index_once(call, &item, &args[i], &inner);
		if (r < 0)
			return r;
		item = inner;
	}
	*ret = item;
	return 0;
}

static int slice_bounds(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
			size_t cap, size_t bounds[3])
{
	for (size_t i = 1; i < count; i++) {
		int r = index_arg(call, &args[i], cap, &bounds[i - 1]);
		if (r < 0)
			return r;
	}
	if (bounds[0] > bounds[1])
		return tmpl_fail(call, "invalid slice index: %zu > %zu", bounds[0], bounds[1]);
	if (bounds[1] > bounds[2])
		return tmpl_fail(call, "invalid slice index: %zu > %zu", bounds[1], bounds[2]);
	return 0;
}

int tmpl_fn_slice(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret)
{
	const struct tmpl_value *item = &args[0];
	struct slice name = tmpl_elem_name(item);
	if (item->kind == TMPL_NIL)
		return tmpl_fail(call, "slice of untyped nil");
	if (item->kind == TMPL_OBJECT && item->obj.self == NULL)
		return tmpl_fail(call, "slice of nil pointer");
	if (count > 4)
		return tmpl_fail(call, "too many slice indexes: %zu", count - 1);
	if (item->kind == TMPL_STRING && count == 4)
		return tmpl_fail(call, "cannot 3-index slice a string");
	if (item->kind != TMPL_STRING && item->kind != TMPL_LIST)
		return tmpl_fail(call, "can't slice item of type %.*s", (int)name.n, name.p);
	bool text = item->kind == TMPL_STRING;
	size_t cap = text ? item->s.n : item->list.cap;
	size_t bounds[3] = { 0, text ? item->s.n : item->list.n, cap };
	int r = slice_bounds(call, args, count, cap, bounds);
	if (r < 0)
		return r;
	*ret = *item;
	if (text) {
		ret->s = (struct slice){ item->s.p + bounds[0], bounds[1] - bounds[0] };
		return 0;
	}
	ret->list.off += (uint32_t)bounds[0];
	ret->list.n = (uint32_t)(bounds[1] - bounds[0]);
	ret->list.cap = (uint32_t)(bounds[2] - bounds[0]);
	return 0;
}

static int fn_eq(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		 struct tmpl_value *ret)
{
	bool same = false;
	if (count < 2)
		return tmpl_fail(call, "missing argument for comparison");
	for (size_t i = 1; i < count && !same; i++) {
		int r = tmpl_equal(call, &args[0], &args[i], &same);
		if (r < 0)
			return r;
	}
	*ret = tmpl_bool(same);
	return 0;
}

static int fn_ne(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		 struct tmpl_value *ret)
{
	int r = fn_eq(call, args, count, ret);
	ret->b = r == 0 && !ret->b;
	return r;
}

static int fn_lt(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		 struct tmpl_value *ret)
{
	bool less = false;
	(void)count;
	int r = tmpl_less(call, &args[0], &args[1], &less);
	*ret = tmpl_bool(less);
	return r;
}

static int fn_le(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		 struct tmpl_value *ret)
{
	int r = fn_lt(call, args, count, ret);
	return r < 0 || ret->b ? r : fn_eq(call, args, count, ret);
}

static int fn_gt(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		 struct tmpl_value *ret)
{
	int r = fn_le(call, args, count, ret);
	ret->b = !ret->b;
	return r;
}

static int fn_ge(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		 struct tmpl_value *ret)
{
	int r = fn_lt(call, args, count, ret);
	ret->b = !ret->b;
	return r;
}

/* The executor evaluates the arguments of these two one by one and never calls them. */
int tmpl_fn_and(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		struct tmpl_value *ret)
{
	(void)call;
	(void)args;
	(void)count;
	*ret = tmpl_bool(false);
	return ERR_INTERNAL;
}

int tmpl_fn_or(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
	       struct tmpl_value *ret)
{
	(void)count;
	(void)args;
	(void)call;
	*ret = tmpl_bool(true);
	return ERR_INTERNAL;
}

static int parse_failed(struct tmpl_call *call, struct slice text, const char *why)
{
	char buf[128];
	struct tmpl_out o = { .p = buf, .cap = sizeof(buf) };
	tmpl_out_quote(&o, text, false);
	return tmpl_fail(call, "strconv.ParseUint: parsing %.*s: %s", (int)o.n, buf, why);
}

static int fn_parse_int(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
			struct tmpl_value *ret)
{
	char why[64];
	uint64_t u;
	int64_t base = args[1].i, bits = args[2].i;
	(void)count;
	if (args[0].s.n == 0)
		return parse_failed(call, args[0].s, "invalid syntax");
	if (base != 0 && (base < 2 || base > 36)) {
		snprintf(why, sizeof(why), "invalid base %lld", (long long)base);
		return parse_failed(call, args[0].s, why);
	}
	if (bits < 0 || bits > 64) {
		snprintf(why, sizeof(why), "invalid bit size %lld", (long long)bits);
		return parse_failed(call, args[0].s, why);
	}
	int r = tmpl_parse_uint(args[0].s, (unsigned)base, bits != 0 ? (unsigned)bits : 64, &u);
	if (r < 0)
		return parse_failed(call, args[0].s,
				    r == ERR_RANGE ? "value out of range" : "invalid syntax");
	*ret = tmpl_uint(u, 64);
	return 0;
}

const struct tmpl_func tmpl_func_parse_int = {
	.name = "parseInt",
	.min_args = 3,
	.max_args = 3,
	.args = { TMPL_STRING, TMPL_INT, TMPL_INT },
	.ret = { .kind = TMPL_UINT, .bits = 64 },
	.fn = fn_parse_int,
};

#define ANY                      \
	{                        \
		.kind = TMPL_ANY \
	}
#define BOOL                      \
	{                         \
		.kind = TMPL_BOOL \
	}
#define INT                      \
	{                        \
		.kind = TMPL_INT \
	}
#define STRING                      \
	{                           \
		.kind = TMPL_STRING \
	}

/* clang-format off */
const struct tmpl_func tmpl_builtins[] = {
	/* name       min max            prints args             result  function */
	{ "and",      1,  TMPL_VARIADIC, false, { TMPL_ANY },    ANY,    tmpl_fn_and },
	{ "or",       1,  TMPL_VARIADIC, false, { TMPL_ANY },    ANY,    tmpl_fn_or },
	{ "not",      1,  1,             false, { TMPL_ANY },    BOOL,   fn_not },
	{ "eq",       1,  TMPL_VARIADIC, false, { TMPL_ANY },    BOOL,   fn_eq },
	{ "ne",       2,  2,             false, { TMPL_ANY },    BOOL,   fn_ne },
	{ "lt",       2,  2,             false, { TMPL_ANY },    BOOL,   fn_lt },
	{ "le",       2,  2,             false, { TMPL_ANY },    BOOL,   fn_le },
	{ "gt",       2,  2,             false, { TMPL_ANY },    BOOL,   fn_gt },
	{ "ge",       2,  2,             false, { TMPL_ANY },    BOOL,   fn_ge },
	{ "len",      1,  1,             false, { TMPL_ANY },    INT,    fn_len },
	{ "index",    1,  TMPL_VARIADIC, false, { TMPL_ANY },    ANY,    tmpl_fn_index },
	{ "slice",    1,  TMPL_VARIADIC, false, { TMPL_ANY },    ANY,    tmpl_fn_slice },
	{ "print",    0,  TMPL_VARIADIC, true,  { TMPL_ANY },    STRING, fn_print },
	{ "println",  0,  TMPL_VARIADIC, true,  { TMPL_ANY },    STRING, fn_println },
	{ "printf",   1,  TMPL_VARIADIC, true,  { TMPL_STRING }, STRING, fn_printf },
	{ "html",     0,  TMPL_VARIADIC, true,  { TMPL_ANY },    STRING, fn_html },
	{ "js",       0,  TMPL_VARIADIC, true,  { TMPL_ANY },    STRING, fn_js },
	{ "urlquery", 0,  TMPL_VARIADIC, true,  { TMPL_ANY },    STRING, fn_urlquery },
};
/* clang-format on */
const size_t tmpl_n_builtins = ARRAY_LEN(tmpl_builtins);

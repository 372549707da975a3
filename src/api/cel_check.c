/* Types of CEL expressions, as the schema gives them: a misspelt field or a comparison that cannot
 * be is found when the CRD is read, not when the first object comes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/cel_priv.h"
#include "base/err.h"

enum kind {
	K_DYN, /* not known before there is a value */
	K_NULL,
	K_BOOL,
	K_INT,
	K_DOUBLE,
	K_STRING,
	K_LIST,
	K_MAP,
	K_OBJECT,
	K_RESOURCE, /* an object with apiVersion, kind and metadata */
	K_METADATA,
	K_OPTIONAL,
	K_OTHER, /* times and bytes: there are no operations for them here */
};

static const char *const kind_names[] = {
	[K_DYN] = "dyn",
	[K_NULL] = "null",
	[K_BOOL] = "bool",
	[K_INT] = "int",
	[K_DOUBLE] = "double",
	[K_STRING] = "string",
	[K_LIST] = "list",
	[K_MAP] = "map",
	[K_OBJECT] = "object",
	[K_RESOURCE] = "object",
	[K_METADATA] = "object",
	[K_OPTIONAL] = "optional",
	[K_OTHER] = "time or bytes",
};

struct type {
	enum kind kind;
	const struct schema_node *node; /* of what the schema describes */
	const struct type *elem;	/* else: of items, values, or what is optional */
};

struct check {
	struct type slot[CEL_SLOTS_MAX];
	struct arena *a;
	char *err;
	size_t err_n;
};

static int check(struct check *c, const struct cel_node *n, struct type *ret);

static int refuse(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int refuse(struct check *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(c->err, c->err_n, fmt, ap);
	va_end(ap);
	return ERR_TYPE;
}

static struct type simple(enum kind k)
{
	return (struct type){ .kind = k };
}

/* ---- the schema's types ---- */

static enum kind kind_of_string(const char *format)
{
	static const char *const others[] = { "byte", "duration", "date", "date-time" };
	for (size_t i = 0; format != NULL && i < ARRAY_LEN(others); i++) {
		if (strcmp(format, others[i]) == 0)
			return K_OTHER;
	}
	return K_STRING;
}

/* False: the server knows no type for it and hides it from rules. */
static bool type_of_node(const struct schema_node *n, struct type *ret)
{
	static const enum kind kinds[] = {
		[SCHEMA_ANY] = K_DYN,	    [SCHEMA_OBJECT] = K_OBJECT, [SCHEMA_ARRAY] = K_LIST,
		[SCHEMA_STRING] = K_STRING, [SCHEMA_INTEGER] = K_INT,	[SCHEMA_NUMBER] = K_DOUBLE,
		[SCHEMA_BOOLEAN] = K_BOOL,
	};
	struct type ignored;
	*ret = (struct type){ .kind = n->int_or_string ? K_DYN : kinds[n->type], .node = n };
	if (n->int_or_string)
		return true;
	if (n->type == SCHEMA_STRING)
		ret->kind = kind_of_string(n->format);
	if (n->type == SCHEMA_OBJECT && n->embedded)
		ret->kind = K_RESOURCE;
	if (n->type == SCHEMA_OBJECT && n->additional != NULL) {
		ret->kind = K_MAP;
		return type_of_node(n->additional, &ignored);
	}
	if (n->type == SCHEMA_ARRAY)
		return n->items != NULL && type_of_node(n->items, &ignored);
	return n->type != SCHEMA_ANY;
}

static struct type elem_of(const struct type *t)
{
	struct type e = simple(K_DYN);
	if (t->node != NULL &&
	    !type_of_node(t->kind == K_MAP ? t->node->additional : t->node->items, &e))
		return simple(K_DYN);
	return t->elem != NULL ? *t->elem : e;
}

static struct type with_elem(struct check *c, enum kind k, struct type elem)
{
	return (struct type){ .kind = k, .elem = arena_memdup(c->a, &elem, sizeof(elem)) };
}

/* ---- agreement ---- */

static enum kind plain(enum kind k)
{
	return k == K_RESOURCE || k == K_METADATA ? K_OBJECT : k;
}

static bool agree(const struct type *a, const struct type *b)
{
	enum kind x_kind = plain(a->kind), y_kind = plain(b->kind);
	if (x_kind == K_DYN || y_kind == K_DYN)
		return true;
	if (x_kind == K_NULL || y_kind == K_NULL) /* only objects may be null to a rule */
		return x_kind == y_kind || x_kind == K_OBJECT || y_kind == K_OBJECT;
	if (x_kind != y_kind || x_kind == K_OTHER)
		return false;
	if (x_kind == K_OBJECT)
		return a->node == b->node; /* two schemas are two types */
	if (a->kind != K_LIST && a->kind != K_MAP)
		return true;
	struct type x = elem_of(a), y = elem_of(b);
	return agree(&x, &y);
}

static bool is(const struct type *t, enum kind k)
{
	return t->kind == k || t->kind == K_DYN;
}

static bool is_number(const struct type *t)
{
	return is(t, K_INT) || t->kind == K_DOUBLE;
}

static int no_overload(struct check *c, const char *what, const struct type *a,
		       const struct type *b)
{
	return refuse(c, "found no matching overload for '%s' applied to '(%s%s%s)'", what,
		      kind_names[a->kind], b != NULL ? ", " : "",
		      b != NULL ? kind_names[b->kind] : "");
}

/* ---- expressions ---- */

static int check_select(struct check *c, const struct cel_node *n, struct type *ret)
{
	struct type of = { 0 };
	int r = check(c, n->arg[0], &of);
	if (r < 0)
		return r;
	bool meta = of.kind == K_METADATA;
	bool resource = of.kind == K_RESOURCE;
	bool word = strcmp(n->name, "apiVersion") == 0 || strcmp(n->name, "kind") == 0;
	bool name = strcmp(n->name, "name") == 0 || strcmp(n->name, "generateName") == 0;
	const struct schema_node *p = of.node != NULL ? schema_property(of.node, n->name) : NULL;
	if (of.kind == K_DYN)
		*ret = simple(K_DYN);
	else if (of.kind == K_MAP)
		*ret = elem_of(&of);
	else if ((resource && word) || (meta && name))
		*ret = simple(K_STRING);
	else if (resource && strcmp(n->name, "metadata") == 0)
		*ret = simple(K_METADATA);
	else if (plain(of.kind) != K_OBJECT)
		return refuse(c, "type '%s' has no field '%s'", kind_names[of.kind], n->name);
	else if (meta || p == NULL || !type_of_node(p, ret))
		return refuse(c, "undefined field '%s'", n->name);
	if (n->op == CEL_OP_HAS)
		*ret = simple(K_BOOL);
	return 0;
}

static int check_index(struct check *c, const struct cel_node *n, struct type *ret)
{
	struct type of = { 0 }, key = { 0 };
	int r = check(c, n->arg[0], &of);
	if (r < 0 || (r = check(c, n->arg[1], &key)) < 0)
		return r;
	bool ok = of.kind == K_DYN || (of.kind == K_LIST && is(&key, K_INT)) ||
		  (of.kind == K_MAP && (is(&key, K_STRING) || of.elem != NULL));
	if (!ok)
		return no_overload(c, "_[_]", &of, &key);
	*ret = of.kind == K_DYN ? simple(K_DYN) : elem_of(&of);
	return 0;
}

/* Lists, and maps, whose keys and values stand by turns. */
static int check_items(struct check *c, const struct cel_node *n, struct type *ret)
{
	bool map = n->op == CEL_OP_MAP;
	struct type elem = simple(K_DYN), t = elem;
	for (size_t i = 0; i < n->n_args; i++) {
		int r = check(c, n->arg[i], &t);
		if (r < 0)
			return r;
		if (map && i % 2 == 0) {
			if (!is(&t, K_STRING) && t.kind != K_INT && t.kind != K_BOOL)
				return refuse(c, "a map's key may not be of type '%s'",
					      kind_names[t.kind]);
			continue;
		}
		if (i <= (size_t)map)
			elem = t;
		else if (!agree(&elem, &t))
			elem = simple(K_DYN);
	}
	*ret = with_elem(c, map ? K_MAP : K_LIST, elem);
	return 0;
}

static int check_cond(struct check *c, const struct cel_node *n, struct type *ret)
{
	struct type cond = { 0 }, a = { 0 }, b = { 0 };
	int r = check(c, n->arg[0], &cond);
	if (r < 0 || (r = check(c, n->arg[1], &a)) < 0 || (r = check(c, n->arg[2], &b)) < 0)
		return r;
	if (!is(&cond, K_BOOL) || !agree(&a, &b))
		return no_overload(c, "_?_:_", &a, &b);
	*ret = a.kind == K_NULL ? b : a;
	return 0;
}

static const char *const op_names[] = {
	[CEL_OP_AND] = "_&&_", [CEL_OP_OR] = "_||_", [CEL_OP_NOT] = "!_",  [CEL_OP_NEGATE] = "-_",
	[CEL_OP_ADD] = "_+_",  [CEL_OP_SUB] = "_-_", [CEL_OP_MUL] = "_*_", [CEL_OP_DIV] = "_/_",
	[CEL_OP_MOD] = "_%_",  [CEL_OP_EQ] = "_==_", [CEL_OP_NE] = "_!=_", [CEL_OP_LT] = "_<_",
	[CEL_OP_LE] = "_<=_",  [CEL_OP_GT] = "_>_",  [CEL_OP_GE] = "_>=_", [CEL_OP_IN] = "@in",
};

static int check_unary(struct check *c, const struct cel_node *n, struct type *ret)
{
	*ret = simple(K_DYN);
	int r = check(c, n->arg[0], ret);
	if (r < 0)
		return r;
	if (n->op == CEL_OP_NOT ? !is(ret, K_BOOL) : !is_number(ret))
		return no_overload(c, op_names[n->op], ret, NULL);
	return 0;
}

static bool arithmetic_fits(enum cel_op op, const struct type *a, const struct type *b)
{
	if (!agree(a, b) || a->kind == K_NULL || b->kind == K_NULL)
		return false;
	if (op == CEL_OP_MOD)
		return is(a, K_INT) && is(b, K_INT);
	if (op == CEL_OP_ADD && (is(a, K_STRING) || is(a, K_LIST)))
		return true;
	return is_number(a) && is_number(b);
}

static bool order_fits(const struct type *a, const struct type *b)
{
	return (is_number(a) && is_number(b)) || (is(a, K_STRING) && is(b, K_STRING)) ||
	       (is(a, K_BOOL) && is(b, K_BOOL));
}

static bool in_fits(const struct type *a, const struct type *b)
{
	if (b->kind == K_MAP)
		return is(a, K_STRING) || b->elem != NULL;
	struct type e = b->kind == K_LIST ? elem_of(b) : simple(K_DYN);
	return is(b, K_LIST) && agree(a, &e);
}

static int check_binary(struct check *c, const struct cel_node *n, struct type *ret)
{
	struct type a = { 0 }, b = { 0 };
	bool fits;
	int r = check(c, n->arg[0], &a);
	if (r < 0 || (r = check(c, n->arg[1], &b)) < 0)
		return r;
	*ret = simple(K_BOOL);
	if (n->op == CEL_OP_AND || n->op == CEL_OP_OR) {
		fits = is(&a, K_BOOL) && is(&b, K_BOOL);
	} else if (n->op == CEL_OP_EQ || n->op == CEL_OP_NE) {
		fits = agree(&a, &b);
	} else if (n->op == CEL_OP_IN) {
		fits = in_fits(&a, &b);
	} else if (n->op >= CEL_OP_LT && n->op <= CEL_OP_GE) {
		fits = order_fits(&a, &b);
	} else {
		fits = arithmetic_fits(n->op, &a, &b);
		*ret = a.kind == K_DYN ? b : a;
	}
	return fits ? 0 : no_overload(c, op_names[n->op], &a, &b);
}

static int check_call(struct check *c, const struct cel_node *n, struct type *ret)
{
	struct type arg[CEL_ARGS_MAX] = { 0 };
	const char *f = n->fn->name;
	for (size_t i = 0; i < n->n_args; i++) {
		int r = check(c, n->arg[i], &arg[i]);
		if (r < 0)
			return r;
	}
	const struct type *second = n->fn->n_args > 1 ? &arg[1] : NULL;
	if (strcmp(f, "size") == 0) {
		*ret = simple(K_INT);
		if (is(arg, K_STRING) || arg->kind == K_LIST || arg->kind == K_MAP)
			return 0;
		return no_overload(c, f, arg, second);
	}
	if (strcmp(f, "hasValue") == 0 || strcmp(f, "value") == 0 || strcmp(f, "orValue") == 0) {
		if (arg->kind != K_OPTIONAL || (second != NULL && !agree(arg->elem, second)))
			return no_overload(c, f, arg, second);
		*ret = strcmp(f, "hasValue") == 0 ? simple(K_BOOL) : *arg->elem;
		return 0;
	}
	*ret = simple(K_BOOL); /* those of two texts */
	return is(&arg[0], K_STRING) && is(&arg[1], K_STRING) ? 0 : no_overload(c, f, arg, second);
}

static int check_loop(struct check *c, const struct cel_node *n, struct type *ret)
{
	struct type range = { 0 }, first = { 0 }, last, outer = c->slot[n->slot];
	int r = check(c, n->arg[0], &range);
	if (r < 0)
		return r;
	if (range.kind != K_LIST && range.kind != K_MAP && range.kind != K_DYN)
		return refuse(c, "type '%s' cannot be gone through", kind_names[range.kind]);
	struct type item = range.kind == K_LIST ? elem_of(&range)
						: simple(range.kind == K_MAP ? K_STRING : K_DYN);
	c->slot[n->slot] = item;
	r = check(c, n->arg[1], &first);
	last = first;
	if (r >= 0 && n->n_args == 3)
		r = check(c, n->arg[2], &last);
	c->slot[n->slot] = outer;
	if (r < 0)
		return r;
	bool condition = n->loop != CEL_TRANSFORM || n->n_args == 3;
	if (condition && !is(&first, K_BOOL))
		return refuse(c, "a macro's condition is of type '%s'", kind_names[first.kind]);
	*ret = simple(K_BOOL);
	if (n->loop == CEL_FILTER || n->loop == CEL_TRANSFORM)
		*ret = with_elem(c, K_LIST, n->loop == CEL_FILTER ? item : last);
	return 0;
}

static int check_literal(const struct cel_node *n, struct type *ret)
{
	static const enum kind kinds[] = {
		[CEL_NULL] = K_NULL,	 [CEL_BOOL] = K_BOOL,	  [CEL_INT] = K_INT,
		[CEL_DOUBLE] = K_DOUBLE, [CEL_STRING] = K_STRING,
	};
	*ret = simple(kinds[n->literal.type]);
	return 0;
}

static int check(struct check *c, const struct cel_node *n, struct type *ret)
{
	switch (n->op) {
	case CEL_OP_LITERAL:
		return check_literal(n, ret);
	case CEL_OP_SLOT:
		*ret = c->slot[n->slot];
		return 0;
	case CEL_OP_SELECT:
	case CEL_OP_HAS:
		return check_select(c, n, ret);
	case CEL_OP_INDEX:
		return check_index(c, n, ret);
	case CEL_OP_LIST:
	case CEL_OP_MAP:
		return check_items(c, n, ret);
	case CEL_OP_COND:
		return check_cond(c, n, ret);
	case CEL_OP_NOT:
	case CEL_OP_NEGATE:
		return check_unary(c, n, ret);
	case CEL_OP_AND:
	case CEL_OP_OR:
	case CEL_OP_ADD:
	case CEL_OP_SUB:
	case CEL_OP_MUL:
	case CEL_OP_DIV:
	case CEL_OP_MOD:
	case CEL_OP_EQ:
	case CEL_OP_NE:
	case CEL_OP_LT:
	case CEL_OP_LE:
	case CEL_OP_GT:
	case CEL_OP_GE:
	case CEL_OP_IN:
		return check_binary(c, n, ret);
	case CEL_OP_CALL:
		return check_call(c, n, ret);
	case CEL_OP_LOOP:
		return check_loop(c, n, ret);
	}
	return ERR_INTERNAL;
}

int cel_check(const struct cel_expr *e, const struct cel_env *env, struct arena *a, char *err,
	      size_t err_n)
{
	struct check c = { .a = a, .err = err, .err_n = err_n };
	struct type self, t = { 0 };
	if (!type_of_node(env->self, &self))
		return refuse(&c, "rules need a field with a type");
	if (env->resource && self.kind == K_OBJECT)
		self.kind = K_RESOURCE;
	c.slot[CEL_SLOT_SELF] = self;
	c.slot[CEL_SLOT_OLD] = env->optional_old ? with_elem(&c, K_OPTIONAL, self) : self;
	int r = check(&c, e->root, &t);
	if (r < 0)
		return r;
	enum kind want = env->text ? K_STRING : K_BOOL;
	if (!is(&t, want))
		return refuse(&c, "the result is of type '%s', not '%s'", kind_names[t.kind],
			      kind_names[want]);
	return 0;
}

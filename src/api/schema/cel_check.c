/* Types of CEL expressions, as the schema gives them: a misspelt field or a comparison that cannot
 * be is found when the CRD is read, not when the first object comes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/schema/cel_priv.h"
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

static int refuse(struct check *check, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(check->err, check->err_n, fmt, ap);
	va_end(ap);
	return ERR_TYPE;
}

static struct type simple(enum kind kind)
{
	return (struct type){ .kind = kind };
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
static bool type_of_node(const struct schema_node *node, struct type *ret)
{
	static const enum kind kinds[] = {
		[SCHEMA_ANY] = K_DYN,	    [SCHEMA_OBJECT] = K_OBJECT, [SCHEMA_ARRAY] = K_LIST,
		[SCHEMA_STRING] = K_STRING, [SCHEMA_INTEGER] = K_INT,	[SCHEMA_NUMBER] = K_DOUBLE,
		[SCHEMA_BOOLEAN] = K_BOOL,
	};
	struct type ignored;
	*ret = (struct type){ .kind = node->int_or_string ? K_DYN : kinds[node->type],
			      .node = node };
	if (node->int_or_string)
		return true;
	if (node->type == SCHEMA_STRING)
		ret->kind = kind_of_string(node->format);
	if (node->type == SCHEMA_OBJECT && node->embedded)
		ret->kind = K_RESOURCE;
	if (node->type == SCHEMA_OBJECT && node->additional != NULL) {
		ret->kind = K_MAP;
		return type_of_node(node->additional, &ignored);
	}
	if (node->type == SCHEMA_ARRAY)
		return node->items != NULL && type_of_node(node->items, &ignored);
	return node->type != SCHEMA_ANY;
}

static struct type elem_of(const struct type *type)
{
	struct type e = simple(K_DYN);
	if (type->node != NULL &&
	    !type_of_node(type->kind == K_MAP ? type->node->additional : type->node->items, &e))
		return simple(K_DYN);
	return type->elem != NULL ? *type->elem : e;
}

static struct type with_elem(struct check *check, enum kind kind, struct type elem)
{
	return (struct type){ .kind = kind, .elem = arena_memdup(check->a, &elem, sizeof(elem)) };
}

/* ---- agreement ---- */

static enum kind plain(enum kind kind)
{
	return kind == K_RESOURCE || kind == K_METADATA ? K_OBJECT : kind;
}

static bool agree(const struct type *left, const struct type *right)
{
	enum kind x_kind = plain(left->kind), y_kind = plain(right->kind);
	if (x_kind == K_DYN || y_kind == K_DYN)
		return true;
	if (x_kind == K_NULL || y_kind == K_NULL) /* only objects may be null to a rule */
		return x_kind == y_kind || x_kind == K_OBJECT || y_kind == K_OBJECT;
	if (x_kind != y_kind || x_kind == K_OTHER)
		return false;
	if (x_kind == K_OBJECT)
		return left->node == right->node; /* two schemas are two types */
	if (left->kind != K_LIST && left->kind != K_MAP)
		return true;
	struct type x = elem_of(left), y = elem_of(right);
	return agree(&x, &y);
}

static bool is(const struct type *type, enum kind kind)
{
	return type->kind == kind || type->kind == K_DYN;
}

static bool is_number(const struct type *type)
{
	return is(type, K_INT) || type->kind == K_DOUBLE;
}

static int no_overload(struct check *check, const char *what, const struct type *left,
		       const struct type *right)
{
	return refuse(check, "found no matching overload for '%s' applied to '(%s%s%s)'", what,
		      kind_names[left->kind], right != NULL ? ", " : "",
		      right != NULL ? kind_names[right->kind] : "");
}

/* ---- expressions ---- */

static int check_select(struct check *c, const struct cel_node *node, struct type *ret)
{
	struct type of = { 0 };
	int r = check(c, node->arg[0], &of);
	if (r < 0)
		return r;
	bool meta = of.kind == K_METADATA;
	bool resource = of.kind == K_RESOURCE;
	bool word = strcmp(node->name, "apiVersion") == 0 || strcmp(node->name, "kind") == 0;
	bool name = strcmp(node->name, "name") == 0 || strcmp(node->name, "generateName") == 0;
	const struct schema_node *p = of.node != NULL ? schema_property(of.node, node->name) : NULL;
	if (of.kind == K_DYN)
		*ret = simple(K_DYN);
	else if (of.kind == K_MAP)
		*ret = elem_of(&of);
	else if ((resource && word) || (meta && name))
		*ret = simple(K_STRING);
	else if (resource && strcmp(node->name, "metadata") == 0)
		*ret = simple(K_METADATA);
	else if (plain(of.kind) != K_OBJECT)
		return refuse(c, "type '%s' has no field '%s'", kind_names[of.kind], node->name);
	else if (meta || p == NULL || !type_of_node(p, ret))
		return refuse(c, "undefined field '%s'", node->name);
	if (node->op == CEL_OP_HAS)
		*ret = simple(K_BOOL);
	return 0;
}

static int check_index(struct check *c, const struct cel_node *node, struct type *ret)
{
	struct type of = { 0 }, key = { 0 };
	int r = check(c, node->arg[0], &of);
	if (r < 0 || (r = check(c, node->arg[1], &key)) < 0)
		return r;
	bool ok = of.kind == K_DYN || (of.kind == K_LIST && is(&key, K_INT)) ||
		  (of.kind == K_MAP && (is(&key, K_STRING) || of.elem != NULL));
	if (!ok)
		return no_overload(c, "_[_]", &of, &key);
	*ret = of.kind == K_DYN ? simple(K_DYN) : elem_of(&of);
	return 0;
}

/* Lists, and maps, whose keys and values stand by turns. */
static int check_items(struct check *c, const struct cel_node *node, struct type *ret)
{
	bool map = node->op == CEL_OP_MAP;
	struct type elem = simple(K_DYN), t = elem;
	for (size_t i = 0; i < node->n_args; i++) {
		int r = check(c, node->arg[i], &t);
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

static int check_cond(struct check *c, const struct cel_node *node, struct type *ret)
{
	struct type cond = { 0 }, a = { 0 }, b = { 0 };
	int r = check(c, node->arg[0], &cond);
	if (r < 0 || (r = check(c, node->arg[1], &a)) < 0 || (r = check(c, node->arg[2], &b)) < 0)
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

static int check_unary(struct check *c, const struct cel_node *node, struct type *ret)
{
	*ret = simple(K_DYN);
	int r = check(c, node->arg[0], ret);
	if (r < 0)
		return r;
	if (node->op == CEL_OP_NOT ? !is(ret, K_BOOL) : !is_number(ret))
		return no_overload(c, op_names[node->op], ret, NULL);
	return 0;
}

static bool arithmetic_fits(enum cel_op op, const struct type *left, const struct type *right)
{
	if (!agree(left, right) || left->kind == K_NULL || right->kind == K_NULL)
		return false;
	if (op == CEL_OP_MOD)
		return is(left, K_INT) && is(right, K_INT);
	if (op == CEL_OP_ADD && (is(left, K_STRING) || is(left, K_LIST)))
		return true;
	return is_number(left) && is_number(right);
}

static bool order_fits(const struct type *left, const struct type *right)
{
	return (is_number(left) && is_number(right)) ||
	       (is(left, K_STRING) && is(right, K_STRING)) ||
	       (is(left, K_BOOL) && is(right, K_BOOL));
}

static bool in_fits(const struct type *left, const struct type *right)
{
	if (right->kind == K_MAP)
		return is(left, K_STRING) || right->elem != NULL;
	struct type e = right->kind == K_LIST ? elem_of(right) : simple(K_DYN);
	return is(right, K_LIST) && agree(left, &e);
}

static int check_binary(struct check *c, const struct cel_node *node, struct type *ret)
{
	struct type a = { 0 }, b = { 0 };
	bool fits;
	int r = check(c, node->arg[0], &a);
	if (r < 0 || (r = check(c, node->arg[1], &b)) < 0)
		return r;
	*ret = simple(K_BOOL);
	if (node->op == CEL_OP_AND || node->op == CEL_OP_OR) {
		fits = is(&a, K_BOOL) && is(&b, K_BOOL);
	} else if (node->op == CEL_OP_EQ || node->op == CEL_OP_NE) {
		fits = agree(&a, &b);
	} else if (node->op == CEL_OP_IN) {
		fits = in_fits(&a, &b);
	} else if (node->op >= CEL_OP_LT && node->op <= CEL_OP_GE) {
		fits = order_fits(&a, &b);
	} else {
		fits = arithmetic_fits(node->op, &a, &b);
		*ret = a.kind == K_DYN ? b : a;
	}
	return fits ? 0 : no_overload(c, op_names[node->op], &a, &b);
}

static int check_call(struct check *c, const struct cel_node *node, struct type *ret)
{
	struct type arg[CEL_ARGS_MAX] = { 0 };
	const char *f = node->fn->name;
	for (size_t i = 0; i < node->n_args; i++) {
		int r = check(c, node->arg[i], &arg[i]);
		if (r < 0)
			return r;
	}
	const struct type *second = node->fn->n_args > 1 ? &arg[1] : NULL;
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

static int check_loop(struct check *c, const struct cel_node *node, struct type *ret)
{
	struct type range = { 0 }, first = { 0 }, last, outer = c->slot[node->slot];
	int r = check(c, node->arg[0], &range);
	if (r < 0)
		return r;
	if (range.kind != K_LIST && range.kind != K_MAP && range.kind != K_DYN)
		return refuse(c, "type '%s' cannot be gone through", kind_names[range.kind]);
	struct type item = range.kind == K_LIST ? elem_of(&range)
						: simple(range.kind == K_MAP ? K_STRING : K_DYN);
	c->slot[node->slot] = item;
	r = check(c, node->arg[1], &first);
	last = first;
	if (r >= 0 && node->n_args == 3)
		r = check(c, node->arg[2], &last);
	c->slot[node->slot] = outer;
	if (r < 0)
		return r;
	bool condition = node->loop != CEL_TRANSFORM || node->n_args == 3;
	if (condition && !is(&first, K_BOOL))
		return refuse(c, "a macro's condition is of type '%s'", kind_names[first.kind]);
	*ret = simple(K_BOOL);
	if (node->loop == CEL_FILTER || node->loop == CEL_TRANSFORM)
		*ret = with_elem(c, K_LIST, node->loop == CEL_FILTER ? item : last);
	return 0;
}

static int check_literal(const struct cel_node *node, struct type *ret)
{
	static const enum kind kinds[] = {
		[CEL_NULL] = K_NULL,	 [CEL_BOOL] = K_BOOL,	  [CEL_INT] = K_INT,
		[CEL_DOUBLE] = K_DOUBLE, [CEL_STRING] = K_STRING,
	};
	*ret = simple(kinds[node->literal.type]);
	return 0;
}

static int check(struct check *check, const struct cel_node *node, struct type *ret)
{
	switch (node->op) {
	case CEL_OP_LITERAL:
		return check_literal(node, ret);
	case CEL_OP_SLOT:
		*ret = check->slot[node->slot];
		return 0;
	case CEL_OP_SELECT:
	case CEL_OP_HAS:
		return check_select(check, node, ret);
	case CEL_OP_INDEX:
		return check_index(check, node, ret);
	case CEL_OP_LIST:
	case CEL_OP_MAP:
		return check_items(check, node, ret);
	case CEL_OP_COND:
		return check_cond(check, node, ret);
	case CEL_OP_NOT:
	case CEL_OP_NEGATE:
		return check_unary(check, node, ret);
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
		return check_binary(check, node, ret);
	case CEL_OP_CALL:
		return check_call(check, node, ret);
	case CEL_OP_LOOP:
		return check_loop(check, node, ret);
	}
	return ERR_INTERNAL;
}

int cel_check(const struct cel_expr *expr, const struct cel_env *env, struct arena *arena,
	      char *err, size_t err_n)
{
	struct check c = { .a = arena, .err = err, .err_n = err_n };
	struct type self, t = { 0 };
	if (!type_of_node(env->self, &self))
		return refuse(&c, "rules need a field with a type");
	if (env->resource && self.kind == K_OBJECT)
		self.kind = K_RESOURCE;
	c.slot[CEL_SLOT_SELF] = self;
	c.slot[CEL_SLOT_OLD] = env->optional_old ? with_elem(&c, K_OPTIONAL, self) : self;
	int r = check(&c, expr->root, &t);
	if (r < 0)
		return r;
	enum kind want = env->text ? K_STRING : K_BOOL;
	if (!is(&t, want))
		return refuse(&c, "the result is of type '%s', not '%s'", kind_names[t.kind],
			      kind_names[want]);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Type-checks CEL expressions against the declared type of `self`: a misspelt field or a comparison
 * of types that cannot be compared is found when the CRD is read, not with the first object. */
#include "cel/check_priv.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/err_text.h"
#include "cel/eval.h"
#include "cel/funcs_priv.h"
#include "cel/node_priv.h"

static const char *const kind_names[] = {
	[CEL_KIND_DYN] = "dyn",
	[CEL_KIND_NULL] = "null",
	[CEL_KIND_BOOL] = "bool",
	[CEL_KIND_INT] = "int",
	[CEL_KIND_DOUBLE] = "double",
	[CEL_KIND_STRING] = "string",
	[CEL_KIND_LIST] = "list",
	[CEL_KIND_MAP] = "map",
	[CEL_KIND_OBJECT] = "object",
	[CEL_KIND_RESOURCE] = "object",
	[CEL_KIND_METADATA] = "object",
	[CEL_KIND_OPTIONAL] = "optional",
	[CEL_KIND_OTHER] = "time or bytes",
};

struct type {
	enum cel_kind kind;
	const struct cel_type *declared; /* NULL: made by the expression */
	const struct type *elem;	 /* then: of items, values, or what is optional */
};

struct check {
	struct type slots[CEL_SLOTS_MAX];
	struct arena *arena;
	struct err_text err;
};

static int check_node(struct check *check, const struct cel_node *node, struct type *ret);

static int set_error(struct check *check, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int set_error(struct check *check, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_text_vset(check->err, fmt, ap);
	va_end(ap);
	return ERR_TYPE;
}

static struct type simple_type(enum cel_kind kind)
{
	return (struct type){ .kind = kind };
}

/* ---- types ---- */

/* False: expressions cannot use it. */
static bool read_declared(const struct cel_type *declared, struct type *ret)
{
	*ret = (struct type){ .kind = declared->kind, .declared = declared };
	return !declared->hidden;
}

static struct type elem_of(const struct type *type)
{
	struct type e = simple_type(CEL_KIND_DYN);
	const struct cel_type *declared = type->declared;
	if (declared != NULL &&
	    !read_declared(type->kind == CEL_KIND_MAP ? declared->values : declared->items, &e))
		return simple_type(CEL_KIND_DYN);
	return type->elem != NULL ? *type->elem : e;
}

static struct type with_elem(struct check *check, enum cel_kind kind, struct type elem)
{
	return (struct type){ .kind = kind,
			      .elem = arena_memdup(check->arena, &elem, sizeof(elem)) };
}

/* ---- agreement ---- */

static enum cel_kind kind_without_role(enum cel_kind kind)
{
	return kind == CEL_KIND_RESOURCE || kind == CEL_KIND_METADATA ? CEL_KIND_OBJECT : kind;
}

static bool types_agree(const struct type *left, const struct type *right)
{
	enum cel_kind x_kind = kind_without_role(left->kind),
		      y_kind = kind_without_role(right->kind);
	if (x_kind == CEL_KIND_DYN || y_kind == CEL_KIND_DYN)
		return true;
	/* Only objects may be null to a rule. */
	if (x_kind == CEL_KIND_NULL || y_kind == CEL_KIND_NULL)
		return x_kind == y_kind || x_kind == CEL_KIND_OBJECT || y_kind == CEL_KIND_OBJECT;
	if (x_kind != y_kind || x_kind == CEL_KIND_OTHER)
		return false;
	if (x_kind == CEL_KIND_OBJECT)
		return left->declared == right->declared;
	if (left->kind != CEL_KIND_LIST && left->kind != CEL_KIND_MAP)
		return true;
	struct type x = elem_of(left), y = elem_of(right);
	return types_agree(&x, &y);
}

static bool is_kind(const struct type *type, enum cel_kind kind)
{
	return type->kind == kind || type->kind == CEL_KIND_DYN;
}

static bool is_number(const struct type *type)
{
	return is_kind(type, CEL_KIND_INT) || type->kind == CEL_KIND_DOUBLE;
}

static int no_overload(struct check *check, const char *what, const struct type *left,
		       const struct type *right)
{
	return set_error(check, "found no matching overload for '%s' applied to '(%s%s%s)'", what,
			 kind_names[left->kind], right != NULL ? ", " : "",
			 right != NULL ? kind_names[right->kind] : "");
}

/* ---- expressions ---- */

static int check_select(struct check *check, const struct cel_node *node, struct type *ret)
{
	struct type of = { 0 };
	int r = check_node(check, node->args[0], &of);
	if (r < 0)
		return r;
	bool meta = of.kind == CEL_KIND_METADATA;
	bool resource = of.kind == CEL_KIND_RESOURCE;
	bool word = strcmp(node->name, "apiVersion") == 0 || strcmp(node->name, "kind") == 0;
	bool name = strcmp(node->name, "name") == 0 || strcmp(node->name, "generateName") == 0;
	const struct cel_type *field =
		of.declared != NULL ? map_get(&of.declared->fields, slice_of(node->name)) : NULL;
	if (of.kind == CEL_KIND_DYN)
		*ret = simple_type(CEL_KIND_DYN);
	else if (of.kind == CEL_KIND_MAP)
		*ret = elem_of(&of);
	else if ((resource && word) || (meta && name))
		*ret = simple_type(CEL_KIND_STRING);
	else if (resource && strcmp(node->name, "metadata") == 0)
		*ret = simple_type(CEL_KIND_METADATA);
	else if (kind_without_role(of.kind) != CEL_KIND_OBJECT)
		return set_error(check, "type '%s' has no field '%s'", kind_names[of.kind],
				 node->name);
	else if (meta || field == NULL || !read_declared(field, ret))
		return set_error(check, "undefined field '%s'", node->name);
	if (node->op == CEL_OP_HAS)
		*ret = simple_type(CEL_KIND_BOOL);
	return 0;
}

static int check_index(struct check *check, const struct cel_node *node, struct type *ret)
{
	struct type of = { 0 }, key = { 0 };
	int r = check_node(check, node->args[0], &of);
	if (r < 0 || (r = check_node(check, node->args[1], &key)) < 0)
		return r;
	bool ok = of.kind == CEL_KIND_DYN ||
		  (of.kind == CEL_KIND_LIST && is_kind(&key, CEL_KIND_INT)) ||
		  (of.kind == CEL_KIND_MAP && (is_kind(&key, CEL_KIND_STRING) || of.elem != NULL));
	if (!ok)
		return no_overload(check, "_[_]", &of, &key);
	*ret = of.kind == CEL_KIND_DYN ? simple_type(CEL_KIND_DYN) : elem_of(&of);
	return 0;
}

/* Lists, and maps, whose keys and values stand by turns. */
static int check_items(struct check *check, const struct cel_node *node, struct type *ret)
{
	bool map = node->op == CEL_OP_MAP;
	struct type elem = simple_type(CEL_KIND_DYN), t = elem;
	for (size_t i = 0; i < node->n_args; i++) {
		int r = check_node(check, node->args[i], &t);
		if (r < 0)
			return r;
		if (map && i % 2 == 0) {
			if (!is_kind(&t, CEL_KIND_STRING) && t.kind != CEL_KIND_INT &&
			    t.kind != CEL_KIND_BOOL)
				return set_error(check, "a map's key may not be of type '%s'",
						 kind_names[t.kind]);
			continue;
		}
		if (i <= (size_t)map)
			elem = t;
		else if (!types_agree(&elem, &t))
			elem = simple_type(CEL_KIND_DYN);
	}
	*ret = with_elem(check, map ? CEL_KIND_MAP : CEL_KIND_LIST, elem);
	return 0;
}

static int check_cond(struct check *check, const struct cel_node *node, struct type *ret)
{
	struct type cond = { 0 }, a = { 0 }, b = { 0 };
	int r = check_node(check, node->args[0], &cond);
	if (r < 0 || (r = check_node(check, node->args[1], &a)) < 0 ||
	    (r = check_node(check, node->args[2], &b)) < 0)
		return r;
	if (!is_kind(&cond, CEL_KIND_BOOL) || !types_agree(&a, &b))
		return no_overload(check, "_?_:_", &a, &b);
	*ret = a.kind == CEL_KIND_NULL ? b : a;
	return 0;
}

static const char *const op_names[] = {
	[CEL_OP_AND] = "_&&_", [CEL_OP_OR] = "_||_", [CEL_OP_NOT] = "!_",  [CEL_OP_NEGATE] = "-_",
	[CEL_OP_ADD] = "_+_",  [CEL_OP_SUB] = "_-_", [CEL_OP_MUL] = "_*_", [CEL_OP_DIV] = "_/_",
	[CEL_OP_MOD] = "_%_",  [CEL_OP_EQ] = "_==_", [CEL_OP_NE] = "_!=_", [CEL_OP_LT] = "_<_",
	[CEL_OP_LE] = "_<=_",  [CEL_OP_GT] = "_>_",  [CEL_OP_GE] = "_>=_", [CEL_OP_IN] = "@in",
};

static int check_unary(struct check *check, const struct cel_node *node, struct type *ret)
{
	*ret = simple_type(CEL_KIND_DYN);
	int r = check_node(check, node->args[0], ret);
	if (r < 0)
		return r;
	if (node->op == CEL_OP_NOT ? !is_kind(ret, CEL_KIND_BOOL) : !is_number(ret))
		return no_overload(check, op_names[node->op], ret, NULL);
	return 0;
}

static bool arithmetic_fits(enum cel_op op, const struct type *left, const struct type *right)
{
	if (!types_agree(left, right) || left->kind == CEL_KIND_NULL ||
	    right->kind == CEL_KIND_NULL)
		return false;
	if (op == CEL_OP_MOD)
		return is_kind(left, CEL_KIND_INT) && is_kind(right, CEL_KIND_INT);
	if (op == CEL_OP_ADD && (is_kind(left, CEL_KIND_STRING) || is_kind(left, CEL_KIND_LIST)))
		return true;
	return is_number(left) && is_number(right);
}

static bool order_fits(const struct type *left, const struct type *right)
{
	return (is_number(left) && is_number(right)) ||
	       (is_kind(left, CEL_KIND_STRING) && is_kind(right, CEL_KIND_STRING)) ||
	       (is_kind(left, CEL_KIND_BOOL) && is_kind(right, CEL_KIND_BOOL));
}

static bool in_fits(const struct type *left, const struct type *right)
{
	if (right->kind == CEL_KIND_MAP)
		return is_kind(left, CEL_KIND_STRING) || right->elem != NULL;
	struct type e = right->kind == CEL_KIND_LIST ? elem_of(right) : simple_type(CEL_KIND_DYN);
	return is_kind(right, CEL_KIND_LIST) && types_agree(left, &e);
}

static int check_binary(struct check *check, const struct cel_node *node, struct type *ret)
{
	struct type a = { 0 }, b = { 0 };
	bool fits;
	int r = check_node(check, node->args[0], &a);
	if (r < 0 || (r = check_node(check, node->args[1], &b)) < 0)
		return r;
	*ret = simple_type(CEL_KIND_BOOL);
	if (node->op == CEL_OP_AND || node->op == CEL_OP_OR) {
		fits = is_kind(&a, CEL_KIND_BOOL) && is_kind(&b, CEL_KIND_BOOL);
	} else if (node->op == CEL_OP_EQ || node->op == CEL_OP_NE) {
		fits = types_agree(&a, &b);
	} else if (node->op == CEL_OP_IN) {
		fits = in_fits(&a, &b);
	} else if (node->op >= CEL_OP_LT && node->op <= CEL_OP_GE) {
		fits = order_fits(&a, &b);
	} else {
		fits = arithmetic_fits(node->op, &a, &b);
		*ret = a.kind == CEL_KIND_DYN ? b : a;
	}
	return fits ? 0 : no_overload(check, op_names[node->op], &a, &b);
}

static int check_call(struct check *check, const struct cel_node *node, struct type *ret)
{
	struct type arg[CEL_ARGS_MAX] = { 0 };
	assert(node->n_args <= CEL_ARGS_MAX);
	const char *f = node->function->name;
	for (size_t i = 0; i < node->n_args; i++) {
		int r = check_node(check, node->args[i], &arg[i]);
		if (r < 0)
			return r;
	}
	const struct type *second = node->function->n_args > 1 ? &arg[1] : NULL;
	if (strcmp(f, "size") == 0) {
		*ret = simple_type(CEL_KIND_INT);
		if (is_kind(arg, CEL_KIND_STRING) || arg->kind == CEL_KIND_LIST ||
		    arg->kind == CEL_KIND_MAP)
			return 0;
		return no_overload(check, f, arg, second);
	}
	if (strcmp(f, "hasValue") == 0 || strcmp(f, "value") == 0 || strcmp(f, "orValue") == 0) {
		if (arg->kind != CEL_KIND_OPTIONAL ||
		    (second != NULL && !types_agree(arg->elem, second)))
			return no_overload(check, f, arg, second);
		*ret = strcmp(f, "hasValue") == 0 ? simple_type(CEL_KIND_BOOL) : *arg->elem;
		return 0;
	}
	*ret = simple_type(CEL_KIND_BOOL); /* functions of two strings */
	return is_kind(&arg[0], CEL_KIND_STRING) && is_kind(&arg[1], CEL_KIND_STRING)
		       ? 0
		       : no_overload(check, f, arg, second);
}

static int check_loop(struct check *check, const struct cel_node *node, struct type *ret)
{
	struct type range = { 0 }, first = { 0 }, last, outer = check->slots[node->slot];
	assert(node->slot >= CEL_SLOT_FREE && node->slot < CEL_SLOTS_MAX);
	int r = check_node(check, node->args[0], &range);
	if (r < 0)
		return r;
	if (range.kind != CEL_KIND_LIST && range.kind != CEL_KIND_MAP && range.kind != CEL_KIND_DYN)
		return set_error(check, "type '%s' cannot be iterated", kind_names[range.kind]);
	struct type item =
		range.kind == CEL_KIND_LIST
			? elem_of(&range)
			: simple_type(range.kind == CEL_KIND_MAP ? CEL_KIND_STRING : CEL_KIND_DYN);
	check->slots[node->slot] = item;
	r = check_node(check, node->args[1], &first);
	last = first;
	if (r >= 0 && node->n_args == 3)
		r = check_node(check, node->args[2], &last);
	check->slots[node->slot] = outer;
	if (r < 0)
		return r;
	bool condition = node->loop != CEL_TRANSFORM || node->n_args == 3;
	if (condition && !is_kind(&first, CEL_KIND_BOOL))
		return set_error(check, "a macro's condition is of type '%s'",
				 kind_names[first.kind]);
	*ret = simple_type(CEL_KIND_BOOL);
	if (node->loop == CEL_FILTER || node->loop == CEL_TRANSFORM)
		*ret = with_elem(check, CEL_KIND_LIST, node->loop == CEL_FILTER ? item : last);
	return 0;
}

static int check_literal(const struct cel_node *node, struct type *ret)
{
	static const enum cel_kind kinds[] = {
		[CEL_NULL] = CEL_KIND_NULL,	[CEL_BOOL] = CEL_KIND_BOOL,
		[CEL_INT] = CEL_KIND_INT,	[CEL_DOUBLE] = CEL_KIND_DOUBLE,
		[CEL_STRING] = CEL_KIND_STRING,
	};
	*ret = simple_type(kinds[node->literal.type]);
	return 0;
}

static int check_node(struct check *check, const struct cel_node *node, struct type *ret)
{
	switch (node->op) {
	case CEL_OP_LITERAL:
		return check_literal(node, ret);
	case CEL_OP_SLOT:
		*ret = check->slots[node->slot];
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
	      struct err_text err)
{
	struct check c = { .arena = arena, .err = err };
	struct type self, t = { 0 };
	if (!read_declared(env->self, &self))
		return set_error(&c, "rules need a field with a type");
	if (env->resource && self.kind == CEL_KIND_OBJECT)
		self.kind = CEL_KIND_RESOURCE;
	c.slots[CEL_SLOT_SELF] = self;
	c.slots[CEL_SLOT_OLD] = env->optional_old ? with_elem(&c, CEL_KIND_OPTIONAL, self) : self;
	int r = check_node(&c, expr->root, &t);
	if (r < 0)
		return r;
	enum cel_kind want = env->text ? CEL_KIND_STRING : CEL_KIND_BOOL;
	if (!is_kind(&t, want))
		return set_error(&c, "the result is of type '%s', not '%s'", kind_names[t.kind],
				 kind_names[want]);
	return 0;
}

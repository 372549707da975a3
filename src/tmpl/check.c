/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be known before there is data: types flow from the root class through fields, variables
 * and functions; fields are looked up, arguments counted, constants given the kind that is asked
 * for. Where a type depends on the data it is TMPL_ANY and the executor looks. */
#include "tmpl/check_priv.h"

#include "tmpl/tmpl_priv.h"

#include "base/err.h"
#include "tmpl/funcs_priv.h"
#include "tmpl/value_priv.h"

struct checker {
	struct tmpl *t;
	struct body *body;
	struct srcerr *err;
};

/* The words after the first of a command, and what the pipeline hands over. */
struct call_args {
	struct operand *v;
	uint32_t n;
	uint32_t pos;
	const struct tmpl_type *final; /* NULL: first command */
};

/* As `bits` of TMPL_ANY: among what it may be is an object without a text. */
enum { ANY_UNPRINTABLE = 1 };

static const struct tmpl_type type_any = { .kind = TMPL_ANY };
static const struct tmpl_type type_nil = { .kind = TMPL_NIL };
static const struct call_args no_args = { NULL, 0, 0, NULL };

static int check_pipe(struct checker *checker, struct pipe *pipe, const struct tmpl_type *dot,
		      struct tmpl_type *ret);
static int check_value(struct checker *checker, struct operand *operand,
		       const struct tmpl_type *dot, struct call_args args, struct tmpl_type *ret);

#define FAIL(c, pos, ...) srcerr_set((c)->err, tmpl_srcpos((c)->t, (pos)), __VA_ARGS__)
#define SHOW(s)		  (int)MIN((s).n, (size_t)100), (s).p

static bool same_type(const struct tmpl_type *left, const struct tmpl_type *right)
{
	if (left->kind != right->kind || left->bits != right->bits)
		return false;
	return left->kind < TMPL_LIST || left->kind == TMPL_ANY || left->cls == right->cls;
}

static bool is_unprintable(const struct tmpl_type *type)
{
	bool inner = type->kind == TMPL_LIST || type->kind == TMPL_MAP;
	while (type->kind == TMPL_LIST || type->kind == TMPL_MAP)
		type = type->kind == TMPL_LIST ? &type->list->elem : &type->map->elem;
	if (type->kind == TMPL_ANY)
		return type->bits == ANY_UNPRINTABLE;
	return type->kind == TMPL_OBJECT && (inner || type->cls->text == NULL);
}

static void join_types(struct tmpl_type *type, const struct tmpl_type *tmpl_type)
{
	if (same_type(type, tmpl_type))
		return;
	uint8_t bits = is_unprintable(type) || is_unprintable(tmpl_type) ? ANY_UNPRINTABLE : 0;
	*type = (struct tmpl_type){ .kind = TMPL_ANY, .bits = bits };
}

static struct slice type_name(const struct tmpl_type *type)
{
	struct tmpl_value v = tmpl_zero(type);
	return tmpl_type_name(&v);
}

static const char *kind_name(enum tmpl_kind kind)
{
	return type_name(&(struct tmpl_type){ .kind = kind }).p;
}

static enum tmpl_kind wanted_kind(const enum tmpl_kind *kinds, size_t left, size_t right)
{
	return right < left && kinds[right] != TMPL_NIL ? kinds[right] : TMPL_ANY;
}

static int check_printable(struct checker *checker, const struct tmpl_type *type, uint32_t pos)
{
	struct slice name = type_name(type);
	if (!is_unprintable(type))
		return 0;
	if (type->kind == TMPL_ANY)
		return FAIL(checker, pos,
			    "printing a value that may be an object is not supported");
	return FAIL(checker, pos, "printing a %.*s is not supported", SHOW(name));
}

static int check_kind(struct checker *checker, const struct tmpl_type *type, enum tmpl_kind want,
		      uint32_t pos)
{
	if (want == TMPL_ANY || type->kind == TMPL_ANY || (type->kind == want && type->bits == 0))
		return 0;
	if (type->kind == TMPL_NIL)
		return FAIL(checker, pos, "invalid value; expected %s", kind_name(want));
	struct slice got = type_name(type);
	return FAIL(checker, pos, "wrong type for value; expected %s; got %.*s", kind_name(want),
		    SHOW(got));
}

/* Gives a number the kind asked for. */
static bool fit_number(struct operand *operand, enum tmpl_kind want)
{
	const struct number *n = operand->number;
	if (want == TMPL_INT && n->is_int)
		operand->value = tmpl_int(n->i);
	else if (want == TMPL_UINT && n->is_uint)
		operand->value = tmpl_uint(n->u, 0);
	else if (want == TMPL_FLOAT && n->is_float)
		operand->value = tmpl_float(n->f);
	else
		return false;
	return true;
}

static int check_const(struct checker *checker, struct operand *operand, enum tmpl_kind want,
		       struct tmpl_type *ret)
{
	static const char *const names[] = {
		[TMPL_NIL] = "nil",	 [TMPL_BOOL] = "bool",
		[TMPL_INT] = "integer",	 [TMPL_UINT] = "unsigned integer",
		[TMPL_FLOAT] = "float",	 [TMPL_STRING] = "string",
		[TMPL_LIST] = "list",	 [TMPL_MAP] = "map",
		[TMPL_OBJECT] = "object"
	};
	if (want == TMPL_ANY && operand->kind == OPERAND_NUMBER && operand->value.kind == TMPL_NIL)
		return FAIL(checker, operand->pos, "%.*s overflows int", SHOW(operand->text));
	bool fits = want == TMPL_ANY || (operand->kind == OPERAND_BOOL && want == TMPL_BOOL) ||
		    (operand->kind == OPERAND_STRING && want == TMPL_STRING) ||
		    (operand->kind == OPERAND_NUMBER && fit_number(operand, want));
	if (!fits)
		return FAIL(checker, operand->pos, "expected %s; found %.*s", names[want],
			    SHOW(operand->text));
	*ret = (struct tmpl_type){ .kind = operand->value.kind };
	return 0;
}

static int check_arg(struct checker *checker, struct operand *operand, const struct tmpl_type *dot,
		     enum tmpl_kind want, struct tmpl_type *ret)
{
	int r;
	switch (operand->kind) {
	case OPERAND_NIL:
		*ret = type_nil;
		if (want != TMPL_ANY)
			return FAIL(checker, operand->pos, "cannot assign nil to %s",
				    kind_name(want));
		return 0;
	case OPERAND_BOOL:
	case OPERAND_NUMBER:
	case OPERAND_STRING:
		return check_const(checker, operand, want, ret);
	case OPERAND_DOT:
	case OPERAND_FIELD:
	case OPERAND_VAR:
	case OPERAND_FUNC:
	case OPERAND_PIPE:
	case OPERAND_CHAIN:
		r = check_value(checker, operand, dot, no_args, ret);
		return r < 0 ? r : check_kind(checker, ret, want, operand->pos);
	}
	return ERR_INTERNAL;
}

/* All arguments of a call; `ret_types` (may be NULL) has room for all, the final one last. */
static int check_args(struct checker *checker, const struct call_args *args,
		      const struct tmpl_type *dot, const enum tmpl_kind *kinds, size_t n_kinds,
		      struct tmpl_type *ret_types)
{
	struct tmpl_type type;
	for (uint32_t i = 0; i < args->n; i++) {
		int r = check_arg(checker, &args->v[i], dot, wanted_kind(kinds, n_kinds, i), &type);
		if (r < 0)
			return r;
		if (ret_types != NULL)
			ret_types[i] = type;
	}
	if (args->final == NULL)
		return 0;
	if (ret_types != NULL)
		ret_types[args->n] = *args->final;
	return check_kind(checker, args->final, wanted_kind(kinds, n_kinds, args->n), args->pos);
}

static void index_type(const struct tmpl_type *types, uint32_t count, struct tmpl_type *ret)
{
	*ret = count > 0 ? types[0] : type_any;
	for (uint32_t i = 1; i < count; i++) {
		struct tmpl_type item = *ret;
		*ret = type_any;
		if (item.kind == TMPL_LIST)
			*ret = item.list->elem;
		else if (item.kind == TMPL_MAP)
			*ret = item.map->elem;
		else if (item.kind == TMPL_STRING)
			*ret = (struct tmpl_type){ .kind = TMPL_UINT, .bits = 8 };
	}
}

static void func_type(const struct tmpl_func *func, const struct tmpl_type *types, uint32_t count,
		      struct tmpl_type *ret)
{
	*ret = func->ret;
	if (func->fn == tmpl_fn_index) {
		index_type(types, count, ret);
	} else if (func->fn == tmpl_fn_slice) {
		*ret = types[0].kind == TMPL_STRING || types[0].kind == TMPL_LIST ? types[0]
										  : type_any;
	} else if (tmpl_is_lazy(func)) {
		*ret = types[0];
		for (uint32_t i = 1; i < count; i++)
			join_types(ret, &types[i]);
	}
}

static int check_call(struct checker *checker, const struct operand *operand,
		      const struct tmpl_type *dot, const struct call_args *args,
		      struct tmpl_type *ret)
{
	const struct tmpl_func *f = operand->func;
	struct tmpl_type types[TMPL_MAX_ARGS + 1];
	uint32_t n = args->n + (args->final != NULL);
	if (f->max_args == TMPL_VARIADIC && n < f->min_args)
		return FAIL(checker, operand->pos,
			    "wrong number of args for %s: want at least %d got %u", f->name,
			    f->min_args, args->n);
	if (f->max_args != TMPL_VARIADIC && (n < f->min_args || n > f->max_args))
		return FAIL(checker, operand->pos, "wrong number of args for %s: want %d got %u",
			    f->name, f->max_args, n);
	int r = check_args(checker, args, dot, f->args, TMPL_FUNC_ARGS, types);
	for (uint32_t i = 0; r == 0 && f->prints && i < n; i++)
		r = check_printable(checker, &types[i], operand->pos);
	if (r == 0)
		func_type(f, types, n, ret);
	return r;
}

static int check_object_step(struct checker *checker, const struct operand *operand,
			     struct step *step, const struct tmpl_type *dot,
			     const struct call_args *args, struct tmpl_type *type)
{
	const struct tmpl_field *f = tmpl_find_field(type->cls, step->name);
	uint32_t n = args->n + (args->final != NULL);
	if (f == NULL)
		return FAIL(checker, operand->pos, "can't evaluate field %.*s in type %s",
			    SHOW(step->name), type->cls->name);
	if (f->call == NULL && n > 0)
		return FAIL(checker, operand->pos,
			    "%s has arguments but cannot be invoked as function", f->name);
	if (f->call != NULL && n != f->n_args)
		return FAIL(checker, operand->pos, "wrong number of args for %s: want %d got %u",
			    f->name, f->n_args, n);
	step->field = f;
	*type = f->type;
	return check_args(checker, args, dot, f->args, f->n_args, NULL);
}

/* One step of a field chain: `type` is what it is asked of and becomes what it gives. */
static int check_step(struct checker *checker, const struct operand *operand, struct step *step,
		      const struct tmpl_type *dot, const struct call_args *args,
		      struct tmpl_type *type)
{
	bool any_args = args->n > 0 || args->final != NULL;
	step->field = NULL;
	if (type->kind == TMPL_OBJECT)
		return check_object_step(checker, operand, step, dot, args, type);
	if (type->kind == TMPL_NIL)
		return check_args(checker, args, dot, NULL, 0, NULL);
	if (type->kind == TMPL_MAP && any_args)
		return FAIL(checker, operand->pos, "%.*s is not a method but has arguments",
			    SHOW(step->name));
	if (type->kind == TMPL_MAP || type->kind == TMPL_ANY) {
		*type = type_any;
		return check_args(checker, args, dot, NULL, 0, NULL);
	}
	struct slice name = type_name(type);
	return FAIL(checker, operand->pos, "can't evaluate field %.*s in type %.*s",
		    SHOW(step->name), SHOW(name));
}

static int check_steps(struct checker *checker, struct operand *operand,
		       const struct tmpl_type *dot, const struct call_args *args,
		       struct tmpl_type *type)
{
	for (uint32_t i = 0; i < operand->n_steps; i++) {
		bool last = i + 1 == operand->n_steps;
		int r = check_step(checker, operand, &operand->steps[i], dot,
				   last ? args : &no_args, type);
		if (r < 0)
			return r;
	}
	return 0;
}

static int not_a_function(struct checker *checker, const struct operand *operand)
{
	bool parens = operand->kind == OPERAND_PIPE;
	uint32_t pos = parens ? operand->pipe->pos : operand->pos,
		 end = parens ? operand->pipe->end : operand->end;
	struct slice words = { checker->t->text.p + pos, end - pos };
	return FAIL(checker, operand->pos, "can't give argument to non-function %.*s", SHOW(words));
}

/* What an operand is when evaluated, as the first word of a command or as an argument. */
static int check_value(struct checker *checker, struct operand *operand,
		       const struct tmpl_type *dot, struct call_args args, struct tmpl_type *ret)
{
	int r = 0;
	if (operand->kind == OPERAND_FUNC)
		return check_call(checker, operand, dot, &args, ret);
	if (operand->n_steps == 0 && (args.n > 0 || args.final != NULL))
		return not_a_function(checker, operand);
	switch (operand->kind) {
	case OPERAND_DOT:
	case OPERAND_FIELD:
		*ret = *dot;
		break;
	case OPERAND_VAR:
		*ret = checker->body->slots[operand->slot].type;
		break;
	case OPERAND_PIPE:
		r = check_pipe(checker, operand->pipe, dot, ret);
		break;
	case OPERAND_CHAIN:
		r = check_value(checker, operand->base, dot, no_args, ret);
		break;
	case OPERAND_NIL:
		return FAIL(checker, operand->pos, "nil is not a command");
	case OPERAND_BOOL:
	case OPERAND_NUMBER:
	case OPERAND_STRING:
		return check_const(checker, operand, TMPL_ANY, ret);
	case OPERAND_FUNC:
		return ERR_INTERNAL;
	}
	return r < 0 ? r : check_steps(checker, operand, dot, &args, ret);
}

static void set_slot(struct checker *checker, uint32_t slot, const struct tmpl_type *type)
{
	struct slot *s = &checker->body->slots[slot];
	if (!s->assigned) {
		s->type = *type;
		return;
	}
	/* It may be used above the place where it is assigned, in a loop: check again. */
	bool bad = is_unprintable(type);
	if (bad && s->type.bits != ANY_UNPRINTABLE)
		checker->body->stale = true;
	s->type.kind = TMPL_ANY;
	if (bad)
		s->type.bits = ANY_UNPRINTABLE;
}

static int check_pipe(struct checker *checker, struct pipe *pipe, const struct tmpl_type *dot,
		      struct tmpl_type *ret)
{
	struct tmpl_type type = type_nil, final;
	for (uint32_t i = 0; i < pipe->n_cmds; i++) {
		struct cmd *cmd = &pipe->cmds[i];
		final = type;
		struct call_args args = { cmd->args + 1, cmd->n_args - 1, cmd->pos,
					  i > 0 ? &final : NULL };
		int r = check_value(checker, &cmd->args[0], dot, args, &type);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < pipe->n_decls; i++)
		set_slot(checker, pipe->decls[i].slot, &type);
	*ret = type;
	return 0;
}

static int check_block(struct checker *checker, struct block *block, const struct tmpl_type *dot);

static int check_else(struct checker *checker, struct stmt *stmt, const struct tmpl_type *dot)
{
	return stmt->else_block != NULL ? check_block(checker, stmt->else_block, dot) : 0;
}

static int check_range(struct checker *checker, struct stmt *stmt, const struct tmpl_type *dot)
{
	struct tmpl_type type, key = { .kind = TMPL_INT };
	int r = check_pipe(checker, stmt->pipe, dot, &type);
	if (r < 0)
		return r;
	if (type.kind == TMPL_MAP)
		key.kind = TMPL_STRING;
	struct tmpl_type elem = type.kind == TMPL_LIST				  ? type.list->elem
				: type.kind == TMPL_MAP				  ? type.map->elem
				: type.kind == TMPL_INT || type.kind == TMPL_UINT ? type
										  : type_any;
	if (type.kind == TMPL_ANY)
		key = type_any;
	/* In the else branch the variables are what was ranged over. */
	const struct tmpl_type *one = stmt->else_block != NULL ? &type_any : &elem;
	const struct tmpl_type *first = stmt->else_block != NULL ? &type_any : &key;
	struct pipe *p = stmt->pipe;
	if (p->n_decls == 2)
		set_slot(checker, p->decls[0].slot, first);
	if (p->n_decls > 0)
		set_slot(checker, p->decls[p->n_decls - 1].slot, one);
	r = check_block(checker, &stmt->block, &elem);
	return r < 0 ? r : check_else(checker, stmt, dot);
}

/* The type a body is invoked with; it is checked again when that became less certain. */
static void add_caller(struct body *body, const struct tmpl_type *dot)
{
	struct tmpl_type old = body->dot;
	if (!body->called) {
		body->dot = *dot;
		body->called = body->stale = true;
		return;
	}
	join_types(&body->dot, dot);
	body->stale |= !same_type(&old, &body->dot);
}

static int check_template(struct checker *checker, struct stmt *stmt, const struct tmpl_type *dot)
{
	struct tmpl_type type = type_nil;
	stmt->callee = tmpl_find_template(checker->t, stmt->text);
	if (stmt->callee == NULL)
		return FAIL(checker, stmt->pos, "template \"%.*s\" not defined", SHOW(stmt->text));
	int r = stmt->pipe != NULL ? check_pipe(checker, stmt->pipe, dot, &type) : 0;
	if (r == 0)
		add_caller(stmt->callee, &type);
	return r;
}

static int check_stmt(struct checker *checker, struct stmt *stmt, const struct tmpl_type *dot)
{
	struct tmpl_type type;
	int r;
	switch (stmt->kind) {
	case STMT_TEXT:
	case STMT_BREAK:
	case STMT_CONTINUE:
		return 0;
	case STMT_ACTION:
		r = check_pipe(checker, stmt->pipe, dot, &type);
		if (r == 0 && stmt->pipe->n_decls == 0)
			r = check_printable(checker, &type, stmt->pipe->pos);
		return r;
	case STMT_IF:
	case STMT_WITH:
		r = check_pipe(checker, stmt->pipe, dot, &type);
		if (r == 0)
			r = check_block(checker, &stmt->block,
					stmt->kind == STMT_WITH ? &type : dot);
		return r < 0 ? r : check_else(checker, stmt, dot);
	case STMT_RANGE:
		return check_range(checker, stmt, dot);
	case STMT_TEMPLATE:
		return check_template(checker, stmt, dot);
	}
	return ERR_INTERNAL;
}

static int check_block(struct checker *checker, struct block *block, const struct tmpl_type *dot)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < block->n; i++)
		r = check_stmt(checker, &block->v[i], dot);
	return r;
}

static int check_body(struct checker *checker, struct body *body)
{
	checker->body = body;
	body->stale = false;
	struct tmpl_type dot = body->dot;
	set_slot(checker, 0, &dot);
	return check_block(checker, &body->block, &dot);
}

/* Bodies nobody invokes are checked too, last, with data of any type. */
static struct body *next_stale(const struct tmpl *tmpl)
{
	for (struct body *b = tmpl->bodies; b != NULL; b = b->next) {
		if (b->stale)
			return b;
	}
	for (struct body *b = tmpl->bodies; b != NULL; b = b->next) {
		if (!b->called) {
			add_caller(b, &type_any);
			return b;
		}
	}
	return NULL;
}

int tmpl_check(struct tmpl *tmpl, struct srcerr *err)
{
	struct checker c = { .t = tmpl, .err = err };
	struct body *b;
	add_caller(tmpl->main, &tmpl->env->root);
	while ((b = next_stale(tmpl)) != NULL) {
		int r = check_body(&c, b);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What can be known before there is data: types flow from the root class through fields, variables
 * and functions; fields are looked up, arguments counted, constants given the kind that is asked
 * for. Where a type depends on the data it is TMPL_ANY and the executor looks. */
#include "tmpl/tmpl_priv.h"

#include "base/err.h"

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

static int check_pipe(struct checker *c, struct pipe *pipe, const struct tmpl_type *dot,
		      struct tmpl_type *ret);
static int check_value(struct checker *c, struct operand *o, const struct tmpl_type *dot,
		       struct call_args args, struct tmpl_type *ret);

#define FAIL(c, pos, ...) srcerr_set((c)->err, tmpl_place((c)->t, (pos)), __VA_ARGS__)
#define SHOW(s)		  (int)MIN((s).n, (size_t)100), (s).p

static bool same_type(const struct tmpl_type *a, const struct tmpl_type *b)
{
	if (a->kind != b->kind || a->bits != b->bits)
		return false;
	return a->kind < TMPL_LIST || a->kind == TMPL_ANY || a->cls == b->cls;
}

static bool is_unprintable(const struct tmpl_type *t)
{
	bool inner = t->kind == TMPL_LIST || t->kind == TMPL_MAP;
	while (t->kind == TMPL_LIST || t->kind == TMPL_MAP)
		t = t->kind == TMPL_LIST ? &t->list->elem : &t->map->elem;
	if (t->kind == TMPL_ANY)
		return t->bits == ANY_UNPRINTABLE;
	return t->kind == TMPL_OBJECT && (inner || t->cls->text == NULL);
}

static void join(struct tmpl_type *a, const struct tmpl_type *b)
{
	if (same_type(a, b))
		return;
	uint8_t bits = is_unprintable(a) || is_unprintable(b) ? ANY_UNPRINTABLE : 0;
	*a = (struct tmpl_type){ .kind = TMPL_ANY, .bits = bits };
}

static struct slice type_name(const struct tmpl_type *t)
{
	struct tmpl_value v = tmpl_zero(t);
	return tmpl_type_name(&v);
}

static const char *kind_name(enum tmpl_kind k)
{
	return type_name(&(struct tmpl_type){ .kind = k }).p;
}

static enum tmpl_kind wanted(const enum tmpl_kind *kinds, size_t n, size_t i)
{
	return i < n && kinds[i] != TMPL_NIL ? kinds[i] : TMPL_ANY;
}

static int check_printable(struct checker *c, const struct tmpl_type *t, uint32_t pos)
{
	struct slice name = type_name(t);
	if (!is_unprintable(t))
		return 0;
	if (t->kind == TMPL_ANY)
		return FAIL(c, pos, "printing a value that may be an object is not supported");
	return FAIL(c, pos, "printing a %.*s is not supported", SHOW(name));
}

static int check_kind(struct checker *c, const struct tmpl_type *t, enum tmpl_kind want,
		      uint32_t pos)
{
	if (want == TMPL_ANY || t->kind == TMPL_ANY || (t->kind == want && t->bits == 0))
		return 0;
	if (t->kind == TMPL_NIL)
		return FAIL(c, pos, "invalid value; expected %s", kind_name(want));
	struct slice got = type_name(t);
	return FAIL(c, pos, "wrong type for value; expected %s; got %.*s", kind_name(want),
		    SHOW(got));
}

/* Gives a number the kind asked for. */
static bool fit_number(struct operand *o, enum tmpl_kind want)
{
	const struct number *n = o->number;
	if (want == TMPL_INT && n->is_int)
		o->value = tmpl_int(n->i);
	else if (want == TMPL_UINT && n->is_uint)
		o->value = tmpl_uint(n->u, 0);
	else if (want == TMPL_FLOAT && n->is_float)
		o->value = tmpl_float(n->f);
	else
		return false;
	return true;
}

static int check_const(struct checker *c, struct operand *o, enum tmpl_kind want,
		       struct tmpl_type *ret)
{
	static const char *const names[] = {
		[TMPL_NIL] = "nil",	 [TMPL_BOOL] = "bool",
		[TMPL_INT] = "integer",	 [TMPL_UINT] = "unsigned integer",
		[TMPL_FLOAT] = "float",	 [TMPL_STRING] = "string",
		[TMPL_LIST] = "list",	 [TMPL_MAP] = "map",
		[TMPL_OBJECT] = "object"
	};
	if (want == TMPL_ANY && o->kind == OPERAND_NUMBER && o->value.kind == TMPL_NIL)
		return FAIL(c, o->pos, "%.*s overflows int", SHOW(o->text));
	bool fits = want == TMPL_ANY || (o->kind == OPERAND_BOOL && want == TMPL_BOOL) ||
		    (o->kind == OPERAND_STRING && want == TMPL_STRING) ||
		    (o->kind == OPERAND_NUMBER && fit_number(o, want));
	if (!fits)
		return FAIL(c, o->pos, "expected %s; found %.*s", names[want], SHOW(o->text));
	*ret = (struct tmpl_type){ .kind = o->value.kind };
	return 0;
}

static int check_arg(struct checker *c, struct operand *o, const struct tmpl_type *dot,
		     enum tmpl_kind want, struct tmpl_type *ret)
{
	int r;
	switch (o->kind) {
	case OPERAND_NIL:
		*ret = type_nil;
		if (want != TMPL_ANY)
			return FAIL(c, o->pos, "cannot assign nil to %s", kind_name(want));
		return 0;
	case OPERAND_BOOL:
	case OPERAND_NUMBER:
	case OPERAND_STRING:
		return check_const(c, o, want, ret);
	case OPERAND_DOT:
	case OPERAND_FIELD:
	case OPERAND_VAR:
	case OPERAND_FUNC:
	case OPERAND_PIPE:
	case OPERAND_CHAIN:
		r = check_value(c, o, dot, no_args, ret);
		return r < 0 ? r : check_kind(c, ret, want, o->pos);
	}
	return ERR_INTERNAL;
}

/* All arguments of a call; `ret_types` (may be NULL) has room for all, the final one last. */
static int check_args(struct checker *c, const struct call_args *args, const struct tmpl_type *dot,
		      const enum tmpl_kind *kinds, size_t n_kinds, struct tmpl_type *ret_types)
{
	struct tmpl_type type;
	for (uint32_t i = 0; i < args->n; i++) {
		int r = check_arg(c, &args->v[i], dot, wanted(kinds, n_kinds, i), &type);
		if (r < 0)
			return r;
		if (ret_types != NULL)
			ret_types[i] = type;
	}
	if (args->final == NULL)
		return 0;
	if (ret_types != NULL)
		ret_types[args->n] = *args->final;
	return check_kind(c, args->final, wanted(kinds, n_kinds, args->n), args->pos);
}

static void index_type(const struct tmpl_type *types, uint32_t n, struct tmpl_type *ret)
{
	*ret = n > 0 ? types[0] : type_any;
	for (uint32_t i = 1; i < n; i++) {
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

static void func_type(const struct tmpl_func *f, const struct tmpl_type *types, uint32_t n,
		      struct tmpl_type *ret)
{
	*ret = f->ret;
	if (f->fn == tmpl_fn_index) {
		index_type(types, n, ret);
	} else if (f->fn == tmpl_fn_slice) {
		*ret = types[0].kind == TMPL_STRING || types[0].kind == TMPL_LIST ? types[0]
										  : type_any;
	} else if (tmpl_is_lazy(f)) {
		*ret = types[0];
		for (uint32_t i = 1; i < n; i++)
			join(ret, &types[i]);
	}
}

static int check_call(struct checker *c, const struct operand *o, const struct tmpl_type *dot,
		      const struct call_args *args, struct tmpl_type *ret)
{
	const struct tmpl_func *f = o->func;
	struct tmpl_type types[TMPL_MAX_ARGS + 1];
	uint32_t n = args->n + (args->final != NULL);
	if (f->max_args == TMPL_VARIADIC && n < f->min_args)
		return FAIL(c, o->pos, "wrong number of args for %s: want at least %d got %u",
			    f->name, f->min_args, args->n);
	if (f->max_args != TMPL_VARIADIC && (n < f->min_args || n > f->max_args))
		return FAIL(c, o->pos, "wrong number of args for %s: want %d got %u", f->name,
			    f->max_args, n);
	int r = check_args(c, args, dot, f->args, TMPL_FUNC_ARGS, types);
	for (uint32_t i = 0; r == 0 && f->prints && i < n; i++)
		r = check_printable(c, &types[i], o->pos);
	if (r == 0)
		func_type(f, types, n, ret);
	return r;
}

static int check_object_step(struct checker *c, const struct operand *o, struct step *s,
			     const struct tmpl_type *dot, const struct call_args *args,
			     struct tmpl_type *type)
{
	const struct tmpl_field *f = tmpl_find_field(type->cls, s->name);
	uint32_t n = args->n + (args->final != NULL);
	if (f == NULL)
		return FAIL(c, o->pos, "can't evaluate field %.*s in type %s", SHOW(s->name),
			    type->cls->name);
	if (f->call == NULL && n > 0)
		return FAIL(c, o->pos, "%s has arguments but cannot be invoked as function",
			    f->name);
	if (f->call != NULL && n != f->n_args)
		return FAIL(c, o->pos, "wrong number of args for %s: want %d got %u", f->name,
			    f->n_args, n);
	s->field = f;
	*type = f->type;
	return check_args(c, args, dot, f->args, f->n_args, NULL);
}

/* One step of a field chain: `type` is what it is asked of and becomes what it gives. */
static int check_step(struct checker *c, const struct operand *o, struct step *s,
		      const struct tmpl_type *dot, const struct call_args *args,
		      struct tmpl_type *type)
{
	bool any_args = args->n > 0 || args->final != NULL;
	s->field = NULL;
	if (type->kind == TMPL_OBJECT)
		return check_object_step(c, o, s, dot, args, type);
	if (type->kind == TMPL_NIL)
		return check_args(c, args, dot, NULL, 0, NULL);
	if (type->kind == TMPL_MAP && any_args)
		return FAIL(c, o->pos, "%.*s is not a method but has arguments", SHOW(s->name));
	if (type->kind == TMPL_MAP || type->kind == TMPL_ANY) {
		*type = type_any;
		return check_args(c, args, dot, NULL, 0, NULL);
	}
	struct slice name = type_name(type);
	return FAIL(c, o->pos, "can't evaluate field %.*s in type %.*s", SHOW(s->name), SHOW(name));
}

static int check_steps(struct checker *c, struct operand *o, const struct tmpl_type *dot,
		       const struct call_args *args, struct tmpl_type *type)
{
	for (uint32_t i = 0; i < o->n_steps; i++) {
		bool last = i + 1 == o->n_steps;
		int r = check_step(c, o, &o->steps[i], dot, last ? args : &no_args, type);
		if (r < 0)
			return r;
	}
	return 0;
}

static int not_a_function(struct checker *c, const struct operand *o)
{
	bool parens = o->kind == OPERAND_PIPE;
	uint32_t pos = parens ? o->pipe->pos : o->pos, end = parens ? o->pipe->end : o->end;
	struct slice words = { c->t->text.p + pos, end - pos };
	return FAIL(c, o->pos, "can't give argument to non-function %.*s", SHOW(words));
}

/* What an operand is when evaluated, as the first word of a command or as an argument. */
static int check_value(struct checker *c, struct operand *o, const struct tmpl_type *dot,
		       struct call_args args, struct tmpl_type *ret)
{
	int r = 0;
	if (o->kind == OPERAND_FUNC)
		return check_call(c, o, dot, &args, ret);
	if (o->n_steps == 0 && (args.n > 0 || args.final != NULL))
		return not_a_function(c, o);
	switch (o->kind) {
	case OPERAND_DOT:
	case OPERAND_FIELD:
		*ret = *dot;
		break;
	case OPERAND_VAR:
		*ret = c->body->slots[o->slot].type;
		break;
	case OPERAND_PIPE:
		r = check_pipe(c, o->pipe, dot, ret);
		break;
	case OPERAND_CHAIN:
		r = check_value(c, o->base, dot, no_args, ret);
		break;
	case OPERAND_NIL:
		return FAIL(c, o->pos, "nil is not a command");
	case OPERAND_BOOL:
	case OPERAND_NUMBER:
	case OPERAND_STRING:
		return check_const(c, o, TMPL_ANY, ret);
	case OPERAND_FUNC:
		return ERR_INTERNAL;
	}
	return r < 0 ? r : check_steps(c, o, dot, &args, ret);
}

static void set_slot(struct checker *c, uint32_t slot, const struct tmpl_type *type)
{
	struct slot *s = &c->body->slots[slot];
	if (!s->assigned) {
		s->type = *type;
		return;
	}
	/* It may be used above the place where it is assigned, in a loop: check again. */
	bool bad = is_unprintable(type);
	if (bad && s->type.bits != ANY_UNPRINTABLE)
		c->body->stale = true;
	s->type.kind = TMPL_ANY;
	if (bad)
		s->type.bits = ANY_UNPRINTABLE;
}

static int check_pipe(struct checker *c, struct pipe *pipe, const struct tmpl_type *dot,
		      struct tmpl_type *ret)
{
	struct tmpl_type type = type_nil, final;
	for (uint32_t i = 0; i < pipe->n_cmds; i++) {
		struct cmd *cmd = &pipe->cmds[i];
		final = type;
		struct call_args args = { cmd->args + 1, cmd->n_args - 1, cmd->pos,
					  i > 0 ? &final : NULL };
		int r = check_value(c, &cmd->args[0], dot, args, &type);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < pipe->n_decls; i++)
		set_slot(c, pipe->decls[i].slot, &type);
	*ret = type;
	return 0;
}

static int check_block(struct checker *c, struct block *b, const struct tmpl_type *dot);

static int check_else(struct checker *c, struct stmt *s, const struct tmpl_type *dot)
{
	return s->else_block != NULL ? check_block(c, s->else_block, dot) : 0;
}

static int check_range(struct checker *c, struct stmt *s, const struct tmpl_type *dot)
{
	struct tmpl_type type, key = { .kind = TMPL_INT };
	int r = check_pipe(c, s->pipe, dot, &type);
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
	const struct tmpl_type *one = s->else_block != NULL ? &type_any : &elem;
	const struct tmpl_type *first = s->else_block != NULL ? &type_any : &key;
	struct pipe *p = s->pipe;
	if (p->n_decls == 2)
		set_slot(c, p->decls[0].slot, first);
	if (p->n_decls > 0)
		set_slot(c, p->decls[p->n_decls - 1].slot, one);
	r = check_block(c, &s->block, &elem);
	return r < 0 ? r : check_else(c, s, dot);
}

/* The type a body is invoked with; it is checked again when that became less certain. */
static void add_caller(struct body *b, const struct tmpl_type *dot)
{
	struct tmpl_type old = b->dot;
	if (!b->called) {
		b->dot = *dot;
		b->called = b->stale = true;
		return;
	}
	join(&b->dot, dot);
	b->stale |= !same_type(&old, &b->dot);
}

static int check_template(struct checker *c, struct stmt *s, const struct tmpl_type *dot)
{
	struct tmpl_type type = type_nil;
	s->callee = tmpl_find_body(c->t, s->text);
	if (s->callee == NULL)
		return FAIL(c, s->pos, "template \"%.*s\" not defined", SHOW(s->text));
	int r = s->pipe != NULL ? check_pipe(c, s->pipe, dot, &type) : 0;
	if (r == 0)
		add_caller(s->callee, &type);
	return r;
}

static int check_stmt(struct checker *c, struct stmt *s, const struct tmpl_type *dot)
{
	struct tmpl_type type;
	int r;
	switch (s->kind) {
	case STMT_TEXT:
	case STMT_BREAK:
	case STMT_CONTINUE:
		return 0;
	case STMT_ACTION:
		r = check_pipe(c, s->pipe, dot, &type);
		if (r == 0 && s->pipe->n_decls == 0)
			r = check_printable(c, &type, s->pipe->pos);
		return r;
	case STMT_IF:
	case STMT_WITH:
		r = check_pipe(c, s->pipe, dot, &type);
		if (r == 0)
			r = check_block(c, &s->block, s->kind == STMT_WITH ? &type : dot);
		return r < 0 ? r : check_else(c, s, dot);
	case STMT_RANGE:
		return check_range(c, s, dot);
	case STMT_TEMPLATE:
		return check_template(c, s, dot);
	}
	return ERR_INTERNAL;
}

static int check_block(struct checker *c, struct block *b, const struct tmpl_type *dot)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < b->n; i++)
		r = check_stmt(c, &b->v[i], dot);
	return r;
}

static int check_body(struct checker *c, struct body *b)
{
	c->body = b;
	b->stale = false;
	struct tmpl_type dot = b->dot;
	set_slot(c, 0, &dot);
	return check_block(c, &b->block, &dot);
}

/* Bodies nobody invokes are checked too, last, with data of any type. */
static struct body *next_stale(const struct tmpl *t)
{
	for (struct body *b = t->bodies; b != NULL; b = b->next) {
		if (b->stale)
			return b;
	}
	for (struct body *b = t->bodies; b != NULL; b = b->next) {
		if (!b->called) {
			add_caller(b, &type_any);
			return b;
		}
	}
	return NULL;
}

int tmpl_check(struct tmpl *t, struct srcerr *err)
{
	struct checker c = { .t = t, .err = err };
	struct body *b;
	add_caller(t->main, &t->env->root);
	while ((b = next_stale(t)) != NULL) {
		int r = check_body(&c, b);
		if (r < 0)
			return r;
	}
	return 0;
}

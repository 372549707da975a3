/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executes a checked template. Data comes through the tables the fields were resolved to; memory
 * from the run's arena; text goes straight to the caller's buffer. */
#include "tmpl/out_priv.h"
#include "tmpl/tmpl_priv.h"

#include <stdarg.h>

#include "base/err.h"
#include "tmpl/funcs_priv.h"
#include "tmpl/printf_priv.h"
#include "tmpl/value_priv.h"

enum { SMALL_ARGS = 4, SMALL_FRAME = 4, WALK_BREAK = 1, WALK_CONTINUE = 2 };

struct exec {
	const struct tmpl *t;
	const struct body *body;
	struct tmpl_value *vars; /* of the body */
	struct tmpl_call call;
	struct tmpl_out out;
	size_t steps, iterations;
	unsigned depth, calls;
	/* for error texts */
	uint32_t at, at_end;
	const char *calling; /* the function that failed */
	char why[256];
};

/* The words after the first of a command, and what the pipeline hands over. */
struct call_args {
	const struct operand *v;
	uint32_t n;
	const struct tmpl_value *final;
};

static const struct call_args no_args = { NULL, 0, NULL };

static int eval_pipe(struct exec *ex, const struct tmpl_value *dot, const struct pipe *pipe,
		     struct tmpl_value *ret);
static int eval_operand(struct exec *ex, const struct tmpl_value *dot,
			const struct operand *operand, const struct call_args *args,
			struct tmpl_value *ret);
static int walk_block(struct exec *ex, const struct tmpl_value *dot, const struct block *block);

static int PRINTF_LIKE(3, 4) fail_with(struct exec *ex, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(ex->why, sizeof(ex->why), fmt, ap);
	va_end(ap);
	return code;
}

#define SHOW(s) (int)MIN((s).n, (size_t)80), (s).p

static int count_step(struct exec *ex)
{
	if (UNLIKELY(++ex->steps > TMPL_MAX_STEPS))
		return fail_with(ex, ERR_LIMIT, "more than %d steps", TMPL_MAX_STEPS);
	return 0;
}

static int enter_level(struct exec *ex)
{
	if (UNLIKELY(++ex->depth > TMPL_MAX_DEPTH))
		return fail_with(ex, ERR_LIMIT, "nested deeper than %d levels", TMPL_MAX_DEPTH);
	return 0;
}

static void set_place(struct exec *ex, uint32_t pos, uint32_t end)
{
	ex->at = pos;
	ex->at_end = end;
}

/* Static types were checked already; this is for values known only now. */
static int check_kind(struct exec *ex, const struct tmpl_value *value, enum tmpl_kind want)
{
	if (LIKELY(want == TMPL_NIL || want == TMPL_ANY ||
		   (value->kind == want && value->bits == 0)))
		return 0;
	struct tmpl_value zero = tmpl_zero(&(struct tmpl_type){ .kind = want });
	struct slice expected = tmpl_type_name(&zero), got = tmpl_type_name(value);
	if (value->kind == TMPL_NIL)
		return fail_with(ex, ERR_TYPE, "invalid value; expected %.*s", SHOW(expected));
	return fail_with(ex, ERR_TYPE, "wrong type for value; expected %.*s; got %.*s",
			 SHOW(expected), SHOW(got));
}

static int eval_args(struct exec *ex, const struct tmpl_value *dot, const struct call_args *args,
		     const enum tmpl_kind *kinds, size_t n_kinds, struct tmpl_value *ret)
{
	uint32_t n = args->n + (args->final != NULL);
	for (uint32_t i = 0; i < n; i++) {
		int r = 0;
		if (i < args->n)
			r = eval_operand(ex, dot, &args->v[i], &no_args, &ret[i]);
		else
			ret[i] = *args->final;
		if (r == 0 && i < n_kinds)
			r = check_kind(ex, &ret[i], kinds[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int result_of_call(struct exec *ex, const char *name, int ret)
{
	if (LIKELY(ret >= 0))
		return 0;
	ex->calling = name;
	if (ex->why[0] == '\0')
		return fail_with(ex, ret, "%s", err_str(ret));
	return ret;
}

static int call_lazy(struct exec *ex, const struct tmpl_value *dot, const struct tmpl_func *func,
		     const struct call_args *args, struct tmpl_value *ret)
{
	bool stop_at = func->fn == tmpl_fn_or;
	for (uint32_t i = 0; i < args->n; i++) {
		int r = eval_operand(ex, dot, &args->v[i], &no_args, ret);
		if (r < 0 || tmpl_truth(ret) == stop_at)
			return r;
	}
	if (args->final != NULL)
		*ret = *args->final;
	return 0;
}

static int call_func(struct exec *ex, const struct tmpl_value *dot, const struct operand *operand,
		     const struct call_args *args, struct tmpl_value *ret)
{
	const struct tmpl_func *f = operand->func;
	struct tmpl_value small[SMALL_ARGS], *v = small;
	size_t n = args->n + (size_t)(args->final != NULL);
	uint32_t start = ex->at, end = ex->at_end;
	if (tmpl_is_lazy(f))
		return call_lazy(ex, dot, f, args, ret);
	if (n > SMALL_ARGS)
		v = arena_alloc(ex->call.arena, n * sizeof(*v));
	if (v == NULL)
		return fail_with(ex, ERR_SPACE, "out of memory");
	int r = eval_args(ex, dot, args, f->args, TMPL_FUNC_ARGS, v);
	if (r < 0)
		return r;
	set_place(ex, start, end);
	return result_of_call(ex, f->name, f->fn(&ex->call, v, n, ret));
}

static int call_method(struct exec *ex, const struct tmpl_value *dot, const struct tmpl_value *obj,
		       const struct tmpl_field *field, const struct call_args *args,
		       struct tmpl_value *ret)
{
	struct tmpl_value v[TMPL_METHOD_ARGS];
	uint32_t n = args->n + (args->final != NULL);
	if (n != field->n_args)
		return fail_with(ex, ERR_TYPE, "wrong number of args for %s: want %d got %u",
				 field->name, field->n_args, n);
	int r = eval_args(ex, dot, args, field->args, field->n_args, v);
	if (r < 0)
		return r;
	return result_of_call(ex, field->name, field->call(obj->obj.self, v, ex->call.arena, ret));
}

static int object_field(struct exec *ex, const struct tmpl_value *dot, const struct tmpl_value *obj,
			const struct step *step, const struct call_args *args,
			struct tmpl_value *ret)
{
	const struct tmpl_field *f = step->field;
	if (f == NULL)
		f = tmpl_find_field(obj->obj.cls, step->name);
	if (f == NULL)
		return fail_with(ex, ERR_TYPE, "can't evaluate field %.*s in type %s",
				 SHOW(step->name), obj->obj.cls->name);
	if (obj->obj.self == NULL)
		return fail_with(ex, ERR_TYPE, "nil pointer evaluating %s.%.*s", obj->obj.cls->name,
				 SHOW(step->name));
	if (f->call != NULL)
		return call_method(ex, dot, obj, f, args, ret);
	if (args->n > 0 || args->final != NULL)
		return fail_with(ex, ERR_TYPE, "%s has arguments but cannot be invoked as function",
				 f->name);
	return result_of_call(ex, f->name, f->get(obj->obj.self, ex->call.arena, ret));
}

/* An absent key is no value, not an error; 1 when the key is there. */
static int map_field(struct exec *ex, const struct tmpl_value *map, const struct step *step,
		     const struct call_args *args, struct tmpl_value *ret)
{
	if (args->n > 0 || args->final != NULL)
		return fail_with(ex, ERR_TYPE, "%.*s is not a method but has arguments",
				 SHOW(step->name));
	int r = 0;
	if (map->map.self != NULL)
		r = map->map.type->find(map->map.self, step->name, ex->call.arena, ret);
	if (r == 0)
		*ret = (struct tmpl_value){ .kind = TMPL_NIL };
	return r < 0 ? fail_with(ex, r, "%s", err_str(r)) : r;
}

static int no_field(struct exec *ex, const struct tmpl_value *value, const struct step *step,
		    bool untyped)
{
	struct slice name = untyped ? SLICE("interface {}") : tmpl_type_name(value);
	return fail_with(ex, ERR_TYPE, "can't evaluate field %.*s in type %.*s", SHOW(step->name),
			 SHOW(name));
}

/* Follows the fields of an operand from `recv`, which must not change meanwhile. */
static int eval_steps(struct exec *ex, const struct tmpl_value *dot, const struct operand *operand,
		      const struct call_args *args, const struct tmpl_value *recv,
		      struct tmpl_value *ret)
{
	struct tmpl_value inner;
	bool untyped = false; /* the last step was into a map of anything */
	for (uint32_t i = 0; i < operand->n_steps; i++) {
		const struct step *s = &operand->steps[i];
		bool last = i + 1 == operand->n_steps;
		const struct call_args *a = last ? args : &no_args;
		int r;
		set_place(ex, operand->pos, operand->end);
		if (recv->kind == TMPL_OBJECT) {
			r = object_field(ex, dot, recv, s, a, ret);
		} else if (recv->kind == TMPL_MAP) {
			r = map_field(ex, recv, s, a, ret);
			untyped = recv->map.type->elem.kind == TMPL_ANY;
			if (r > 0 && ret->kind == TMPL_NIL && !last)
				r = fail_with(ex, ERR_TYPE,
					      "nil pointer evaluating interface {}.%.*s",
					      SHOW(s[1].name));
		} else if (recv->kind == TMPL_NIL) {
			*ret = *recv;
			return 0;
		} else {
			r = no_field(ex, recv, s, untyped);
		}
		if (r < 0)
			return r;
		if (!last) {
			inner = *ret;
			recv = &inner;
		}
	}
	return 0;
}

static int eval_operand(struct exec *ex, const struct tmpl_value *dot,
			const struct operand *operand, const struct call_args *args,
			struct tmpl_value *ret)
{
	struct tmpl_value base = { 0 };
	int r;
	switch (operand->kind) {
	case OPERAND_FIELD:
		return eval_steps(ex, dot, operand, args, dot, ret);
	case OPERAND_DOT:
		*ret = *dot;
		return 0;
	case OPERAND_VAR:
		if (operand->n_steps == 0) {
			*ret = ex->vars[operand->slot];
			return 0;
		}
		/* A copy: an argument may assign to the variable. */
		base = ex->vars[operand->slot];
		return eval_steps(ex, dot, operand, args, &base, ret);
	case OPERAND_BOOL:
	case OPERAND_NUMBER:
	case OPERAND_STRING:
	case OPERAND_NIL: /* its value is zero, which is nil */
		*ret = operand->value;
		return 0;
	case OPERAND_FUNC:
		return call_func(ex, dot, operand, args, ret);
	case OPERAND_PIPE:
		return eval_pipe(ex, dot, operand->pipe, ret);
	case OPERAND_CHAIN:
		r = eval_operand(ex, dot, operand->base, &no_args, &base);
		return r < 0 ? r : eval_steps(ex, dot, operand, args, &base, ret);
	}
	return ERR_INTERNAL;
}

static int eval_pipe(struct exec *ex, const struct tmpl_value *dot, const struct pipe *pipe,
		     struct tmpl_value *ret)
{
	struct tmpl_value final;
	int r = enter_level(ex);
	for (uint32_t i = 0; r == 0 && i < pipe->n_cmds; i++) {
		const struct cmd *cmd = &pipe->cmds[i];
		if (i > 0)
			final = *ret;
		struct call_args args = { cmd->args + 1, cmd->n_args - 1, i > 0 ? &final : NULL };
		r = count_step(ex);
		set_place(ex, cmd->pos, cmd->end);
		if (r == 0)
			r = eval_operand(ex, dot, &cmd->args[0], &args, ret);
	}
	for (uint32_t i = 0; r == 0 && i < pipe->n_decls; i++)
		ex->vars[pipe->decls[i].slot] = *ret;
	ex->depth--;
	return r;
}

static int walk_action(struct exec *ex, const struct tmpl_value *dot, const struct pipe *pipe)
{
	struct tmpl_value v;
	int r = eval_pipe(ex, dot, pipe, &v);
	if (r < 0 || pipe->n_decls > 0)
		return r;
	if (v.kind == TMPL_NIL)
		v = tmpl_string(SLICE("<no value>"));
	return tmpl_print_value(&ex->call, &v);
}

static int walk_branch(struct exec *ex, const struct tmpl_value *dot, const struct stmt *stmt)
{
	struct tmpl_value v;
	int r = eval_pipe(ex, dot, stmt->pipe, &v);
	if (r < 0)
		return r;
	if (tmpl_truth(&v))
		return walk_block(ex, stmt->kind == STMT_WITH ? &v : dot, &stmt->block);
	return stmt->else_block != NULL ? walk_block(ex, dot, stmt->else_block) : 0;
}

/* One round; WALK_BREAK ends the loop. */
static int run_iteration(struct exec *ex, const struct stmt *stmt, const struct tmpl_value *key,
			 const struct tmpl_value *elem)
{
	const struct pipe *p = stmt->pipe;
	int r = count_step(ex);
	if (r < 0)
		return r;
	if (++ex->iterations > TMPL_MAX_ITERATIONS)
		return fail_with(ex, ERR_LIMIT, "more than %d iterations", TMPL_MAX_ITERATIONS);
	if (p->n_decls > 0)
		ex->vars[p->decls[p->n_decls - 1].slot] = *elem;
	if (p->n_decls > 1)
		ex->vars[p->decls[0].slot] = *key;
	r = walk_block(ex, elem, &stmt->block);
	return r == WALK_CONTINUE ? 0 : r;
}

static int range_list(struct exec *ex, const struct stmt *stmt, const struct tmpl_value *value)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < value->list.n; i++) {
		struct tmpl_value elem, key = tmpl_int((int64_t)i);
		r = tmpl_list_get(&ex->call, value, i, &elem);
		if (r == 0)
			r = run_iteration(ex, stmt, &key, &elem);
	}
	return r;
}

static int range_map(struct exec *ex, const struct stmt *stmt, const struct tmpl_entry *entry,
		     size_t count)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tmpl_value key = tmpl_string(entry[i].key);
		r = run_iteration(ex, stmt, &key, &entry[i].value);
	}
	return r;
}

static int range_count(struct exec *ex, const struct stmt *stmt, const struct tmpl_value *value,
		       uint64_t number)
{
	struct tmpl_value key = { .kind = TMPL_NIL };
	int r = 0;
	for (uint64_t i = 0; r == 0 && i < number; i++) {
		struct tmpl_value elem = *value;
		elem.u = i; /* an int has the same bits */
		r = run_iteration(ex, stmt, &key, &elem);
	}
	return r;
}

/* How many rounds a range has; for a map its sorted entries too. */
static int range_size(struct exec *ex, const struct stmt *stmt, const struct tmpl_value *value,
		      struct tmpl_entry **ret_entries, size_t *ret)
{
	struct slice name = tmpl_type_name(value);
	switch (value->kind) {
	case TMPL_NIL:
		*ret = 0;
		return 0;
	case TMPL_LIST:
		*ret = value->list.n;
		return 0;
	case TMPL_MAP:
		return tmpl_map_sorted(&ex->call, value, ret_entries, ret);
	case TMPL_INT:
	case TMPL_UINT:
		if (stmt->pipe->n_decls > 1)
			return fail_with(ex, ERR_TYPE,
					 "can't use %.*s to iterate over more than one variable",
					 SHOW(name));
		*ret = value->kind == TMPL_INT && value->i < 0 ? 0 : value->u;
		return 0;
	case TMPL_BOOL:
	case TMPL_FLOAT:
	case TMPL_STRING:
	case TMPL_OBJECT:
	case TMPL_ANY:
		break;
	}
	return fail_with(ex, ERR_TYPE, "range can't iterate over a %.*s", SHOW(name));
}

static int walk_range(struct exec *ex, const struct tmpl_value *dot, const struct stmt *stmt)
{
	struct tmpl_value v;
	struct tmpl_entry *entries = NULL;
	size_t n = 0;
	int r = eval_pipe(ex, dot, stmt->pipe, &v);
	if (r == 0)
		r = range_size(ex, stmt, &v, &entries, &n);
	if (r < 0)
		return r;
	if (n == 0)
		return stmt->else_block != NULL ? walk_block(ex, dot, stmt->else_block) : 0;
	if (v.kind == TMPL_LIST)
		r = range_list(ex, stmt, &v);
	else if (v.kind == TMPL_MAP)
		r = range_map(ex, stmt, entries, n);
	else
		r = range_count(ex, stmt, &v, n);
	return r == WALK_BREAK ? 0 : r;
}

/* A body with its own variables; the caller's come back afterwards. */
static int run_body(struct exec *ex, const struct body *body, const struct tmpl_value *dot)
{
	struct tmpl_value small[SMALL_FRAME], *vars = small;
	const struct body *outer_body = ex->body;
	struct tmpl_value *outer = ex->vars;
	if (body->n_slots > SMALL_FRAME)
		vars = arena_alloc(ex->call.arena, body->n_slots * sizeof(*vars));
	if (vars == NULL)
		return fail_with(ex, ERR_SPACE, "out of memory");
	vars[0] = *dot;
	ex->vars = vars;
	ex->body = body;
	int r = walk_block(ex, dot, &body->block);
	if (r < 0)
		return r;
	ex->vars = outer;
	ex->body = outer_body;
	return 0;
}

static int walk_template(struct exec *ex, const struct tmpl_value *dot, const struct stmt *stmt)
{
	struct tmpl_value v = { .kind = TMPL_NIL };
	if (ex->calls >= TMPL_MAX_CALLS)
		return fail_with(ex, ERR_LIMIT, "exceeded maximum template depth (%d)",
				 TMPL_MAX_CALLS);
	int r = stmt->pipe != NULL ? eval_pipe(ex, dot, stmt->pipe, &v) : 0;
	if (r < 0)
		return r;
	ex->calls++;
	r = run_body(ex, stmt->callee, &v);
	ex->calls--;
	return r;
}

static int walk_stmt(struct exec *ex, const struct tmpl_value *dot, const struct stmt *stmt)
{
	switch (stmt->kind) {
	case STMT_TEXT:
		tmpl_out_slice(&ex->out, stmt->text);
		return ex->out.full ? ERR_SPACE : 0;
	case STMT_ACTION:
		return walk_action(ex, dot, stmt->pipe);
	case STMT_IF:
	case STMT_WITH:
		return walk_branch(ex, dot, stmt);
	case STMT_RANGE:
		return walk_range(ex, dot, stmt);
	case STMT_TEMPLATE:
		return walk_template(ex, dot, stmt);
	case STMT_BREAK:
		return WALK_BREAK;
	case STMT_CONTINUE:
		return WALK_CONTINUE;
	}
	return ERR_INTERNAL;
}

static int walk_block(struct exec *ex, const struct tmpl_value *dot, const struct block *block)
{
	int r = enter_level(ex);
	for (uint32_t i = 0; r == 0 && i < block->n; i++) {
		r = count_step(ex);
		if (r == 0)
			r = walk_stmt(ex, dot, &block->v[i]);
	}
	ex->depth--;
	return r;
}

/* In Go's words: where, in which template, at which expression, why. */
static void explain_error(const struct exec *ex, int ret, char *out, size_t cap)
{
	uint32_t line = 1, col = 0;
	for (uint32_t i = 0; i < ex->at && i < ex->t->text.n; i++) {
		bool newline = ex->t->text.p[i] == '\n';
		line += newline;
		col = newline ? 0 : col + 1;
	}
	struct slice name = ex->t->name, body = ex->body->name;
	struct slice expr = { ex->t->text.p + ex->at, ex->at_end - ex->at };
	const char *why = ex->why[0] != '\0' ? ex->why : err_str(ret);
	snprintf(out, cap, "template: %.*s:%u:%u: executing \"%.*s\" at <%.*s>: %s%s%s%s",
		 SHOW(name), line, col, SHOW(body), SHOW(expr),
		 ex->calling != NULL ? "error calling " : "",
		 ex->calling != NULL ? ex->calling : "", ex->calling != NULL ? ": " : "", why);
}

int tmpl_exec(const struct tmpl *tmpl, const struct tmpl_run *run, char *out, size_t cap,
	      size_t *ret_n)
{
	struct exec ex;
	ex.t = tmpl;
	ex.body = tmpl->main;
	ex.vars = NULL;
	ex.out = (struct tmpl_out){ .p = out, .cap = cap };
	ex.call = (struct tmpl_call){ .arena = run->arena,
				      .ctx = run->ctx,
				      .out = &ex.out,
				      .err = ex.why,
				      .err_cap = sizeof(ex.why) };
	ex.steps = ex.iterations = 0;
	ex.depth = ex.calls = 0;
	ex.at = ex.at_end = 0;
	ex.calling = NULL;
	ex.why[0] = '\0';
	int r = run_body(&ex, tmpl->main, &run->root);
	if (r < 0) {
		if (run->err != NULL && run->err_cap > 0)
			explain_error(&ex, r, run->err, run->err_cap);
		return r;
	}
	*ret_n = ex.out.n;
	return 0;
}

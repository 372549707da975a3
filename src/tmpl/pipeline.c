/* What stands between {{ and }}: pipelines of commands, commands of operands, operands with their
 * fields, declarations. */
#include "tmpl/parse_priv.h"

#include "base/charset.h"
#include "base/err.h"

struct cmds {
	struct cmd *v;
	size_t n, cap;
};

struct operands {
	struct operand *v;
	size_t n, cap;
};

struct steps {
	struct step *v;
	size_t n, cap;
};

/* What a number is where no type is asked for: the way it is written decides. */
static void set_ideal(struct operand *o)
{
	const struct number *n = o->number;
	struct slice s = o->text;
	bool hex = s.n > 2 && s.p[0] == '0' && ascii_lower(s.p[1]) == 'x';
	bool point = false, power = false;
	for (size_t i = 0; i < s.n; i++) {
		point |= charset_has(".eEpP", s.p[i]);
		power |= ascii_lower(s.p[i]) == 'p';
	}
	if (n->is_float && s.p[0] != '\'' && !(hex && !power) && point)
		o->value = tmpl_float(n->f);
	else if (n->is_int)
		o->value = tmpl_int(n->i);
}

static int parse_number(struct parser *p, const struct token *t, struct operand *o)
{
	const char *why = "malformed character constant";
	int r = 0;
	o->kind = OPERAND_NUMBER;
	o->number = arena_alloc(&p->t->arena, sizeof(*o->number));
	if (t->type == TOK_COMPLEX || (t->val.n > 0 && t->val.p[t->val.n - 1] == 'i'))
		return FAIL(p, t->pos, "complex constant %s is not supported",
			    tmpl_parse_quoted(p, t->val));
	if (t->type == TOK_CHAR_CONST)
		r = tmpl_char_const(t->val, o->number);
	if (r == ERR_PARSE)
		return FAIL(p, t->pos, "invalid syntax");
	if (r == ERR_RANGE)
		return FAIL(p, t->pos, "%s: %.*s", why, (int)MIN(t->val.n, (size_t)60), t->val.p);
	if (t->type == TOK_NUMBER && tmpl_number(t->val, o->number, &why) < 0)
		return FAIL(p, t->pos, "%s: %s", why, tmpl_parse_quoted(p, t->val));
	set_ideal(o);
	return 0;
}

int tmpl_parse_string(struct parser *p, const struct token *t, struct slice *ret)
{
	if (tmpl_unquote(t->val, &p->t->arena, ret) < 0)
		return FAIL(p, t->pos, "invalid syntax");
	return 0;
}

static int parse_func(struct parser *p, const struct token *t, struct operand *o)
{
	o->kind = OPERAND_FUNC;
	o->func = tmpl_find_func(p->t->env, t->val);
	if (o->func != NULL)
		return 0;
	if (slice_is(t->val, "call"))
		return FAIL(p, t->pos, "function \"call\" is not supported");
	return FAIL(p, t->pos, "function %s not defined", tmpl_parse_quoted(p, t->val));
}

static int parse_parens(struct parser *p, struct operand *o)
{
	int r = tmpl_parse_enter(p);
	o->kind = OPERAND_PIPE;
	if (r == 0)
		r = tmpl_parse_pipe(p, "parenthesized pipeline", TOK_RPAREN, &o->pipe);
	p->nesting--;
	return r;
}

/* 1: a term; 0: the next token starts none and is left where it is. */
static int parse_term(struct parser *p, struct operand *o)
{
	const struct token *t = tmpl_peek_word(p);
	int r = 0;
	if (t->type < TOK_STRING)
		return 0;
	tmpl_next(p);
	switch (t->type) {
	case TOK_IDENT:
		r = parse_func(p, t, o);
		break;
	case TOK_DOT:
		o->kind = OPERAND_DOT;
		break;
	case TOK_NIL:
		o->kind = OPERAND_NIL;
		break;
	case TOK_VAR:
		o->kind = OPERAND_VAR;
		r = tmpl_parse_find_var(p, t->val, t->pos, &o->slot);
		break;
	case TOK_FIELD:
		o->kind = OPERAND_FIELD;
		break;
	case TOK_BOOL:
		o->kind = OPERAND_BOOL;
		o->value = tmpl_bool(t->val.n == 4);
		break;
	case TOK_CHAR_CONST:
	case TOK_COMPLEX:
	case TOK_NUMBER:
		r = parse_number(p, t, o);
		break;
	case TOK_LPAREN:
		r = parse_parens(p, o);
		break;
	case TOK_STRING:
	case TOK_RAW_STRING:
		o->kind = OPERAND_STRING;
		o->value.kind = TMPL_STRING;
		r = tmpl_parse_string(p, t, &o->value.s);
		break;
	case TOK_ERROR:
	case TOK_EOF:
	case TOK_TEXT:
	case TOK_LEFT:
	case TOK_RIGHT:
	case TOK_SPACE:
	case TOK_ASSIGN:
	case TOK_DECLARE:
	case TOK_PIPE:
	case TOK_RPAREN:
	case TOK_CHAR:
	case TOK_BLOCK:
	case TOK_BREAK:
	case TOK_CONTINUE:
	case TOK_DEFINE:
	case TOK_ELSE:
	case TOK_END:
	case TOK_IF:
	case TOK_RANGE:
	case TOK_TEMPLATE:
	case TOK_WITH:
		p->i--;
		return 0;
	}
	return r < 0 ? r : 1;
}

static void add_step(struct steps *steps, const struct token *field)
{
	vec_push(steps, (struct step){ .name = slice_from(field->val, 1) });
}

/* The fields after a term. Constants have none; a field or variable takes them itself, all else
 * becomes the base of a chain. */
static int parse_fields(struct parser *p, struct operand *o, const struct token *first)
{
	struct steps steps = { 0 };
	if (o->kind == OPERAND_FIELD)
		add_step(&steps, first);
	bool any = tmpl_peek(p)->type == TOK_FIELD;
	if (any && (o->kind == OPERAND_BOOL || o->kind == OPERAND_STRING ||
		    o->kind == OPERAND_NIL || o->kind == OPERAND_NUMBER || o->kind == OPERAND_DOT))
		return FAIL(p, tmpl_peek(p)->pos, "unexpected . after term %s",
			    tmpl_parse_quoted(p, o->text));
	while (tmpl_peek(p)->type == TOK_FIELD)
		add_step(&steps, tmpl_next(p));
	if (any && o->kind != OPERAND_FIELD && o->kind != OPERAND_VAR) {
		struct operand *base = arena_memdup(&p->t->arena, o, sizeof(*o));
		*o = (struct operand){ .kind = OPERAND_CHAIN, .pos = o->pos, .base = base };
	}
	o->n_steps = (uint32_t)steps.n;
	o->steps = KEEP(p, &steps);
	return 0;
}

static int parse_operand(struct parser *p, struct operand *o)
{
	const struct token *t = tmpl_peek_word(p);
	*o = (struct operand){ .pos = t->pos, .text = t->val };
	int r = parse_term(p, o);
	if (r <= 0)
		return r;
	o->end = tmpl_parse_end(p);
	r = tmpl_parse_count(p);
	if (r == 0)
		r = parse_fields(p, o, t);
	o->end = tmpl_parse_end(p);
	return r < 0 ? r : 1;
}

/* Operands until the command ends; 1 when there may be more. */
static int parse_next_arg(struct parser *p, struct operands *args)
{
	struct operand o;
	int r = parse_operand(p, &o);
	if (r < 0)
		return r;
	if (r > 0) {
		if (args->n >= TMPL_MAX_ARGS)
			return FAIL(p, o.pos, "more than %d arguments", TMPL_MAX_ARGS);
		vec_push(args, o);
	}
	const struct token *t = tmpl_peek(p);
	switch ((int)t->type) {
	case TOK_SPACE:
		tmpl_next(p);
		return 1;
	case TOK_RIGHT:
	case TOK_RPAREN:
		return 0;
	case TOK_PIPE:
		tmpl_next(p);
		return 0;
	default:
		return tmpl_parse_unexpected(p, t, "operand");
	}
}

static int parse_cmd(struct parser *p, struct cmd *ret)
{
	struct operands args = { 0 };
	unsigned lazy = p->lazy;
	int r = tmpl_parse_count(p);
	ret->pos = tmpl_peek_word(p)->pos;
	if (r == 0)
		r = 1;
	while (r > 0) {
		if (args.n == 2 && args.v[0].kind == OPERAND_FUNC && tmpl_is_lazy(args.v[0].func))
			p->lazy = lazy + 1;
		r = parse_next_arg(p, &args);
	}
	p->lazy = lazy;
	if (r == 0 && args.n == 0)
		r = FAIL(p, ret->pos, "empty command");
	ret->end = args.n > 0 ? args.v[args.n - 1].end : ret->pos;
	ret->n_args = (uint32_t)args.n;
	ret->args = KEEP(p, &args);
	return r;
}

static int add_decl(struct parser *p, struct pipe *pipe, const struct token *var)
{
	/* It would be unknown afterwards whether the variable exists. */
	if (p->lazy > 0)
		return FAIL(p, var->pos,
			    "a declaration in an argument that and/or may skip is not supported");
	pipe->decls[pipe->n_decls++].name = var->val;
	return 0;
}

/* "$x :=", "$x =", and for range "$i, $x :="; nothing is read when there is none of these. */
static int parse_decls(struct parser *p, const char *context, struct pipe *pipe)
{
	for (;;) {
		const struct token *var = tmpl_peek_word(p);
		size_t start = p->i;
		if (var->type != TOK_VAR)
			return 0;
		tmpl_next(p);
		const struct token *t = tmpl_peek_word(p);
		if (t->type == TOK_ASSIGN || t->type == TOK_DECLARE) {
			pipe->is_assign = t->type == TOK_ASSIGN;
			tmpl_next(p);
			return add_decl(p, pipe, var);
		}
		if (t->type != TOK_CHAR || !slice_is(t->val, ",")) {
			p->i = start;
			return 0;
		}
		tmpl_next(p);
		if (strcmp(context, "range") != 0 || pipe->n_decls > 0)
			return FAIL(p, t->pos, "too many declarations in %s", context);
		if (add_decl(p, pipe, var) < 0)
			return ERR_PARSE;
		t = tmpl_peek_word(p);
		if (t->type != TOK_VAR && t->type != TOK_RIGHT && t->type != TOK_RPAREN)
			return FAIL(p, t->pos, "range can only initialize variables");
	}
}

/* Names come into scope after the commands: in "$x := $x" the right one is the older. */
static int resolve_decls(struct parser *p, struct pipe *pipe)
{
	for (uint32_t i = 0; i < pipe->n_decls; i++) {
		struct decl *d = &pipe->decls[i];
		int r = pipe->is_assign ? tmpl_parse_find_var(p, d->name, pipe->pos, &d->slot)
					: tmpl_parse_declare(p, d->name, pipe->pos, &d->slot);
		if (r < 0)
			return r;
		p->slots.v[d->slot].assigned |= pipe->is_assign;
	}
	return 0;
}

static int check_stages(struct parser *p, const struct pipe *pipe, const char *context)
{
	if (pipe->n_cmds == 0)
		return FAIL(p, pipe->pos, "missing value for %s", context);
	for (uint32_t i = 1; i < pipe->n_cmds; i++) {
		enum operand_kind k = pipe->cmds[i].args[0].kind;
		if (k <= OPERAND_STRING)
			return FAIL(p, pipe->cmds[i].pos,
				    "non executable command in pipeline stage %u", i + 1);
	}
	return 0;
}

static bool starts_cmd(enum tok t)
{
	return (t >= TOK_STRING && t <= TOK_LPAREN) || t == TOK_DOT || t == TOK_NIL;
}

static int parse_cmds(struct parser *p, const char *context, enum tok end, struct cmds *cmds)
{
	for (;;) {
		const struct token *t = tmpl_peek_word(p);
		if (t->type == end) {
			tmpl_next(p);
			return 0;
		}
		if (!starts_cmd(t->type))
			return tmpl_parse_unexpected(p, t, context);
		int r = parse_cmd(p, vec_add(cmds));
		if (r < 0)
			return r;
	}
}

int tmpl_parse_pipe(struct parser *p, const char *context, enum tok end, struct pipe **ret)
{
	struct pipe *pipe = arena_calloc(&p->t->arena, sizeof(*pipe));
	struct cmds cmds = { 0 };
	pipe->pos = tmpl_peek_word(p)->pos;
	int r = parse_decls(p, context, pipe);
	if (r == 0)
		r = parse_cmds(p, context, end, &cmds);
	pipe->n_cmds = (uint32_t)cmds.n;
	pipe->end = cmds.n > 0 ? cmds.v[cmds.n - 1].end : pipe->pos;
	pipe->cmds = KEEP(p, &cmds);
	if (r == 0)
		r = check_stages(p, pipe, context);
	if (r == 0)
		r = resolve_decls(p, pipe);
	*ret = pipe;
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands between {{ and }}: pipelines of commands, commands of operands, operands with their
 * fields, declarations. */
#include "tmpl/funcs_priv.h"
#include "tmpl/pipeline_priv.h"

#include "tmpl/parse_priv.h"

#include "base/err.h"
#include "base/text/charset.h"
#include "tmpl/const_priv.h"
#include "tmpl/cursor_priv.h"

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
static void set_ideal(struct operand *operand)
{
	const struct number *n = operand->number;
	struct slice s = operand->text;
	bool hex = s.n > 2 && s.p[0] == '0' && ascii_lower(s.p[1]) == 'x';
	bool point = false, power = false;
	for (size_t i = 0; i < s.n; i++) {
		point |= charset_has(".eEpP", s.p[i]);
		power |= ascii_lower(s.p[i]) == 'p';
	}
	if (n->is_float && s.p[0] != '\'' && !(hex && !power) && point)
		operand->value = tmpl_float(n->f);
	else if (n->is_int)
		operand->value = tmpl_int(n->i);
}

static int parse_number(struct parser *parser, const struct token *token, struct operand *operand)
{
	const char *why = "malformed character constant";
	int r = 0;
	operand->kind = OPERAND_NUMBER;
	operand->number = arena_alloc(&parser->t->arena, sizeof(*operand->number));
	if (token->type == TOK_COMPLEX ||
	    (token->val.n > 0 && token->val.p[token->val.n - 1] == 'i'))
		return FAIL(parser, token->pos, "complex constant %s is not supported",
			    tmpl_parse_quoted(parser, token->val));
	if (token->type == TOK_CHAR_CONST)
		r = tmpl_char_const(token->val, operand->number);
	if (r == ERR_PARSE)
		return FAIL(parser, token->pos, "invalid syntax");
	if (r == ERR_RANGE)
		return FAIL(parser, token->pos, "%s: %.*s", why, (int)MIN(token->val.n, (size_t)60),
			    token->val.p);
	if (token->type == TOK_NUMBER && tmpl_number(token->val, operand->number, &why) < 0)
		return FAIL(parser, token->pos, "%s: %s", why,
			    tmpl_parse_quoted(parser, token->val));
	set_ideal(operand);
	return 0;
}

int tmpl_parse_string(struct parser *parser, const struct token *token, struct slice *ret)
{
	if (tmpl_unquote(token->val, &parser->t->arena, ret) < 0)
		return FAIL(parser, token->pos, "invalid syntax");
	return 0;
}

static int parse_func(struct parser *parser, const struct token *token, struct operand *operand)
{
	operand->kind = OPERAND_FUNC;
	operand->func = tmpl_find_func(parser->t->env, token->val);
	if (operand->func != NULL)
		return 0;
	if (slice_is(token->val, "call"))
		return FAIL(parser, token->pos, "function \"call\" is not supported");
	return FAIL(parser, token->pos, "function %s not defined",
		    tmpl_parse_quoted(parser, token->val));
}

static int parse_parens(struct parser *parser, struct operand *operand)
{
	int r = tmpl_parse_enter(parser);
	operand->kind = OPERAND_PIPE;
	if (r == 0)
		r = tmpl_parse_pipe(parser, "parenthesized pipeline", TOK_RPAREN, &operand->pipe);
	parser->nesting--;
	return r;
}

/* 1: a term; 0: the next token starts none and is left where it is. */
static int parse_term(struct parser *parser, struct operand *operand)
{
	const struct token *t = tmpl_peek_word(parser);
	int r = 0;
	if (t->type < TOK_STRING)
		return 0;
	tmpl_next(parser);
	switch (t->type) {
	case TOK_IDENT:
		r = parse_func(parser, t, operand);
		break;
	case TOK_DOT:
		operand->kind = OPERAND_DOT;
		break;
	case TOK_NIL:
		operand->kind = OPERAND_NIL;
		break;
	case TOK_VAR:
		operand->kind = OPERAND_VAR;
		r = tmpl_parse_find_var(parser, t->val, t->pos, &operand->slot);
		break;
	case TOK_FIELD:
		operand->kind = OPERAND_FIELD;
		break;
	case TOK_BOOL:
		operand->kind = OPERAND_BOOL;
		operand->value = tmpl_bool(t->val.n == 4);
		break;
	case TOK_CHAR_CONST:
	case TOK_COMPLEX:
	case TOK_NUMBER:
		r = parse_number(parser, t, operand);
		break;
	case TOK_LPAREN:
		r = parse_parens(parser, operand);
		break;
	case TOK_STRING:
	case TOK_RAW_STRING:
		operand->kind = OPERAND_STRING;
		operand->value.kind = TMPL_STRING;
		r = tmpl_parse_string(parser, t, &operand->value.s);
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
		parser->i--;
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
static int parse_fields(struct parser *parser, struct operand *operand, const struct token *first)
{
	struct steps steps = { 0 };
	if (operand->kind == OPERAND_FIELD)
		add_step(&steps, first);
	bool any = tmpl_peek(parser)->type == TOK_FIELD;
	if (any && (operand->kind == OPERAND_BOOL || operand->kind == OPERAND_STRING ||
		    operand->kind == OPERAND_NIL || operand->kind == OPERAND_NUMBER ||
		    operand->kind == OPERAND_DOT))
		return FAIL(parser, tmpl_peek(parser)->pos, "unexpected . after term %s",
			    tmpl_parse_quoted(parser, operand->text));
	while (tmpl_peek(parser)->type == TOK_FIELD)
		add_step(&steps, tmpl_next(parser));
	if (any && operand->kind != OPERAND_FIELD && operand->kind != OPERAND_VAR) {
		struct operand *base = arena_memdup(&parser->t->arena, operand, sizeof(*operand));
		*operand = (struct operand){ .kind = OPERAND_CHAIN,
					     .pos = operand->pos,
					     .base = base };
	}
	operand->n_steps = (uint32_t)steps.n;
	operand->steps = KEEP(parser, &steps);
	return 0;
}

static int parse_operand(struct parser *parser, struct operand *operand)
{
	const struct token *t = tmpl_peek_word(parser);
	*operand = (struct operand){ .pos = t->pos, .text = t->val };
	int r = parse_term(parser, operand);
	if (r <= 0)
		return r;
	operand->end = tmpl_parse_end(parser);
	r = tmpl_parse_count(parser);
	if (r == 0)
		r = parse_fields(parser, operand, t);
	operand->end = tmpl_parse_end(parser);
	return r < 0 ? r : 1;
}

/* Operands until the command ends; 1 when there may be more. */
static int parse_next_arg(struct parser *parser, struct operands *args)
{
	struct operand o;
	int r = parse_operand(parser, &o);
	if (r < 0)
		return r;
	if (r > 0) {
		if (args->n >= TMPL_MAX_ARGS)
			return FAIL(parser, o.pos, "more than %d arguments", TMPL_MAX_ARGS);
		vec_push(args, o);
	}
	const struct token *t = tmpl_peek(parser);
	switch ((int)t->type) {
	case TOK_SPACE:
		tmpl_next(parser);
		return 1;
	case TOK_RIGHT:
	case TOK_RPAREN:
		return 0;
	case TOK_PIPE:
		tmpl_next(parser);
		return 0;
	default:
		return tmpl_parse_unexpected(parser, t, "operand");
	}
}

static int parse_cmd(struct parser *parser, struct cmd *ret)
{
	struct operands args = { 0 };
	unsigned lazy = parser->lazy;
	int r = tmpl_parse_count(parser);
	ret->pos = tmpl_peek_word(parser)->pos;
	if (r == 0)
		r = 1;
	while (r > 0) {
		if (args.n == 2 && args.v[0].kind == OPERAND_FUNC && tmpl_is_lazy(args.v[0].func))
			parser->lazy = lazy + 1;
		r = parse_next_arg(parser, &args);
	}
	parser->lazy = lazy;
	if (r == 0 && args.n == 0)
		r = FAIL(parser, ret->pos, "empty command");
	ret->end = args.n > 0 ? args.v[args.n - 1].end : ret->pos;
	ret->n_args = (uint32_t)args.n;
	ret->args = KEEP(parser, &args);
	return r;
}

static int add_decl(struct parser *parser, struct pipe *pipe, const struct token *var)
{
	/* It would be unknown afterwards whether the variable exists. */
	if (parser->lazy > 0)
		return FAIL(parser, var->pos,
			    "a declaration in an argument that and/or may skip is not supported");
	pipe->decls[pipe->n_decls++].name = var->val;
	return 0;
}

/* "$x :=", "$x =", and for range "$i, $x :="; nothing is read when there is none of these. */
static int parse_decls(struct parser *parser, const char *context, struct pipe *pipe)
{
	for (;;) {
		const struct token *var = tmpl_peek_word(parser);
		size_t start = parser->i;
		if (var->type != TOK_VAR)
			return 0;
		tmpl_next(parser);
		const struct token *t = tmpl_peek_word(parser);
		if (t->type == TOK_ASSIGN || t->type == TOK_DECLARE) {
			pipe->is_assign = t->type == TOK_ASSIGN;
			tmpl_next(parser);
			return add_decl(parser, pipe, var);
		}
		if (t->type != TOK_CHAR || !slice_is(t->val, ",")) {
			parser->i = start;
			return 0;
		}
		tmpl_next(parser);
		if (strcmp(context, "range") != 0 || pipe->n_decls > 0)
			return FAIL(parser, t->pos, "too many declarations in %s", context);
		if (add_decl(parser, pipe, var) < 0)
			return ERR_PARSE;
		t = tmpl_peek_word(parser);
		if (t->type != TOK_VAR && t->type != TOK_RIGHT && t->type != TOK_RPAREN)
			return FAIL(parser, t->pos, "range can only initialize variables");
	}
}

/* Names come into scope after the commands: in "$x := $x" the right one is the older. */
static int resolve_decls(struct parser *parser, struct pipe *pipe)
{
	for (uint32_t i = 0; i < pipe->n_decls; i++) {
		struct decl *d = &pipe->decls[i];
		int r = pipe->is_assign ? tmpl_parse_find_var(parser, d->name, pipe->pos, &d->slot)
					: tmpl_parse_declare(parser, d->name, pipe->pos, &d->slot);
		if (r < 0)
			return r;
		parser->slots.v[d->slot].assigned |= pipe->is_assign;
	}
	return 0;
}

static int check_stages(struct parser *parser, const struct pipe *pipe, const char *context)
{
	if (pipe->n_cmds == 0)
		return FAIL(parser, pipe->pos, "missing value for %s", context);
	for (uint32_t i = 1; i < pipe->n_cmds; i++) {
		enum operand_kind k = pipe->cmds[i].args[0].kind;
		if (k <= OPERAND_STRING)
			return FAIL(parser, pipe->cmds[i].pos,
				    "non executable command in pipeline stage %u", i + 1);
	}
	return 0;
}

static bool starts_cmd(enum tok tok)
{
	return (tok >= TOK_STRING && tok <= TOK_LPAREN) || tok == TOK_DOT || tok == TOK_NIL;
}

static int parse_cmds(struct parser *parser, const char *context, enum tok end, struct cmds *cmds)
{
	for (;;) {
		const struct token *t = tmpl_peek_word(parser);
		if (t->type == end) {
			tmpl_next(parser);
			return 0;
		}
		if (!starts_cmd(t->type))
			return tmpl_parse_unexpected(parser, t, context);
		int r = parse_cmd(parser, vec_add(cmds));
		if (r < 0)
			return r;
	}
}

int tmpl_parse_pipe(struct parser *parser, const char *context, enum tok end, struct pipe **ret)
{
	struct pipe *pipe = arena_calloc(&parser->t->arena, sizeof(*pipe));
	struct cmds cmds = { 0 };
	pipe->pos = tmpl_peek_word(parser)->pos;
	int r = parse_decls(parser, context, pipe);
	if (r == 0)
		r = parse_cmds(parser, context, end, &cmds);
	pipe->n_cmds = (uint32_t)cmds.n;
	pipe->end = cmds.n > 0 ? cmds.v[cmds.n - 1].end : pipe->pos;
	pipe->cmds = KEEP(parser, &cmds);
	if (r == 0)
		r = check_stages(parser, pipe, context);
	if (r == 0)
		r = resolve_decls(parser, pipe);
	*ret = pipe;
	return r;
}

/* From tokens to bodies: the grammar of actions, pipelines and operands, and the scope of
 * variables, each of which becomes a numbered slot. */
#include "tmpl/tmpl_priv.h"

#include "base/err.h"

struct var {
	struct slice name;
	uint32_t slot;
};

struct vars {
	struct var *v;
	size_t n, cap;
};

struct slots {
	struct slot *v;
	size_t n, cap;
};

struct parser {
	struct tmpl *t;
	const struct tokens *toks;
	size_t i;
	struct srcerr *err;
	size_t nodes;
	unsigned nesting;
	unsigned lazy; /* inside arguments that and/or may skip */
	/* of the body being parsed */
	struct vars vars;
	struct slots slots;
	unsigned range_depth;
};

struct stmts {
	struct stmt *v;
	size_t n, cap;
};

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

enum block_end { END_NONE, END_END, END_ELSE };

static int parse_pipe(struct parser *p, const char *context, enum tok end, struct pipe **ret);
static int parse_block(struct parser *p, struct block *ret, enum block_end *ret_end);
static int parse_control(struct parser *p, enum stmt_kind kind, struct stmt *s);

/* Moves a vector into the template's arena. */
static void *keep(struct parser *p, void *v, size_t n, size_t elem_bytes)
{
	void *kept = n != 0 ? arena_memdup(&p->t->arena, v, n * elem_bytes) : NULL;
	free(v);
	return kept;
}

#define KEEP(p, vec) keep((p), (vec)->v, (vec)->n, sizeof(*(vec)->v))

static const struct token *peek(const struct parser *p)
{
	return &p->toks->v[p->i];
}

/* The last token is never passed. */
static const struct token *next(struct parser *p)
{
	const struct token *t = peek(p);
	if (p->i + 1 < p->toks->n)
		p->i++;
	return t;
}

static const struct token *peek_word(struct parser *p)
{
	while (peek(p)->type == TOK_SPACE)
		p->i++;
	return peek(p);
}

static const struct token *next_word(struct parser *p)
{
	peek_word(p);
	return next(p);
}

static uint32_t last_end(const struct parser *p)
{
	size_t i = p->i;
	while (i > 0 && p->toks->v[i - 1].type == TOK_SPACE)
		i--;
	const struct token *t = &p->toks->v[i > 0 ? i - 1 : 0];
	return t->type == TOK_ERROR ? t->pos : t->pos + (uint32_t)t->val.n;
}

#define FAIL(p, pos, ...) srcerr_set((p)->err, tmpl_place((p)->t, (pos)), __VA_ARGS__)

/* Go's %q, cut to fit an error text. */
static const char *quoted(struct parser *p, struct slice s)
{
	char *buf = arena_alloc(&p->t->arena, 256);
	struct tmpl_out o = { .p = buf, .cap = 250 };
	tmpl_out_quote(&o, (struct slice){ s.p, MIN(s.n, (size_t)60) }, false);
	buf[o.n] = '\0';
	return buf;
}

static int unexpected(struct parser *p, const struct token *t, const char *context)
{
	int n = (int)MIN(t->val.n, (size_t)200);
	if (t->type == TOK_ERROR)
		return FAIL(p, t->pos, "%.*s", n, t->val.p);
	if (t->type == TOK_EOF)
		return FAIL(p, t->pos, "unexpected EOF in %s", context);
	if (t->type >= TOK_DOT)
		return FAIL(p, t->pos, "unexpected <%.*s> in %s", n, t->val.p, context);
	struct slice head = { t->val.p, MIN(t->val.n, (size_t)10) };
	return FAIL(p, t->pos, "unexpected %s%s in %s", quoted(p, head), t->val.n > 10 ? "..." : "",
		    context);
}

static int expect_right(struct parser *p, const char *context)
{
	const struct token *t = next_word(p);
	return t->type == TOK_RIGHT ? 0 : unexpected(p, t, context);
}

static int count_node(struct parser *p)
{
	if (++p->nodes > TMPL_MAX_NODES)
		return FAIL(p, peek(p)->pos, "template too large: more than %d parts",
			    TMPL_MAX_NODES);
	return 0;
}

static int enter(struct parser *p)
{
	if (++p->nesting > TMPL_MAX_NESTING)
		return FAIL(p, peek(p)->pos, "nested deeper than %d levels", TMPL_MAX_NESTING);
	return 0;
}

/* The newest declaration wins. */
static int find_var(struct parser *p, struct slice name, uint32_t pos, uint32_t *ret_slot)
{
	for (size_t i = p->vars.n; i > 0; i--) {
		if (slice_eq(p->vars.v[i - 1].name, name)) {
			*ret_slot = p->vars.v[i - 1].slot;
			return 0;
		}
	}
	return FAIL(p, pos, "undefined variable %s", quoted(p, name));
}

static int declare_var(struct parser *p, struct slice name, uint32_t pos, uint32_t *ret_slot)
{
	if (p->slots.n >= TMPL_MAX_VARS)
		return FAIL(p, pos, "more than %d variables", TMPL_MAX_VARS);
	*ret_slot = (uint32_t)p->slots.n;
	vec_push(&p->slots, (struct slot){ .assigned = false });
	vec_push(&p->vars, (struct var){ name, *ret_slot });
	return 0;
}

/* What a number is where no type is asked for: the way it is written decides. */
static void set_ideal(struct operand *o)
{
	const struct number *n = o->number;
	struct slice s = o->text;
	bool hex = s.n > 2 && s.p[0] == '0' && ascii_lower(s.p[1]) == 'x';
	bool point = false, power = false;
	for (size_t i = 0; i < s.n; i++) {
		point |= strchr(".eEpP", s.p[i]) != NULL;
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
		return FAIL(p, t->pos, "complex constant %s is not supported", quoted(p, t->val));
	if (t->type == TOK_CHAR_CONST)
		r = tmpl_char_const(t->val, o->number);
	if (r == ERR_PARSE)
		return FAIL(p, t->pos, "invalid syntax");
	if (r == ERR_RANGE)
		return FAIL(p, t->pos, "%s: %.*s", why, (int)MIN(t->val.n, (size_t)60), t->val.p);
	if (t->type == TOK_NUMBER && tmpl_number(t->val, o->number, &why) < 0)
		return FAIL(p, t->pos, "%s: %s", why, quoted(p, t->val));
	set_ideal(o);
	return 0;
}

static int parse_string(struct parser *p, const struct token *t, struct slice *ret)
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
	return FAIL(p, t->pos, "function %s not defined", quoted(p, t->val));
}

static int parse_parens(struct parser *p, struct operand *o)
{
	int r = enter(p);
	o->kind = OPERAND_PIPE;
	if (r == 0)
		r = parse_pipe(p, "parenthesized pipeline", TOK_RPAREN, &o->pipe);
	p->nesting--;
	return r;
}

/* 1: a term; 0: the next token starts none and is left where it is. */
static int parse_term(struct parser *p, struct operand *o)
{
	const struct token *t = peek_word(p);
	int r = 0;
	if (t->type < TOK_STRING)
		return 0;
	next(p);
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
		r = find_var(p, t->val, t->pos, &o->slot);
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
		r = parse_string(p, t, &o->value.s);
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
	bool any = peek(p)->type == TOK_FIELD;
	if (any && (o->kind == OPERAND_BOOL || o->kind == OPERAND_STRING ||
		    o->kind == OPERAND_NIL || o->kind == OPERAND_NUMBER || o->kind == OPERAND_DOT))
		return FAIL(p, peek(p)->pos, "unexpected . after term %s", quoted(p, o->text));
	while (peek(p)->type == TOK_FIELD)
		add_step(&steps, next(p));
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
	const struct token *t = peek_word(p);
	*o = (struct operand){ .pos = t->pos, .text = t->val };
	int r = parse_term(p, o);
	if (r <= 0)
		return r;
	o->end = last_end(p);
	r = count_node(p);
	if (r == 0)
		r = parse_fields(p, o, t);
	o->end = last_end(p);
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
	const struct token *t = peek(p);
	switch ((int)t->type) {
	case TOK_SPACE:
		next(p);
		return 1;
	case TOK_RIGHT:
	case TOK_RPAREN:
		return 0;
	case TOK_PIPE:
		next(p);
		return 0;
	default:
		return unexpected(p, t, "operand");
	}
}

static int parse_cmd(struct parser *p, struct cmd *ret)
{
	struct operands args = { 0 };
	unsigned lazy = p->lazy;
	int r = count_node(p);
	ret->pos = peek_word(p)->pos;
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
		const struct token *var = peek_word(p);
		size_t start = p->i;
		if (var->type != TOK_VAR)
			return 0;
		next(p);
		const struct token *t = peek_word(p);
		if (t->type == TOK_ASSIGN || t->type == TOK_DECLARE) {
			pipe->is_assign = t->type == TOK_ASSIGN;
			next(p);
			return add_decl(p, pipe, var);
		}
		if (t->type != TOK_CHAR || !slice_is(t->val, ",")) {
			p->i = start;
			return 0;
		}
		next(p);
		if (strcmp(context, "range") != 0 || pipe->n_decls > 0)
			return FAIL(p, t->pos, "too many declarations in %s", context);
		if (add_decl(p, pipe, var) < 0)
			return ERR_PARSE;
		t = peek_word(p);
		if (t->type != TOK_VAR && t->type != TOK_RIGHT && t->type != TOK_RPAREN)
			return FAIL(p, t->pos, "range can only initialize variables");
	}
}

/* Names come into scope after the commands: in "$x := $x" the right one is the older. */
static int resolve_decls(struct parser *p, struct pipe *pipe)
{
	for (uint32_t i = 0; i < pipe->n_decls; i++) {
		struct decl *d = &pipe->decls[i];
		int r = pipe->is_assign ? find_var(p, d->name, pipe->pos, &d->slot)
					: declare_var(p, d->name, pipe->pos, &d->slot);
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
		const struct token *t = peek_word(p);
		if (t->type == end) {
			next(p);
			return 0;
		}
		if (!starts_cmd(t->type))
			return unexpected(p, t, context);
		int r = parse_cmd(p, vec_add(cmds));
		if (r < 0)
			return r;
	}
}

static int parse_pipe(struct parser *p, const char *context, enum tok end, struct pipe **ret)
{
	struct pipe *pipe = arena_calloc(&p->t->arena, sizeof(*pipe));
	struct cmds cmds = { 0 };
	pipe->pos = peek_word(p)->pos;
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

static bool is_blank(const struct block *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->v[i].kind != STMT_TEXT || slice_trim(b->v[i].text).n != 0)
			return false;
	}
	return true;
}

/* A blank body gives way to one with content, whichever comes first. */
static int add_body(struct parser *p, struct body *b, uint32_t pos)
{
	struct body *old = tmpl_find_body(p->t, b->name);
	if (old == NULL) {
		b->next = p->t->bodies;
		p->t->bodies = b;
		return 0;
	}
	if (is_blank(&old->block)) {
		b->next = old->next;
		*old = *b;
		return 0;
	}
	if (is_blank(&b->block))
		return 0;
	return FAIL(p, pos, "multiple definition of template %s", quoted(p, b->name));
}

/* Another body starts inside this one: its variables are its own. */
struct outer {
	struct vars vars;
	struct slots slots;
	unsigned range_depth;
};

static void begin_body(struct parser *p, struct outer *save)
{
	*save = (struct outer){ p->vars, p->slots, p->range_depth };
	p->vars = (struct vars){ 0 };
	p->slots = (struct slots){ 0 };
	p->range_depth = 0;
	uint32_t slot;
	IGNORE(declare_var(p, SLICE("$"), 0, &slot)); /* the first always fits */
}

static void end_body(struct parser *p, struct body *b, const struct outer *save)
{
	vec_done(&p->vars);
	b->n_slots = (uint32_t)p->slots.n;
	b->slots = KEEP(p, &p->slots);
	p->vars = save->vars;
	p->slots = save->slots;
	p->range_depth = save->range_depth;
}

static int parse_nested_body(struct parser *p, struct slice name, const char *context)
{
	struct body *b = arena_calloc(&p->t->arena, sizeof(*b));
	struct outer save;
	enum block_end end = END_NONE;
	uint32_t pos = peek(p)->pos;
	int r = enter(p);
	b->name = name;
	begin_body(p, &save);
	if (r == 0)
		r = parse_block(p, &b->block, &end);
	if (r == 0 && end != END_END)
		r = FAIL(p, last_end(p), "unexpected {{else}} in %s", context);
	end_body(p, b, &save);
	p->nesting--;
	return r < 0 ? r : add_body(p, b, pos);
}

static int parse_name(struct parser *p, const char *context, struct slice *ret)
{
	const struct token *t = next_word(p);
	if (t->type != TOK_STRING && t->type != TOK_RAW_STRING)
		return unexpected(p, t, context);
	return parse_string(p, t, ret);
}

static int parse_define(struct parser *p)
{
	struct slice name;
	int r = parse_name(p, "define clause", &name);
	if (r == 0)
		r = expect_right(p, "define clause");
	return r < 0 ? r : parse_nested_body(p, name, "define clause");
}

static int parse_template(struct parser *p, struct stmt *s, bool is_block)
{
	const char *context = is_block ? "block clause" : "template clause";
	s->kind = STMT_TEMPLATE;
	int r = parse_name(p, context, &s->text);
	if (r < 0)
		return r;
	if (!is_block && peek_word(p)->type == TOK_RIGHT) {
		next(p);
		return 0;
	}
	r = parse_pipe(p, context, TOK_RIGHT, &s->pipe);
	if (r == 0 && is_block)
		r = parse_nested_body(p, s->text, context);
	return r;
}

static int parse_else(struct parser *p, enum stmt_kind kind, struct stmt *s)
{
	enum block_end end;
	s->else_block = arena_calloc(&p->t->arena, sizeof(*s->else_block));
	enum tok again = kind == STMT_IF ? TOK_IF : kind == STMT_WITH ? TOK_WITH : TOK_EOF;
	if (peek(p)->type == again && again != TOK_EOF) {
		struct stmt *inner = arena_calloc(&p->t->arena, sizeof(*inner));
		inner->pos = peek(p)->pos;
		next(p);
		*s->else_block = (struct block){ inner, 1 };
		return parse_control(p, kind, inner);
	}
	int r = parse_block(p, s->else_block, &end);
	if (r == 0 && end != END_END)
		r = FAIL(p, last_end(p), "expected end; found {{else}}");
	return r;
}

static int parse_control(struct parser *p, enum stmt_kind kind, struct stmt *s)
{
	static const char *const names[] = {
		[STMT_IF] = "if", [STMT_WITH] = "with", [STMT_RANGE] = "range"
	};
	enum block_end end = END_NONE;
	size_t outside = p->vars.n;
	int r = enter(p);
	s->kind = kind;
	if (r == 0)
		r = parse_pipe(p, names[kind], TOK_RIGHT, &s->pipe);
	size_t inside = p->vars.n;
	p->range_depth += kind == STMT_RANGE;
	if (r == 0)
		r = parse_block(p, &s->block, &end);
	p->range_depth -= kind == STMT_RANGE;
	p->vars.n = inside;
	if (r == 0 && end == END_ELSE)
		r = parse_else(p, kind, s);
	p->vars.n = outside;
	p->nesting--;
	return r;
}

static int parse_jump(struct parser *p, const struct token *t, struct stmt *s)
{
	bool is_break = t->type == TOK_BREAK;
	const char *context = is_break ? "{{break}}" : "{{continue}}";
	s->kind = is_break ? STMT_BREAK : STMT_CONTINUE;
	int r = expect_right(p, context);
	if (r == 0 && p->range_depth == 0)
		r = FAIL(p, t->pos, "%s outside {{range}}", context);
	return r;
}

/* After "{{". An {{else if}} leaves the "if" for parse_else. */
static int parse_action(struct parser *p, struct stmt *s, enum block_end *ret_end)
{
	const struct token *t = next_word(p);
	switch ((int)t->type) {
	case TOK_BLOCK:
	case TOK_TEMPLATE:
		return parse_template(p, s, t->type == TOK_BLOCK);
	case TOK_BREAK:
	case TOK_CONTINUE:
		return parse_jump(p, t, s);
	case TOK_END:
		*ret_end = END_END;
		return expect_right(p, "end");
	case TOK_ELSE:
		*ret_end = END_ELSE;
		t = peek_word(p);
		return t->type == TOK_IF || t->type == TOK_WITH ? 0 : expect_right(p, "else");
	case TOK_IF:
		return parse_control(p, STMT_IF, s);
	case TOK_WITH:
		return parse_control(p, STMT_WITH, s);
	case TOK_RANGE:
		return parse_control(p, STMT_RANGE, s);
	default:
		p->i -= t != peek(p);
		s->kind = STMT_ACTION;
		return parse_pipe(p, "command", TOK_RIGHT, &s->pipe);
	}
}

static int parse_stmt(struct parser *p, struct stmt *s, enum block_end *ret_end)
{
	const struct token *t = next_word(p);
	*s = (struct stmt){ .pos = t->pos, .text = t->val };
	*ret_end = END_NONE;
	if (t->type == TOK_TEXT)
		return count_node(p);
	if (t->type != TOK_LEFT)
		return unexpected(p, t, "input");
	int r = count_node(p);
	return r < 0 ? r : parse_action(p, s, ret_end);
}

/* Up to its {{end}} or {{else}}. */
static int parse_block(struct parser *p, struct block *ret, enum block_end *ret_end)
{
	struct stmts stmts = { 0 };
	int r = 0;
	*ret_end = END_NONE;
	while (r == 0 && *ret_end == END_NONE) {
		struct stmt s;
		if (peek_word(p)->type == TOK_EOF)
			r = FAIL(p, peek(p)->pos, "unexpected EOF");
		else
			r = parse_stmt(p, &s, ret_end);
		if (r == 0 && *ret_end == END_NONE)
			vec_push(&stmts, s);
	}
	ret->n = (uint32_t)stmts.n;
	ret->v = KEEP(p, &stmts);
	return r;
}

static bool at_define(struct parser *p)
{
	size_t start = p->i;
	if (next(p)->type == TOK_LEFT && next_word(p)->type == TOK_DEFINE)
		return true;
	p->i = start;
	return false;
}

/* The text itself: like a block, but it runs to the end and may hold definitions. */
static int parse_top(struct parser *p, struct block *ret)
{
	struct stmts stmts = { 0 };
	int r = 0;
	while (r == 0 && peek(p)->type != TOK_EOF) {
		enum block_end end = END_NONE;
		struct stmt s;
		if (at_define(p)) {
			r = parse_define(p);
			continue;
		}
		r = parse_stmt(p, &s, &end);
		if (r == 0 && end != END_NONE)
			r = FAIL(p, s.pos, "unexpected {{%s}}", end == END_END ? "end" : "else");
		else if (r == 0)
			vec_push(&stmts, s);
	}
	ret->n = (uint32_t)stmts.n;
	ret->v = KEEP(p, &stmts);
	return r;
}

int tmpl_parse_tokens(struct tmpl *t, const struct tokens *toks, struct srcerr *err)
{
	struct parser p = { .t = t, .toks = toks, .err = err };
	struct body *b = arena_calloc(&t->arena, sizeof(*b));
	struct outer save;
	b->name = t->name;
	begin_body(&p, &save);
	int r = parse_top(&p, &b->block);
	end_body(&p, b, &save);
	if (r == 0)
		r = add_body(&p, b, 0);
	t->main = tmpl_find_body(t, t->name);
	return r;
}

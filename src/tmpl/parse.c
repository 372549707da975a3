/* From tokens to bodies: text and actions, blocks and their ends, definitions. */
#include "tmpl/parse_priv.h"

#include "base/err.h"

struct stmts {
	struct stmt *v;
	size_t n, cap;
};

enum block_end { END_NONE, END_END, END_ELSE };

static int parse_block(struct parser *p, struct block *ret, enum block_end *ret_end);
static int parse_control(struct parser *p, enum stmt_kind kind, struct stmt *s);

static int expect_right(struct parser *p, const char *context)
{
	const struct token *t = tmpl_next_word(p);
	return t->type == TOK_RIGHT ? 0 : tmpl_parse_unexpected(p, t, context);
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
	return FAIL(p, pos, "multiple definition of template %s", tmpl_parse_quoted(p, b->name));
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
	IGNORE(tmpl_parse_declare(p, SLICE("$"), 0, &slot)); /* the first always fits */
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
	uint32_t pos = tmpl_peek(p)->pos;
	int r = tmpl_parse_enter(p);
	b->name = name;
	begin_body(p, &save);
	if (r == 0)
		r = parse_block(p, &b->block, &end);
	if (r == 0 && end != END_END)
		r = FAIL(p, tmpl_parse_end(p), "unexpected {{else}} in %s", context);
	end_body(p, b, &save);
	p->nesting--;
	return r < 0 ? r : add_body(p, b, pos);
}

static int parse_name(struct parser *p, const char *context, struct slice *ret)
{
	const struct token *t = tmpl_next_word(p);
	if (t->type != TOK_STRING && t->type != TOK_RAW_STRING)
		return tmpl_parse_unexpected(p, t, context);
	return tmpl_parse_string(p, t, ret);
}

static int parse_define(struct parser *p)
{
	struct slice name = { NULL, 0 };
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
	if (!is_block && tmpl_peek_word(p)->type == TOK_RIGHT) {
		tmpl_next(p);
		return 0;
	}
	r = tmpl_parse_pipe(p, context, TOK_RIGHT, &s->pipe);
	if (r == 0 && is_block)
		r = parse_nested_body(p, s->text, context);
	return r;
}

static int parse_else(struct parser *p, enum stmt_kind kind, struct stmt *s)
{
	enum block_end end;
	s->else_block = arena_calloc(&p->t->arena, sizeof(*s->else_block));
	enum tok again = kind == STMT_IF ? TOK_IF : kind == STMT_WITH ? TOK_WITH : TOK_EOF;
	if (tmpl_peek(p)->type == again && again != TOK_EOF) {
		struct stmt *inner = arena_calloc(&p->t->arena, sizeof(*inner));
		inner->pos = tmpl_peek(p)->pos;
		tmpl_next(p);
		*s->else_block = (struct block){ inner, 1 };
		return parse_control(p, kind, inner);
	}
	int r = parse_block(p, s->else_block, &end);
	if (r == 0 && end != END_END)
		r = FAIL(p, tmpl_parse_end(p), "expected end; found {{else}}");
	return r;
}

static int parse_control(struct parser *p, enum stmt_kind kind, struct stmt *s)
{
	static const char *const names[] = {
		[STMT_IF] = "if", [STMT_WITH] = "with", [STMT_RANGE] = "range"
	};
	enum block_end end = END_NONE;
	size_t outside = p->vars.n;
	int r = tmpl_parse_enter(p);
	s->kind = kind;
	if (r == 0)
		r = tmpl_parse_pipe(p, names[kind], TOK_RIGHT, &s->pipe);
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
	const struct token *t = tmpl_next_word(p);
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
		t = tmpl_peek_word(p);
		return t->type == TOK_IF || t->type == TOK_WITH ? 0 : expect_right(p, "else");
	case TOK_IF:
		return parse_control(p, STMT_IF, s);
	case TOK_WITH:
		return parse_control(p, STMT_WITH, s);
	case TOK_RANGE:
		return parse_control(p, STMT_RANGE, s);
	default:
		p->i -= t != tmpl_peek(p);
		s->kind = STMT_ACTION;
		return tmpl_parse_pipe(p, "command", TOK_RIGHT, &s->pipe);
	}
}

static int parse_stmt(struct parser *p, struct stmt *s, enum block_end *ret_end)
{
	const struct token *t = tmpl_next_word(p);
	*s = (struct stmt){ .pos = t->pos, .text = t->val };
	*ret_end = END_NONE;
	if (t->type == TOK_TEXT)
		return tmpl_parse_count(p);
	if (t->type != TOK_LEFT)
		return tmpl_parse_unexpected(p, t, "input");
	int r = tmpl_parse_count(p);
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
		if (tmpl_peek_word(p)->type == TOK_EOF)
			r = FAIL(p, tmpl_peek(p)->pos, "unexpected EOF");
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
	if (tmpl_next(p)->type == TOK_LEFT && tmpl_next_word(p)->type == TOK_DEFINE)
		return true;
	p->i = start;
	return false;
}

/* The text itself: like a block, but it runs to the end and may hold definitions. */
static int parse_top(struct parser *p, struct block *ret)
{
	struct stmts stmts = { 0 };
	int r = 0;
	while (r == 0 && tmpl_peek(p)->type != TOK_EOF) {
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

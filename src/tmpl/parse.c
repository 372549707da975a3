/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From tokens to bodies: text and actions, blocks and their ends, definitions. */
#include "tmpl/parse_priv.h"

#include "base/err.h"
#include "tmpl/cursor_priv.h"
#include "tmpl/pipeline_priv.h"

struct stmts {
	struct stmt *v;
	size_t n, cap;
};

enum block_end { END_NONE, END_END, END_ELSE };

static int parse_block(struct parser *parser, struct block *ret, enum block_end *ret_end);
static int parse_control(struct parser *parser, enum stmt_kind kind, struct stmt *stmt);

static int expect_right(struct parser *parser, const char *context)
{
	const struct token *t = tmpl_next_word(parser);
	return t->type == TOK_RIGHT ? 0 : tmpl_parse_unexpected(parser, t, context);
}

static bool is_blank(const struct block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		if (block->v[i].kind != STMT_TEXT || slice_trim(block->v[i].text).n != 0)
			return false;
	}
	return true;
}

/* A blank body gives way to one with content, whichever comes first. */
static int add_body(struct parser *parser, struct body *body, uint32_t pos)
{
	struct body *old = tmpl_find_template(parser->t, body->name);
	if (old == NULL) {
		body->next = parser->t->bodies;
		parser->t->bodies = body;
		return 0;
	}
	if (is_blank(&old->block)) {
		body->next = old->next;
		*old = *body;
		return 0;
	}
	if (is_blank(&body->block))
		return 0;
	return FAIL(parser, pos, "multiple definition of template %s",
		    tmpl_parse_quoted(parser, body->name));
}

/* Another body starts inside this one: its variables are its own. */
struct outer {
	struct vars vars;
	struct slots slots;
	unsigned range_depth;
};

static void begin_body(struct parser *parser, struct outer *save)
{
	*save = (struct outer){ parser->vars, parser->slots, parser->range_depth };
	parser->vars = (struct vars){ 0 };
	parser->slots = (struct slots){ 0 };
	parser->range_depth = 0;
	uint32_t slot;
	IGNORE(tmpl_parse_declare(parser, SLICE("$"), 0, &slot)); /* the first always fits */
}

static void end_body(struct parser *parser, struct body *body, const struct outer *save)
{
	vec_done(&parser->vars);
	body->n_slots = (uint32_t)parser->slots.n;
	body->slots = KEEP(parser, &parser->slots);
	parser->vars = save->vars;
	parser->slots = save->slots;
	parser->range_depth = save->range_depth;
}

static int parse_nested_body(struct parser *parser, struct slice name, const char *context)
{
	struct body *b = arena_calloc(&parser->t->arena, sizeof(*b));
	struct outer save;
	enum block_end end = END_NONE;
	uint32_t pos = tmpl_peek(parser)->pos;
	int r = tmpl_parse_enter(parser);
	b->name = name;
	begin_body(parser, &save);
	if (r == 0)
		r = parse_block(parser, &b->block, &end);
	if (r == 0 && end != END_END)
		r = FAIL(parser, tmpl_parse_end(parser), "unexpected {{else}} in %s", context);
	end_body(parser, b, &save);
	parser->nesting--;
	return r < 0 ? r : add_body(parser, b, pos);
}

static int parse_name(struct parser *parser, const char *context, struct slice *ret)
{
	const struct token *t = tmpl_next_word(parser);
	if (t->type != TOK_STRING && t->type != TOK_RAW_STRING)
		return tmpl_parse_unexpected(parser, t, context);
	return tmpl_parse_string(parser, t, ret);
}

static int parse_define(struct parser *parser)
{
	struct slice name = { NULL, 0 };
	int r = parse_name(parser, "define clause", &name);
	if (r == 0)
		r = expect_right(parser, "define clause");
	return r < 0 ? r : parse_nested_body(parser, name, "define clause");
}

static int parse_template(struct parser *parser, struct stmt *stmt, bool is_block)
{
	const char *context = is_block ? "block clause" : "template clause";
	stmt->kind = STMT_TEMPLATE;
	int r = parse_name(parser, context, &stmt->text);
	if (r < 0)
		return r;
	if (!is_block && tmpl_peek_word(parser)->type == TOK_RIGHT) {
		tmpl_next(parser);
		return 0;
	}
	r = tmpl_parse_pipe(parser, context, TOK_RIGHT, &stmt->pipe);
	if (r == 0 && is_block)
		r = parse_nested_body(parser, stmt->text, context);
	return r;
}

static int parse_else(struct parser *parser, enum stmt_kind kind, struct stmt *stmt)
{
	enum block_end end;
	stmt->else_block = arena_calloc(&parser->t->arena, sizeof(*stmt->else_block));
	enum tok again = kind == STMT_IF ? TOK_IF : kind == STMT_WITH ? TOK_WITH : TOK_EOF;
	if (tmpl_peek(parser)->type == again && again != TOK_EOF) {
		struct stmt *inner = arena_calloc(&parser->t->arena, sizeof(*inner));
		inner->pos = tmpl_peek(parser)->pos;
		tmpl_next(parser);
		*stmt->else_block = (struct block){ inner, 1 };
		return parse_control(parser, kind, inner);
	}
	int r = parse_block(parser, stmt->else_block, &end);
	if (r == 0 && end != END_END)
		r = FAIL(parser, tmpl_parse_end(parser), "expected end; found {{else}}");
	return r;
}

static int parse_control(struct parser *parser, enum stmt_kind kind, struct stmt *stmt)
{
	static const char *const names[] = {
		[STMT_IF] = "if", [STMT_WITH] = "with", [STMT_RANGE] = "range"
	};
	enum block_end end = END_NONE;
	size_t outside = parser->vars.n;
	int r = tmpl_parse_enter(parser);
	stmt->kind = kind;
	if (r == 0)
		r = tmpl_parse_pipe(parser, names[kind], TOK_RIGHT, &stmt->pipe);
	size_t inside = parser->vars.n;
	parser->range_depth += kind == STMT_RANGE;
	if (r == 0)
		r = parse_block(parser, &stmt->block, &end);
	parser->range_depth -= kind == STMT_RANGE;
	parser->vars.n = inside;
	if (r == 0 && end == END_ELSE)
		r = parse_else(parser, kind, stmt);
	parser->vars.n = outside;
	parser->nesting--;
	return r;
}

static int parse_jump(struct parser *parser, const struct token *token, struct stmt *stmt)
{
	bool is_break = token->type == TOK_BREAK;
	const char *context = is_break ? "{{break}}" : "{{continue}}";
	stmt->kind = is_break ? STMT_BREAK : STMT_CONTINUE;
	int r = expect_right(parser, context);
	if (r == 0 && parser->range_depth == 0)
		r = FAIL(parser, token->pos, "%s outside {{range}}", context);
	return r;
}

/* After "{{". An {{else if}} leaves the "if" for parse_else. */
static int parse_action(struct parser *parser, struct stmt *stmt, enum block_end *ret_end)
{
	const struct token *t = tmpl_next_word(parser);
	switch ((int)t->type) {
	case TOK_BLOCK:
	case TOK_TEMPLATE:
		return parse_template(parser, stmt, t->type == TOK_BLOCK);
	case TOK_BREAK:
	case TOK_CONTINUE:
		return parse_jump(parser, t, stmt);
	case TOK_END:
		*ret_end = END_END;
		return expect_right(parser, "end");
	case TOK_ELSE:
		*ret_end = END_ELSE;
		t = tmpl_peek_word(parser);
		return t->type == TOK_IF || t->type == TOK_WITH ? 0 : expect_right(parser, "else");
	case TOK_IF:
		return parse_control(parser, STMT_IF, stmt);
	case TOK_WITH:
		return parse_control(parser, STMT_WITH, stmt);
	case TOK_RANGE:
		return parse_control(parser, STMT_RANGE, stmt);
	default:
		parser->i -= t != tmpl_peek(parser);
		stmt->kind = STMT_ACTION;
		return tmpl_parse_pipe(parser, "command", TOK_RIGHT, &stmt->pipe);
	}
}

static int parse_stmt(struct parser *parser, struct stmt *stmt, enum block_end *ret_end)
{
	const struct token *t = tmpl_next_word(parser);
	*stmt = (struct stmt){ .pos = t->pos, .text = t->val };
	*ret_end = END_NONE;
	if (t->type == TOK_TEXT)
		return tmpl_parse_count(parser);
	if (t->type != TOK_LEFT)
		return tmpl_parse_unexpected(parser, t, "input");
	int r = tmpl_parse_count(parser);
	return r < 0 ? r : parse_action(parser, stmt, ret_end);
}

/* Up to its {{end}} or {{else}}. */
static int parse_block(struct parser *parser, struct block *ret, enum block_end *ret_end)
{
	struct stmts stmts = { 0 };
	int r = 0;
	*ret_end = END_NONE;
	while (r == 0 && *ret_end == END_NONE) {
		struct stmt s;
		if (tmpl_peek_word(parser)->type == TOK_EOF)
			r = FAIL(parser, tmpl_peek(parser)->pos, "unexpected EOF");
		else
			r = parse_stmt(parser, &s, ret_end);
		if (r == 0 && *ret_end == END_NONE)
			vec_push(&stmts, s);
	}
	ret->n = (uint32_t)stmts.n;
	ret->v = KEEP(parser, &stmts);
	return r;
}

static bool at_define(struct parser *parser)
{
	size_t start = parser->i;
	if (tmpl_next(parser)->type == TOK_LEFT && tmpl_next_word(parser)->type == TOK_DEFINE)
		return true;
	parser->i = start;
	return false;
}

/* The text itself: like a block, but it runs to the end and may hold definitions. */
static int parse_top(struct parser *parser, struct block *ret)
{
	struct stmts stmts = { 0 };
	int r = 0;
	while (r == 0 && tmpl_peek(parser)->type != TOK_EOF) {
		enum block_end end = END_NONE;
		struct stmt s;
		if (at_define(parser)) {
			r = parse_define(parser);
			continue;
		}
		r = parse_stmt(parser, &s, &end);
		if (r == 0 && end != END_NONE)
			r = FAIL(parser, s.pos, "unexpected {{%s}}",
				 end == END_END ? "end" : "else");
		else if (r == 0)
			vec_push(&stmts, s);
	}
	ret->n = (uint32_t)stmts.n;
	ret->v = KEEP(parser, &stmts);
	return r;
}

int tmpl_parse_tokens(struct tmpl *tmpl, const struct tokens *toks, struct srcerr *err)
{
	struct parser p = { .t = tmpl, .toks = toks, .err = err };
	struct body *b = arena_calloc(&tmpl->arena, sizeof(*b));
	struct outer save;
	b->name = tmpl->name;
	begin_body(&p, &save);
	int r = parse_top(&p, &b->block);
	end_body(&p, b, &save);
	if (r == 0)
		r = add_body(&p, b, 0);
	tmpl->main = tmpl_find_template(tmpl, tmpl->name);
	return r;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the parser stands in its tokens, how it complains, what it counts, and which variables are
 * in scope. */
#include "tmpl/cursor_priv.h"

#include "tmpl/parse_priv.h"

#include "base/err.h"
#include "tmpl/out_priv.h"

void *tmpl_parse_keep(struct parser *parser, void *value, size_t len, size_t elem_bytes)
{
	void *kept = len != 0 ? arena_memdup(&parser->t->arena, value, len * elem_bytes) : NULL;
	free(value);
	return kept;
}

uint32_t tmpl_parse_end(const struct parser *parser)
{
	size_t i = parser->i;
	while (i > 0 && parser->toks->v[i - 1].type == TOK_SPACE)
		i--;
	const struct token *t = &parser->toks->v[i > 0 ? i - 1 : 0];
	return t->type == TOK_ERROR ? t->pos : t->pos + (uint32_t)t->val.n;
}

const char *tmpl_parse_quoted(struct parser *parser, struct slice text)
{
	char *buf = arena_alloc(&parser->t->arena, 256);
	struct tmpl_out o = { .p = buf, .cap = 250 };
	tmpl_out_quote(&o, (struct slice){ text.p, MIN(text.n, (size_t)60) }, false);
	buf[o.n] = '\0';
	return buf;
}

int tmpl_parse_unexpected(struct parser *parser, const struct token *token, const char *context)
{
	int n = (int)MIN(token->val.n, (size_t)200);
	if (token->type == TOK_ERROR)
		return FAIL(parser, token->pos, "%.*s", n, token->val.p);
	if (token->type == TOK_EOF)
		return FAIL(parser, token->pos, "unexpected EOF in %s", context);
	if (token->type >= TOK_DOT)
		return FAIL(parser, token->pos, "unexpected <%.*s> in %s", n, token->val.p,
			    context);
	struct slice head = { token->val.p, MIN(token->val.n, (size_t)10) };
	return FAIL(parser, token->pos, "unexpected %s%s in %s", tmpl_parse_quoted(parser, head),
		    token->val.n > 10 ? "..." : "", context);
}

int tmpl_parse_count(struct parser *parser)
{
	if (++parser->nodes > TMPL_MAX_NODES)
		return FAIL(parser, tmpl_peek(parser)->pos,
			    "template too large: more than %d parts", TMPL_MAX_NODES);
	return 0;
}

int tmpl_parse_enter(struct parser *parser)
{
	if (++parser->nesting > TMPL_MAX_NESTING)
		return FAIL(parser, tmpl_peek(parser)->pos, "nested deeper than %d levels",
			    TMPL_MAX_NESTING);
	return 0;
}

/* The newest declaration wins. */
int tmpl_parse_find_var(struct parser *parser, struct slice name, uint32_t pos, uint32_t *ret_slot)
{
	for (size_t i = parser->vars.n; i > 0; i--) {
		if (slice_eq(parser->vars.v[i - 1].name, name)) {
			*ret_slot = parser->vars.v[i - 1].slot;
			return 0;
		}
	}
	return FAIL(parser, pos, "undefined variable %s", tmpl_parse_quoted(parser, name));
}

int tmpl_parse_declare(struct parser *parser, struct slice name, uint32_t pos, uint32_t *ret_slot)
{
	if (parser->slots.n >= TMPL_MAX_VARS)
		return FAIL(parser, pos, "more than %d variables", TMPL_MAX_VARS);
	*ret_slot = (uint32_t)parser->slots.n;
	vec_push(&parser->slots, (struct slot){ .assigned = false });
	vec_push(&parser->vars, (struct var){ name, *ret_slot });
	return 0;
}

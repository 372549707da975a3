/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parser's parts share their state here: cursor.c holds tokens, errors, limits and variables,
 * pipeline.c what stands between {{ and }}, parse.c actions, blocks and bodies. */
#pragma once

#include "tmpl/tmpl_priv.h"

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

#define FAIL(p, pos, ...) srcerr_set((p)->err, tmpl_srcpos((p)->t, (pos)), __VA_ARGS__)

static inline const struct token *tmpl_peek(const struct parser *parser)
{
	return &parser->toks->v[parser->i];
}

/* The last token is never passed. */
static inline const struct token *tmpl_next(struct parser *parser)
{
	const struct token *t = tmpl_peek(parser);
	if (parser->i + 1 < parser->toks->n)
		parser->i++;
	return t;
}

static inline const struct token *tmpl_peek_word(struct parser *parser)
{
	while (tmpl_peek(parser)->type == TOK_SPACE)
		parser->i++;
	return tmpl_peek(parser);
}

static inline const struct token *tmpl_next_word(struct parser *parser)
{
	tmpl_peek_word(parser);
	return tmpl_next(parser);
}

MUST_CHECK int tmpl_parse_tokens(struct tmpl *tmpl, const struct tokens *toks, struct srcerr *err);

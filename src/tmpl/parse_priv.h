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

#define FAIL(p, pos, ...) srcerr_set((p)->err, tmpl_place((p)->t, (pos)), __VA_ARGS__)

/* Moves a vector into the template's arena. */
#define KEEP(p, vec) tmpl_parse_keep((p), (vec)->v, (vec)->n, sizeof(*(vec)->v))
void *tmpl_parse_keep(struct parser *parser, void *value, size_t len, size_t elem_bytes);

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

/* Where the last word read ends. */
uint32_t tmpl_parse_end(const struct parser *parser);
/* Go's %q, cut to fit an error text; in the template's arena. */
const char *tmpl_parse_quoted(struct parser *parser, struct slice text);
int tmpl_parse_unexpected(struct parser *parser, const struct token *token, const char *context);
MUST_CHECK int tmpl_parse_count(struct parser *parser);
/* Left by p->nesting--, whatever it returned. */
MUST_CHECK int tmpl_parse_enter(struct parser *parser);
MUST_CHECK int tmpl_parse_find_var(struct parser *parser, struct slice name, uint32_t pos,
				   uint32_t *ret_slot);
MUST_CHECK int tmpl_parse_declare(struct parser *parser, struct slice name, uint32_t pos,
				  uint32_t *ret_slot);
MUST_CHECK int tmpl_parse_string(struct parser *parser, const struct token *token,
				 struct slice *ret);
/* Reads on to and with `end`; `context` names the place in errors. */
MUST_CHECK int tmpl_parse_pipe(struct parser *parser, const char *context, enum tok end,
			       struct pipe **ret);

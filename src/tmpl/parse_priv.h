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
void *tmpl_parse_keep(struct parser *p, void *v, size_t n, size_t elem_bytes);

static inline const struct token *tmpl_peek(const struct parser *p)
{
	return &p->toks->v[p->i];
}

/* The last token is never passed. */
static inline const struct token *tmpl_next(struct parser *p)
{
	const struct token *t = tmpl_peek(p);
	if (p->i + 1 < p->toks->n)
		p->i++;
	return t;
}

static inline const struct token *tmpl_peek_word(struct parser *p)
{
	while (tmpl_peek(p)->type == TOK_SPACE)
		p->i++;
	return tmpl_peek(p);
}

static inline const struct token *tmpl_next_word(struct parser *p)
{
	tmpl_peek_word(p);
	return tmpl_next(p);
}

/* Where the last word read ends. */
uint32_t tmpl_parse_end(const struct parser *p);
/* Go's %q, cut to fit an error text; in the template's arena. */
const char *tmpl_parse_quoted(struct parser *p, struct slice s);
int tmpl_parse_unexpected(struct parser *p, const struct token *t, const char *context);
MUST_CHECK int tmpl_parse_count(struct parser *p);
/* Left by p->nesting--, whatever it returned. */
MUST_CHECK int tmpl_parse_enter(struct parser *p);
MUST_CHECK int tmpl_parse_find_var(struct parser *p, struct slice name, uint32_t pos,
				   uint32_t *ret_slot);
MUST_CHECK int tmpl_parse_declare(struct parser *p, struct slice name, uint32_t pos,
				  uint32_t *ret_slot);
MUST_CHECK int tmpl_parse_string(struct parser *p, const struct token *t, struct slice *ret);
/* Reads on to and with `end`; `context` names the place in errors. */
MUST_CHECK int tmpl_parse_pipe(struct parser *p, const char *context, enum tok end,
			       struct pipe **ret);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the parser stands in its tokens, its errors, its limits, and the variables in scope. */
#pragma once

#include "tmpl/parse_priv.h"

/* Moves a vector into the template's arena. */
#define KEEP(p, vec) tmpl_parse_keep((p), (vec)->v, (vec)->n, sizeof(*(vec)->v))
void *tmpl_parse_keep(struct parser *parser, void *value, size_t len, size_t elem_bytes);

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

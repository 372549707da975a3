/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one place of the expression language that knows regexes. */
#include "expr/pattern_priv.h"

#include "base/err.h"
#include "base/regex/regex.h"
#include "expr/expr_priv.h"
#include "expr/lex_priv.h"

int expr_pattern_new(struct parser *parser, const struct node *node, struct slice pattern,
		     struct regex **ret)
{
	struct srcerr err;
	struct regex *re;
	if (regex_new(pattern, &re, &err) < 0)
		return expr_error_at(&parser->lx, node->at, "%s", err.text);
	struct expr_pattern *row = arena_alloc(&parser->e->arena, sizeof(*row));
	*row = (struct expr_pattern){ .next = parser->e->patterns, .re = re };
	parser->e->patterns = row;
	parser->e->max_groups = MAX(parser->e->max_groups, regex_groups(re));
	*ret = re;
	return 0;
}

void expr_patterns_free(struct expr_pattern *pattern)
{
	for (; pattern != NULL; pattern = pattern->next)
		regex_free(pattern->re);
}

int expr_pattern_match(const struct regex *re, const struct expr_run *run, struct slice subject)
{
	if (regex_matches_all(re))
		return 1;
	return run->scratch != NULL ? regex_match(re, run->scratch, subject) : ERR_INTERNAL;
}

/* The one place of the expression language that knows regexes. */
#include "base/err.h"
#include "base/regex.h"
#include "expr/expr_priv.h"

int expr_pattern_new(struct parser *p, const struct node *n, struct slice pattern,
		     struct regex **ret)
{
	struct srcerr err;
	struct regex *re;
	if (regex_new(pattern, &re, &err) < 0)
		return expr_error_at(&p->lx, n->at, "%s", err.text);
	struct expr_pattern *row = arena_alloc(&p->e->arena, sizeof(*row));
	*row = (struct expr_pattern){ .next = p->e->patterns, .re = re };
	p->e->patterns = row;
	p->e->max_groups = MAX(p->e->max_groups, regex_groups(re));
	*ret = re;
	return 0;
}

void expr_patterns_free(struct expr_pattern *p)
{
	for (; p != NULL; p = p->next)
		regex_free(p->re);
}

int expr_pattern_match(const struct regex *re, const struct expr_run *run, struct slice subject)
{
	if (regex_matches_all(re))
		return 1;
	return run->scratch != NULL ? regex_match(re, run->scratch, subject) : ERR_INTERNAL;
}

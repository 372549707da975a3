/* Patterns: compiled when a configuration is prepared, freed when it is torn down. */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "plugin/rewrite/rewrite_priv.h"

/* How many of {0} to {100} the text has; each counts once. */
static unsigned groups_used(const char *to)
{
	bool seen[101] = { false };
	unsigned used = 0;
	for (const char *p = strchr(to, '{'); p != NULL; p = strchr(p + 1, '{')) {
		unsigned n = 0;
		const char *d = p + 1;
		while (ascii_isdigit(*d) && d - p <= 3)
			n = n * 10 + (unsigned)(*d++ - '0');
		bool canonical = d > p + 1 && (p[1] != '0' || d == p + 2);
		if (*d == '}' && canonical && n < ARRAY_LEN(seen) && !seen[n]) {
			seen[n] = true;
			used++;
		}
	}
	return used;
}

static int check_groups(const struct rewrite_pattern *p, struct srcerr *err)
{
	unsigned has = regex_groups(p->re);
	if (has > QUERY_REGEX_GROUPS)
		return srcerr_set(err, p->pos, "regex with more than %d groups",
				  QUERY_REGEX_GROUPS);
	if (p->to != NULL && groups_used(p->to) > has)
		return srcerr_set(err, p->pos, "'%s' uses more groups than the pattern '%s' has",
				  p->to, p->text);
	const struct rewrite_rule *r = p->parts_of;
	for (size_t i = 0; r != NULL && i < r->n_parts; i++) {
		if (r->part[i].group > (int)has)
			return srcerr_set(err, p->pos, "the pattern '%s' has no group {%d}",
					  p->text, r->part[i].group);
	}
	return 0;
}

static int compile(struct rewrite_pattern *p, struct srcerr *err)
{
	struct srcerr inner = { .text = "" };
	size_t n = strlen(p->text);
	if (n > REGEX_PATTERN_MAX)
		return srcerr_set(err, p->pos, "regex pattern too long: %zu > %d", n,
				  REGEX_PATTERN_MAX);
	if (regex_new((struct slice){ p->text, n }, &p->re, &inner) < 0)
		return srcerr_set(err, p->pos, "invalid regex '%s': %s", p->text, inner.text);
	int r = check_groups(p, err);
	if (r == 0 && !p->check_only && regex_is_costly(p->re))
		log_warn("plugin/rewrite",
			 "%s:%u:%u: pattern '%s' is costly: some names take hundreds of "
			 "microseconds",
			 p->pos.file, p->pos.line, p->pos.col, p->text);
	return r;
}

int rewrite_compile(struct rewrite_conf *c, struct srcerr *err)
{
	for (struct rewrite_pattern *p = c->patterns; p != NULL; p = p->next) {
		int r = compile(p, err);
		if (r < 0) {
			rewrite_release(c);
			return r;
		}
	}
	return 0;
}

void rewrite_release(struct rewrite_conf *c)
{
	for (struct rewrite_pattern *p = c->patterns; p != NULL; p = p->next) {
		regex_free(p->re);
		p->re = NULL;
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns: compiled when a configuration is prepared, freed when it is torn down. */
#include "plugin/rewrite/compile.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"

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

static int check_groups(const struct rewrite_pattern *pattern, struct srcerr *err)
{
	unsigned has = regex_groups(pattern->re);
	if (has > QUERY_REGEX_GROUPS)
		return srcerr_set(err, pattern->pos, "regex with more than %d groups",
				  QUERY_REGEX_GROUPS);
	if (pattern->to != NULL && groups_used(pattern->to) > has)
		return srcerr_set(err, pattern->pos,
				  "'%s' uses more groups than the pattern '%s' has", pattern->to,
				  pattern->text);
	const struct rewrite_rule *r = pattern->parts_of;
	for (size_t i = 0; r != NULL && i < r->n_parts; i++) {
		if (r->part[i].group > (int)has)
			return srcerr_set(err, pattern->pos, "the pattern '%s' has no group {%d}",
					  pattern->text, r->part[i].group);
	}
	return 0;
}

static int compile_pattern(struct rewrite_pattern *pattern, struct srcerr *err)
{
	struct srcerr inner = { .text = "" };
	size_t n = strlen(pattern->text);
	if (n > REGEX_PATTERN_MAX)
		return srcerr_set(err, pattern->pos, "regex pattern too long: %zu > %d", n,
				  REGEX_PATTERN_MAX);
	if (regex_new((struct slice){ pattern->text, n }, &pattern->re, &inner) < 0)
		return srcerr_set(err, pattern->pos, "invalid regex '%s': %s", pattern->text,
				  inner.text);
	int r = check_groups(pattern, err);
	if (r == 0 && !pattern->check_only && regex_is_costly(pattern->re))
		log_warn("plugin/rewrite",
			 "%s:%u:%u: pattern '%s' is costly: some names take hundreds of "
			 "microseconds",
			 pattern->pos.file, pattern->pos.line, pattern->pos.col, pattern->text);
	return r;
}

int rewrite_compile(struct rewrite_conf *conf, struct srcerr *err)
{
	for (struct rewrite_pattern *p = conf->patterns; p != NULL; p = p->next) {
		int r = compile_pattern(p, err);
		if (r < 0) {
			rewrite_release(conf);
			return r;
		}
	}
	return 0;
}

void rewrite_release(struct rewrite_conf *conf)
{
	for (struct rewrite_pattern *p = conf->patterns; p != NULL; p = p->next) {
		regex_free(p->re);
		p->re = NULL;
	}
}

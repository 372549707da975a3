/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `name` rules and what follows `answer`. */
#include "plugin/rewrite/parse_name.h"

#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "plugin/rewrite/match.h"
#include "plugin/rewrite/name.h"
#include "plugin/rewrite/parse.h"

struct answers {
	VEC(struct rewrite_action) v;
	bool automatic;
	bool names;
};

static const uint8_t *wire_of(struct setup *setup, struct slice text)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(text, wire);
	return n < 0 ? NULL : arena_memdup(setup->arena, wire, (size_t)n);
}

/* Once to the owner and once to the data. */
static void add_both(struct answers *answers, const struct rewrite_action *act)
{
	struct rewrite_action value = *act;
	value.value = true;
	vec_push(&answers->v, *act);
	vec_push(&answers->v, value);
}

/* `name RE TO` or `value RE TO`, from words that begin after that word. */
static int parse_regex(struct rewrite_words *words, size_t at, bool value, struct answers *answers)
{
	if (words->n - at < 2)
		return setup_error(words->s, words->v[at - 1].pos,
				   "answer %s: expected a pattern and a name", words->v[at - 1].s);
	const struct word *from = &words->v[at], *to = &words->v[at + 1];
	struct rewrite_action act = {
		.kind = REWRITE_ACT_REGEX,
		.value = value,
		.to = slice_of(rewrite_normal(words->s, to->s)),
		.pattern = rewrite_add_pattern(words, from, from->s, to->s),
	};
	answers->names |= !value;
	vec_push(&answers->v, act);
	return 0;
}

/* `answer (auto | name RE TO | value RE TO)...`; the word `answer` may be left out later on. */
static int parse_answers(struct rewrite_words *words, size_t at, struct answers *answers)
{
	bool first = true;
	while (at < words->n) {
		bool said = strcmp(words->v[at].s, "answer") == 0;
		if (first && !said)
			return setup_error(words->s, words->v[at].pos, "expected answer, got '%s'",
					   words->v[at].s);
		at += said;
		if (at == words->n)
			return setup_error(words->s, words->v[at - 1].pos,
					   "answer: expected auto, name or value");
		const char *what = words->v[at++].s;
		bool name = strcmp(what, "name") == 0, value = strcmp(what, "value") == 0;
		first = false;
		if (strcmp(what, "auto") == 0) {
			answers->automatic = true;
			continue;
		}
		if (!name && !value)
			return setup_error(words->s, words->v[at - 1].pos,
					   "answer: expected auto, name or value, got '%s'", what);
		int r = parse_regex(words, at, value, answers);
		if (r < 0)
			return r;
		at += 2;
	}
	if (answers->automatic && answers->names)
		return setup_error(words->s, words->pos,
				   "answer auto and answer name exclude each other");
	return 0;
}

/* ---- TO with metadata ---- */

static int part_number(struct slice text, unsigned *ret)
{
	uint64_t v;
	bool sign = text.n > 1 && (text.p[0] == '+' || text.p[0] == '-');
	if (slice_u64(slice_from(text, sign), &v) < 0)
		return ERR_PARSE;
	if (v > UINT16_MAX || (sign && text.p[0] == '-' && v != 0))
		return ERR_RANGE;
	*ret = (unsigned)v;
	return 0;
}

static int parse_part(struct rewrite_words *words, const struct word *at, struct slice mark,
		      struct rewrite_part *ret)
{
	unsigned group;
	int r = part_number(mark, &group);
	*ret = (struct rewrite_part){ .group = -1 };
	if (r == ERR_RANGE)
		return setup_error(words->s, at->pos, "the pattern has no group {%.*s}",
				   (int)mark.n, mark.p);
	if (r == 0) {
		ret->group = (int)group;
		return 0;
	}
	ptrdiff_t slash = slice_find(mark, '/');
	if (slash <= 0 || (size_t)slash + 1 == mark.n || slice_find(mark, '{') >= 0)
		return setup_error(words->s, at->pos,
				   "expected {NUMBER} or a label such as {plugin/name}, got "
				   "'{%.*s}'",
				   (int)mark.n, mark.p);
	ret->label = mark;
	return 0;
}

static int parse_parts(struct rewrite_words *words, const struct word *at)
{
	VEC(struct rewrite_part) v = { 0 };
	struct slice rest = slice_of(rewrite_absolute(words->s, at->s));
	int r = 0;
	while (rest.n > 0 && r == 0) {
		ptrdiff_t open = slice_find(rest, '{');
		size_t n = open < 0 ? rest.n : (size_t)open;
		struct slice literal = { rest.p, n };
		rest = slice_from(rest, n + (open >= 0));
		if (slice_find(literal, '}') >= 0)
			r = setup_error(words->s, at->pos, "a '}' without its '{'");
		if (n > 0)
			vec_push(&v, (struct rewrite_part){ .literal = literal, .group = -1 });
		if (r < 0 || open < 0)
			break;
		ptrdiff_t close = slice_find(rest, '}');
		struct rewrite_part *p = vec_add(&v);
		if (close < 0)
			r = setup_error(words->s, at->pos, "a '{' without its '}'");
		else
			r = parse_part(words, at, (struct slice){ rest.p, (size_t)close }, p);
		rest = slice_from(rest, close < 0 ? rest.n : (size_t)close + 1);
	}
	words->rule->part = arena_memdup(words->s->arena, v.v, v.n * sizeof(*v.v));
	words->rule->n_parts = v.n;
	vec_done(&v);
	return r;
}

/* ---- the rule ---- */

/* The pattern's groups are known, and counted, when it is compiled. */
static int use_regex(struct rewrite_words *words, const struct word *from, const struct word *to,
		     bool metadata)
{
	struct rewrite_rule *r = words->rule;
	struct rewrite_pattern *p =
		rewrite_add_pattern(words, from, from->s, metadata ? NULL : to->s);
	r->match.pattern = p;
	r->apply = metadata ? rewrite_apply_metadata : rewrite_apply_name;
	if (!metadata)
		return 0;
	p->parts_of = r;
	return parse_parts(words, to);
}

/* Owner and data are put back; with `auto` the others depend on what was asked, but a suffix does
 * not. */
static void add_automatic(struct rewrite_words *words, struct answers *answers)
{
	struct rewrite_rule *r = words->rule;
	struct rewrite_action act = { .from = r->to, .to = r->match.from };
	if (r->match.how == REWRITE_EXACT) {
		act.kind = REWRITE_ACT_REMAP;
		act.from_wire = r->to_wire;
		act.to_wire = r->match.wire;
		add_both(answers, &act);
	} else if (r->match.how == REWRITE_SUFFIX && answers->automatic) {
		act.kind = REWRITE_ACT_SUFFIX;
		add_both(answers, &act);
	} else {
		r->automatic = answers->automatic;
	}
}

static int parse_rule(struct rewrite_words *words, size_t at, struct answers *all)
{
	struct rewrite_rule *r = words->rule;
	const struct word *from = &words->v[at], *to = &words->v[at + 1];
	bool metadata = words->n > 3 && strcmp(words->v[3].s, "metadata") == 0;
	struct answers said = { 0 };
	int res = 0;
	if (metadata && r->match.how != REWRITE_REGEX)
		return setup_error(words->s, words->v[3].pos, "metadata: only for regex rules");
	r->to = slice_of(rewrite_normal(words->s, to->s));
	if (r->match.how == REWRITE_REGEX)
		res = use_regex(words, from, to, metadata);
	else
		r->match.from = slice_of(rewrite_normal(words->s, from->s));
	r->apply = r->apply != NULL ? r->apply : rewrite_apply_name;
	rewrite_matcher_init(&r->match, words->s->arena);
	if (r->match.how == REWRITE_EXACT) {
		/* CoreDNS takes TO for a pattern here, and refuses the file if it is none. */
		r->to_wire = wire_of(words->s, r->to);
		rewrite_add_pattern(words, to, r->to.p, r->match.from.p)->check_only = true;
	}
	if (res == 0 && words->n > 3U + metadata)
		res = parse_answers(words, 3U + metadata, &said);
	all->automatic = said.automatic;
	add_automatic(words, all);
	for (size_t i = 0; i < said.v.n; i++)
		vec_push(&all->v, said.v.v[i]);
	vec_done(&said.v);
	return res;
}

int rewrite_parse_name(struct rewrite_words *words)
{
	struct answers all = { 0 };
	if (words->n < 2)
		return setup_error(words->s, words->pos, "name: expected [HOW] FROM TO");
	int how = words->n == 2 ? (int)REWRITE_EXACT : rewrite_how_parse(words->v[0].s);
	if (how < 0)
		return setup_error(words->s, words->v[0].pos,
				   "name: expected exact, prefix, suffix, substring or regex, got "
				   "'%s'",
				   words->v[0].s);
	words->rule->match.how = (enum rewrite_how)how;
	int r = parse_rule(words, words->n > 2, &all);
	struct rewrite_action *act = rewrite_add_actions(words, all.v.n);
	for (size_t i = 0; i < all.v.n; i++)
		act[i] = all.v.v[i];
	vec_done(&all.v);
	return r;
}

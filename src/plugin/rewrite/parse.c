/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `rewrite` stanzas: the words of one become a rule. */
#include "plugin/rewrite/parse.h"

#include <string.h>

#include "base/err.h"
#include "plugin/rewrite/edns_parse.h"
#include "plugin/rewrite/index.h"
#include "plugin/rewrite/match.h"
#include "plugin/rewrite/name.h"
#include "plugin/rewrite/parse_name.h"

static bool is_word(const char *word, const char *text)
{
	return slice_eq_nocase(slice_of(word), slice_of(text));
}

static const char *to_lower(struct setup *setup, const char *text)
{
	char *copy = arena_strdup(setup->arena, text);
	for (char *p = copy; *p != '\0'; p++)
		*p = ascii_lower(*p);
	return copy;
}

/* A dot at the end ends the name unless an odd number of backslashes stands before it. */
static bool is_absolute(const char *text)
{
	size_t n = strlen(text), slashes = 0;
	if (n == 0 || text[n - 1] != '.')
		return false;
	while (slashes < n - 1 && text[n - 2 - slashes] == '\\')
		slashes++;
	return slashes % 2 == 0;
}

const char *rewrite_absolute(struct setup *setup, const char *text)
{
	return is_absolute(text) ? text : arena_printf(setup->arena, "%s.", text);
}

const char *rewrite_normal(struct setup *setup, const char *text)
{
	return rewrite_absolute(setup, to_lower(setup, text));
}

struct rewrite_pattern *rewrite_add_pattern(struct rewrite_words *words, const struct word *at,
					    const char *text, const char *to)
{
	struct rewrite_pattern *p = arena_calloc(words->s->arena, sizeof(*p));
	*p = (struct rewrite_pattern){
		.next = words->conf->patterns, .pos = at->pos, .text = text, .to = to
	};
	words->conf->patterns = p;
	return p;
}

struct rewrite_action *rewrite_add_actions(struct rewrite_words *words, size_t count)
{
	struct rewrite_action *v = arena_calloc(words->s->arena, count * sizeof(*v));
	words->rule->action = v;
	words->rule->n_actions = count;
	return v;
}

int rewrite_how_parse(const char *word)
{
	static const char *const words[] = {
		[REWRITE_EXACT] = "exact",   [REWRITE_PREFIX] = "prefix",
		[REWRITE_SUFFIX] = "suffix", [REWRITE_SUBSTRING] = "substring",
		[REWRITE_REGEX] = "regex",
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (is_word(word, words[i]))
			return (int)i;
	}
	return -1;
}

/* Fills in the matcher of a rule of the form [HOW] NAME. */
static int parse_matcher(struct rewrite_words *words, const struct word *how,
			 const struct word *name)
{
	struct rewrite_matcher *m = &words->rule->match;
	int k = how != NULL ? rewrite_how_parse(how->s) : (int)REWRITE_EXACT;
	if (k < 0)
		return setup_error(words->s, how->pos,
				   "expected exact, prefix, suffix, substring or regex, got '%s'",
				   how->s);
	m->how = (enum rewrite_how)k;
	if (m->how == REWRITE_REGEX)
		m->pattern = rewrite_add_pattern(words, name, name->s, NULL);
	else
		m->from = slice_of(rewrite_normal(words->s, name->s));
	rewrite_matcher_init(m, words->s->arena);
	return 0;
}

/* ---- ttl ---- */

static int parse_u32(struct slice text, uint32_t *ret)
{
	uint64_t v;
	if (slice_u64(text, &v) < 0 || v > UINT32_MAX)
		return ERR_PARSE;
	*ret = (uint32_t)v;
	return 0;
}

/* N, A-B, A- or -B. */
static int parse_range(const char *text, struct rewrite_action *act)
{
	struct slice high = slice_of(text);
	struct slice low = slice_cut(&high, '-');
	act->min = 0;
	act->max = INT32_MAX;
	if (high.p == NULL) {
		int r = parse_u32(low, &act->min);
		act->max = act->min;
		return r;
	}
	if (low.n == 0 && high.n == 0)
		return ERR_PARSE;
	if (low.n != 0 && parse_u32(low, &act->min) < 0)
		return ERR_PARSE;
	if (high.n != 0 && parse_u32(high, &act->max) < 0)
		return ERR_PARSE;
	return act->min <= act->max ? 0 : ERR_RANGE;
}

static int parse_ttl_rule(struct rewrite_words *words)
{
	if (words->n < 2 || words->n > 3)
		return setup_error(words->s, words->pos, "ttl: expected [HOW] NAME TTL");
	const struct word *how = words->n == 3 ? &words->v[0] : NULL;
	const struct word *range = &words->v[words->n - 1];
	struct rewrite_action *act = rewrite_add_actions(words, 1);
	act->kind = REWRITE_ACT_TTL;
	if (parse_range(range->s, act) < 0)
		return setup_error(words->s, range->pos,
				   "ttl: expected seconds or a range such as 60-300, got '%s'",
				   range->s);
	words->rule->apply = rewrite_apply_match;
	return parse_matcher(words, how, &words->v[words->n - 2]);
}

/* ---- rcode ---- */

enum { RCODE_MAX = 23 };

static int parse_rcode(struct rewrite_words *words, const struct word *at, uint32_t *ret)
{
	uint32_t v;
	if (parse_u32(slice_of(at->s), &v) == 0 && v <= RCODE_MAX) {
		*ret = v;
		return 0;
	}
	struct slice upper = slice_of(at->s);
	char text[DNS_MNEMONIC_MAX];
	int code = ERR_NOTFOUND;
	if (upper.n < sizeof(text)) {
		for (size_t i = 0; i < upper.n; i++)
			text[i] = ascii_isalpha(at->s[i]) ? (char)(at->s[i] & ~0x20) : at->s[i];
		code = dns_rcode_parse((struct slice){ text, upper.n });
	}
	if (code < 0)
		return setup_error(words->s, at->pos,
				   "rcode: expected a name such as NXDOMAIN or a number up to %d, "
				   "got '%s'",
				   RCODE_MAX, at->s);
	*ret = (uint32_t)code;
	return 0;
}

static int parse_rcode_rule(struct rewrite_words *words)
{
	if (words->n < 3 || words->n > 4)
		return setup_error(words->s, words->pos, "rcode: expected [HOW] NAME FROM TO");
	const struct word *how = words->n == 4 ? &words->v[0] : NULL;
	struct rewrite_action *act = rewrite_add_actions(words, 1);
	act->kind = REWRITE_ACT_RCODE;
	int r = parse_rcode(words, &words->v[words->n - 2], &act->min);
	if (r == 0)
		r = parse_rcode(words, &words->v[words->n - 1], &act->max);
	if (r < 0)
		return r;
	words->rule->apply = rewrite_apply_match;
	return parse_matcher(words, how, &words->v[words->n - 3]);
}

/* ---- cname ---- */

/* Only exact names are completed with a dot. */
static int parse_cname_rule(struct rewrite_words *words)
{
	if (words->n < 2 || words->n > 3)
		return setup_error(words->s, words->pos, "cname: expected [HOW] FROM TO");
	struct rewrite_matcher *m = &words->rule->match;
	const struct word *from = &words->v[words->n - 2], *to = &words->v[words->n - 1];
	int how = words->n == 3 ? rewrite_how_parse(words->v[0].s) : (int)REWRITE_EXACT;
	if (how < 0)
		return setup_error(words->s, words->v[0].pos,
				   "cname: expected exact, prefix, suffix, substring or regex, got "
				   "'%s'",
				   words->v[0].s);
	bool exact = how == REWRITE_EXACT;
	m->how = (enum rewrite_how)how;
	m->from = slice_of((exact ? rewrite_normal : to_lower)(words->s, from->s));
	if (how == REWRITE_REGEX)
		m->pattern = rewrite_add_pattern(words, from, m->from.p, NULL);
	struct rewrite_action *act = rewrite_add_actions(words, 1);
	act->kind = REWRITE_ACT_CNAME;
	act->match = m;
	act->to = slice_of((exact ? rewrite_normal : to_lower)(words->s, to->s));
	words->rule->apply =
		m->from.n != 0 && act->to.n != 0 ? rewrite_apply_always : rewrite_apply_never;
	return 0;
}

/* ---- type and class ---- */

static int parse_code(struct rewrite_words *words, const struct word *at, bool type, uint16_t *ret)
{
	struct slice word = slice_of(at->s);
	char text[DNS_MNEMONIC_MAX];
	int code = ERR_NOTFOUND;
	if (word.n < sizeof(text)) {
		for (size_t i = 0; i < word.n; i++)
			text[i] = ascii_isalpha(at->s[i]) ? (char)(at->s[i] & ~0x20) : at->s[i];
		word.p = text;
		code = type ? dns_type_parse(word, false) : dns_class_parse(word, false);
	}
	if (code < 0)
		return setup_error(words->s, at->pos, "expected a %s, got '%s'",
				   type ? "record type" : "class", at->s);
	*ret = (uint16_t)code;
	return 0;
}

static int parse_codes(struct rewrite_words *words, bool type)
{
	struct rewrite_rule *rule = words->rule;
	if (words->n != 2)
		return setup_error(words->s, words->pos, "expected two %s",
				   type ? "record types" : "classes");
	rule->apply = type ? rewrite_apply_type : rewrite_apply_class;
	int r = parse_code(words, &words->v[0], type, &rule->code_from);
	return r < 0 ? r : parse_code(words, &words->v[1], type, &rule->code_to);
}

static int parse_type(struct rewrite_words *words)
{
	return parse_codes(words, true);
}

static int parse_class(struct rewrite_words *words)
{
	return parse_codes(words, false);
}

/* ---- stanzas ---- */

static int parse_answer(struct rewrite_words *words)
{
	return setup_error(words->s, words->pos, "answer rules must follow a name rule");
}

static const struct {
	const char *word;
	int (*parse)(struct rewrite_words *words);
} fields[] = {
	{ "name", rewrite_parse_name },	 { "type", parse_type },
	{ "class", parse_class },	 { "ttl", parse_ttl_rule },
	{ "cname", parse_cname_rule },	 { "rcode", parse_rcode_rule },
	{ "edns0", rewrite_parse_edns }, { "answer", parse_answer },
};

static int parse_rule(struct rewrite_words *words)
{
	bool mode = words->n > 0 &&
		    (is_word(words->v[0].s, "continue") || is_word(words->v[0].s, "stop"));
	if (mode) {
		words->rule->go_on = is_word(words->v[0].s, "continue");
		words->v++;
		words->n--;
	}
	if (words->n == 0)
		return setup_error(words->s, words->pos, "rewrite: expected a rule");
	words->pos = words->v[0].pos;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (is_word(words->v[0].s, fields[i].word)) {
			words->v++;
			words->n--;
			return fields[i].parse(words);
		}
	}
	return setup_error(words->s, words->v[0].pos,
			   "rewrite: expected name, type, class, ttl, cname, rcode or edns0, got "
			   "'%s'",
			   words->v[0].s);
}

/* All words of the stanza in a row: what is in its block belongs to the line it opens on. */
static int collect_words(struct setup *setup, const struct corefile_dir *dir,
			 struct rewrite_words *words)
{
	size_t n = dir->n_arg;
	if (dir->has_body && dir->n_arg >= 2)
		return setup_error(setup, dir->name.pos, "rewrite: unexpected block after a rule");
	for (size_t i = 0; i < dir->n_body; i++) {
		if (dir->body[i].has_body)
			return setup_error(setup, dir->body[i].name.pos, "'%s' takes no block",
					   dir->body[i].name.s);
		n += 1 + dir->body[i].n_arg;
	}
	struct word *v = arena_alloc(setup->arena, (n + 1) * sizeof(*v));
	words->v = v;
	words->n = n;
	words->pos = dir->name.pos;
	for (size_t i = 0; i < dir->n_arg; i++)
		*v++ = dir->arg[i];
	for (size_t i = 0; i < dir->n_body; i++) {
		*v++ = dir->body[i].name;
		for (size_t k = 0; k < dir->body[i].n_arg; k++)
			*v++ = dir->body[i].arg[k];
	}
	return 0;
}

int rewrite_parse_stanzas(struct setup *setup, struct rewrite_conf *conf)
{
	conf->rule = arena_calloc(setup->arena, setup->n_dir * sizeof(*conf->rule));
	for (; conf->n_rules < setup->n_dir; conf->n_rules++) {
		struct rewrite_words w = { .s = setup,
					   .conf = conf,
					   .rule = &conf->rule[conf->n_rules] };
		int r = collect_words(setup, setup->dir[conf->n_rules], &w);
		if (r == 0)
			r = parse_rule(&w);
		if (r < 0)
			return r;
	}
	rewrite_index_init(conf, setup->arena);
	return 0;
}

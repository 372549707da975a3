/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of resolv.conf(5). */
#include "dns/resolvconf.h"

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

struct words {
	struct slice v[DNS_RESOLVCONF_WORDS_MAX + 1]; /* with the keyword */
	size_t n;
};

struct state {
	struct arena *arena;
	struct words words; /* of the line at hand */
	struct dns_resolvconf conf;
};

static int split_words(struct slice line, struct words *words)
{
	words->n = 0;
	for (size_t i = 0; i < line.n; i++) {
		size_t start = i;
		while (i < line.n && !ascii_isspace(line.p[i]))
			i++;
		if (i == start)
			continue;
		if (words->n == ARRAY_LEN(words->v))
			return ERR_LIMIT;
		words->v[words->n++] = (struct slice){ line.p + start, i - start };
	}
	return 0;
}

static int take_nameserver(struct state *state)
{
	struct dns_resolvconf *c = &state->conf;
	if (state->words.n < 2)
		return 0;
	if (c->n_nameserver == DNS_RESOLVCONF_WORDS_MAX)
		return ERR_LIMIT;
	c->nameserver[c->n_nameserver++] =
		arena_strndup(state->arena, state->words.v[1].p, state->words.v[1].n);
	return 0;
}

static int set_search(struct state *state, size_t count)
{
	for (size_t i = 0; i < count; i++)
		state->conf.search[i] = arena_strndup(state->arena, state->words.v[i + 1].p,
						      state->words.v[i + 1].n);
	state->conf.n_search = count;
	return 0;
}

static int take_search(struct state *state)
{
	return set_search(state, state->words.n - 1);
}

static int take_domain(struct state *state)
{
	return set_search(state, MIN(state->words.n - 1, (size_t)1));
}

/* A number as Go's Atoi takes it, where a text that is none counts as 0 and one that is too large
 * as the largest. */
static unsigned parse_number(struct slice text, unsigned min, unsigned max)
{
	bool minus = text.n > 0 && text.p[0] == '-';
	if (minus || (text.n > 0 && text.p[0] == '+'))
		text = slice_from(text, 1);
	unsigned v = 0;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isdigit(text.p[i]))
			return min;
		v = MIN(v * 10 + (unsigned)(text.p[i] - '0'), (unsigned)INT_MAX / 16);
	}
	return minus ? min : MIN(MAX(v, min), max);
}

static int take_options(struct state *state)
{
	const struct {
		struct slice name;
		unsigned *field;
		unsigned min, max;
	} rows[] = {
		{ SLICE("ndots:"), &state->conf.ndots, 0, DNS_RESOLVCONF_NDOTS_MAX },
		{ SLICE("timeout:"), &state->conf.timeout_s, 1, INT_MAX },
		{ SLICE("attempts:"), &state->conf.attempts, 1, INT_MAX },
	};
	for (size_t i = 1; i < state->words.n; i++) {
		struct slice w = state->words.v[i];
		for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
			if (slice_starts(w, rows[k].name))
				*rows[k].field = parse_number(slice_from(w, rows[k].name.n),
							      rows[k].min, rows[k].max);
		}
	}
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct state *state);
} keywords[] = {
	{ "nameserver", take_nameserver },
	{ "search", take_search },
	{ "domain", take_domain },
	{ "options", take_options },
};

static int take_line(struct state *state, struct slice line)
{
	int r = split_words(line, &state->words);
	for (size_t i = 0; i < ARRAY_LEN(keywords) && state->words.n > 0 && r == 0; i++) {
		if (slice_is(state->words.v[0], keywords[i].name))
			r = keywords[i].take(state);
	}
	return r;
}

int dns_resolvconf_parse(struct slice text, struct arena *arena, struct dns_resolvconf *ret)
{
	enum { BYTES = DNS_RESOLVCONF_WORDS_MAX * sizeof(char *) };
	struct state s = { .arena = arena };
	if (text.n > DNS_RESOLVCONF_BYTES_MAX)
		return ERR_LIMIT;
	s.conf = (struct dns_resolvconf){ .ndots = 1, .timeout_s = 5, .attempts = 2 };
	s.conf.nameserver = arena_alloc(arena, BYTES);
	s.conf.search = arena_alloc(arena, BYTES);
	while (text.n > 0) {
		int r = take_line(&s, slice_cut(&text, '\n'));
		if (r < 0)
			return r;
	}
	*ret = s.conf;
	return 0;
}

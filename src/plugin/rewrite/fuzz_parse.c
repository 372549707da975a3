/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any words are refused or make rules; rules that compile look at names without harm. Lines are
 * stanzas; a line `.` ends them, and what follows are names. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/rewrite/compile.h"
#include "plugin/rewrite/match.h"
#include "plugin/rewrite/name.h"
#include "plugin/rewrite/parse.h"
#include "plugin/rewrite/rewrite_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 4096, STANZAS_MAX = 16, WORDS_MAX = 64 };

static struct corefile_dir *read_stanza(struct slice line, struct arena *a)
{
	struct corefile_dir *d = arena_calloc(a, sizeof(*d));
	struct word *v = arena_calloc(a, WORDS_MAX * sizeof(*v));
	d->name.s = "rewrite";
	d->arg = v;
	while (line.p != NULL && d->n_arg < WORDS_MAX) {
		struct slice w = slice_cut(&line, ' ');
		v[d->n_arg++].s = arena_strndup(a, w.p, strnlen(w.p, w.n));
	}
	return d;
}

static struct regex_scratch *scratch;

static void look(const struct rewrite_rule *r, const uint8_t *wire)
{
	static struct rewrite_text out;
	struct dns_qname q;
	char text[DNS_NAME_TEXT_MAX];
	dns_qname_set(&q, wire);
	struct slice name = { text, dns_name_to_text(q.wire, false, text) };
	bool hit = false;
	if (r->match.how == REWRITE_REGEX)
		hit = regex_match(r->match.pattern->re, scratch, name);
	else if (r->match.from.n != 0)
		hit = rewrite_replace(&r->match, r->to, NULL, name, &out);
	if (hit && r->apply != rewrite_apply_always && !rewrite_matcher_may(&r->match, &q))
		abort();
}

static void look_all(const struct rewrite_conf *c, struct slice rest)
{
	uint8_t wire[DNS_NAME_MAX];
	while (rest.p != NULL) {
		struct slice line = slice_cut(&rest, '\n');
		if (dns_name_from_text(line, wire) < 0)
			continue;
		for (size_t i = 0; i < c->n_rules; i++)
			look(&c->rule[i], wire);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { (const char *)data, size };
	const struct corefile_dir *dir[STANZAS_MAX];
	struct block_conf block = { 0 };
	struct rewrite_conf conf = { 0 };
	struct srcerr err;
	struct arena a;
	if (size == 0 || size > INPUT_MAX)
		return 0;
	if (scratch == NULL)
		scratch = regex_scratch_new(QUERY_REGEX_GROUPS);
	arena_init(&a);
	struct setup s = { .arena = &a, .conf = &block, .dir = dir, .err = &err };
	while (rest.p != NULL && s.n_dir < STANZAS_MAX) {
		struct slice line = slice_cut(&rest, '\n');
		if (slice_is(line, "."))
			break;
		dir[s.n_dir++] = read_stanza(line, &a);
	}
	if (rewrite_parse_stanzas(&s, &conf) == 0 && rewrite_compile(&conf, &err) == 0) {
		look_all(&conf, rest);
		rewrite_release(&conf);
	}
	arena_done(&a);
	return 0;
}

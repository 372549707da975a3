/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matching names against a rule (exact, prefix, suffix, substring, regex), and building the new
 * name. */
#include "plugin/rewrite/match.h"

#include <string.h>

#include "base/err.h"
#include "plugin/rewrite/literal.h"

void rewrite_text_add(struct rewrite_text *text, struct slice word)
{
	if (word.n > REWRITE_TEXT_MAX - text->n) {
		text->too_long = true;
		return;
	}
	if (word.n != 0)
		memcpy(text->s + text->n, word.p, word.n);
	text->n += word.n;
}

void rewrite_text_set(struct rewrite_text *text, struct slice word)
{
	text->n = 0;
	text->too_long = false;
	rewrite_text_add(text, word);
}

void rewrite_text_wire(struct rewrite_text *text, const uint8_t *name)
{
	_Static_assert((int)REWRITE_TEXT_MAX >= (int)DNS_NAME_TEXT_MAX, "a name must fit");
	text->n = dns_name_to_text(name, false, text->s);
	text->too_long = false;
}

/* Appends `text` with each `what` replaced. */
static void add_replaced(struct rewrite_text *out, struct slice text, struct slice what,
			 struct slice by)
{
	const char *hit;
	while ((hit = memmem(text.p, text.n, what.p, what.n)) != NULL) {
		rewrite_text_add(out, (struct slice){ text.p, (size_t)(hit - text.p) });
		rewrite_text_add(out, by);
		text = slice_from(text, (size_t)(hit - text.p) + what.n);
	}
	rewrite_text_add(out, text);
}

/* "{N}" */
static struct slice group_mark(unsigned count, char buf[16])
{
	char *p = buf + 15;
	*--p = '}';
	do
		*--p = (char)('0' + count % 10);
	while ((count /= 10) != 0);
	*--p = '{';
	return (struct slice){ p, (size_t)(buf + 15 - p) };
}

/* One group after the other over the whole text, as CoreDNS does it: what one group put there can
 * be a mark for a later one. */
void rewrite_groups(struct slice to, const struct regex_scratch *scratch, unsigned groups,
		    struct rewrite_text *out)
{
	struct rewrite_text other;
	struct rewrite_text *from = out, *into = &other;
	rewrite_text_set(from, to);
	for (unsigned i = 0; i <= groups; i++) {
		char buf[16];
		struct slice mark = group_mark(i, buf);
		if (memmem(from->s, from->n, mark.p, mark.n) == NULL)
			continue;
		into->n = 0;
		into->too_long = from->too_long;
		add_replaced(into, rewrite_text_slice(from), mark, regex_group(scratch, i));
		struct rewrite_text *swap = from;
		from = into;
		into = swap;
	}
	if (from != out) {
		bool too_long = from->too_long;
		rewrite_text_set(out, rewrite_text_slice(from));
		out->too_long = too_long;
	}
}

/* ---- matchers ---- */

/* The part of `text`, which ends with a dot, up to its first dot, or after its last one but that.
 */
static struct slice first_label(struct slice text)
{
	ptrdiff_t dot = slice_find(text, '.');
	return dot < 0 ? text : (struct slice){ text.p, (size_t)dot };
}

static struct slice last_label(struct slice text)
{
	text.n--; /* the final dot */
	size_t from = text.n;
	while (from > 0 && text.p[from - 1] != '.')
		from--;
	return slice_from(text, from);
}

/* Digits that a text begins with may be the end of an escape, \DDD, in a name. */
static struct slice without_digits(struct slice text)
{
	while (text.n > 0 && ascii_isdigit(text.p[0]))
		text = slice_from(text, 1);
	return text;
}

static struct slice probe_of(struct slice text)
{
	text = without_digits(text);
	return text.n > 0 && text.p[0] == '.' ? slice_from(text, 1) : text;
}

/* Do the labels from the i-th on read `text`? */
static bool labels_read(const struct dns_qname *name, unsigned index, struct slice text)
{
	for (; text.n > 0; index++) {
		struct slice part = slice_cut(&text, '.');
		const uint8_t *label = name->wire + name->label[index];
		if (index >= name->n_labels || label[0] != part.n ||
		    memcmp(label + 1, part.p, part.n) != 0)
			return false;
	}
	return true;
}

/* Is there a label that ends as the probe begins, and do those after it read the rest? */
static bool has_probe(const struct dns_qname *name, const struct rewrite_matcher *matcher)
{
	size_t n = matcher->probe_first;
	uint8_t last = (uint8_t)matcher->probe.p[n - 1];
	for (unsigned i = 0; i < name->n_labels; i++) {
		const uint8_t *label = name->wire + name->label[i];
		if (label[label[0]] == last && label[0] >= n &&
		    memcmp(label + 1 + label[0] - n, matcher->probe.p, n) == 0 &&
		    labels_read(name, i + 1, slice_from(matcher->probe, n + 1)))
			return true;
	}
	return false;
}

static void init_exact(struct rewrite_matcher *matcher, struct arena *arena)
{
	uint8_t wire[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	int n = dns_name_from_text(matcher->from, wire);
	/* Text that is not as names are shown, `\097.` for `a.`, matches none. */
	if (n < 0 ||
	    !slice_eq(matcher->from, (struct slice){ text, dns_name_to_text(wire, true, text) }))
		return;
	matcher->wire = arena_memdup(arena, wire, (size_t)n);
	matcher->wire_len = (size_t)n;
	matcher->hash = dns_name_hash(matcher->wire);
}

void rewrite_matcher_init(struct rewrite_matcher *matcher, struct arena *arena)
{
	/* Escapes stand for bytes that look different in a name. */
	bool plain = slice_find(matcher->from, '\\') < 0 && matcher->from.n > 1;
	switch (matcher->how) {
	case REWRITE_EXACT:
		init_exact(matcher, arena);
		break;
	case REWRITE_PREFIX:
		matcher->probe = plain ? first_label(matcher->from) : matcher->probe;
		matcher->whole_label = matcher->probe.n < matcher->from.n;
		break;
	case REWRITE_SUFFIX:
		matcher->probe = plain ? without_digits(last_label(matcher->from)) : matcher->probe;
		break;
	case REWRITE_SUBSTRING:
		matcher->probe = plain ? probe_of(matcher->from) : matcher->probe;
		break;
	case REWRITE_REGEX:
		matcher->probe = probe_of(rewrite_literal(matcher->pattern->text, arena));
		break;
	}
	matcher->probe_first = first_label(matcher->probe).n;
	if (matcher->probe_first == 0)
		matcher->probe.n = 0;
}

bool rewrite_matcher_may(const struct rewrite_matcher *matcher, const struct dns_qname *name)
{
	size_t n = matcher->probe.n;
	switch (matcher->how) {
	case REWRITE_EXACT:
		return matcher->hash == name->hash[0] && matcher->wire_len == name->len &&
		       memcmp(matcher->wire, name->wire, name->len) == 0;
	case REWRITE_PREFIX:
		return n == 0 ||
		       (n <= name->wire[0] && (!matcher->whole_label || n == name->wire[0]) &&
			memcmp(name->wire + 1, matcher->probe.p, n) == 0);
	case REWRITE_SUFFIX:
		return n == 0 || (n < name->len &&
				  name->wire[name->len - 2] == (uint8_t)matcher->probe.p[n - 1] &&
				  memcmp(name->wire + name->len - 1 - n, matcher->probe.p, n) == 0);
	case REWRITE_SUBSTRING:
	case REWRITE_REGEX:
		return n == 0 || has_probe(name, matcher);
	}
	return true;
}

bool rewrite_matcher_hits(const struct rewrite_matcher *matcher, struct query *q, struct slice name)
{
	switch (matcher->how) {
	case REWRITE_EXACT:
		return slice_eq(name, matcher->from);
	case REWRITE_PREFIX:
		return slice_starts(name, matcher->from);
	case REWRITE_SUFFIX:
		return slice_ends(name, matcher->from);
	case REWRITE_SUBSTRING:
		return memmem(name.p, name.n, matcher->from.p, matcher->from.n) != NULL;
	case REWRITE_REGEX:
		return regex_match(matcher->pattern->re, query_regex(q), name);
	}
	return false;
}

bool rewrite_replace(const struct rewrite_matcher *matcher, struct slice to, struct query *q,
		     struct slice name, struct rewrite_text *out)
{
	if (!rewrite_matcher_hits(matcher, q, name))
		return false;
	rewrite_text_set(out, (struct slice){ NULL, 0 });
	switch (matcher->how) {
	case REWRITE_EXACT:
		rewrite_text_add(out, to);
		break;
	case REWRITE_PREFIX:
		rewrite_text_add(out, to);
		rewrite_text_add(out, slice_from(name, matcher->from.n));
		break;
	case REWRITE_SUFFIX:
		rewrite_text_add(out, (struct slice){ name.p, name.n - matcher->from.n });
		rewrite_text_add(out, to);
		break;
	case REWRITE_SUBSTRING:
		add_replaced(out, name, matcher->from, to);
		break;
	case REWRITE_REGEX:
		rewrite_groups(to, query_regex(q), regex_groups(matcher->pattern->re), out);
		break;
	}
	return true;
}

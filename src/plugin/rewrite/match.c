/* How rules look at names, and how they put new ones together. */
#include <string.h>

#include "base/err.h"
#include "plugin/rewrite/rewrite_priv.h"

void rewrite_text_add(struct rewrite_text *t, struct slice s)
{
	if (s.n > REWRITE_TEXT_MAX - t->n) {
		t->too_long = true;
		return;
	}
	if (s.n != 0)
		memcpy(t->s + t->n, s.p, s.n);
	t->n += s.n;
}

void rewrite_text_set(struct rewrite_text *t, struct slice s)
{
	t->n = 0;
	t->too_long = false;
	rewrite_text_add(t, s);
}

void rewrite_text_wire(struct rewrite_text *t, const uint8_t *name)
{
	_Static_assert((int)REWRITE_TEXT_MAX >= (int)DNS_NAME_TEXT_MAX, "a name must fit");
	t->n = dns_name_to_text(name, false, t->s);
	t->too_long = false;
}

/* Appends `s` with each `what` replaced. */
static void add_replaced(struct rewrite_text *out, struct slice s, struct slice what,
			 struct slice by)
{
	const char *hit;
	while ((hit = memmem(s.p, s.n, what.p, what.n)) != NULL) {
		rewrite_text_add(out, (struct slice){ s.p, (size_t)(hit - s.p) });
		rewrite_text_add(out, by);
		s = slice_from(s, (size_t)(hit - s.p) + what.n);
	}
	rewrite_text_add(out, s);
}

/* "{N}" */
static struct slice group_mark(unsigned n, char buf[16])
{
	char *p = buf + 15;
	*--p = '}';
	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	*--p = '{';
	return (struct slice){ p, (size_t)(buf + 15 - p) };
}

/* One group after the other over the whole text, as CoreDNS does it: what one group put there can
 * be a mark for a later one. */
void rewrite_groups(struct slice to, const struct regex_scratch *s, unsigned groups,
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
		add_replaced(into, rewrite_text_slice(from), mark, regex_group(s, i));
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

/* The part of `s`, which ends with a dot, up to its first dot, or after its last one but that. */
static struct slice first_label(struct slice s)
{
	ptrdiff_t dot = slice_find(s, '.');
	return dot < 0 ? s : (struct slice){ s.p, (size_t)dot };
}

static struct slice last_label(struct slice s)
{
	s.n--; /* the final dot */
	size_t from = s.n;
	while (from > 0 && s.p[from - 1] != '.')
		from--;
	return slice_from(s, from);
}

/* Digits that a text begins with may be the end of an escape, \DDD, in a name. */
static struct slice without_digits(struct slice s)
{
	while (s.n > 0 && ascii_isdigit(s.p[0]))
		s = slice_from(s, 1);
	return s;
}

static struct slice probe_of(struct slice s)
{
	s = without_digits(s);
	return s.n > 0 && s.p[0] == '.' ? slice_from(s, 1) : s;
}

/* Do the labels from the i-th on read `text`? */
static bool labels_read(const struct dns_qname *name, unsigned i, struct slice text)
{
	for (; text.n > 0; i++) {
		struct slice part = slice_cut(&text, '.');
		const uint8_t *label = name->wire + name->label[i];
		if (i >= name->n_labels || label[0] != part.n ||
		    memcmp(label + 1, part.p, part.n) != 0)
			return false;
	}
	return true;
}

/* Is there a label that ends as the probe begins, and do those after it read the rest? */
static bool has_probe(const struct dns_qname *name, const struct rewrite_matcher *m)
{
	size_t n = m->probe_first;
	uint8_t last = (uint8_t)m->probe.p[n - 1];
	for (unsigned i = 0; i < name->n_labels; i++) {
		const uint8_t *label = name->wire + name->label[i];
		if (label[label[0]] == last && label[0] >= n &&
		    memcmp(label + 1 + label[0] - n, m->probe.p, n) == 0 &&
		    labels_read(name, i + 1, slice_from(m->probe, n + 1)))
			return true;
	}
	return false;
}

static void init_exact(struct rewrite_matcher *m, struct arena *a)
{
	uint8_t wire[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	int n = dns_name_from_text(m->from, wire);
	/* Text that is not as names are shown, `\097.` for `a.`, matches none. */
	if (n < 0 || !slice_eq(m->from, (struct slice){ text, dns_name_to_text(wire, true, text) }))
		return;
	m->wire = arena_memdup(a, wire, (size_t)n);
	m->wire_len = (size_t)n;
	m->hash = dns_name_hash(m->wire);
}

void rewrite_matcher_init(struct rewrite_matcher *m, struct arena *a)
{
	/* Escapes stand for bytes that look different in a name. */
	bool plain = slice_find(m->from, '\\') < 0 && m->from.n > 1;
	switch (m->how) {
	case REWRITE_EXACT:
		init_exact(m, a);
		break;
	case REWRITE_PREFIX:
		m->probe = plain ? first_label(m->from) : m->probe;
		m->whole_label = m->probe.n < m->from.n;
		break;
	case REWRITE_SUFFIX:
		m->probe = plain ? without_digits(last_label(m->from)) : m->probe;
		break;
	case REWRITE_SUBSTRING:
		m->probe = plain ? probe_of(m->from) : m->probe;
		break;
	case REWRITE_REGEX:
		m->probe = probe_of(rewrite_literal(m->pattern->text, a));
		break;
	}
	m->probe_first = first_label(m->probe).n;
	if (m->probe_first == 0)
		m->probe.n = 0;
}

bool rewrite_matcher_may(const struct rewrite_matcher *m, const struct dns_qname *name)
{
	size_t n = m->probe.n;
	switch (m->how) {
	case REWRITE_EXACT:
		return m->hash == name->hash[0] && m->wire_len == name->len &&
		       memcmp(m->wire, name->wire, name->len) == 0;
	case REWRITE_PREFIX:
		return n == 0 || (n <= name->wire[0] && (!m->whole_label || n == name->wire[0]) &&
				  memcmp(name->wire + 1, m->probe.p, n) == 0);
	case REWRITE_SUFFIX:
		return n == 0 ||
		       (n < name->len && name->wire[name->len - 2] == (uint8_t)m->probe.p[n - 1] &&
			memcmp(name->wire + name->len - 1 - n, m->probe.p, n) == 0);
	case REWRITE_SUBSTRING:
	case REWRITE_REGEX:
		return n == 0 || has_probe(name, m);
	}
	return true;
}

bool rewrite_matcher_hits(const struct rewrite_matcher *m, struct query *q, struct slice name)
{
	switch (m->how) {
	case REWRITE_EXACT:
		return slice_eq(name, m->from);
	case REWRITE_PREFIX:
		return slice_starts(name, m->from);
	case REWRITE_SUFFIX:
		return slice_ends(name, m->from);
	case REWRITE_SUBSTRING:
		return memmem(name.p, name.n, m->from.p, m->from.n) != NULL;
	case REWRITE_REGEX:
		return regex_match(m->pattern->re, query_regex(q), name);
	}
	return false;
}

bool rewrite_replace(const struct rewrite_matcher *m, struct slice to, struct query *q,
		     struct slice name, struct rewrite_text *out)
{
	if (!rewrite_matcher_hits(m, q, name))
		return false;
	rewrite_text_set(out, (struct slice){ NULL, 0 });
	switch (m->how) {
	case REWRITE_EXACT:
		rewrite_text_add(out, to);
		break;
	case REWRITE_PREFIX:
		rewrite_text_add(out, to);
		rewrite_text_add(out, slice_from(name, m->from.n));
		break;
	case REWRITE_SUFFIX:
		rewrite_text_add(out, (struct slice){ name.p, name.n - m->from.n });
		rewrite_text_add(out, to);
		break;
	case REWRITE_SUBSTRING:
		add_replaced(out, name, m->from, to);
		break;
	case REWRITE_REGEX:
		rewrite_groups(to, query_regex(q), regex_groups(m->pattern->re), out);
		break;
	}
	return true;
}

/* $GENERATE: the range, and the line for each of its values. The forms are those of BIND: $ alone,
 * ${offset[,width[,base]]} with base d, o, x, X, n or N, $$ or \$ for a dollar sign. */
#include <inttypes.h>
#include <stdio.h>

#include "base/charset.h"
#include "base/err.h"
#include "dns/zonefile.h"
#include "dns/zonefile_priv.h"

enum { WIDTH_MAX = 255, VALUE_MAX = INT32_MAX, DIGITS_MAX = 64 };

struct modifier {
	int64_t offset;
	unsigned width;
	char base;
};

static int fail(const char **reterr, const char *why)
{
	*reterr = why;
	return ERR_PARSE;
}

/* Decimal, with a sign. */
static int get_int(struct slice s, int64_t *ret)
{
	bool minus = s.n > 0 && s.p[0] == '-';
	uint64_t v;
	if (minus || (s.n > 0 && s.p[0] == '+'))
		s = slice_from(s, 1);
	if (slice_u64(s, &v) < 0 || v > INT64_MAX)
		return ERR_PARSE;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return 0;
}

int dns_zonefile_range(struct slice s, struct zonefile_range *ret, const char **reterr)
{
	struct slice step = s;
	struct slice to = slice_cut(&step, '/');
	struct slice from = slice_cut(&to, '-');
	ret->step = 1;
	if (step.p != NULL && (get_int(step, &ret->step) < 0 || ret->step <= 0))
		return fail(reterr, "bad step of the range");
	if (to.p == NULL)
		return fail(reterr, "expected a range such as 1-10 or 0-100/2");
	if (get_int(from, &ret->from) < 0 || get_int(to, &ret->to) < 0 || ret->from < 0)
		return fail(reterr, "bad number in the range");
	if (ret->to < ret->from)
		return fail(reterr, "range ends before it starts");
	if ((ret->to - ret->from) / ret->step >= DNS_ZONEFILE_GENERATE_MAX)
		return fail(reterr, "range of more than 65536 values");
	return 0;
}

static int get_modifier(struct slice s, struct modifier *m, const char **reterr)
{
	struct slice width = s;
	struct slice offset = slice_cut(&width, ',');
	struct slice base = width;
	uint64_t w = 0;
	m->base = 'd';
	if (get_int(offset, &m->offset) < 0)
		return fail(reterr, "bad offset in ${...}");
	if (width.p != NULL) {
		width = slice_cut(&base, ',');
		if (slice_u64(width, &w) < 0 || w > WIDTH_MAX)
			return fail(reterr, "bad width in ${...}");
		if (base.p != NULL) {
			if (base.n != 1 || !charset_has("doxXnN", base.p[0]))
				return fail(reterr, "bad base in ${...}");
			m->base = base.p[0];
		}
	}
	m->width = (unsigned)w;
	return 0;
}

/* Hexadecimal digits in reverse, each a label; the width counts digits and dots. */
static void add_nibbles(struct strbuf *out, uint64_t v, unsigned width, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	do {
		strbuf_addc(out, digits[v & 15]);
		v >>= 4;
		width -= width > 0;
		if (width > 0 || v != 0) {
			strbuf_addc(out, '.');
			width -= width > 0;
		}
	} while (v != 0 || width > 0);
}

static void add_value(struct strbuf *out, const struct modifier *m, int64_t value)
{
	char text[DIGITS_MAX];
	uint64_t v = (uint64_t)value;
	int n = 0;
	switch (m->base) {
	case 'n':
	case 'N':
		add_nibbles(out, v, m->width, m->base == 'N');
		return;
	case 'o':
		n = snprintf(text, sizeof(text), "%" PRIo64, v);
		break;
	case 'x':
		n = snprintf(text, sizeof(text), "%" PRIx64, v);
		break;
	case 'X':
		n = snprintf(text, sizeof(text), "%" PRIX64, v);
		break;
	default:
		n = snprintf(text, sizeof(text), "%" PRIu64, v);
		break;
	}
	for (unsigned i = (unsigned)n; i < m->width; i++)
		strbuf_addc(out, '0');
	strbuf_add(out, text, (size_t)n);
}

/* At a dollar sign; advances past what belongs to it. */
static int expand_dollar(struct slice p, size_t *at, const struct zonefile_range *range,
			 int64_t value, struct strbuf *out, const char **reterr)
{
	struct modifier m = { .base = 'd' };
	struct slice rest = slice_from(p, *at + 1);
	(*at)++;
	if (rest.n > 0 && rest.p[0] == '$') {
		(*at)++;
		strbuf_addc(out, '$');
		return 0;
	}
	if (rest.n > 0 && rest.p[0] == '{') {
		ptrdiff_t end = slice_find(rest, '}');
		if (end < 0)
			return fail(reterr, "missing } after ${");
		int r = get_modifier((struct slice){ rest.p + 1, (size_t)end - 1 }, &m, reterr);
		if (r < 0)
			return r;
		if (m.offset < -range->from || m.offset > VALUE_MAX - range->to)
			return fail(reterr, "offset in ${...} leads out of 0 to 2147483647");
		*at += (size_t)end + 1;
	}
	add_value(out, &m, value + m.offset);
	return 0;
}

int dns_zonefile_expand(struct slice p, const struct zonefile_range *range, int64_t value,
			struct strbuf *out, const char **reterr)
{
	for (size_t i = 0; i < p.n;) {
		if (out->n > DNS_ZONEFILE_RECORD_MAX)
			return fail(reterr, "generated record is too long");
		if (p.p[i] == '$') {
			int r = expand_dollar(p, &i, range, value, out, reterr);
			if (r < 0)
				return r;
			continue;
		}
		if (p.p[i] != '\\') {
			strbuf_addc(out, p.p[i++]);
			continue;
		}
		/* An escape protects $ and itself; before anything else it belongs to the record.
		 */
		i++;
		if (i < p.n && p.p[i] == '$') {
			strbuf_addc(out, p.p[i++]);
			continue;
		}
		strbuf_addc(out, '\\');
		if (i < p.n && p.p[i] == '\\')
			strbuf_addc(out, p.p[i++]);
	}
	return 0;
}

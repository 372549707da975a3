/* SPDX-License-Identifier: GPL-3.0-or-later */
/* $GENERATE: the range, and the line for each of its values. The forms are those of BIND: $ alone,
 * ${offset[,width[,base]]} with base d, o, x, X, n or N, $$ or \$ for a dollar sign. */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text/charset.h"
#include "dns/zone/generate_priv.h"
#include "dns/zone/zonefile.h"

enum { WIDTH_MAX = 255, VALUE_MAX = INT32_MAX, DIGITS_MAX = 64 };

struct modifier {
	int64_t offset;
	unsigned width;
	char base;
};

static int fail_because(const char **reterr, const char *why)
{
	*reterr = why;
	return ERR_PARSE;
}

/* Decimal, with a sign. */
static int get_int(struct slice text, int64_t *ret)
{
	bool minus = text.n > 0 && text.p[0] == '-';
	uint64_t v;
	if (minus || (text.n > 0 && text.p[0] == '+'))
		text = slice_from(text, 1);
	if (slice_u64(text, &v) < 0 || v > INT64_MAX)
		return ERR_PARSE;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return 0;
}

int dns_zonefile_range(struct slice text, struct zonefile_range *ret, const char **reterr)
{
	struct slice step = text;
	struct slice to = slice_cut(&step, '/');
	struct slice from = slice_cut(&to, '-');
	ret->step = 1;
	if (step.p != NULL && (get_int(step, &ret->step) < 0 || ret->step <= 0))
		return fail_because(reterr, "bad step of the range");
	if (to.p == NULL)
		return fail_because(reterr, "expected a range such as 1-10 or 0-100/2");
	if (get_int(from, &ret->from) < 0 || get_int(to, &ret->to) < 0 || ret->from < 0)
		return fail_because(reterr, "bad number in the range");
	if (ret->to < ret->from)
		return fail_because(reterr, "range ends before it starts");
	if ((ret->to - ret->from) / ret->step >= DNS_ZONEFILE_GENERATE_MAX)
		return fail_because(reterr, "range of more than 65536 values");
	return 0;
}

static int get_modifier(struct slice text, struct modifier *modifier, const char **reterr)
{
	struct slice width = text;
	struct slice offset = slice_cut(&width, ',');
	struct slice base = width;
	uint64_t w = 0;
	modifier->base = 'd';
	if (get_int(offset, &modifier->offset) < 0)
		return fail_because(reterr, "bad offset in ${...}");
	if (width.p != NULL) {
		width = slice_cut(&base, ',');
		if (slice_u64(width, &w) < 0 || w > WIDTH_MAX)
			return fail_because(reterr, "bad width in ${...}");
		if (base.p != NULL) {
			if (base.n != 1 || !charset_has("doxXnN", base.p[0]))
				return fail_because(reterr, "bad base in ${...}");
			modifier->base = base.p[0];
		}
	}
	modifier->width = (unsigned)w;
	return 0;
}

/* Hexadecimal digits in reverse, each a label; the width counts digits and dots. */
static void add_nibbles(struct strbuf *out, uint64_t value, unsigned width, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	do {
		strbuf_addc(out, digits[value & 15]);
		value >>= 4;
		width -= width > 0;
		if (width > 0 || value != 0) {
			strbuf_addc(out, '.');
			width -= width > 0;
		}
	} while (value != 0 || width > 0);
}

static void add_value(struct strbuf *out, const struct modifier *modifier, int64_t value)
{
	char text[DIGITS_MAX];
	uint64_t v = (uint64_t)value;
	int n = 0;
	switch (modifier->base) {
	case 'n':
	case 'N':
		add_nibbles(out, v, modifier->width, modifier->base == 'N');
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
	for (unsigned i = (unsigned)n; i < modifier->width; i++)
		strbuf_addc(out, '0');
	strbuf_add(out, text, (size_t)n);
}

/* At a dollar sign; advances past what belongs to it. */
static int expand_dollar(struct slice text, size_t *at, const struct zonefile_range *range,
			 int64_t value, struct strbuf *out, const char **reterr)
{
	struct modifier m = { .base = 'd' };
	struct slice rest = slice_from(text, *at + 1);
	(*at)++;
	if (rest.n > 0 && rest.p[0] == '$') {
		(*at)++;
		strbuf_addc(out, '$');
		return 0;
	}
	if (rest.n > 0 && rest.p[0] == '{') {
		ptrdiff_t end = slice_find(rest, '}');
		if (end < 0)
			return fail_because(reterr, "missing } after ${");
		int r = get_modifier((struct slice){ rest.p + 1, (size_t)end - 1 }, &m, reterr);
		if (r < 0)
			return r;
		if (m.offset < -range->from || m.offset > VALUE_MAX - range->to)
			return fail_because(reterr,
					    "offset in ${...} leads out of 0 to 2147483647");
		*at += (size_t)end + 1;
	}
	add_value(out, &m, value + m.offset);
	return 0;
}

int dns_zonefile_expand(struct slice text, const struct zonefile_range *range, int64_t value,
			struct strbuf *out, const char **reterr)
{
	for (size_t i = 0; i < text.n;) {
		if (out->n > DNS_ZONEFILE_RECORD_MAX)
			return fail_because(reterr, "generated record is too long");
		if (text.p[i] == '$') {
			int r = expand_dollar(text, &i, range, value, out, reterr);
			if (r < 0)
				return r;
			continue;
		}
		if (text.p[i] != '\\') {
			strbuf_addc(out, text.p[i++]);
			continue;
		}
		/* An escape protects $ and itself; before anything else it belongs to the record.
		 */
		i++;
		if (i < text.n && text.p[i] == '$') {
			strbuf_addc(out, text.p[i++]);
			continue;
		}
		strbuf_addc(out, '\\');
		if (i < text.n && text.p[i] == '\\')
			strbuf_addc(out, text.p[i++]);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builtins on text. As in Go, places and slices count bytes, len() counts characters. */
#include <string.h>

#include "base/err.h"
#include "base/text/utf8.h"
#include "expr/builtin_priv.h"
#include "expr/expr_priv.h"
#include "expr/run_priv.h"
#include "expr/value_priv.h"

/* Upper and lower case of letters beyond ASCII: blocks whose cases are a fixed distance apart, or
 * alternate. Other scripts stay as they are. */
static const struct {
	uint16_t first, last; /* upper case letters */
	uint8_t step;	      /* 0: lower follows at once, alternating; else distance */
	uint8_t odd;	      /* alternating: parity of the upper case letters */
} case_blocks[] = {
	{ 0x00c0, 0x00d6, 0x20, 0 }, { 0x00d8, 0x00de, 0x20, 0 }, { 0x0100, 0x012e, 0, 0 },
	{ 0x0132, 0x0136, 0, 0 },    { 0x0139, 0x0147, 0, 1 },	  { 0x014a, 0x0176, 0, 0 },
	{ 0x0179, 0x017d, 0, 1 },    { 0x0391, 0x03a1, 0x20, 0 }, { 0x03a3, 0x03ab, 0x20, 0 },
	{ 0x0400, 0x040f, 0x50, 0 }, { 0x0410, 0x042f, 0x20, 0 }, { 0x0460, 0x0480, 0, 0 },
	{ 0x048a, 0x04be, 0, 0 },    { 0x04d0, 0x052e, 0, 0 },	  { 0x0531, 0x0556, 0x30, 0 },
	{ 0x1e00, 0x1e94, 0, 0 },    { 0x1ea0, 0x1efe, 0, 0 },
};

static uint32_t change_case(uint32_t cp, bool upper)
{
	if (cp < 0x80) {
		char low = ascii_lower((char)cp);
		if (upper)
			return ascii_isalpha((char)cp) ? (uint32_t)(low & ~0x20) : cp;
		return (uint32_t)low;
	}
	for (size_t i = 0; i < ARRAY_LEN(case_blocks); i++) {
		uint32_t first = case_blocks[i].first, last = case_blocks[i].last;
		uint32_t step = case_blocks[i].step != 0 ? case_blocks[i].step : 1;
		bool alternating = case_blocks[i].step == 0;
		uint32_t odd = case_blocks[i].odd;
		if (!upper && cp >= first && cp <= last && (!alternating || (cp & 1) == odd))
			return cp + step;
		if (upper && cp >= first + step && cp <= last + step &&
		    (!alternating || (cp & 1) != odd))
			return cp - step;
	}
	return cp;
}

/* One character, U+FFFD for a byte that is none; bytes taken. */
static size_t next_char(struct slice text, uint32_t *ret_cp)
{
	size_t n = utf8_decode(text, ret_cp);
	if (n == 0)
		*ret_cp = 0xfffd;
	return n != 0 ? n : 1;
}

static int want_strings(struct ev *ev, const struct expr_value *value, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		int r = expr_want(ev, &value[i], EXPR_STRING);
		if (r < 0)
			return r;
	}
	return 0;
}

static int convert_case(struct ev *ev, const struct expr_value *value, bool upper,
			struct expr_value *ret)
{
	struct slice s = value->s;
	uint32_t cp;
	size_t k = 0;
	int r = want_strings(ev, value, 1);
	/* An invalid byte becomes the three of U+FFFD. */
	char *p = r == 0 ? expr_alloc(ev, 3 * s.n + 4) : NULL;
	if (p == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0, len; i < s.n; i += len) {
		len = next_char(slice_from(s, i), &cp);
		k += utf8_encode(change_case(cp, upper), p + k);
	}
	expr_release(ev, p + ((k + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1)),
		     ev->run->arena->end);
	*ret = expr_string((struct slice){ p, k });
	return 0;
}

BUILTIN(upper)
{
	(void)n;
	return convert_case(ev, a, true, ret);
}

BUILTIN(lower)
{
	(void)n;
	return convert_case(ev, a, false, ret);
}

/* --- trimming --- */

static bool is_space(uint32_t cp)
{
	return (cp < 0x80 && ascii_isspace((char)cp)) || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
	       (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
	       cp == 0x205f || cp == 0x3000;
}

static bool in_set(uint32_t cp, const struct slice *set)
{
	uint32_t c;
	if (set == NULL)
		return is_space(cp);
	for (size_t i = 0, len; i < set->n; i += len) {
		len = next_char(slice_from(*set, i), &c);
		if (c == cp)
			return true;
	}
	return false;
}

static struct slice last_char(struct slice text)
{
	size_t k = 1;
	uint32_t cp;
	while (k < text.n && k < 4 && ((unsigned char)text.p[text.n - k] & 0xc0) == 0x80)
		k++;
	struct slice c = { text.p + text.n - k, k };
	return utf8_decode(c, &cp) == k ? c : (struct slice){ text.p + text.n - 1, 1 };
}

BUILTIN(trim)
{
	int r = want_strings(ev, a, n);
	const struct slice *set = n > 1 ? &a[1].s : NULL;
	struct slice s = a[0].s;
	uint32_t cp;
	if (r < 0)
		return r;
	while (s.n > 0) {
		size_t len = next_char(s, &cp);
		if (!in_set(cp, set))
			break;
		s = slice_from(s, len);
	}
	while (s.n > 0) {
		struct slice c = last_char(s);
		IGNORE(next_char(c, &cp) == 0); /* its length is known */
		if (!in_set(cp, set))
			break;
		s.n -= c.n;
	}
	*ret = expr_string(s);
	return expr_spend(ev, a[0].s.n / 16);
}

BUILTIN(trim_prefix)
{
	int r = want_strings(ev, a, n);
	if (r < 0)
		return r;
	struct slice cut = n > 1 ? a[1].s : SLICE(" ");
	*ret = expr_string(slice_starts(a[0].s, cut) ? slice_from(a[0].s, cut.n) : a[0].s);
	return 0;
}

BUILTIN(trim_suffix)
{
	int r = want_strings(ev, a, n);
	if (r < 0)
		return r;
	struct slice cut = n > 1 ? a[1].s : SLICE(" ");
	*ret = a[0];
	if (slice_ends(a[0].s, cut))
		ret->s.n -= cut.n;
	return 0;
}

/* --- searching --- */

static ptrdiff_t find(struct slice in, struct slice what)
{
	if (what.n == 0)
		return 0;
	const char *p = in.n >= what.n ? memmem(in.p, in.n, what.p, what.n) : NULL;
	return p != NULL ? p - in.p : -1;
}

BUILTIN(index_of)
{
	int r = want_strings(ev, a, n);
	if (r == 0)
		*ret = expr_int(find(a[0].s, a[1].s));
	return r;
}

BUILTIN(last_index_of)
{
	int r = want_strings(ev, a, n);
	if (r < 0)
		return r;
	struct slice in = a[0].s, what = a[1].s;
	ptrdiff_t at = (ptrdiff_t)in.n - (ptrdiff_t)what.n;
	while (at >= 0 && !slice_starts(slice_from(in, (size_t)at), what))
		at--;
	*ret = expr_int(MAX(at, -1));
	return expr_spend(ev, in.n / 4);
}

BUILTIN(has_prefix)
{
	int r = want_strings(ev, a, n);
	if (r == 0)
		*ret = expr_bool(slice_starts(a[0].s, a[1].s));
	return r;
}

BUILTIN(has_suffix)
{
	int r = want_strings(ev, a, n);
	if (r == 0)
		*ret = expr_bool(slice_ends(a[0].s, a[1].s));
	return r;
}

/* --- cutting and joining --- */

/* Cuts the next piece off; `keep` leaves the separator at its end. An empty separator cuts
 * characters. False when `rest` holds no separator any more. */
static bool cut_piece(struct slice *rest, struct slice sep, bool keep, struct slice *ret)
{
	uint32_t cp;
	if (sep.n == 0) {
		size_t len = rest->n != 0 ? next_char(*rest, &cp) : 0;
		if (len == rest->n)
			return false;
		*ret = (struct slice){ rest->p, len };
		*rest = slice_from(*rest, len);
		return true;
	}
	ptrdiff_t at = find(*rest, sep);
	if (at < 0)
		return false;
	*ret = (struct slice){ rest->p, (size_t)at + (keep ? sep.n : 0) };
	*rest = slice_from(*rest, (size_t)at + sep.n);
	return true;
}

static size_t count_pieces(struct slice s, struct slice sep, int64_t limit)
{
	struct slice piece;
	size_t n = 1;
	if (sep.n == 0 && s.n == 0)
		return 0;
	while ((limit < 0 || (uint64_t)limit > n) && cut_piece(&s, sep, false, &piece))
		n++;
	return n;
}

static int split(struct ev *ev, const struct expr_value *a, unsigned n, bool keep,
		 struct expr_value *ret)
{
	int64_t limit = -1;
	int r = want_strings(ev, a, 2);
	if (r == 0 && n > 2)
		r = expr_to_int(ev, &a[2], &limit);
	*ret = expr_nil_list();
	if (r < 0 || limit == 0)
		return r;
	size_t count = count_pieces(a[0].s, a[1].s, limit);
	r = expr_spend(ev, count + a[0].s.n / 16);
	struct expr_value *v = r == 0 ? expr_alloc_values(ev, count) : NULL;
	if (v == NULL)
		return ERR_LIMIT;
	struct slice rest = a[0].s;
	for (size_t i = 0; i < count; i++) {
		struct slice piece = rest;
		if (i + 1 < count)
			IGNORE(cut_piece(&rest, a[1].s, keep, &piece)); /* counted before */
		v[i] = expr_string(piece);
	}
	return expr_make_list(ev, v, count, ret);
}

BUILTIN(split)
{
	return split(ev, a, n, false, ret);
}

BUILTIN(split_after)
{
	return split(ev, a, n, true, ret);
}

/* One pass of replace(); measures when `p` is NULL. */
static size_t replace_into(char *p, const struct expr_value *a, int64_t limit)
{
	struct out o = { .p = p, .max = SIZE_MAX };
	struct slice rest = a[0].s, old = a[1].s, new = a[2].s;
	uint32_t cp;
	for (int64_t done = 0; limit < 0 || done < limit; done++) {
		if (old.n == 0) {
			/* Before each character and at the end. */
			if (done > 0) {
				size_t len = rest.n != 0 ? next_char(rest, &cp) : 0;
				if (len == 0)
					break;
				expr_out(&o, rest.p, len);
				rest = slice_from(rest, len);
			}
		} else {
			ptrdiff_t at = find(rest, old);
			if (at < 0)
				break;
			expr_out(&o, rest.p, (size_t)at);
			rest = slice_from(rest, (size_t)at + old.n);
		}
		expr_out(&o, new.p, new.n);
	}
	expr_out(&o, rest.p, rest.n);
	return o.n;
}

BUILTIN(replace)
{
	int64_t limit = -1;
	int r = want_strings(ev, a, 3);
	if (r == 0 && n > 3)
		r = expr_to_int(ev, &a[3], &limit);
	if (r < 0)
		return r;
	size_t len = replace_into(NULL, a, limit);
	r = expr_spend(ev, (a[0].s.n + len) / 16);
	char *p = r == 0 ? expr_alloc(ev, len) : NULL;
	if (p == NULL)
		return r < 0 ? r : ERR_LIMIT;
	IGNORE(replace_into(p, a, limit) != len); /* measured before */
	*ret = expr_string((struct slice){ p, len });
	return 0;
}

BUILTIN(repeat)
{
	int64_t times = 0;
	int r = want_strings(ev, a, 1);
	if (r == 0)
		r = expr_to_int(ev, &a[1], &times);
	(void)n;
	if (r < 0)
		return r;
	struct slice s = a[0].s;
	if (times < 0)
		return expr_fail(
			ev, "invalid argument for repeat (expected positive integer, got %lld)",
			(long long)times);
	if (times > EXPR_MEMORY_MAX || s.n > EXPR_MEMORY_MAX)
		return expr_no_memory(ev);
	size_t len = s.n * (size_t)times;
	r = expr_grow(ev, len);
	if (r == 0)
		r = expr_spend(ev, len / 16);
	char *p = r == 0 ? expr_alloc(ev, len) : NULL;
	if (p == NULL)
		return r < 0 ? r : ERR_LIMIT;
	for (size_t i = 0; i < len; i += s.n)
		memcpy(p + i, s.p, s.n);
	*ret = expr_string((struct slice){ p, len });
	return 0;
}

BUILTIN(join)
{
	struct slice glue = { "", 0 };
	size_t count = expr_list_len(a), len = 0;
	int r = expr_want(ev, &a[0], EXPR_LIST);
	if (r == 0 && n > 1)
		r = expr_want(ev, &a[1], EXPR_STRING);
	if (r < 0)
		return r;
	if (n > 1)
		glue = a[1].s;
	for (size_t i = 0; i < count; i++) {
		struct expr_value v = expr_list_at(a, i);
		r = expr_want(ev, &v, EXPR_STRING);
		if (r < 0)
			return r;
		len += v.s.n + (i > 0 ? glue.n : 0);
	}
	r = expr_spend(ev, count + len / 16);
	struct out o = { .p = r == 0 ? expr_alloc(ev, len) : NULL, .max = len };
	if (o.p == NULL)
		return ERR_LIMIT;
	for (size_t i = 0; i < count; i++) {
		struct expr_value v = expr_list_at(a, i);
		if (i > 0)
			expr_out(&o, glue.p, glue.n);
		expr_out(&o, v.s.p, v.s.n);
	}
	*ret = expr_string((struct slice){ o.p, o.n });
	return 0;
}

BUILTIN(len)
{
	size_t len = 0;
	uint32_t cp;
	(void)n;
	if (a->type == EXPR_STRING) {
		for (size_t i = 0; i < a->s.n; len++)
			i += next_char(slice_from(a->s, i), &cp);
	} else if (expr_is_list(a)) {
		len = expr_list_len(a);
	} else if (expr_is_map(a)) {
		len = a->map.n;
	} else {
		return expr_fail(ev, "invalid argument for len (type %s)", expr_value_type_name(a));
	}
	*ret = expr_int((int64_t)len);
	return 0;
}

static int write_value(struct ev *ev, struct out *o, const struct expr_value *v)
{
	(void)ev;
	expr_out_value(o, v);
	return 0;
}

BUILTIN(string)
{
	(void)n;
	if (a->type == EXPR_STRING) {
		*ret = *a;
		return 0;
	}
	return expr_write(ev, write_value, a, ret);
}

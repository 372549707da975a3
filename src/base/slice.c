/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparing, trimming and splitting borrowed text, and reading numbers from it. */
#include "base/slice.h"

#include "base/err.h"

bool slice_eq_nocase(struct slice left, struct slice right)
{
	if (left.n != right.n)
		return false;
	for (size_t i = 0; i < left.n; i++) {
		if (ascii_lower(left.p[i]) != ascii_lower(right.p[i]))
			return false;
	}
	return true;
}

bool slice_starts(struct slice text, struct slice prefix)
{
	return text.n >= prefix.n && slice_eq((struct slice){ text.p, prefix.n }, prefix);
}

bool slice_ends(struct slice text, struct slice suffix)
{
	return text.n >= suffix.n && slice_eq(slice_from(text, text.n - suffix.n), suffix);
}

int slice_cmp(struct slice left, struct slice right)
{
	size_t n = MIN(left.n, right.n);
	int c = n != 0 ? memcmp(left.p, right.p, n) : 0;
	if (c != 0)
		return c;
	return left.n < right.n ? -1 : left.n > right.n;
}

struct slice slice_trim(struct slice text)
{
	while (text.n > 0 && ascii_isspace(text.p[0])) {
		text.p++;
		text.n--;
	}
	while (text.n > 0 && ascii_isspace(text.p[text.n - 1]))
		text.n--;
	return text;
}

struct slice slice_from(struct slice text, size_t from)
{
	if (from >= text.n)
		return (struct slice){ text.p != NULL ? text.p + text.n : NULL, 0 };
	return (struct slice){ text.p + from, text.n - from };
}

struct slice slice_cut(struct slice *rest, char sep)
{
	struct slice head = *rest;
	ptrdiff_t at = slice_find(*rest, sep);
	if (at < 0) {
		*rest = (struct slice){ NULL, 0 };
		return head;
	}
	head.n = (size_t)at;
	*rest = slice_from(*rest, head.n + 1);
	return head;
}

ptrdiff_t slice_find(struct slice text, char ch)
{
	const char *at = text.n != 0 ? memchr(text.p, ch, text.n) : NULL;
	return at != NULL ? at - text.p : -1;
}

int slice_u64(struct slice text, uint64_t *ret)
{
	uint64_t v = 0;
	if (text.n == 0)
		return ERR_PARSE;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isdigit(text.p[i]) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text.p[i] - '0'), &v))
			return ERR_PARSE;
	}
	*ret = v;
	return 0;
}

int slice_prefix_length(struct slice text, unsigned most, unsigned *ret)
{
	uint64_t bits;
	if ((text.n > 1 && text.p[0] == '0') || slice_u64(text, &bits) < 0 || bits > most)
		return ERR_PARSE;
	*ret = (unsigned)bits;
	return 0;
}

/* Operations on borrowed text. */
#include "base/slice.h"

#include "base/err.h"

bool slice_eq_nocase(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	}
	return true;
}

bool slice_starts(struct slice a, struct slice prefix)
{
	return a.n >= prefix.n && slice_eq((struct slice){ a.p, prefix.n }, prefix);
}

bool slice_ends(struct slice a, struct slice suffix)
{
	return a.n >= suffix.n && slice_eq(slice_from(a, a.n - suffix.n), suffix);
}

int slice_cmp(struct slice a, struct slice b)
{
	size_t n = MIN(a.n, b.n);
	int c = n != 0 ? memcmp(a.p, b.p, n) : 0;
	if (c != 0)
		return c;
	return a.n < b.n ? -1 : a.n > b.n;
}

struct slice slice_trim(struct slice a)
{
	while (a.n > 0 && ascii_isspace(a.p[0])) {
		a.p++;
		a.n--;
	}
	while (a.n > 0 && ascii_isspace(a.p[a.n - 1]))
		a.n--;
	return a;
}

struct slice slice_from(struct slice a, size_t from)
{
	if (from >= a.n)
		return (struct slice){ a.p != NULL ? a.p + a.n : NULL, 0 };
	return (struct slice){ a.p + from, a.n - from };
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

ptrdiff_t slice_find(struct slice a, char c)
{
	const char *at = a.n != 0 ? memchr(a.p, c, a.n) : NULL;
	return at != NULL ? at - a.p : -1;
}

int slice_u64(struct slice a, uint64_t *ret)
{
	uint64_t v = 0;
	if (a.n == 0)
		return ERR_PARSE;
	for (size_t i = 0; i < a.n; i++) {
		if (!ascii_isdigit(a.p[i]) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(a.p[i] - '0'), &v))
			return ERR_PARSE;
	}
	*ret = v;
	return 0;
}

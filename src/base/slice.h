/* Borrowed text: a pointer and a length, never owned, not terminated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

struct slice {
	const char *p;
	size_t n;
};

#define SLICE(literal) ((struct slice){ "" literal, sizeof(literal) - 1 })

static inline struct slice slice_of(const char *s)
{
	return (struct slice){ s, s != NULL ? strlen(s) : 0 };
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): p is NULL only when n is 0 */
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_is(struct slice a, const char *s)
{
	return slice_eq(a, slice_of(s));
}

/* ASCII letters only. */
bool slice_eq_nocase(struct slice a, struct slice b);
bool slice_starts(struct slice a, struct slice prefix);
bool slice_ends(struct slice a, struct slice suffix);
int slice_cmp(struct slice a, struct slice b);

/* Without leading and trailing ASCII white space. */
struct slice slice_trim(struct slice a);
/* From `from` on; empty when that is past the end. */
struct slice slice_from(struct slice a, size_t from);
/* Cuts the text before the first `sep` off `*rest` and returns it; `*rest` then starts after the
 * separator. Without a separator all of `*rest` is returned and `*rest` becomes empty with p NULL.
 */
struct slice slice_cut(struct slice *rest, char sep);
/* Position of `c` or -1. */
ptrdiff_t slice_find(struct slice a, char c);

/* Whole text as an unsigned decimal; ERR_PARSE (also for "", signs and overflow). */
MUST_CHECK int slice_u64(struct slice a, uint64_t *ret);

/* ASCII, whatever the locale. */
static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static inline bool ascii_isspace(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool ascii_isdigit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_isalpha(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

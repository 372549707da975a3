/* SPDX-License-Identifier: GPL-3.0-or-later */
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

static inline struct slice slice_of(const char *text)
{
	return (struct slice){ text, text != NULL ? strlen(text) : 0 };
}

static inline bool slice_eq(struct slice left, struct slice right)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): p is NULL only when n is 0 */
	return left.n == right.n && (left.n == 0 || memcmp(left.p, right.p, left.n) == 0);
}

static inline bool slice_is(struct slice text, const char *string)
{
	return slice_eq(text, slice_of(string));
}

/* ASCII letters only. */
bool slice_eq_nocase(struct slice left, struct slice right);
bool slice_starts(struct slice text, struct slice prefix);
bool slice_ends(struct slice text, struct slice suffix);
int slice_cmp(struct slice left, struct slice right);

/* Without leading and trailing ASCII white space. */
struct slice slice_trim(struct slice text);
/* From `from` on; empty when that is past the end. */
struct slice slice_from(struct slice text, size_t from);
/* Cuts the text before the first `sep` off `*rest` and returns it; `*rest` then starts after the
 * separator. Without a separator all of `*rest` is returned and `*rest` becomes empty with p NULL.
 */
struct slice slice_cut(struct slice *rest, char sep);
/* Position of `ch` or -1. */
ptrdiff_t slice_find(struct slice text, char ch);

/* Whole text as an unsigned decimal; ERR_PARSE (also for "", signs and overflow). */
MUST_CHECK int slice_u64(struct slice text, uint64_t *ret);
/* The same for the length of a prefix, at most `most`: without leading zeros, which some programs read as
 * octal. */
MUST_CHECK int slice_prefix_length(struct slice text, unsigned most, unsigned *ret);

/* ASCII, whatever the locale. */
static inline char ascii_lower(char ch)
{
	return ch >= 'A' && ch <= 'Z' ? (char)(ch | 0x20) : ch;
}

static inline bool ascii_isspace(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static inline bool ascii_isdigit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static inline bool ascii_isalpha(char ch)
{
	return (ch | 0x20) >= 'a' && (ch | 0x20) <= 'z';
}

/* The value of a hexadecimal digit in either case; -1 for any other character, NUL and the -1 of a
 * reader at its end included. */
static inline int ascii_hex_value(int ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	ch |= 0x20;
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

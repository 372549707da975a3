/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds what ends a run of a string's bytes, eight at a time. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#define SCAN_EACH(byte) (0x0101010101010101U * (byte))

/* Both mark a byte by its high bit; those above the first one may be marked wrongly, by its borrow.
 *
 * A quote or a backslash. */
static ALWAYS_INLINE uint64_t scan_ends(uint64_t word)
{
	uint64_t quote = word ^ SCAN_EACH('"'), backslash = word ^ SCAN_EACH('\\');
	return (((quote - SCAN_EACH(1)) & ~quote) | ((backslash - SCAN_EACH(1)) & ~backslash)) &
	       SCAN_EACH(0x80);
}

/* Also a control character or a part of a character beyond ASCII. */
static ALWAYS_INLINE uint64_t scan_odd(uint64_t word)
{
	uint64_t quote = word ^ SCAN_EACH('"'), backslash = word ^ SCAN_EACH('\\');
	return (word | (word - SCAN_EACH(0x20)) | (quote - SCAN_EACH(1)) |
		(backslash - SCAN_EACH(1))) &
	       SCAN_EACH(0x80);
}

/* The first byte from `pos` on that `marks` marks; `end` when there is none. */
static ALWAYS_INLINE const char *scan_to(const char *pos, const char *end,
					 uint64_t (*marks)(uint64_t word))
{
	uint64_t w;
	for (; end - pos >= 8; pos += 8) {
		memcpy(&w, pos, 8);
		w = marks(le64toh(w));
		if (w != 0)
			return pos + (__builtin_ctzll(w) >> 3);
	}
	/* The rest is filled up with bytes that are never marked. */
	size_t n = (size_t)(end - pos);
	w = SCAN_EACH('x');
	memcpy(&w, pos, n);
	w = marks(le64toh(w));
	return w != 0 ? pos + (__builtin_ctzll(w) >> 3) : end;
}

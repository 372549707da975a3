/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where strings and brackets are in 64 bytes of JSON, as bits: bit i stands for byte i. Written so
 * that compilers make vector instructions of the first loop. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

enum { BLOCK_BYTES = 64 };

struct block {
	uint64_t quotes, opens, closes; /* closes and opens: of maps and arrays alike */
	bool backslash;			/* there is one, somewhere */
};

/* Bytes of 0 and 1 become bits; byte k's goes to 56 + k, and no two of the products meet. */
static ALWAYS_INLINE uint64_t block_bits8(const uint8_t *hit)
{
	uint64_t w;
	memcpy(&w, hit, 8);
	return le64toh(w) * 0x0102040810204080U >> 56;
}

static ALWAYS_INLINE uint64_t block_bits(const uint8_t hit[BLOCK_BYTES])
{
	return block_bits8(hit) | block_bits8(hit + 8) << 8 | block_bits8(hit + 16) << 16 |
	       block_bits8(hit + 24) << 24 | block_bits8(hit + 32) << 32 |
	       block_bits8(hit + 40) << 40 | block_bits8(hit + 48) << 48 |
	       block_bits8(hit + 56) << 56;
}

static ALWAYS_INLINE unsigned block_count(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555U;
	bits = (bits & 0x3333333333333333U) + (bits >> 2 & 0x3333333333333333U);
	return (unsigned)(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fU) * 0x0101010101010101U >> 56);
}

static ALWAYS_INLINE void block_read(struct block *block, const char *pos)
{
	uint8_t quote[BLOCK_BYTES], open[BLOCK_BYTES], close[BLOCK_BYTES], backslash = 0;
	for (unsigned i = 0; i < BLOCK_BYTES; i++) {
		uint8_t c = (uint8_t)pos[i],
			low = c | 0x20; /* of [ and { the same, of ] and } too */
		quote[i] = c == '"';
		open[i] = low == '{';
		close[i] = low == '}';
		backslash |= (uint8_t)(c == '\\');
	}
	block->quotes = block_bits(quote);
	block->opens = block_bits(open);
	block->closes = block_bits(close);
	block->backslash = backslash != 0;
}

/* The bytes inside strings, opening quotes counted in: bit i is the parity of the quotes up to i.
 */
static ALWAYS_INLINE uint64_t block_strings(uint64_t quotes)
{
	quotes ^= quotes << 1;
	quotes ^= quotes << 2;
	quotes ^= quotes << 4;
	quotes ^= quotes << 8;
	quotes ^= quotes << 16;
	return quotes ^ quotes << 32;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bump allocation. A *fixed* arena hands out a caller's buffer and returns NULL when that is used
 * up: it is what a query has. A *growing* arena takes more memory from the heap (aborting when
 * there is none) and is what parsers and configurations have. Nothing is freed one by one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"

struct arena_chunk;

struct arena {
	char *cur;
	char *end;
	char *start;		    /* fixed: the buffer's first byte */
	struct arena_chunk *chunks; /* growing: newest first */
	size_t chunk_bytes;	    /* 0: fixed */

	/* Fixed: called when the buffer is used up; may put another buffer of at least n bytes into
	 * cur and end (what was handed out before stays the caller's care) and return true. */
	bool (*more)(struct arena *arena, size_t count);
};

enum { ARENA_ALIGN = 8 };

void arena_init_fixed(struct arena *arena, void *buf, size_t len);
void arena_init(struct arena *arena);
/* Growing: frees all. Fixed: like arena_reset. */
void arena_done(struct arena *arena);
void arena_reset(struct arena *arena);

void *arena_alloc_slow(struct arena *arena, size_t count);

/* Uninitialised memory aligned to 8 bytes; NULL only from a fixed arena. */
static inline void *arena_alloc(struct arena *arena, size_t count)
{
	count = (count + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (UNLIKELY(count > (size_t)(arena->end - arena->cur)))
		return arena_alloc_slow(arena, count);
	char *p = arena->cur;
	arena->cur += count;
	return p;
}

void *arena_calloc(struct arena *arena, size_t count);
void *arena_memdup(struct arena *arena, const void *data, size_t len);
/* Terminated copies. */
char *arena_strndup(struct arena *arena, const char *text, size_t len);
char *arena_strdup(struct arena *arena, const char *text);
/* Formats; NULL only from a fixed arena. */
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

static inline size_t arena_left(const struct arena *arena)
{
	return (size_t)(arena->end - arena->cur);
}

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
	bool (*more)(struct arena *a, size_t n);
};

enum { ARENA_ALIGN = 8 };

void arena_init_fixed(struct arena *a, void *buf, size_t n);
void arena_init(struct arena *a);
/* Growing: frees all. Fixed: like arena_reset. */
void arena_done(struct arena *a);
void arena_reset(struct arena *a);

void *arena_alloc_slow(struct arena *a, size_t n);

/* Uninitialised memory aligned to 8 bytes; NULL only from a fixed arena. */
static inline void *arena_alloc(struct arena *a, size_t n)
{
	n = (n + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (UNLIKELY(n > (size_t)(a->end - a->cur)))
		return arena_alloc_slow(a, n);
	char *p = a->cur;
	a->cur += n;
	return p;
}

void *arena_calloc(struct arena *a, size_t n);
void *arena_memdup(struct arena *a, const void *p, size_t n);
/* Terminated copies. */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
/* Formats; NULL only from a fixed arena. */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

static inline size_t arena_left(const struct arena *a)
{
	return (size_t)(a->end - a->cur);
}

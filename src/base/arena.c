/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arenas: memory that is handed out by moving a pointer, and freed all at once. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_CHUNK_BYTES = 1024, MAX_CHUNK_BYTES = 256 * 1024 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t pad_; /* keeps the payload 16-byte aligned */
};

void arena_init_fixed(struct arena *arena, void *buf, size_t len)
{
	size_t skip = (ARENA_ALIGN - ((uintptr_t)buf & (ARENA_ALIGN - 1))) & (ARENA_ALIGN - 1);
	skip = MIN(skip, len);
	*arena = (struct arena){ .cur = (char *)buf + skip,
				 .end = (char *)buf + len,
				 .start = (char *)buf + skip };
}

void arena_init(struct arena *arena)
{
	/* An address for allocations of no bytes, before there is a chunk: adding to NULL is
	 * undefined, and NULL means to callers that memory is used up. */
	static _Alignas(ARENA_ALIGN) char no_bytes[1];
	*arena = (struct arena){ .cur = no_bytes,
				 .end = no_bytes,
				 .chunk_bytes = FIRST_CHUNK_BYTES };
}

void arena_done(struct arena *arena)
{
	if (arena->chunk_bytes == 0) {
		arena_reset(arena);
		return;
	}
	while (arena->chunks != NULL) {
		struct arena_chunk *c = arena->chunks;
		arena->chunks = c->next;
		free(c);
	}
	arena_init(arena);
}

void arena_reset(struct arena *arena)
{
	if (arena->chunk_bytes == 0)
		arena->cur = arena->start;
	else
		arena_done(arena);
}

void *arena_alloc_slow(struct arena *arena, size_t count)
{
	if (arena->chunk_bytes == 0) {
		if (arena->more == NULL || !arena->more(arena, count) ||
		    count > (size_t)(arena->end - arena->cur))
			return NULL;
		void *p = arena->cur;
		arena->cur += count;
		return p;
	}
	size_t payload = MAX(count, arena->chunk_bytes);
	struct arena_chunk *c = xmalloc(sizeof(*c) + payload);
	c->next = arena->chunks;
	arena->chunks = c;
	arena->chunk_bytes = MIN(arena->chunk_bytes * 2, (size_t)MAX_CHUNK_BYTES);
	arena->cur = (char *)(c + 1) + count;
	arena->end = (char *)(c + 1) + payload;
	return c + 1;
}

void *arena_calloc(struct arena *arena, size_t count)
{
	void *p = arena_alloc(arena, count);
	if (p != NULL)
		memset(p, 0, count);
	return p;
}

void *arena_memdup(struct arena *arena, const void *data, size_t len)
{
	void *q = arena_alloc(arena, len);
	if (q != NULL && len != 0)
		memcpy(q, data, len);
	return q;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
	char *q = arena_alloc(arena, len + 1);
	if (q == NULL)
		return NULL;
	if (len != 0)
		memcpy(q, text, len);
	q[len] = '\0';
	return q;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *s = n >= 0 ? arena_alloc(arena, (size_t)n + 1) : NULL;
	if (s == NULL)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

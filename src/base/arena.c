/* Bump allocation, fixed and growing. */
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

void arena_init_fixed(struct arena *a, void *buf, size_t n)
{
	size_t skip = (ARENA_ALIGN - ((uintptr_t)buf & (ARENA_ALIGN - 1))) & (ARENA_ALIGN - 1);
	skip = MIN(skip, n);
	*a = (struct arena){ .cur = (char *)buf + skip,
			     .end = (char *)buf + n,
			     .start = (char *)buf + skip };
}

void arena_init(struct arena *a)
{
	/* An address for allocations of no bytes, before there is a chunk: adding to NULL is
	 * undefined, and NULL means to callers that memory is used up. */
	static _Alignas(ARENA_ALIGN) char no_bytes[1];
	*a = (struct arena){ .cur = no_bytes, .end = no_bytes, .chunk_bytes = FIRST_CHUNK_BYTES };
}

void arena_done(struct arena *a)
{
	if (a->chunk_bytes == 0) {
		arena_reset(a);
		return;
	}
	while (a->chunks != NULL) {
		struct arena_chunk *c = a->chunks;
		a->chunks = c->next;
		free(c);
	}
	arena_init(a);
}

void arena_reset(struct arena *a)
{
	if (a->chunk_bytes == 0)
		a->cur = a->start;
	else
		arena_done(a);
}

void *arena_alloc_slow(struct arena *a, size_t n)
{
	if (a->chunk_bytes == 0) {
		if (a->more == NULL || !a->more(a, n) || n > (size_t)(a->end - a->cur))
			return NULL;
		void *p = a->cur;
		a->cur += n;
		return p;
	}
	size_t payload = MAX(n, a->chunk_bytes);
	struct arena_chunk *c = xmalloc(sizeof(*c) + payload);
	c->next = a->chunks;
	a->chunks = c;
	a->chunk_bytes = MIN(a->chunk_bytes * 2, (size_t)MAX_CHUNK_BYTES);
	a->cur = (char *)(c + 1) + n;
	a->end = (char *)(c + 1) + payload;
	return c + 1;
}

void *arena_calloc(struct arena *a, size_t n)
{
	void *p = arena_alloc(a, n);
	if (p != NULL)
		memset(p, 0, n);
	return p;
}

void *arena_memdup(struct arena *a, const void *p, size_t n)
{
	void *q = arena_alloc(a, n);
	if (q != NULL && n != 0)
		memcpy(q, p, n);
	return q;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *q = arena_alloc(a, n + 1);
	if (q == NULL)
		return NULL;
	if (n != 0)
		memcpy(q, s, n);
	q[n] = '\0';
	return q;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *s = n >= 0 ? arena_alloc(a, (size_t)n + 1) : NULL;
	if (s == NULL)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

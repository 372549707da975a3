/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The allocation functions of control code, which abort the process when memory is used up. */
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NORETURN void out_of_memory(size_t count)
{
	fprintf(stderr, "fairlead: out of memory (asked for %zu bytes)\n", count);
	abort();
}

void *xmalloc(size_t count)
{
	void *p = malloc(count != 0 ? count : 1);
	if (p == NULL)
		out_of_memory(count);
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count != 0 ? count : 1, size != 0 ? size : 1);
	if (p == NULL)
		out_of_memory(count * size);
	return p;
}

void *xrealloc(void *data, size_t len)
{
	void *q = realloc(data, len != 0 ? len : 1);
	if (q == NULL)
		out_of_memory(len);
	return q;
}

void *xreallocarray(void *data, size_t count, size_t size)
{
	size_t n;
	if (__builtin_mul_overflow(count, size, &n))
		out_of_memory(SIZE_MAX);
	return xrealloc(data, n);
}

char *xstrdup(const char *text)
{
	return xmemdup(text, strlen(text) + 1);
}

char *xstrndup(const char *text, size_t len)
{
	char *p = xmalloc(len + 1);
	if (len != 0)
		memcpy(p, text, len);
	p[len] = '\0';
	return p;
}

void *xmemdup(const void *data, size_t len)
{
	void *q = xmalloc(len);
	if (len != 0)
		memcpy(q, data, len);
	return q;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	int n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(0);
	return s;
}

void mem_trim(void)
{
	/* Under a sanitizer glibc's arenas are not set up, and walking them crashes. */
	if (!SANITIZED)
		malloc_trim(0);
}

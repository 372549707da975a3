/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocation for control code: aborts with a message instead of returning NULL. A process is killed
 * by its memory limit long before malloc fails, and untested branches rot. Never used per query. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "base/compiler.h"

void *xmalloc(size_t count) MUST_CHECK __attribute__((malloc));
void *xcalloc(size_t count, size_t size) MUST_CHECK __attribute__((malloc));
void *xrealloc(void *data, size_t len) MUST_CHECK;
/* realloc of `count` elements of `size` bytes, checked for overflow. */
void *xreallocarray(void *data, size_t count, size_t size) MUST_CHECK;
char *xstrdup(const char *text) MUST_CHECK __attribute__((malloc));
char *xstrndup(const char *text, size_t len) MUST_CHECK __attribute__((malloc));
void *xmemdup(const void *data, size_t len) MUST_CHECK __attribute__((malloc));
char *xasprintf(const char *fmt, ...) MUST_CHECK PRINTF_LIKE(1, 2);

/* Returns freed memory to the system, as far as whole pages of it are unused. */
void mem_trim(void);

/* For CLEANUP(freep) on any heap pointer. */
static inline void freep(void *pp)
{
	free(*(void **)pp);
}

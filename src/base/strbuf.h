/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text being built, on the heap. Always terminated once something was added, so `.s` may be handed
 * to C functions; `.s` is "" (not NULL) after strbuf_init. Not for the hot path. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"

struct strbuf {
	char *s;
	size_t n;
	size_t cap; /* 0 while s points to the shared empty string */
};

extern char strbuf_empty[1];
#define STRBUF_INIT                                 \
	{                                           \
		.s = strbuf_empty, .n = 0, .cap = 0 \
	}

void strbuf_init(struct strbuf *out);
/* Frees the memory and leaves an empty, usable buffer; for CLEANUP too. */
void strbuf_done(struct strbuf *out);
/* Empties, keeps the memory. */
void strbuf_reset(struct strbuf *out);
void strbuf_add(struct strbuf *out, const void *data, size_t len);
void strbuf_addc(struct strbuf *out, char ch);
void strbuf_adds(struct strbuf *out, const char *text);
void strbuf_add_slice(struct strbuf *out, struct slice text);
void strbuf_addf(struct strbuf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vaddf(struct strbuf *out, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* A JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void strbuf_add_json(struct strbuf *out, struct slice text);
/* Quoted as Go's %q does for text: \n \t \" \\ \xNN, printable UTF-8 kept. */
void strbuf_add_quoted(struct strbuf *out, struct slice text);
/* As a segment or argument of a URL: all but letters, digits and -._~ as %XX. */
void strbuf_add_url(struct strbuf *out, struct slice text);
/* The text, now the caller's (free it); the buffer is empty again. */
char *strbuf_take(struct strbuf *out) MUST_CHECK;

static inline struct slice strbuf_slice(const struct strbuf *out)
{
	return (struct slice){ out->s, out->n };
}

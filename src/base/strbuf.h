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

void strbuf_init(struct strbuf *b);
/* Frees the memory and leaves an empty, usable buffer; for CLEANUP too. */
void strbuf_done(struct strbuf *b);
/* Empties, keeps the memory. */
void strbuf_reset(struct strbuf *b);
void strbuf_add(struct strbuf *b, const void *p, size_t n);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_adds(struct strbuf *b, const char *s);
void strbuf_add_slice(struct strbuf *b, struct slice s);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* A JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void strbuf_add_json(struct strbuf *b, struct slice s);
/* Quoted as Go's %q does for text: \n \t \" \\ \xNN, printable UTF-8 kept. */
void strbuf_add_quoted(struct strbuf *b, struct slice s);
/* As a segment or argument of a URL: all but letters, digits and -._~ as %XX. */
void strbuf_add_url(struct strbuf *b, struct slice s);
/* The text, now the caller's (free it); the buffer is empty again. */
char *strbuf_take(struct strbuf *b) MUST_CHECK;

static inline struct slice strbuf_slice(const struct strbuf *b)
{
	return (struct slice){ b->s, b->n };
}

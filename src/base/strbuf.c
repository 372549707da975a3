/* Growing text buffer. */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"

char strbuf_empty[1] = "";

void strbuf_init(struct strbuf *b)
{
	*b = (struct strbuf)STRBUF_INIT;
}

void strbuf_done(struct strbuf *b)
{
	if (b->cap != 0)
		free(b->s);
	strbuf_init(b);
}

void strbuf_reset(struct strbuf *b)
{
	b->n = 0;
	if (b->cap != 0)
		b->s[0] = '\0';
}

static void grow(struct strbuf *b, size_t extra)
{
	size_t need = b->n + extra + 1;
	if (need <= b->cap)
		return;
	size_t cap = MAX(need, MAX(b->cap * 2, (size_t)64));
	b->s = xrealloc(b->cap != 0 ? b->s : NULL, cap);
	b->cap = cap;
}

void strbuf_add(struct strbuf *b, const void *p, size_t n)
{
	grow(b, n);
	if (n != 0)
		memcpy(b->s + b->n, p, n);
	b->n += n;
	b->s[b->n] = '\0';
}

void strbuf_addc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_adds(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_add_slice(struct strbuf *b, struct slice s)
{
	strbuf_add(b, s.p, s.n);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(b, fmt, ap);
	va_end(ap);
}

void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
{
	va_list ap2;
	va_copy(ap2, ap);
	int n = vsnprintf(NULL, 0, fmt, ap2);
	va_end(ap2);
	if (n <= 0)
		return;
	grow(b, (size_t)n);
	vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
}

static const char *short_escape(unsigned char c)
{
	static const char *const map[128] = {
		['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\",
	};
	return c < 128 ? map[c] : NULL;
}

/* Adds what both forms share; returns the bytes taken, or 0 when the caller must encode s.p[0]. */
static size_t add_plain(struct strbuf *b, struct slice s)
{
	unsigned char c = (unsigned char)s.p[0];
	const char *esc = short_escape(c);
	if (esc != NULL) {
		strbuf_adds(b, esc);
		return 1;
	}
	if (c >= 0x20 && c < 0x7f) {
		strbuf_addc(b, (char)c);
		return 1;
	}
	if (c < 0x80)
		return 0;
	uint32_t cp;
	size_t n = utf8_decode(s, &cp);
	if (n != 0)
		strbuf_add(b, s.p, n);
	return n;
}

void strbuf_add_json(struct strbuf *b, struct slice s)
{
	strbuf_addc(b, '"');
	for (size_t i = 0; i < s.n;) {
		size_t n = add_plain(b, slice_from(s, i));
		if (n == 0) {
			unsigned char c = (unsigned char)s.p[i];
			if (c < 0x80)
				strbuf_addf(b, "\\u%04x", c);
			else
				strbuf_adds(b, "\xef\xbf\xbd");
			n = 1;
		}
		i += n;
	}
	strbuf_addc(b, '"');
}

void strbuf_add_quoted(struct strbuf *b, struct slice s)
{
	strbuf_addc(b, '"');
	for (size_t i = 0; i < s.n;) {
		size_t n = add_plain(b, slice_from(s, i));
		if (n == 0) {
			strbuf_addf(b, "\\x%02x", (unsigned char)s.p[i]);
			n = 1;
		}
		i += n;
	}
	strbuf_addc(b, '"');
}

void strbuf_add_url(struct strbuf *b, struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		/* RFC 3986 §2.3: unreserved */
		if (ascii_isalpha(c) || ascii_isdigit(c) ||
		    (c != '\0' && strchr("-._~", c) != NULL))
			strbuf_addc(b, c);
		else
			strbuf_addf(b, "%%%02X", (unsigned char)c);
	}
}

char *strbuf_take(struct strbuf *b)
{
	if (b->cap == 0)
		strbuf_add(b, "", 0);
	char *s = b->s;
	strbuf_init(b);
	return s;
}

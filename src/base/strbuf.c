/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The growing text buffer: appending text, characters and formatted values. */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text/utf8.h"

/* Room for a formatted text before its length is known. */
enum { FORMATTED_BYTES = 63 };

char strbuf_empty[1] = "";

void strbuf_init(struct strbuf *out)
{
	*out = (struct strbuf)STRBUF_INIT;
}

void strbuf_done(struct strbuf *out)
{
	if (out->cap != 0)
		free(out->s);
	strbuf_init(out);
}

void strbuf_reset(struct strbuf *out)
{
	out->n = 0;
	if (out->cap != 0)
		out->s[0] = '\0';
}

static void reserve_bytes(struct strbuf *out, size_t extra)
{
	size_t need = out->n + extra + 1;
	if (need <= out->cap)
		return;
	size_t cap = MAX(need, MAX(out->cap * 2, (size_t)64));
	out->s = xrealloc(out->cap != 0 ? out->s : NULL, cap);
	out->cap = cap;
}

void strbuf_add(struct strbuf *out, const void *data, size_t len)
{
	reserve_bytes(out, len);
	if (len != 0)
		memcpy(out->s + out->n, data, len);
	out->n += len;
	out->s[out->n] = '\0';
}

void strbuf_addc(struct strbuf *out, char ch)
{
	if (out->cap - out->n < 2)
		reserve_bytes(out, 1);
	out->s[out->n++] = ch;
	out->s[out->n] = '\0';
}

void strbuf_adds(struct strbuf *out, const char *text)
{
	strbuf_add(out, text, strlen(text));
}

void strbuf_add_slice(struct strbuf *out, struct slice text)
{
	strbuf_add(out, text.p, text.n);
}

void strbuf_addf(struct strbuf *out, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(out, fmt, ap);
	va_end(ap);
}

void strbuf_vaddf(struct strbuf *out, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	reserve_bytes(out, FORMATTED_BYTES);
	/* Most texts fit at once; the others are formatted a second time. */
	int n = vsnprintf(out->s + out->n, out->cap - out->n, fmt, ap);
	if (n > 0 && (size_t)n >= out->cap - out->n) {
		reserve_bytes(out, (size_t)n);
		vsnprintf(out->s + out->n, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	if (n > 0)
		out->n += (size_t)n;
	else
		out->s[out->n] = '\0';
}

static const char *short_escape(unsigned char ch)
{
	static const char *const map[128] = {
		['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\",
	};
	return ch < 128 ? map[ch] : NULL;
}

/* How many characters at the start stand for themselves in both forms. */
static size_t count_bare(struct slice text)
{
	size_t n = 0;
	while (n < text.n && text.p[n] >= 0x20 && text.p[n] < 0x7f && text.p[n] != '"' &&
	       text.p[n] != '\\')
		n++;
	return n;
}

/* Adds what both forms share; returns the bytes taken, or 0 when the caller must encode s.p[0]. */
static size_t add_plain(struct strbuf *out, struct slice text)
{
	unsigned char c = (unsigned char)text.p[0];
	const char *esc = short_escape(c);
	uint32_t cp;
	if (esc != NULL) {
		strbuf_adds(out, esc);
		return 1;
	}
	size_t n = c < 0x80 ? count_bare(text) : utf8_decode(text, &cp);
	if (n != 0)
		strbuf_add(out, text.p, n);
	return n;
}

void strbuf_add_json(struct strbuf *out, struct slice text)
{
	strbuf_addc(out, '"');
	for (size_t i = 0; i < text.n;) {
		size_t n = add_plain(out, slice_from(text, i));
		if (n == 0) {
			unsigned char c = (unsigned char)text.p[i];
			if (c < 0x80)
				strbuf_addf(out, "\\u%04x", c);
			else
				strbuf_adds(out, "\xef\xbf\xbd");
			n = 1;
		}
		i += n;
	}
	strbuf_addc(out, '"');
}

/* Terminals obey U+0080 to U+009F, and nobody sees the others; the bytes taken, or 0 if the text starts with
 * none. */
static size_t add_unseen(struct strbuf *out, struct slice text)
{
	uint32_t code;
	if ((unsigned char)text.p[0] < 0x80)
		return 0;
	size_t n = utf8_decode(text, &code);
	if (n == 0 || (code > 0x9f && !utf8_is_invisible(code)))
		return 0;
	strbuf_addf(out, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
	return n;
}

void strbuf_add_quoted(struct strbuf *out, struct slice text)
{
	strbuf_addc(out, '"');
	for (size_t i = 0; i < text.n;) {
		struct slice rest = slice_from(text, i);
		size_t n = add_unseen(out, rest);
		if (n == 0)
			n = add_plain(out, rest);
		if (n == 0) {
			strbuf_addf(out, "\\x%02x", (unsigned char)text.p[i]);
			n = 1;
		}
		i += n;
	}
	strbuf_addc(out, '"');
}

/* RFC 3986 §2.3 */
static bool is_unreserved(char ch)
{
	return ascii_isalpha(ch) || ascii_isdigit(ch) || ch == '-' || ch == '.' || ch == '_' ||
	       ch == '~';
}

void strbuf_add_url(struct strbuf *out, struct slice text)
{
	for (size_t i = 0; i < text.n;) {
		size_t n = 0;
		while (i + n < text.n && is_unreserved(text.p[i + n]))
			n++;
		strbuf_add(out, text.p + i, n);
		i += n;
		if (i < text.n)
			strbuf_addf(out, "%%%02X", (unsigned char)text.p[i++]);
	}
}

char *strbuf_take(struct strbuf *out)
{
	if (out->cap == 0)
		strbuf_add(out, "", 0);
	char *s = out->s;
	strbuf_init(out);
	return s;
}

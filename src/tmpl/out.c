/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of a template: text is appended to fixed memory; a piece that does not fit is left out and
 * sets `full`. Strings and runes are quoted as Go's strconv does. */
#include "tmpl/out_priv.h"

#include "tmpl/tmpl_priv.h"

#include "base/text/utf8.h"
#include "tmpl/charset_priv.h"

void tmpl_out_add(struct tmpl_out *out, const void *data, size_t len)
{
	if (UNLIKELY(len > out->cap - out->n)) {
		out->full = true;
		return;
	}
	if (len != 0)
		memcpy(out->p + out->n, data, len);
	out->n += len;
}

void tmpl_out_fill(struct tmpl_out *out, char ch, size_t count)
{
	if (count > out->cap - out->n) {
		out->full = true;
		return;
	}
	if (count != 0)
		memset(out->p + out->n, ch, count);
	out->n += count;
}

void tmpl_out_cp(struct tmpl_out *out, uint32_t cp)
{
	char buf[4];
	tmpl_out_add(out, buf, utf8_encode(cp, buf));
}

static void add_hex(struct tmpl_out *out, char kind, uint32_t value, int digits)
{
	char buf[16];
	int n = snprintf(buf, sizeof(buf), "\\%c%0*x", kind, digits, value);
	tmpl_out_add(out, buf, (size_t)n);
}

static bool add_short_escape(struct tmpl_out *out, uint32_t cp, char quote)
{
	static const char from[] = "\a\b\f\n\r\t\v\\";
	static const char to[] = "abfnrtv\\";
	if (cp == (uint32_t)quote) {
		tmpl_out_c(out, '\\');
		tmpl_out_c(out, quote);
		return true;
	}
	const char *at = cp != 0 && cp < 0x80 ? strchr(from, (int)cp) : NULL;
	if (at == NULL)
		return false;
	tmpl_out_c(out, '\\');
	tmpl_out_c(out, to[at - from]);
	return true;
}

static void add_escaped(struct tmpl_out *out, uint32_t cp, char quote, bool ascii)
{
	if (add_short_escape(out, cp, quote))
		return;
	if (tmpl_is_print(cp) && !(ascii && cp >= 0x80)) {
		tmpl_out_cp(out, cp);
		return;
	}
	if (cp < ' ' || cp == 0x7f)
		add_hex(out, 'x', cp, 2);
	else if (cp < 0x10000)
		add_hex(out, 'u', cp, 4);
	else
		add_hex(out, 'U', cp, 8);
}

void tmpl_out_quote(struct tmpl_out *out, struct slice text, bool ascii)
{
	tmpl_out_c(out, '"');
	while (text.n > 0) {
		uint32_t cp;
		size_t n = utf8_decode(text, &cp);
		if (n == 0) {
			add_hex(out, 'x', (unsigned char)text.p[0], 2);
			n = 1;
		} else {
			add_escaped(out, cp, '"', ascii);
		}
		text = slice_from(text, n);
	}
	tmpl_out_c(out, '"');
}

void tmpl_out_quote_cp(struct tmpl_out *out, uint32_t cp, bool ascii)
{
	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		cp = 0xfffd;
	tmpl_out_c(out, '\'');
	add_escaped(out, cp, '\'', ascii);
	tmpl_out_c(out, '\'');
}

void tmpl_out_codepoint(struct tmpl_out *out, uint32_t cp)
{
	char buf[16];
	int n = snprintf(buf, sizeof(buf), "U+%04X", cp);
	tmpl_out_add(out, buf, (size_t)n);
	if (!tmpl_is_print(cp))
		return;
	tmpl_out_s(out, " '");
	tmpl_out_cp(out, cp);
	tmpl_out_c(out, '\'');
}

/* Writing text into fixed memory, and quoting it as Go's strconv does. */
#include "tmpl/tmpl_priv.h"

#include "base/utf8.h"

void tmpl_out_add(struct tmpl_out *o, const void *p, size_t n)
{
	if (UNLIKELY(n > o->cap - o->n)) {
		o->full = true;
		return;
	}
	if (n != 0)
		memcpy(o->p + o->n, p, n);
	o->n += n;
}

void tmpl_out_fill(struct tmpl_out *o, char c, size_t n)
{
	if (n > o->cap - o->n) {
		o->full = true;
		return;
	}
	if (n != 0)
		memset(o->p + o->n, c, n);
	o->n += n;
}

void tmpl_out_cp(struct tmpl_out *o, uint32_t cp)
{
	char buf[4];
	tmpl_out_add(o, buf, utf8_encode(cp, buf));
}

static void add_hex(struct tmpl_out *o, char kind, uint32_t v, int digits)
{
	char buf[16];
	int n = snprintf(buf, sizeof(buf), "\\%c%0*x", kind, digits, v);
	tmpl_out_add(o, buf, (size_t)n);
}

static bool add_short_escape(struct tmpl_out *o, uint32_t cp, char quote)
{
	static const char from[] = "\a\b\f\n\r\t\v\\";
	static const char to[] = "abfnrtv\\";
	if (cp == (uint32_t)quote) {
		tmpl_out_c(o, '\\');
		tmpl_out_c(o, quote);
		return true;
	}
	const char *at = cp != 0 && cp < 0x80 ? strchr(from, (int)cp) : NULL;
	if (at == NULL)
		return false;
	tmpl_out_c(o, '\\');
	tmpl_out_c(o, to[at - from]);
	return true;
}

static void add_escaped(struct tmpl_out *o, uint32_t cp, char quote, bool ascii)
{
	if (add_short_escape(o, cp, quote))
		return;
	if (tmpl_is_print(cp) && !(ascii && cp >= 0x80)) {
		tmpl_out_cp(o, cp);
		return;
	}
	if (cp < ' ' || cp == 0x7f)
		add_hex(o, 'x', cp, 2);
	else if (cp < 0x10000)
		add_hex(o, 'u', cp, 4);
	else
		add_hex(o, 'U', cp, 8);
}

void tmpl_out_quote(struct tmpl_out *o, struct slice s, bool ascii)
{
	tmpl_out_c(o, '"');
	while (s.n > 0) {
		uint32_t cp;
		size_t n = utf8_decode(s, &cp);
		if (n == 0) {
			add_hex(o, 'x', (unsigned char)s.p[0], 2);
			n = 1;
		} else {
			add_escaped(o, cp, '"', ascii);
		}
		s = slice_from(s, n);
	}
	tmpl_out_c(o, '"');
}

void tmpl_out_quote_cp(struct tmpl_out *o, uint32_t cp, bool ascii)
{
	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		cp = 0xfffd;
	tmpl_out_c(o, '\'');
	add_escaped(o, cp, '\'', ascii);
	tmpl_out_c(o, '\'');
}

void tmpl_out_codepoint(struct tmpl_out *o, uint32_t cp)
{
	char buf[16];
	int n = snprintf(buf, sizeof(buf), "U+%04X", cp);
	tmpl_out_add(o, buf, (size_t)n);
	if (!tmpl_is_print(cp))
		return;
	tmpl_out_s(o, " '");
	tmpl_out_cp(o, cp);
	tmpl_out_c(o, '\'');
}

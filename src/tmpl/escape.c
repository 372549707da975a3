/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text made safe for HTML, JavaScript and URL queries, as Go's html, js and urlquery do it. */
#include "tmpl/escape_priv.h"

#include "tmpl/tmpl_priv.h"

#include "base/text/utf8.h"
#include "tmpl/charset_priv.h"
#include "tmpl/out_priv.h"

void tmpl_escape_html(struct tmpl_out *out, struct slice text)
{
	static const char from[] = "\"'&<>";
	static const char *const to[] = { "&#34;", "&#39;", "&amp;", "&lt;", "&gt;" };
	for (size_t i = 0; i < text.n; i++) {
		const char *at = text.p[i] != '\0' ? strchr(from, text.p[i]) : NULL;
		if (text.p[i] == '\0')
			tmpl_out_cp(out, 0xfffd);
		else if (at != NULL)
			tmpl_out_s(out, to[at - from]);
		else
			tmpl_out_c(out, text.p[i]);
	}
}

static void add_js_ascii(struct tmpl_out *out, char ch)
{
	static const char quoted[] = "\\'\"";
	static const char coded[] = "<>&=";
	char buf[8];
	if (ch != '\0' && strchr(quoted, ch) != NULL) {
		tmpl_out_c(out, '\\');
		tmpl_out_c(out, ch);
	} else if ((unsigned char)ch < ' ' || strchr(coded, ch) != NULL) {
		int n = snprintf(buf, sizeof(buf), "\\u%04X", (unsigned)ch);
		tmpl_out_add(out, buf, (size_t)n);
	} else {
		tmpl_out_c(out, ch);
	}
}

void tmpl_escape_js(struct tmpl_out *out, struct slice text)
{
	char buf[16];
	for (size_t i = 0; i < text.n;) {
		uint32_t cp = 0xfffd;
		if ((unsigned char)text.p[i] < 0x80) {
			add_js_ascii(out, text.p[i++]);
			continue;
		}
		size_t n = utf8_decode(slice_from(text, i), &cp);
		size_t len = n != 0 ? n : 1;
		if (tmpl_is_print(cp)) {
			tmpl_out_add(out, text.p + i, len);
		} else {
			int k = snprintf(buf, sizeof(buf), "\\u%04X", cp);
			tmpl_out_add(out, buf, (size_t)k);
		}
		i += len;
	}
}

void tmpl_escape_url(struct tmpl_out *out, struct slice text)
{
	static const char hex[] = "0123456789ABCDEF";
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c < 0x80 && c != '\0' &&
		    (ascii_isalpha((char)c) || ascii_isdigit((char)c) ||
		     strchr("-_.~", c) != NULL)) {
			tmpl_out_c(out, (char)c);
		} else if (c == ' ') {
			tmpl_out_c(out, '+');
		} else {
			tmpl_out_c(out, '%');
			tmpl_out_c(out, hex[c >> 4]);
			tmpl_out_c(out, hex[c & 15]);
		}
	}
}

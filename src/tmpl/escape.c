/* Text made safe for HTML, JavaScript and URL queries, as Go's html, js and urlquery do it. */
#include "tmpl/tmpl_priv.h"

#include "base/utf8.h"

void tmpl_escape_html(struct tmpl_out *o, struct slice s)
{
	static const char from[] = "\"'&<>";
	static const char *const to[] = { "&#34;", "&#39;", "&amp;", "&lt;", "&gt;" };
	for (size_t i = 0; i < s.n; i++) {
		const char *at = s.p[i] != '\0' ? strchr(from, s.p[i]) : NULL;
		if (s.p[i] == '\0')
			tmpl_out_cp(o, 0xfffd);
		else if (at != NULL)
			tmpl_out_s(o, to[at - from]);
		else
			tmpl_out_c(o, s.p[i]);
	}
}

static void add_js_ascii(struct tmpl_out *o, char c)
{
	static const char quoted[] = "\\'\"";
	static const char coded[] = "<>&=";
	char buf[8];
	if (c != '\0' && strchr(quoted, c) != NULL) {
		tmpl_out_c(o, '\\');
		tmpl_out_c(o, c);
	} else if ((unsigned char)c < ' ' || strchr(coded, c) != NULL) {
		int n = snprintf(buf, sizeof(buf), "\\u%04X", (unsigned)c);
		tmpl_out_add(o, buf, (size_t)n);
	} else {
		tmpl_out_c(o, c);
	}
}

void tmpl_escape_js(struct tmpl_out *o, struct slice s)
{
	char buf[16];
	for (size_t i = 0; i < s.n;) {
		uint32_t cp = 0xfffd;
		if ((unsigned char)s.p[i] < 0x80) {
			add_js_ascii(o, s.p[i++]);
			continue;
		}
		size_t n = utf8_decode(slice_from(s, i), &cp);
		size_t len = n != 0 ? n : 1;
		if (tmpl_is_print(cp)) {
			tmpl_out_add(o, s.p + i, len);
		} else {
			int k = snprintf(buf, sizeof(buf), "\\u%04X", cp);
			tmpl_out_add(o, buf, (size_t)k);
		}
		i += len;
	}
}

void tmpl_escape_url(struct tmpl_out *o, struct slice s)
{
	static const char hex[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c < 0x80 && c != '\0' &&
		    (ascii_isalpha((char)c) || ascii_isdigit((char)c) ||
		     strchr("-_.~", c) != NULL)) {
			tmpl_out_c(o, (char)c);
		} else if (c == ' ') {
			tmpl_out_c(o, '+');
		} else {
			tmpl_out_c(o, '%');
			tmpl_out_c(o, hex[c >> 4]);
			tmpl_out_c(o, hex[c & 15]);
		}
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of records, to PowerDNS and back. */
#include "provider/powerdns/content_priv.h"

#include <string.h>

#include "base/err.h"
#include "dns/types.h"
#include "net/addr.h"

enum { STRING_MAX_BYTES = 255 }; /* of one string of a TXT record (RFC 1035, 3.3) */

/* ---- TXT ---- */

static void add_text_byte(struct strbuf *out, char ch)
{
	unsigned char byte = (unsigned char)ch;
	if (ch == '"' || ch == '\\')
		strbuf_addf(out, "\\%c", ch);
	else if (byte < ' ' || byte >= 0x7f)
		strbuf_addf(out, "\\%03u", byte);
	else
		strbuf_addc(out, ch);
}

static void write_text(struct strbuf *out, const char *value)
{
	strbuf_addc(out, '"');
	for (size_t i = 0; value[i] != '\0'; i++) {
		if (i != 0 && i % STRING_MAX_BYTES == 0)
			strbuf_adds(out, "\" \"");
		add_text_byte(out, value[i]);
	}
	strbuf_addc(out, '"');
}

/* After a backslash: three digits, or the character itself. The bytes it takes; 0: neither. */
static size_t read_escape(struct slice text, char *ret)
{
	unsigned number = 0;
	if (text.n == 0)
		return 0;
	if (!ascii_isdigit(text.p[0])) {
		*ret = text.p[0];
		return 1;
	}
	for (size_t i = 0; i < 3; i++) {
		if (i == text.n || !ascii_isdigit(text.p[i]))
			return 0;
		number = number * 10 + (unsigned)(text.p[i] - '0');
	}
	if (number == 0 || number > 255)
		return 0;
	*ret = (char)number;
	return 3;
}

/* One string between quotes; `*rest` begins after the first quote, and then after the last. */
static int read_string(struct strbuf *out, struct slice *rest)
{
	while (rest->n != 0 && rest->p[0] != '"') {
		char ch = rest->p[0];
		size_t taken = 1;
		if (ch == '\\') {
			size_t escape = read_escape(slice_from(*rest, 1), &ch);
			if (escape == 0)
				return ERR_PARSE;
			taken += escape;
		}
		if (ch == '\0')
			return ERR_PARSE;
		strbuf_addc(out, ch);
		*rest = slice_from(*rest, taken);
	}
	if (rest->n == 0)
		return ERR_PARSE;
	*rest = slice_from(*rest, 1);
	return 0;
}

static int read_text(struct strbuf *out, struct slice content)
{
	struct slice rest = slice_trim(content);
	if (rest.n == 0)
		return ERR_PARSE;
	while (rest.n != 0) {
		if (rest.p[0] != '"')
			return ERR_PARSE;
		rest = slice_from(rest, 1);
		int r = read_string(out, &rest);
		if (r < 0)
			return r;
		rest = slice_trim(rest);
	}
	return 0;
}

/* ---- addresses and names ---- */

static int read_address(struct strbuf *out, struct slice content)
{
	union net_addr addr;
	char text[NET_ADDR_TEXT_MAX];
	int r = net_addr_parse_ip(content, &addr);
	if (r < 0)
		return r;
	strbuf_add(out, text, net_addr_ip_str(&addr, text));
	return 0;
}

static int read_name(struct strbuf *out, struct slice content)
{
	size_t n = content.n;
	if (n > 1 && content.p[n - 1] == '.')
		n--;
	for (size_t i = 0; i < n; i++)
		strbuf_addc(out, ascii_lower(content.p[i]));
	return 0;
}

/* ---- by type ---- */

void powerdns_content_write(struct strbuf *out, uint16_t type, const char *value)
{
	if (type == DNS_TYPE_TXT) {
		write_text(out, value);
		return;
	}
	strbuf_adds(out, value);
	size_t n = strlen(value);
	if (type == DNS_TYPE_CNAME && (n == 0 || value[n - 1] != '.'))
		strbuf_addc(out, '.');
}

void powerdns_content_read(struct strbuf *out, uint16_t type, struct slice content)
{
	size_t before = out->n;
	int r = ERR_UNSUPPORTED;
	if (type == DNS_TYPE_A || type == DNS_TYPE_AAAA)
		r = read_address(out, content);
	else if (type == DNS_TYPE_CNAME)
		r = read_name(out, content);
	else if (type == DNS_TYPE_TXT)
		r = read_text(out, content);
	if (r == 0)
		return;
	out->n = before;
	strbuf_add_slice(out, content);
}

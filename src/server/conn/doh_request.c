/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the DNS message of a DNS-over-HTTPS request: the body of a POST, or the base64url
 * argument `dns` of a GET; the path must be /dns-query. Escapes and base64 are accepted as Go's
 * net/url and encoding/base64 accept them, because CoreDNS uses these. */
#include "server/conn/doh_request.h"

#include <string.h>

#include "base/err.h"

/* Undoes %XX, and '+' for a space where that is meant; `out` needs s.n bytes. The length. */
static int percent_decode(struct slice text, bool plus, uint8_t *out)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '%') {
			out[n++] = plus && text.p[i] == '+' ? ' ' : (uint8_t)text.p[i];
			continue;
		}
		if (i + 2 >= text.n || ascii_hex_value(text.p[i + 1]) < 0 ||
		    ascii_hex_value(text.p[i + 2]) < 0)
			return ERR_PARSE;
		out[n++] = (uint8_t)(ascii_hex_value(text.p[i + 1]) << 4 |
				     ascii_hex_value(text.p[i + 2]));
		i += 2;
	}
	return (int)n;
}

static bool bytes_equal(const uint8_t *pos, int len, const char *text)
{
	return len >= 0 && slice_is((struct slice){ (const char *)pos, (size_t)len }, text);
}

/* "https://host/path" → "/path". */
static struct slice strip_origin(struct slice target)
{
	const char *sep = memmem(target.p, target.n, "://", 3);
	if (target.n == 0 || target.p[0] == '/' || sep == NULL)
		return target;
	struct slice rest = slice_from(target, (size_t)(sep - target.p) + 3);
	size_t i = 0;
	while (i < rest.n && rest.p[i] != '/' && rest.p[i] != '?')
		i++;
	return slice_from(rest, i);
}

/* The value of the one `dns` argument, unescaped into buf; its length. As in Go, a pair that cannot
 * be read is passed over. */
static int dns_argument(struct slice query, uint8_t *buf)
{
	int found = ERR_NOTFOUND;
	uint8_t *at = buf;
	while (query.p != NULL) {
		struct slice value = slice_cut(&query, '&');
		if (value.n == 0 || slice_find(value, ';') >= 0)
			continue;
		struct slice key = slice_cut(&value, '=');
		/* Behind what was found there is room: all of it was in the query. */
		if (!bytes_equal(at, percent_decode(key, true, at), "dns"))
			continue;
		int n = percent_decode(value, true, at);
		if (n < 0)
			continue;
		if (found >= 0)
			return ERR_DUPLICATE;
		found = n;
		at += n;
	}
	return found;
}

static int base64_value(uint8_t ch)
{
	if (ch >= 'A' && ch <= 'Z')
		return ch - 'A';
	if (ch >= 'a' && ch <= 'z')
		return ch - 'a' + 26;
	if (ch >= '0' && ch <= '9')
		return ch - '0' + 52;
	return ch == '-' ? 62 : ch == '_' ? 63 : -1;
}

/* base64url without padding, in place; line ends are passed over. The length. */
static int decode_base64(uint8_t *data, size_t len)
{
	uint32_t bits = 0;
	unsigned have = 0, chars = 0;
	size_t out = 0;
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\r' || data[i] == '\n')
			continue;
		int v = base64_value(data[i]);
		if (v < 0)
			return ERR_PARSE;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		chars++;
		if (have >= 8) {
			have -= 8;
			data[out++] = (uint8_t)(bits >> have);
		}
	}
	return chars % 4 == 1 ? ERR_PARSE : (int)out;
}

static unsigned decode_get(struct slice query, uint8_t *buf, struct slice *ret)
{
	int n = dns_argument(query, buf);
	if (n >= 0)
		n = decode_base64(buf, (size_t)n);
	if (n < 0)
		return 400;
	*ret = (struct slice){ (const char *)buf, (size_t)n };
	return 0;
}

unsigned doh_request_read(const struct http_message *message, uint8_t *buf, struct slice *ret)
{
	if (message->target.n > DOH_MESSAGE_MAX)
		return 400;
	struct slice query = strip_origin(message->target);
	struct slice path = slice_cut(&query, '?');
	int n = percent_decode(path, false, buf);
	if (n < 0)
		return 400;
	if (!bytes_equal(buf, n, "/dns-query"))
		return 404;
	if (slice_is(message->method, "GET"))
		return decode_get(query, buf, ret);
	if (!slice_is(message->method, "POST") || message->too_long)
		return 400;
	*ret = message->body;
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits a URL into scheme, host, port and the rest. */
#include "http/client/url.h"

#include <string.h>

#include "base/err.h"
#include "net/addr.h"

/* Everything that a host name or an address may consist of; no `@`, no `\`, no `%`. */
static bool is_host_char(char ch)
{
	return ascii_isdigit(ch) || ascii_isalpha(ch) || ch == '.' || ch == '-' || ch == '_';
}

static int check_characters(struct slice text, struct err_text err)
{
	if (text.n > HTTP_URL_MAX_BYTES) {
		err_text_set(err, "the URL is longer than %d bytes", HTTP_URL_MAX_BYTES);
		return ERR_LIMIT;
	}
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f) {
			err_text_set(err, "the URL has a space or control character at byte %zu",
				     i + 1);
			return ERR_PARSE;
		}
	return 0;
}

/* Cuts `http://` or `https://` off. */
static int parse_scheme(struct slice *text, bool *ret_tls, struct err_text err)
{
	static const struct {
		struct slice prefix;
		bool tls;
	} rows[] = { { { "https://", 8 }, true }, { { "http://", 7 }, false } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct slice begin = { text->p, MIN(text->n, rows[i].prefix.n) };
		if (!slice_eq_nocase(begin, rows[i].prefix))
			continue;
		*ret_tls = rows[i].tls;
		*text = slice_from(*text, rows[i].prefix.n);
		return 0;
	}
	err_text_set(err, "the URL starts with neither http:// nor https://");
	return ERR_PARSE;
}

static struct slice cut_authority(struct slice *text)
{
	size_t n = 0;
	while (n < text->n && strchr("/?#", text->p[n]) == NULL)
		n++;
	struct slice authority = { text->p, n };
	*text = slice_from(*text, n);
	return authority;
}

/* [address] or [address%25zone], with its brackets; 0 when it is neither. */
static size_t address_length(struct slice text)
{
	size_t n = 1;
	while (n < text.n &&
	       (ascii_hex_value(text.p[n]) >= 0 || text.p[n] == ':' || text.p[n] == '.'))
		n++;
	bool has_address = n > 1;
	if (slice_starts(slice_from(text, n), SLICE("%25")))
		for (n += 3; n < text.n && is_host_char(text.p[n]);)
			n++;
	return has_address && n < text.n && text.p[n] == ']' ? n + 1 : 0;
}

/* The length of the host in front of the port; 0 when it is no host. */
static size_t host_length(struct slice authority)
{
	size_t n = 0;
	if (authority.n != 0 && authority.p[0] == '[')
		return address_length(authority);
	while (n < authority.n && is_host_char(authority.p[n]))
		n++;
	return n;
}

static int parse_port(struct slice text, uint16_t *ret_port, struct err_text err)
{
	uint64_t port;
	if (text.n != 0 && text.p[0] == ':' && slice_u64(slice_from(text, 1), &port) == 0 &&
	    port >= 1 && port <= UINT16_MAX) {
		*ret_port = (uint16_t)port;
		return 0;
	}
	err_text_set(err, "'%.*s' behind the host of the URL is not a port of 1 to 65535",
		     (int)MIN(text.n, (size_t)64), text.p);
	return ERR_PARSE;
}

int http_url_parse(const char *text, struct http_url *ret, struct err_text err)
{
	struct slice rest = slice_of(text);
	struct http_url url = { 0 };
	int r = check_characters(rest, err);
	if (r == 0)
		r = parse_scheme(&rest, &url.tls, err);
	if (r < 0)
		return r;
	struct slice authority = cut_authority(&rest);
	if (slice_find(authority, '@') >= 0) {
		/* Not quoted: it may be a password. */
		err_text_set(err, "the URL has a user or password in front of its host");
		return ERR_PARSE;
	}
	url.host = (struct slice){ authority.p, host_length(authority) };
	if (url.host.n == 0) {
		err_text_set(err, "the URL names no host");
		return ERR_PARSE;
	}
	url.port = url.tls ? 443 : 80;
	if (url.host.n < authority.n)
		r = parse_port(slice_from(authority, url.host.n), &url.port, err);
	if (r < 0)
		return r;
	url.rest = rest;
	*ret = url;
	return 0;
}

bool http_url_is_loopback(const struct http_url *url)
{
	union net_addr addr;
	/* A name such as 127.example.org is not an address, and its owner says where it leads. */
	return slice_eq_nocase(url->host, SLICE("localhost")) ||
	       slice_eq(url->host, SLICE("[::1]")) ||
	       (slice_starts(url->host, SLICE("127.")) && net_addr_parse_ip(url->host, &addr) == 0);
}

bool http_url_same_origin(const struct http_url *left, const struct http_url *right)
{
	return left->tls == right->tls && left->port == right->port &&
	       slice_eq_nocase(left->host, right->host);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of record sets: one function per type. */
#include "dns/rrtext/values.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "dns/name.h"
#include "dns/request.h"
#include "dns/types.h"

enum { RECORD_HEAD = 12, STRING_MAX = 255 }; /* a compressed owner, type, class, TTL, length */

static int add_ipv4(const char *text, struct strbuf *out)
{
	struct in_addr address;
	if (inet_pton(AF_INET, text, &address) != 1)
		return ERR_PARSE;
	strbuf_add(out, &address, sizeof(address));
	return 0;
}

static int add_ipv6(const char *text, struct strbuf *out)
{
	struct in6_addr address;
	if (inet_pton(AF_INET6, text, &address) != 1)
		return ERR_PARSE;
	strbuf_add(out, &address, sizeof(address));
	return 0;
}

static int add_name(const char *text, struct strbuf *out)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(text), wire);
	if (n < 0)
		return n;
	strbuf_add(out, wire, (size_t)n);
	return 0;
}

/* RFC 1035 §3.3.14: one or more strings; an empty text is one empty string. */
static int add_text(const char *text, struct strbuf *out)
{
	size_t left = strlen(text);
	if (left > DNS_VALUES_BYTES_MAX)
		return ERR_LIMIT;
	do {
		size_t n = MIN(left, (size_t)STRING_MAX);
		strbuf_addc(out, (char)n);
		strbuf_add(out, text, n);
		text += n;
		left -= n;
	} while (left != 0);
	return 0;
}

/* ---- back ---- */

static int print_address(int family, const uint8_t *rdata, size_t len, struct strbuf *out)
{
	char text[INET6_ADDRSTRLEN];
	size_t wanted = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	if (len != wanted)
		return ERR_PARSE;
	inet_ntop(family, rdata, text, sizeof(text));
	strbuf_adds(out, text);
	return 0;
}

static int print_ipv4(const uint8_t *rdata, size_t len, struct strbuf *out)
{
	return print_address(AF_INET, rdata, len, out);
}

static int print_ipv6(const uint8_t *rdata, size_t len, struct strbuf *out)
{
	return print_address(AF_INET6, rdata, len, out);
}

static int print_name(const uint8_t *rdata, size_t len, struct strbuf *out)
{
	uint8_t wire[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	if (dns_name_unpack(rdata, len, 0, wire) != (int)len)
		return ERR_PARSE;
	size_t n = dns_name_to_text(wire, true, text);
	strbuf_add(out, text, n > 1 ? n - 1 : n);
	return 0;
}

/* A text of ours has no NUL; one of others shall not look like its beginning. */
static int print_text(const uint8_t *rdata, size_t len, struct strbuf *out)
{
	for (size_t at = 0; at < len;) {
		size_t end = at + 1 + rdata[at];
		if (end > len)
			return ERR_PARSE;
		for (at++; at < end; at++) {
			if (rdata[at] != 0)
				strbuf_addc(out, (char)rdata[at]);
			else
				strbuf_adds(out, "\\000");
		}
	}
	return len != 0 ? 0 : ERR_PARSE;
}

/* ---- the types ---- */

static const struct {
	uint16_t type;
	int (*add)(const char *text, struct strbuf *out);
	int (*print)(const uint8_t *rdata, size_t len, struct strbuf *out);
} writers[] = {
	{ DNS_TYPE_A, add_ipv4, print_ipv4 },
	{ DNS_TYPE_AAAA, add_ipv6, print_ipv6 },
	{ DNS_TYPE_CNAME, add_name, print_name },
	{ DNS_TYPE_TXT, add_text, print_text },
};

/* ARRAY_LEN(writers): none. */
static size_t find_writer(uint16_t type)
{
	size_t writer = 0;
	while (writer < ARRAY_LEN(writers) && writers[writer].type != type)
		writer++;
	return writer;
}

static int add_value(size_t writer, const char *text, struct strbuf *out)
{
	size_t at = out->n;
	strbuf_add(out, "\0", 2);
	int r = writers[writer].add(text, out);
	if (r == 0)
		dns_put16((uint8_t *)out->s + at, (uint16_t)(out->n - at - 2));
	return r;
}

static int add_values(size_t writer, const char *const *values, size_t count, struct strbuf *out)
{
	size_t start = out->n;
	for (size_t i = 0; i < count; i++) {
		int r = add_value(writer, values[i], out);
		if (r < 0)
			return r;
		if (out->n - start + (i + 1) * (RECORD_HEAD - 2) > DNS_VALUES_BYTES_MAX)
			return ERR_LIMIT;
	}
	return 0;
}

static void cut_text(struct strbuf *out, size_t len)
{
	out->n = len;
	if (out->cap != 0)
		out->s[len] = '\0';
}

int dns_values_to_wire(uint16_t type, const char *const *values, size_t count, struct strbuf *out)
{
	size_t before = out->n, writer = find_writer(type);
	if (writer == ARRAY_LEN(writers))
		return ERR_UNSUPPORTED;
	if (count > DNS_VALUES_MAX)
		return ERR_LIMIT;
	int r = add_values(writer, values, count, out);
	if (r < 0)
		cut_text(out, before);
	return r;
}

int dns_value_from_wire(uint16_t type, const uint8_t *rdata, size_t len, struct strbuf *out)
{
	size_t writer = find_writer(type);
	if (writer == ARRAY_LEN(writers))
		return ERR_UNSUPPORTED;
	size_t before = out->n;
	int r = writers[writer].print(rdata, len, out);
	if (r < 0)
		cut_text(out, before);
	return r;
}

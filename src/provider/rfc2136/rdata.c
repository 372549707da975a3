/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values and their data on the wire. */
#include "provider/rfc2136/rdata_priv.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "dns/name.h"
#include "dns/types.h"

enum {
	STRING_MAX = 255,  /* of one character string */
	TEXT_MAX = 60000,  /* of a value: it must fit into a message */
	ESCAPED_BYTES = 4, /* \000 */
	IP4_BYTES = 4,
	IP6_BYTES = 16,
};

static int make_address(int family, const char *value, struct arena *arena,
			struct dns_update_rdata *ret)
{
	uint8_t bytes[IP6_BYTES];
	size_t n = family == AF_INET ? IP4_BYTES : IP6_BYTES;
	if (inet_pton(family, value, bytes) != 1)
		return ERR_PARSE;
	*ret = (struct dns_update_rdata){ arena_memdup(arena, bytes, n), n };
	return 0;
}

static int make_name(const char *value, struct arena *arena, struct dns_update_rdata *ret)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(value), wire);
	if (n < 0)
		return n;
	*ret = (struct dns_update_rdata){ arena_memdup(arena, wire, (size_t)n), (size_t)n };
	return 0;
}

/* The bytes in strings of at most 255; an empty text is one empty string. */
static int make_text(const char *value, struct arena *arena, struct dns_update_rdata *ret)
{
	size_t left = strlen(value), n = rfc2136_rdata_bytes(DNS_TYPE_TXT, value);
	if (left > TEXT_MAX)
		return ERR_LIMIT;
	uint8_t *at = arena_alloc(arena, n);
	*ret = (struct dns_update_rdata){ at, n };
	do {
		size_t part = MIN(left, (size_t)STRING_MAX);
		*at++ = (uint8_t)part;
		memcpy(at, value, part);
		at += part;
		value += part;
		left -= part;
	} while (left != 0);
	return 0;
}

int rfc2136_rdata_make(uint16_t type, const char *value, struct arena *arena,
		       struct dns_update_rdata *ret)
{
	switch (type) {
	case DNS_TYPE_A:
		return make_address(AF_INET, value, arena, ret);
	case DNS_TYPE_AAAA:
		return make_address(AF_INET6, value, arena, ret);
	case DNS_TYPE_CNAME:
		return make_name(value, arena, ret);
	case DNS_TYPE_TXT:
		return make_text(value, arena, ret);
	default:
		return ERR_UNSUPPORTED;
	}
}

size_t rfc2136_rdata_bytes(uint16_t type, const char *value)
{
	size_t n = strlen(value);
	switch (type) {
	case DNS_TYPE_A:
		return IP4_BYTES;
	case DNS_TYPE_AAAA:
		return IP6_BYTES;
	case DNS_TYPE_TXT:
		return n + MAX((n + STRING_MAX - 1) / STRING_MAX, (size_t)1);
	default:
		return n + 2;
	}
}

static const char *print_address(int family, const uint8_t *rdata, size_t len, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN];
	if (len != (family == AF_INET ? IP4_BYTES : IP6_BYTES))
		return NULL;
	inet_ntop(family, rdata, text, sizeof(text));
	return arena_strdup(arena, text);
}

static const char *print_name(const uint8_t *rdata, size_t len, struct arena *arena)
{
	uint8_t wire[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	if (dns_name_unpack(rdata, len, 0, wire) != (int)len)
		return NULL;
	size_t n = dns_name_to_text(wire, true, text);
	return arena_strndup(arena, text, n > 1 ? n - 1 : n);
}

/* A text of ours has no NUL; one of others shall not look like its beginning. */
static const char *print_text(const uint8_t *rdata, size_t len, struct arena *arena)
{
	char *text = arena_alloc(arena, len * ESCAPED_BYTES + 1), *out = text;
	for (size_t at = 0; at < len;) {
		size_t end = at + 1 + rdata[at];
		if (end > len)
			return NULL;
		for (at++; at < end; at++) {
			if (rdata[at] != 0) {
				*out++ = (char)rdata[at];
				continue;
			}
			memcpy(out, "\\000", ESCAPED_BYTES);
			out += ESCAPED_BYTES;
		}
	}
	*out = '\0';
	return text;
}

const char *rfc2136_rdata_text(uint16_t type, const uint8_t *rdata, size_t len, struct arena *arena)
{
	switch (type) {
	case DNS_TYPE_A:
		return print_address(AF_INET, rdata, len, arena);
	case DNS_TYPE_AAAA:
		return print_address(AF_INET6, rdata, len, arena);
	case DNS_TYPE_CNAME:
		return print_name(rdata, len, arena);
	case DNS_TYPE_TXT:
		return len != 0 ? print_text(rdata, len, arena) : NULL;
	default:
		return NULL;
	}
}

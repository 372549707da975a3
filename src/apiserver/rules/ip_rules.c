/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing and checking of IP addresses and networks. */
#include "apiserver/rules/ip_rules.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/tree.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct address {
	int family;
	uint8_t byte[16]; /* IPv4: the first four */
	bool zeros;	  /* a number has leading zeros */
	bool mapped;	  /* ::ffff:a.b.c.d */
};

static bool read_v4(struct slice text, struct address *ret)
{
	for (int i = 0; i < 4; i++) {
		struct slice part = slice_cut(&text, '.');
		uint64_t n;
		if ((text.p == NULL) != (i == 3) || slice_u64(part, &n) < 0 || n > 255)
			return false;
		ret->zeros |= part.n > 1 && part.p[0] == '0';
		ret->byte[i] = (uint8_t)n;
	}
	ret->family = 4;
	return true;
}

static bool read_address(const char *text, struct address *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	*ret = (struct address){ 0 };
	if (strchr(text, ':') == NULL)
		return read_v4(slice_of(text), ret);
	if (inet_pton(AF_INET6, text, ret->byte) != 1)
		return false;
	ret->family = 6;
	if (memcmp(ret->byte, mapped, sizeof(mapped)) == 0) {
		memmove(ret->byte, ret->byte + 12, 4);
		ret->family = 4;
		ret->mapped = true;
	}
	return true;
}

int apiserver_address_family(const char *text)
{
	struct address a;
	return read_address(text, &a) ? a.family : 0;
}

/* True if the stored object has this text already. */
static bool is_kept(const json_t *kept, const char *text)
{
	for (size_t i = 0; i < json_array_size(kept); i++) {
		if (strcmp(api_text(json_array_get(kept, i)), text) == 0)
			return true;
	}
	return false;
}

/* Returns false, for the caller to return. */
static bool add_error(struct api_errors *errs, const char *field, const char *text,
		      const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	strbuf_add_quoted(&value, slice_of(text));
	api_errors_add(errs, API_FIELD_INVALID, field, value.s, detail);
	return false;
}

bool apiserver_check_address(struct api_errors *errs, const char *field, const char *text,
			     const json_t *kept)
{
	struct address a;
	if (is_kept(kept, text))
		return true;
	if (!read_address(text, &a))
		return add_error(errs, field, text,
				 "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
	if (a.zeros)
		return add_error(errs, field, text, "must not have leading 0s");
	if (a.mapped)
		return add_error(errs, field, text, "must not be an IPv4-mapped IPv6 address");
	return true;
}

bool apiserver_check_canonical_address(struct api_errors *errs, const char *field,
				       const char *string)
{
	char text[INET6_ADDRSTRLEN], detail[96];
	struct address a;
	if (!apiserver_check_address(errs, field, string, NULL))
		return false;
	if (!read_address(string, &a) ||
	    inet_ntop(a.family == 4 ? AF_INET : AF_INET6, a.byte, text, sizeof(text)) == NULL ||
	    strcmp(text, string) == 0)
		return true;
	snprintf(detail, sizeof(detail), "must be in canonical form (\"%s\")", text);
	return add_error(errs, field, string, detail);
}

static bool is_all_zero(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] != 0)
			return false;
	}
	return true;
}

void apiserver_check_endpoint_address(struct api_errors *errs, const char *field,
				      const char *string)
{
	struct address a;
	char text[128];
	if (!read_address(string, &a))
		return;
	const uint8_t *b = a.byte;
	bool v4 = a.family == 4;
	snprintf(text, sizeof(text), "may not be unspecified (%s)", string);
	if (is_all_zero(b, v4 ? 4 : 16))
		add_error(errs, field, string, text);
	if (v4 ? b[0] == 127 : is_all_zero(b, 15) && b[15] == 1)
		add_error(errs, field, string,
			  "may not be in the loopback range (127.0.0.0/8, ::1/128)");
	if (v4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
		add_error(errs, field, string,
			  "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
	if (v4 ? b[0] == 224 && b[1] == 0 && b[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 0x02)
		add_error(errs, field, string,
			  "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

/* ---- networks ---- */

struct network {
	struct address a;
	unsigned bits;
	bool zeros; /* the length has leading zeros */
};

static bool read_network(const char *text, struct network *ret)
{
	char address[64];
	struct slice rest = slice_of(text), first = slice_cut(&rest, '/');
	uint64_t bits;
	if (rest.p == NULL || first.n >= sizeof(address) || slice_u64(rest, &bits) < 0)
		return false;
	memcpy(address, first.p, first.n);
	address[first.n] = '\0';
	if (!read_address(address, &ret->a))
		return false;
	ret->bits = (unsigned)bits;
	ret->zeros = rest.n > 1 && rest.p[0] == '0';
	return bits <= (ret->a.family == 4 && !ret->a.mapped ? 32 : 128);
}

int apiserver_network_family(const char *text)
{
	struct network n;
	return read_network(text, &n) ? n.a.family : 0;
}

static bool has_bits_beyond(const struct network *network)
{
	unsigned all = network->a.family == 4 ? 32 : 128;
	for (unsigned i = network->bits; i < all; i++) {
		if ((network->a.byte[i / 8] & (0x80 >> i % 8)) != 0)
			return true;
	}
	return false;
}

bool apiserver_check_network(struct api_errors *errs, const char *field, const char *text,
			     const json_t *kept)
{
	struct network n;
	if (is_kept(kept, text))
		return true;
	if (!read_network(text, &n))
		return add_error(errs, field, text,
				 "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
	if (n.zeros || n.a.zeros)
		return add_error(errs, field, text,
				 "must not have leading 0s in IP or prefix length");
	if (n.a.mapped)
		return add_error(errs, field, text, "must not have an IPv4-mapped IPv6 address");
	if (has_bits_beyond(&n))
		return add_error(errs, field, text,
				 "must not have bits set beyond the prefix length");
	return true;
}

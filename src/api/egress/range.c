/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prefixes: text to bytes and back, membership. */
#include "api/egress/range.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

enum { V4_BYTES = 4, V6_BYTES = 16, TEXT_MAX = 43 };

static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* Clears the bits behind the prefix; whether one of them was set. */
static bool clear_host_bits(struct egress_range *range)
{
	bool any = false;
	for (unsigned bit = range->bits; bit < range->n * 8U; bit++) {
		uint8_t mask = (uint8_t)(0x80U >> (bit % 8));
		any = any || (range->address[bit / 8] & mask) != 0;
		range->address[bit / 8] &= (uint8_t)~mask;
	}
	return any;
}

const char *egress_range_parse(struct slice text, struct egress_range *ret, bool *ret_has_host_bits)
{
	static const char wrong[] = "must be an address and a prefix length, as in "
				    "\"192.0.2.0/24\" or \"2001:db8::/32\"";
	char address[TEXT_MAX + 1];
	ptrdiff_t slash = slice_find(text, '/');
	unsigned bits;
	*ret = (struct egress_range){ 0 };
	if (slash <= 0 || text.n > TEXT_MAX || memchr(text.p, '\0', text.n) != NULL)
		return wrong;
	memcpy(address, text.p, (size_t)slash);
	address[slash] = '\0';
	if (inet_pton(AF_INET, address, ret->address) == 1)
		ret->n = V4_BYTES;
	else if (inet_pton(AF_INET6, address, ret->address) == 1)
		ret->n = V6_BYTES;
	if (ret->n == 0 ||
	    slice_prefix_length(slice_from(text, (size_t)slash + 1), ret->n * 8U, &bits) < 0)
		return wrong;
	ret->bits = (uint8_t)bits;
	if (ret->n == V6_BYTES && memcmp(ret->address, mapped, sizeof(mapped)) == 0)
		return "must not be an IPv4 range inside of IPv6: write it as IPv4";
	*ret_has_host_bits = clear_host_bits(ret);
	return NULL;
}

void egress_range_text(const struct egress_range *range, char out[EGRESS_RANGE_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN];
	assert(range->n == V4_BYTES || range->n == V6_BYTES);
	inet_ntop(range->n == V4_BYTES ? AF_INET : AF_INET6, range->address, address,
		  sizeof(address));
	snprintf(out, EGRESS_RANGE_TEXT_MAX, "%s/%u", address, (unsigned)range->bits);
}

bool egress_range_has(const struct egress_range *range, const uint8_t *address, size_t len)
{
	size_t whole = range->bits / 8U;
	unsigned rest = range->bits % 8U;
	if (len != range->n || memcmp(address, range->address, whole) != 0)
		return false;
	return rest == 0 || ((address[whole] ^ range->address[whole]) >> (8 - rest)) == 0;
}

/* 64:ff9b::/96 (NAT64) and 2002::/16 (6to4) carry IPv4 addresses as well. */
static const struct {
	struct egress_range range;
	uint8_t offset; /* of the IPv4 address in it */
} carriers[] = {
	{ { V6_BYTES, 96, { [10] = 0xff, 0xff } }, 12 },
	{ { V6_BYTES, 96, { 0x00, 0x64, 0xff, 0x9b } }, 12 },
	{ { V6_BYTES, 16, { 0x20, 0x02 } }, 2 },
};

static const struct egress_range never[] = {
	{ V4_BYTES, 8, { 0 } },
	{ V4_BYTES, 8, { 127 } },
	{ V4_BYTES, 16, { 169, 254 } },
	{ V4_BYTES, 4, { 224 } },
	{ V4_BYTES, 32, { 255, 255, 255, 255 } },
	{ V6_BYTES, 128, { 0 } },
	{ V6_BYTES, 128, { [15] = 1 } },
	{ V6_BYTES, 10, { 0xfe, 0x80 } },
	{ V6_BYTES, 8, { 0xff } },
};

const uint8_t *egress_range_carried_ipv4(const uint8_t *address, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(carriers); i++) {
		if (egress_range_has(&carriers[i].range, address, len))
			return address + carriers[i].offset;
	}
	return NULL;
}

bool egress_range_is_never_learnt(const uint8_t *address, size_t len)
{
	const uint8_t *carried = egress_range_carried_ipv4(address, len);
	if (carried != NULL) {
		address = carried;
		len = V4_BYTES;
	}
	for (size_t i = 0; i < ARRAY_LEN(never); i++) {
		if (egress_range_has(&never[i], address, len))
			return true;
	}
	return false;
}

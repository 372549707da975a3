/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides whether a text is a name or an address. */
#include "api/explain/subject.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

enum { V4_BYTES = 4, V6_BYTES = 16 };

static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool explain_address_parse(struct slice text, struct explain_address *ret)
{
	char copy[EXPLAIN_ADDRESS_TEXT_MAX];
	*ret = (struct explain_address){ 0 };
	if (text.n >= sizeof(copy) || (text.n != 0 && memchr(text.p, '\0', text.n) != NULL))
		return false;
	if (text.n != 0)
		memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	if (inet_pton(AF_INET, copy, ret->bytes) == 1)
		ret->n = V4_BYTES;
	else if (inet_pton(AF_INET6, copy, ret->bytes) == 1)
		ret->n = V6_BYTES;
	return ret->n != 0;
}

const char *explain_address_text(const struct explain_address *address,
				 char out[EXPLAIN_ADDRESS_TEXT_MAX])
{
	assert(address->n == V4_BYTES || address->n == V6_BYTES);
	return inet_ntop(address->n == V4_BYTES ? AF_INET : AF_INET6, address->bytes, out,
			 EXPLAIN_ADDRESS_TEXT_MAX);
}

int explain_address_compare(const void *left, const void *right)
{
	const struct explain_address *left_address = left, *right_address = right;
	if (left_address->n != right_address->n)
		return left_address->n < right_address->n ? -1 : 1;
	return memcmp(left_address->bytes, right_address->bytes, left_address->n);
}

/* Connections to such an address are IPv4 on the wire, and so are rules for it. */
static void unmap_address(struct explain_subject *subject)
{
	struct explain_address *address = &subject->address;
	if (address->n != V6_BYTES || memcmp(address->bytes, mapped, sizeof(mapped)) != 0)
		return;
	memmove(address->bytes, address->bytes + sizeof(mapped), V4_BYTES);
	address->n = V4_BYTES;
	subject->was_mapped = true;
}

static bool has_only_digits(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isdigit(text.p[i]))
			return false;
	}
	return text.n != 0;
}

/* "300.1.2.3" and "10.1" were meant as addresses: the last label of a name has a letter. */
static bool looks_like_address(struct slice text)
{
	struct slice label = { 0 };
	while (text.n != 0)
		label = slice_cut(&text, '.');
	return has_only_digits(label);
}

const char *explain_subject_parse(struct slice text, struct explain_subject *ret)
{
	*ret = (struct explain_subject){ 0 };
	if (text.n == 0)
		return "is neither a name nor an address";
	if (explain_address_parse(text, &ret->address)) {
		unmap_address(ret);
		return NULL;
	}
	if (slice_find(text, '/') >= 0)
		return "is no name and no single address; give one address of a range";
	if (slice_find(text, '%') >= 0)
		return "has a zone index; give the address without it";
	if (slice_find(text, ':') >= 0)
		return "is no IPv6 address, and no name has a colon; give it without a port";
	if (slice_find(text, '*') >= 0)
		return "is a wildcard; give a name that it should cover";
	if (looks_like_address(text))
		return "is no IPv4 address, and no name ends in a number";
	return egress_name_parse_host(text, &ret->name);
}

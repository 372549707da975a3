/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The IPv6 prefix of dns64: parsing it, and embedding an IPv4 address in it (RFC 6052). */
#include "plugin/dns64/prefix.h"

#include <string.h>

#include "base/err.h"
#include "net/addr.h"

enum { RESERVED_BYTE = 8 }; /* bits 64 to 71 are 0 */

int dns64_prefix_parse(struct slice text, struct dns64_prefix *ret)
{
	static const uint8_t lengths[] = { 32, 40, 48, 56, 64, 96 };
	struct net_cidr c;
	if (slice_find(text, '/') < 0 || slice_find(text, '%') >= 0 || net_cidr_parse(text, &c) < 0)
		return ERR_PARSE;
	if (c.family != AF_INET6)
		return ERR_TYPE;
	if (memchr(lengths, c.bits, sizeof(lengths)) == NULL)
		return ERR_RANGE;
	ret->bytes = c.bits / 8;
	memcpy(ret->ip, c.ip, sizeof(ret->ip));
	return 0;
}

void dns64_prefix_map(const struct dns64_prefix *prefix, const uint8_t v4[4], uint8_t ret[16])
{
	memcpy(ret, prefix->ip, 16);
	size_t at = prefix->bytes;
	for (size_t i = 0; i < 4; i++) {
		if (at == RESERVED_BYTE)
			ret[at++] = 0;
		ret[at++] = v4[i];
	}
}

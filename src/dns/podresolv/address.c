/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing and printing of addresses. */
#include "dns/podresolv/address_priv.h"

#include <arpa/inet.h>
#include <string.h>

static bool read_v4(struct slice text, struct podresolv_address *ret)
{
	ret->family = 4;
	for (int i = 0; i < 4; i++) {
		struct slice part = slice_cut(&text, '.');
		uint64_t number;
		if ((text.p == NULL) != (i == 3) || slice_u64(part, &number) < 0 || number > 255)
			return false;
		ret->has_zeros |= part.n > 1 && part.p[0] == '0';
		ret->bytes[i] = (uint8_t)number;
	}
	return true;
}

bool podresolv_read_address(struct slice text, struct podresolv_address *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char copy[INET6_ADDRSTRLEN];
	*ret = (struct podresolv_address){ 0 };
	if (slice_find(text, ':') < 0)
		return read_v4(text, ret);
	if (text.n >= sizeof(copy) || slice_find(text, '\0') >= 0)
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	ret->family = 6;
	if (inet_pton(AF_INET6, copy, ret->bytes) != 1)
		return false;
	ret->is_mapped = memcmp(ret->bytes, mapped, sizeof(mapped)) == 0;
	return true;
}

static struct slice print_bytes(int family, const uint8_t *bytes, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN] = "";
	IGNORE(inet_ntop(family, bytes, text, sizeof(text))); /* there is room */
	return slice_of(arena_strdup(arena, text));
}

struct slice podresolv_address_text(const struct podresolv_address *address, struct arena *arena)
{
	return print_bytes(address->family == 4 ? AF_INET : AF_INET6, address->bytes, arena);
}

struct slice podresolv_unmapped_text(const struct podresolv_address *address, struct arena *arena)
{
	if (address->is_mapped)
		return print_bytes(AF_INET, address->bytes + 12, arena);
	return podresolv_address_text(address, arena);
}

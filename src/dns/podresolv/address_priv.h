/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses of name servers, as texts that may be spelt in more than one way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"

struct podresolv_address {
	int family; /* 4 or 6 */
	uint8_t bytes[16];
	bool has_zeros; /* a number of an IPv4 address has leading zeros: octal for libc */
	bool is_mapped; /* IPv4 in IPv6, ::ffff:192.0.2.1 */
};

/* False if the text is no address (or has a scope: fe80::1%eth0). Leading zeros of IPv4 are read as
 * Go once did, in decimal. */
bool podresolv_read_address(struct slice text, struct podresolv_address *ret);

/* The canonical text, terminated, in the growing arena. */
struct slice podresolv_address_text(const struct podresolv_address *address, struct arena *arena);

/* The same with a mapped address as the IPv4 address that it holds. */
struct slice podresolv_unmapped_text(const struct podresolv_address *address, struct arena *arena);

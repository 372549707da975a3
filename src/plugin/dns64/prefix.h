/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prefixes that carry an IPv4 address inside an IPv6 one (RFC 6052 section 2.2). */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

struct dns64_prefix {
	uint8_t ip[16]; /* host bits 0 */
	uint8_t bytes;	/* 4 to 8, or 12 */
};

/* `ipv6/length`, with 32, 40, 48, 56, 64 or 96. ERR_PARSE: not a network; ERR_RANGE: another
 * length; ERR_TYPE: of IPv4. */
MUST_CHECK int dns64_prefix_parse(struct slice text, struct dns64_prefix *ret);
void dns64_prefix_map(const struct dns64_prefix *prefix, const uint8_t v4[4], uint8_t ret[16]);

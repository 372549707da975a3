/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of addresses in egress rules, and those that are never learnt from DNS answers. Addresses are
 * bytes in network order: 4 or 16 of them. Pure: no I/O, any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum { EGRESS_RANGE_TEXT_MAX = 50 };

struct egress_range {
	uint8_t n;	     /* bytes of an address: 4 or 16 */
	uint8_t bits;	     /* of the prefix */
	uint8_t address[16]; /* bits behind the prefix are zero */
};

/* "10.0.0.0/8" or "2001:db8::/32". NULL, or what is wrong, as a sentence to follow the field's path.
 * *ret_has_host_bits: the text has bits behind the prefix ("10.0.0.1/8"), which count for nothing. */
const char *egress_range_parse(struct slice text, struct egress_range *ret,
			       bool *ret_has_host_bits);
void egress_range_text(const struct egress_range *range, char out[EGRESS_RANGE_TEXT_MAX]);

/* Also false where the range is of the other family. */
bool egress_range_has(const struct egress_range *range, const uint8_t *address, size_t len);

/* The four bytes of an IPv4 address inside of an IPv6 one that leads there (mapped, NAT64, 6to4); NULL: there is
 * none. */
const uint8_t *egress_range_carried_ipv4(const uint8_t *address, size_t len);

/* Unspecified, loopback, link-local, multicast or broadcast, also as an IPv4 address inside of an IPv6
 * one. Whoever owns an allowed name must not open these (the metadata service is link-local), so that
 * they are never learnt from an answer. */
bool egress_range_is_never_learnt(const uint8_t *address, size_t len);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `fairlead explain` is asked about: a name or an address. Pure: no I/O, any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/egress/name.h"
#include "base/slice.h"

enum { EXPLAIN_ADDRESS_TEXT_MAX = 46 };

struct explain_address {
	uint8_t n; /* bytes: 4 or 16; 0: none */
	uint8_t bytes[16];
};

struct explain_subject {
	struct explain_address address; /* n is 0 for a name */
	struct egress_name name;
	bool was_mapped; /* the address was written as IPv6 and is sent as IPv4: ::ffff:192.0.2.1 */
};

/* NULL, or what is wrong with the text, as a sentence to follow it; *ret is then undefined. */
const char *explain_subject_parse(struct slice text, struct explain_subject *ret);

/* False: it is none. An IPv4 address inside of IPv6 stays as it is. */
bool explain_address_parse(struct slice text, struct explain_address *ret);
const char *explain_address_text(const struct explain_address *address,
				 char out[EXPLAIN_ADDRESS_TEXT_MAX]);
/* For qsort and bsearch: IPv4 first, ascending. */
int explain_address_compare(const void *left, const void *right);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of a record set in wire form, from the texts of its values as objects have them, and back: an
 * address, a name, a text of any length. For A, AAAA, CNAME and TXT. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum {
	DNS_VALUES_MAX = 1000,	      /* of a set */
	DNS_VALUES_BYTES_MAX = 60000, /* of its records: a reply holds them and some more */
};

/* Appends for each value the length of its data, two bytes, and the data. A TXT is neither quoted nor
 * escaped, and is split into strings of 255 bytes. ERR_PARSE: one is no value of the type; ERR_LIMIT:
 * there are too many, or they are too long together; ERR_UNSUPPORTED: another type. After an error
 * `out` is as it was. */
MUST_CHECK int dns_values_to_wire(uint16_t type, const char *const *values, size_t count,
				  struct strbuf *out);

/* Appends the text of one record's data, whose names are not compressed: names in lower case without the
 * final dot, strings of a TXT one after the other, its NUL bytes as \000. ERR_PARSE: not valid for the type;
 * ERR_UNSUPPORTED: another type. After an error `out` is as it was. */
MUST_CHECK int dns_value_from_wire(uint16_t type, const uint8_t *rdata, size_t len,
				   struct strbuf *out);

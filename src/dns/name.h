/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Domain names in wire form: labels with their length bytes, ending in the root label. A `name`
 * pointer is always such an uncompressed, valid name of at most DNS_NAME_MAX bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

enum { DNS_NAME_MAX = 255, DNS_LABEL_MAX = 63, DNS_LABELS_MAX = 127, DNS_NAME_TEXT_MAX = 1025 };

extern const uint8_t dns_name_root[1];

/* Wire length, root label included. */
size_t dns_name_len(const uint8_t *name);
/* Labels without the root. */
unsigned dns_name_labels(const uint8_t *name);
bool dns_name_eq(const uint8_t *left, const uint8_t *right);	  /* ASCII letters alike */
bool dns_name_eq_case(const uint8_t *left, const uint8_t *right); /* exactly */
bool dns_name_is_below(const uint8_t *name, const uint8_t *zone); /* at or below, letters alike */
/* Copies `name` lower-cased; returns its length. */
size_t dns_name_lower(const uint8_t *name, uint8_t out[DNS_NAME_MAX]);

/* Text to wire. Escapes \DDD and \c; a missing final dot is completed with the root. Returns the
 * wire length or ERR_PARSE (empty label, label over 63, name over 255, bad escape, empty text). */
MUST_CHECK int dns_name_from_text(struct slice text, uint8_t out[DNS_NAME_MAX]);
/* Wire to text with final dot, in CoreDNS's (miekg/dns) escaping: \DDD for bytes outside ' '..'~',
 * a backslash before . ( ) ; space @ " ' and \. Returns the length written; `out` is terminated.
 * With `lower`, letters are lower-cased. */
size_t dns_name_to_text(const uint8_t *name, bool lower, char out[DNS_NAME_TEXT_MAX]);

/* Reads a possibly compressed name at `off` of a message. Pointers must point backwards. Returns
 * the offset after the name in the message, or ERR_PARSE. */
MUST_CHECK int dns_name_unpack(const uint8_t *msg, size_t size, size_t off,
			       uint8_t out[DNS_NAME_MAX]);
/* Offset after the name at `off` without reading it out, or ERR_PARSE. */
MUST_CHECK int dns_name_skip(const uint8_t *msg, size_t len, size_t off);

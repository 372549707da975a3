/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of record sets, between the publisher's text and wire form: A, AAAA, CNAME, TXT. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "dns/update.h"

/* Wire form in the (growing) arena. ERR_PARSE: not a value of this type; ERR_UNSUPPORTED: the type is
 * none of ours; ERR_LIMIT: longer than a record may be. */
MUST_CHECK int rfc2136_rdata_make(uint16_t type, const char *value, struct arena *arena,
				  struct dns_update_rdata *ret);
/* Bytes of it on the wire, without looking closely. */
size_t rfc2136_rdata_bytes(uint16_t type, const char *value);
/* The text of uncompressed data; NULL: malformed, or none of our types. */
const char *rfc2136_rdata_text(uint16_t type, const uint8_t *rdata, size_t len,
			       struct arena *arena);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Master files (RFC 1035 §5) with $ORIGIN, $TTL, $INCLUDE (RFC 2308 §4) and BIND's $GENERATE, read
 * the way CoreDNS reads them: TTL and class in either order, a TTL left out is that of $TTL or of
 * the record before, a record made by $GENERATE without one has 3600 s.
 *
 * Included files are fetched through a callback: nothing here does I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "base/strbuf.h"
#include "dns/resp.h"

enum {
	DNS_ZONEFILE_BYTES_MAX = 1 << 30, /* of a file */
	DNS_ZONEFILE_RECORD_MAX = 65536,  /* bytes of one record's text */
	DNS_ZONEFILE_INCLUDE_DEPTH = 7,
	DNS_ZONEFILE_INCLUDES_MAX = 10000, /* in all, against files that include each other */
	DNS_ZONEFILE_GENERATE_MAX = 65536, /* records of one $GENERATE */
	DNS_ZONEFILE_PATH_MAX = 4096,
};

struct dns_zonefile {
	const char *path;      /* for messages; included files lie relative to it */
	const uint8_t *origin; /* wire name */
	/* Told of every record; what it points at is gone afterwards. Negative: stop, with that
	 * code and, unless it left `why` empty, that sentence at the record's place. */
	int (*record)(void *ctx, const struct dns_rr *rr, struct strbuf *why);
	/* Appends a whole file. NULL: $INCLUDE is refused. */
	int (*include)(void *ctx, const char *path, struct strbuf *out);
	void *ctx;
};

/* Reads `text`. 0, or a negative code with file, line, column and a sentence in `err` (which may be
 * NULL). */
MUST_CHECK int dns_zonefile_read(const struct dns_zonefile *zonefile, struct slice text,
				 struct srcerr *err);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A zone from its master file, with the rules CoreDNS has for one: an SOA record owned by the
 * origin, no NSEC3. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "base/strbuf.h"

struct dns_zone;

struct dns_zoneload {
	const char *path;	/* for messages, and for relative $INCLUDE */
	const uint8_t *origin;	/* wire name */
	const uint32_t *serial; /* of what is served now; NULL: nothing */
	int (*include)(void *ctx, const char *path, struct strbuf *out); /* or NULL */
	void *ctx;
};

/* 0; ERR_BUSY (without text) when the first SOA's serial is the one served now: nothing was read
 * beyond it; else a negative code with place and sentence in `err`. *ret_outside: records left out
 * because they lie outside the zone. */
MUST_CHECK int dns_zone_load(const struct dns_zoneload *zoneload, struct slice text,
			     struct srcerr *err, struct dns_zone **ret, size_t *ret_outside);

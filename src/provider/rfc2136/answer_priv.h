/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies to queries: the record set that was asked for, what else is at its name, and the zone that
 * a name belongs to. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "dns/name.h"
#include "provider/rrset.h"

/* What the server says to the question whether it has a certain set. */
enum rfc2136_holds { RFC2136_HOLDS_UNKNOWN, RFC2136_HOLDS_YES, RFC2136_HOLDS_NO };

struct rfc2136_answer {
	struct provider_rrset set; /* in the arena, without name and owner */
	/* The first set of another type at the name, those of DNSSEC left out; 0: none was shown. */
	uint16_t other_type;
	const char *other_value; /* its first value; NULL: not one of our types */
	/* Without an answer: the zone that the name belongs to, as the server says. NULL: it does not. */
	const char *zone;
	/* Of a read that searches for the zone (rfc2136_read.finds_zone): one below the reader's zone that the
	 * name belongs to; NULL: it belongs to the reader's zone, or the server does not say. */
	const char *longer_zone;
	bool is_delegated;	  /* `longer_zone` is not one of the server's */
	enum rfc2136_holds holds; /* of a read with rfc2136_read.wanted */
};

enum rfc2136_zone_answer {
	RFC2136_ZONE_FOUND,
	RFC2136_ZONE_ABOVE,	/* unknown: ask for the name above */
	RFC2136_ZONE_DELEGATED, /* it belongs to a zone of other servers */
	RFC2136_ZONE_NONE,	/* the server has no zone for it */
};

/* The set of `type` at `name` in a reply to a query for that type or for ANY. `msg` is a whole message
 * that the resolver has checked; it may be changed. ERR_PARSE. */
MUST_CHECK int rfc2136_answer_read(uint8_t *msg, size_t len, const uint8_t *name, uint16_t type,
				   struct arena *arena, struct rfc2136_answer *ret);
/* A reply to a query for the SOA of `name`. `ret_zone` is written with RFC2136_ZONE_FOUND and
 * RFC2136_ZONE_DELEGATED. */
enum rfc2136_zone_answer rfc2136_answer_zone(uint8_t *msg, size_t len, const uint8_t *name,
					     uint8_t ret_zone[DNS_NAME_MAX]);
/* A reply to a query for the SOA of a zone. ERR_NOTFOUND: the server has no such zone. ERR_PARSE. */
MUST_CHECK int rfc2136_answer_serial(uint8_t *msg, size_t len, const uint8_t *zone,
				     uint32_t *ret_serial);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building DNS UPDATE messages (RFC 2136): a zone, prerequisites that must hold, then changes. A
 * server applies all of it or nothing.
 *
 * The caller owns the buffer. Prerequisites come first; after the first change none may be added.
 * Each function adds a whole record or nothing; ERR_SPACE when the buffer is full or a count would
 * overflow, ERR_RANGE for a name outside of the zone (the server would refuse the whole message
 * with NOTZONE).
 *
 * Owners are compressed: those that follow each other, and the zone's name in all. Data is
 * written as it is given, so names in it must not be compressed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "dns/name.h"

struct dns_update {
	uint8_t *msg;
	size_t n; /* bytes so far; an OPT record and a signature may follow */
	size_t cap;
	const uint8_t *zone; /* in msg */
	size_t last_owner;   /* where the last owner is written; 0: out of a pointer's reach */
	uint16_t n_prerequisites, n_changes;
};

/* Data of a record: wire form, at most 65535 bytes. */
struct dns_update_rdata {
	const uint8_t *p;
	size_t n;
};

/* Header and zone section. ERR_SPACE. */
MUST_CHECK int dns_update_start(struct dns_update *update, uint8_t *msg, size_t cap,
				const uint8_t *zone, uint16_t zone_class);

/* ---- prerequisites (RFC 2136 section 2.4): the rcode if one does not hold ---- */

MUST_CHECK int dns_update_forbid_name(struct dns_update *update,
				      const uint8_t *name); /* YXDOMAIN */
MUST_CHECK int dns_update_require_rrset(struct dns_update *update, const uint8_t *name,
					uint16_t type); /* NXRRSET */
MUST_CHECK int dns_update_forbid_rrset(struct dns_update *update, const uint8_t *name,
				       uint16_t type); /* YXRRSET */
/* The set has this record: called for each of its records, it has these and no others. NXRRSET. */
MUST_CHECK int dns_update_require_record(struct dns_update *update, const uint8_t *name,
					 uint16_t type, struct dns_update_rdata rdata);

/* ---- changes (section 2.5), applied in order ---- */

MUST_CHECK int dns_update_add(struct dns_update *update, const uint8_t *name, uint16_t type,
			      uint32_t ttl, struct dns_update_rdata rdata);
MUST_CHECK int dns_update_delete_rrset(struct dns_update *update, const uint8_t *name,
				       uint16_t type);
/* This record; others of its set stay. */
MUST_CHECK int dns_update_delete_record(struct dns_update *update, const uint8_t *name,
					uint16_t type, struct dns_update_rdata rdata);

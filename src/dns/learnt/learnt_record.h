/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of the zone `learnt.fairlead.internal`, in which a DNS server lists the addresses that
 * it has seen in answers for names of egress rules. The plugin egressfirewall serves the zone, the
 * controller of the same name transfers it. No I/O.
 *
 * A learnt address is one TXT record. Its owner is HASH.learnt.fairlead.internal, HASH being 16
 * hexadecimal digits made of the DNSName object and the name, so that the addresses of a name share
 * an owner. Its strings are, in this order:
 *
 *	1  "1", the version of this form; readers ignore records of another version
 *	2  the name of the DNSName object (`wildcard.example.com`)
 *	3  the DNS name, in lower case without final dot (`www.example.com`)
 *	4  the address, in its usual text form
 *	5  the smallest TTL of the CNAME chain and the address, in seconds, as last seen
 *	6  when that ends: seconds since 1970 (UTC)
 *	7  when the address was first seen: seconds since 1970
 *	8  the name at the end of the CNAME chain; empty: the address is the name's own
 *	9  a number that stands for the client that the address counts for, 16 hexadecimal digits; older
 *	   servers do not have it
 *
 * All other numbers are decimal. The record's own TTL is 0 and means nothing: TTLs of a set of records are
 * equal, those of addresses are not. Readers ignore further strings. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "dns/name.h"

#define DNS_LEARNT_ZONE "learnt.fairlead.internal"

enum {
	DNS_LEARNT_TEXT_MAX = 253,   /* bytes of a name: object, name, end of the chain */
	DNS_LEARNT_RDATA_MAX = 1024, /* of what dns_learnt_rdata writes */
};

/* Texts are borrowed. */
struct dns_learnt {
	struct slice object, name, target; /* target: string 8 */
	uint8_t ip[16];
	uint8_t ip_n; /* 4 or 16 bytes */
	uint32_t ttl_s;
	uint64_t expires_s, first_s; /* wall time */
	uint64_t client;	     /* 0: not known */
};

/* The zone's name in wire form. */
extern const uint8_t dns_learnt_zone[26];

/* Data of the TXT record; its length. Texts have at most DNS_LEARNT_TEXT_MAX bytes. */
size_t dns_learnt_rdata(const struct dns_learnt *learnt, uint8_t out[DNS_LEARNT_RDATA_MAX]);
/* Owner of the record, in wire form; its length. */
size_t dns_learnt_owner(struct slice object, struct slice name, uint8_t out[DNS_NAME_MAX]);
/* Fills `ret`, whose texts point into rdata. ERR_PARSE; ERR_UNSUPPORTED: another version. */
MUST_CHECK int dns_learnt_parse(const uint8_t *rdata, size_t len, struct dns_learnt *ret);

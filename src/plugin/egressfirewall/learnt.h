/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses that this server has seen in answers for names of egress rules, and the versions of
 * the zone that lists them. One thread at a time: its owner has a lock.
 *
 * Glossary
 *   pair    a name and one of its addresses, under one DNSName object
 *   client  the one that the pair counts for: it asked when the pair was seen first, or later and has
 *           fewer pairs of the object
 *   expiry  when the last TTL that a client got ends
 *   lease   the expiry that the zone shows. It may lag behind the true one and is renewed before it
 *           ends: an address that every answer confirms changes the zone once per TTL (EF-S4)
 *
 * An address stays until its expiry and EGRESSFIREWALL_GRACE_S, whatever other answers contain:
 * servers with rotating addresses never make one disappear (EF-S5, EF-S6). Each limit is enforced at
 * once. A client that has used up its share learns nothing more. Where an object has too many names, a
 * name too many addresses or the table too many pairs, one of the client that has most of them leaves, the
 * first to expire; where the table is full, it is one of the same object if that has its part of the table,
 * else of the object that has most. So neither a client nor an object drives out what others have.
 *
 * Times inside are seconds of a clock that never jumps; records show wall time. So do serials, in
 * ticks of 2^24 ns, of which there are more than versions: a server that was killed begins with a
 * newer one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

struct egressfirewall_learnt;
struct zone_copy;

struct egressfirewall_limits {
	uint32_t pairs;		   /* in all */
	uint32_t names_per_object; /* under one wildcard */
	uint32_t ips_per_name;
	uint32_t pairs_per_client;
	size_t journal_bytes;
};

enum {
	EGRESSFIREWALL_TTL_MIN_S = 5, /* of a pair; smaller ones count as this */
	EGRESSFIREWALL_TTL_MAX_S = 604800,
	EGRESSFIREWALL_GRACE_S = 5, /* a name that is asked for again at its expiry stays */
	EGRESSFIREWALL_RENEW_S = 5, /* a lease is renewed so long before its end */
};

/* One address of an answer. Texts are borrowed, lower case, without final dot. */
struct egressfirewall_seen {
	struct slice object, name;
	struct slice target; /* the end of the CNAME chain; empty: the name itself */
	uint8_t ip[16];
	uint8_t ip_n; /* 4 or 16 */
	uint32_t ttl_s;
	uint64_t client; /* any number that stands for it */
};

/* What became of it. */
enum egressfirewall_result {
	EGRESSFIREWALL_NEW,
	EGRESSFIREWALL_EXTENDED, /* it lives longer now */
	EGRESSFIREWALL_KNOWN,	 /* it lives long enough already */
	EGRESSFIREWALL_OVER_CLIENT_LIMIT,
};

struct egressfirewall_learnt_counts {
	uint64_t pairs, names;				    /* now */
	uint64_t expired;				    /* since the start */
	uint64_t evicted_pairs, evicted_names, evicted_ips; /* by which limit */
};

/* Called for a pair that leaves before its time. The name is borrowed. */
struct egressfirewall_evicted {
	void (*fn)(void *ctx, struct slice name, const uint8_t *ip, size_t ip_n);
	void *ctx;
};

/* `wall_ns` gives the zone its first serial. */
struct egressfirewall_learnt *egressfirewall_learnt_new(const struct egressfirewall_limits *limits,
							uint64_t wall_ns);
/* At most one; `fn` does not change the table. */
void egressfirewall_learnt_on_evict(struct egressfirewall_learnt *learnt,
				    struct egressfirewall_evicted evicted);
void egressfirewall_learnt_free(struct egressfirewall_learnt *learnt);

enum egressfirewall_result egressfirewall_learnt_add(struct egressfirewall_learnt *learnt,
						     const struct egressfirewall_seen *seen,
						     uint64_t now_s);
/* Renews leases, forgets pairs whose time is over. */
void egressfirewall_learnt_expire(struct egressfirewall_learnt *learnt, uint64_t now_s);
/* Forgets all pairs of an object, which exists no longer. */
void egressfirewall_learnt_forget(struct egressfirewall_learnt *learnt, struct slice object);
/* All changes since the last time become a new version of the zone. False: there were none. */
bool egressfirewall_learnt_publish(struct egressfirewall_learnt *learnt, uint64_t now_s,
				   uint64_t wall_ns);

/* Copies for transfers: the whole zone, or what changed since a version (NULL: not known any
 * more, or larger than the zone). Both publish first. */
struct zone_copy *egressfirewall_learnt_copy(struct egressfirewall_learnt *learnt, uint64_t now_s,
					     uint64_t wall_ns);
struct zone_copy *egressfirewall_learnt_changes(struct egressfirewall_learnt *learnt,
						uint32_t serial, uint64_t now_s, uint64_t wall_ns);
uint32_t egressfirewall_learnt_serial(const struct egressfirewall_learnt *learnt);
struct egressfirewall_learnt_counts egressfirewall_learnt_counts(
	const struct egressfirewall_learnt *learnt);

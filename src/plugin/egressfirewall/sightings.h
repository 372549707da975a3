/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a worker to the control thread: names and addresses that the worker saw in answers. A worker
 * remembers what it has reported, so that an address that every answer confirms costs a read of a
 * table and nothing else; what is new goes into a ring. No lock, no allocation, no system call.
 *
 * Glossary
 *   sighting  a name that a rule covers, one of its addresses, and until when a client may use it
 *   turn      the time between two visits of the control thread, in which the share of a client in
 *             the ring is limited: one that asks for many names leaves room for others
 *
 * One worker puts, one control thread takes. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "dns/name.h"

struct egressfirewall_sightings;

enum {
	EGRESSFIREWALL_RING_BYTES = 64 * 1024,
	EGRESSFIREWALL_REPORT_S = 4, /* an address that lives so much longer is reported again */
};

struct egressfirewall_sighting {
	uint64_t mark; /* of name and address, for egressfirewall_sightings_refuse */
	uint64_t client;
	uint64_t expires_ns; /* monotonic */
	uint32_t ttl_s;
	uint8_t ip[16];
	uint8_t ip_n;					  /* 4 or 16 */
	uint8_t name[DNS_NAME_MAX], target[DNS_NAME_MAX]; /* lower case, wire form */
	bool has_target; /* the address belongs to the end of a CNAME chain */
};

struct egressfirewall_sightings *egressfirewall_sightings_new(void);
/* NULL is fine. */
void egressfirewall_sightings_free(struct egressfirewall_sightings *sightings);

/* ---- worker ---- */

/* A set is one line of the CPU's cache. With half of the ways, a few hundred names were enough for three in one set
 * now and then, each of which then was reported with every answer. */
enum { EGRESSFIREWALL_KNOWN_SETS = 4096, EGRESSFIREWALL_KNOWN_WAYS = 4 };

/* The beginning of the sightings: what was reported, as marks of a name and an address. */
struct egressfirewall_known {
	uint64_t mark;
	uint64_t expires_s; /* 0: an empty entry */
};
struct egressfirewall_known_table {
	struct egressfirewall_known v[EGRESSFIREWALL_KNOWN_SETS][EGRESSFIREWALL_KNOWN_WAYS];
	uint64_t key
		[2]; /* secret: nobody can choose a name whose marks hide those of another. Never changes */
	/* Marks of what was refused: how many there were, and how many of them the worker has heard of. */
	_Atomic uint32_t n_refused, n_heard;
};

static ALWAYS_INLINE uint64_t egressfirewall_mix(uint64_t value, uint64_t more, uint64_t odd)
{
	value = (value ^ more) * odd;
	return value ^ value >> 32;
}

/* Has the control thread refused something since the worker forgot what was refused? */
static ALWAYS_INLINE bool egressfirewall_sightings_has_refused(
	const struct egressfirewall_sightings *sightings)
{
	const struct egressfirewall_known_table *table = (const void *)sightings;
	return atomic_load_explicit(&table->n_refused, memory_order_acquire) !=
	       atomic_load_explicit(&table->n_heard, memory_order_relaxed);
}
/* Forgets that: it is not known, and the next answer reports it again. */
void egressfirewall_sightings_forget_refused(struct egressfirewall_sightings *sightings);

/* What the marks of a name's addresses are made of. Up to 8 bytes behind the name are read.
 * `rules` is the number of the matcher: with other rules everything is reported again. */
static ALWAYS_INLINE uint64_t
egressfirewall_sightings_seed(const struct egressfirewall_sightings *sightings,
			      const uint8_t *lower_name, size_t len, uint32_t rules)
{
	const struct egressfirewall_known_table *table = (const void *)sightings;
	uint64_t seed = table->key[0] + rules, word;
	for (; len >= 8; len -= 8, lower_name += 8) {
		memcpy(&word, lower_name, 8);
		seed = egressfirewall_mix(seed, word, table->key[1]);
	}
	memcpy(&word, lower_name, 8);
	return egressfirewall_mix(seed, word & ((UINT64_C(1) << 8 * len) - 1), table->key[1]);
}

static ALWAYS_INLINE uint64_t
egressfirewall_sightings_mark(const struct egressfirewall_sightings *sightings, uint64_t seed,
			      const uint8_t *ip, size_t ip_n)
{
	const struct egressfirewall_known_table *table = (const void *)sightings;
	uint64_t halves[2];
	if (LIKELY(ip_n == 4)) {
		uint32_t v4;
		memcpy(&v4, ip, 4);
		return egressfirewall_mix(seed, v4, table->key[1]);
	}
	memcpy(halves, ip, 16);
	return egressfirewall_mix(egressfirewall_mix(seed, halves[0], table->key[1]), halves[1],
				  table->key[1]);
}

/* Was it reported, to live until then? */
static ALWAYS_INLINE bool egressfirewall_sightings_has(
	const struct egressfirewall_sightings *sightings, uint64_t mark, uint64_t until_s)
{
	const struct egressfirewall_known_table *table = (const void *)sightings;
	const struct egressfirewall_known *set = table->v[mark & (EGRESSFIREWALL_KNOWN_SETS - 1)];
	for (unsigned i = 0; i < EGRESSFIREWALL_KNOWN_WAYS; i++) {
		if (set[i].mark == mark)
			return until_s <= set[i].expires_s + EGRESSFIREWALL_REPORT_S;
	}
	return false;
}

/* A sighting before it is copied anywhere. */
struct egressfirewall_answer {
	uint64_t seed;	       /* of the name */
	const uint8_t *name;   /* lower case */
	const uint8_t *target; /* or NULL */
	const uint8_t *ip;
	uint8_t ip_n;
	uint32_t ttl_s;
	uint64_t now_ns;
	uint64_t client;
};

enum egressfirewall_put {
	EGRESSFIREWALL_PUT_KNOWN,  /* reported before */
	EGRESSFIREWALL_PUT_QUEUED, /* reported now */
	EGRESSFIREWALL_PUT_FULL,   /* no room now; the next answer reports it */
};
enum egressfirewall_put egressfirewall_sightings_put(struct egressfirewall_sightings *sightings,
						     const struct egressfirewall_answer *answer);

/* ---- control thread ---- */

/* False: there is none. */
bool egressfirewall_sightings_take(struct egressfirewall_sightings *sightings,
				   struct egressfirewall_sighting *ret);
/* One that was taken is not kept. The worker forgets that it has reported it. */
void egressfirewall_sightings_refuse(struct egressfirewall_sightings *sightings, uint64_t mark);
/* A pair that was kept and is not any more. The same. */
struct egressfirewall_evicted_pair {
	const uint8_t *name; /* lower case */
	const uint8_t *ip;
	size_t ip_n;
	uint32_t rules; /* the number of the matcher */
};
void egressfirewall_sightings_forget(struct egressfirewall_sightings *sightings,
				     const struct egressfirewall_evicted_pair *pair);
/* The visit is over. */
void egressfirewall_sightings_end_turn(struct egressfirewall_sightings *sightings);

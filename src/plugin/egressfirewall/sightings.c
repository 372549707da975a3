/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of what a worker has reported, and its ring. The table forgets what is pushed out of it:
 * such an address is reported once more, which changes nothing. */
#include "plugin/egressfirewall/sightings.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"

enum {
	SHARES = 256, /* counters of clients, which share one where their hashes collide */
	SHARE_BYTES = EGRESSFIREWALL_RING_BYTES / 4,
	/* Marks that a worker has not heard of yet; where there are more it forgets all. One client can cause
	 * some hundreds in a turn, by names that are learnt and driven out again. */
	REFUSED = 4096,
};

/* In the ring; the names follow. */
struct head {
	uint64_t mark, client, expires_ns;
	uint32_t ttl_s;
	uint8_t ip[16];
	uint8_t ip_n, name_len, target_len; /* target_len 0: none */
};

struct egressfirewall_sightings {
	struct egressfirewall_known_table known; /* first: the header's functions look there */
	uint16_t share[SHARES];			 /* bytes that clients have put in this turn */
	uint32_t seen_turn;
	uint64_t seen_tail;
	/* Positions only grow. */
	CACHE_ALIGNED _Atomic uint64_t written;
	CACHE_ALIGNED _Atomic uint64_t taken;
	_Atomic uint32_t turn;
	uint64_t refused[REFUSED];
	_Atomic bool has_too_many; /* of them */
	uint8_t ring[EGRESSFIREWALL_RING_BYTES];
};

/* Pages of zeros from the system, which take no memory before they are used: most servers have few
 * names of rules. */
struct egressfirewall_sightings *egressfirewall_sightings_new(void)
{
	struct egressfirewall_sightings *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return NULL;
	rng_secure(s->known.key, sizeof(s->known.key));
	s->known.key[1] |= 1;
	return s;
}

void egressfirewall_sightings_free(struct egressfirewall_sightings *sightings)
{
	if (sightings != NULL)
		munmap(sightings, sizeof(*sightings));
}

/* ---- worker ---- */

static void ring_write(struct egressfirewall_sightings *sightings, uint64_t pos, const void *data,
		       size_t len)
{
	size_t at = pos % EGRESSFIREWALL_RING_BYTES;
	size_t first = MIN(len, EGRESSFIREWALL_RING_BYTES - at);
	memcpy(sightings->ring + at, data, first);
	memcpy(sightings->ring, (const uint8_t *)data + first, len - first);
}

/* May this client put so many bytes more in this turn? */
static bool take_share(struct egressfirewall_sightings *sightings, uint64_t client, size_t bytes)
{
	uint32_t turn = atomic_load_explicit(&sightings->turn, memory_order_relaxed);
	if (turn != sightings->seen_turn) {
		memset(sightings->share, 0, sizeof(sightings->share));
		sightings->seen_turn = turn;
	}
	uint16_t *share = &sightings->share[egressfirewall_mix(client, 0, sightings->known.key[1]) &
					    (SHARES - 1)];
	if (*share + bytes > SHARE_BYTES)
		return false;
	*share = (uint16_t)(*share + bytes);
	return true;
}

static bool put_record(struct egressfirewall_sightings *sightings,
		       const struct egressfirewall_answer *answer, uint64_t mark,
		       uint64_t expires_ns)
{
	struct head head = { .mark = mark,
			     .client = answer->client,
			     .expires_ns = expires_ns,
			     .ttl_s = answer->ttl_s,
			     .ip_n = answer->ip_n,
			     .name_len = (uint8_t)dns_name_len(answer->name) };
	memcpy(head.ip, answer->ip, answer->ip_n);
	if (answer->target != NULL)
		head.target_len = (uint8_t)dns_name_len(answer->target);
	size_t bytes = sizeof(head) + head.name_len + head.target_len;
	uint64_t pos = atomic_load_explicit(&sightings->written, memory_order_relaxed);
	if (pos + bytes - sightings->seen_tail > EGRESSFIREWALL_RING_BYTES)
		sightings->seen_tail =
			atomic_load_explicit(&sightings->taken, memory_order_acquire);
	if (pos + bytes - sightings->seen_tail > EGRESSFIREWALL_RING_BYTES ||
	    !take_share(sightings, answer->client, bytes))
		return false;
	ring_write(sightings, pos, &head, sizeof(head));
	ring_write(sightings, pos + sizeof(head), answer->name, head.name_len);
	if (answer->target != NULL)
		ring_write(sightings, pos + sizeof(head) + head.name_len, answer->target,
			   head.target_len);
	atomic_store_explicit(&sightings->written, pos + bytes, memory_order_release);
	return true;
}

/* The entry with the same mark, else the one that expires first. */
static struct egressfirewall_known *choose_entry(struct egressfirewall_known *set, uint64_t mark)
{
	struct egressfirewall_known *best = set;
	for (unsigned i = 0; i < EGRESSFIREWALL_KNOWN_WAYS && best->mark != mark; i++) {
		if (set[i].mark == mark || set[i].expires_s < best->expires_s)
			best = &set[i];
	}
	return best;
}

static NOINLINE enum egressfirewall_put report(struct egressfirewall_sightings *sightings,
					       const struct egressfirewall_answer *answer,
					       struct egressfirewall_known *set, uint64_t mark)
{
	struct egressfirewall_known *at = choose_entry(set, mark);
	uint64_t expires_ns = answer->now_ns + answer->ttl_s * NS_PER_S;
	if (!put_record(sightings, answer, mark, expires_ns))
		return EGRESSFIREWALL_PUT_FULL;
	*at = (struct egressfirewall_known){ .mark = mark, .expires_s = expires_ns / NS_PER_S };
	return EGRESSFIREWALL_PUT_QUEUED;
}

enum egressfirewall_put egressfirewall_sightings_put(struct egressfirewall_sightings *sightings,
						     const struct egressfirewall_answer *answer)
{
	uint64_t mark =
		egressfirewall_sightings_mark(sightings, answer->seed, answer->ip, answer->ip_n);
	if (egressfirewall_sightings_has(sightings, mark,
					 answer->now_ns / NS_PER_S + answer->ttl_s))
		return EGRESSFIREWALL_PUT_KNOWN;
	return report(sightings, answer, sightings->known.v[mark & (EGRESSFIREWALL_KNOWN_SETS - 1)],
		      mark);
}

static void forget_mark(struct egressfirewall_sightings *sightings, uint64_t mark)
{
	struct egressfirewall_known *set =
		sightings->known.v[mark & (EGRESSFIREWALL_KNOWN_SETS - 1)];
	for (int i = 0; i < EGRESSFIREWALL_KNOWN_WAYS; i++) {
		if (set[i].mark == mark)
			set[i] = (struct egressfirewall_known){ 0 };
	}
}

/* Sets without entries are not written: their pages take no memory. */
static void forget_all(struct egressfirewall_known_table *known)
{
	static const struct egressfirewall_known empty[EGRESSFIREWALL_KNOWN_WAYS];
	for (int i = 0; i < EGRESSFIREWALL_KNOWN_SETS; i++) {
		if (memcmp(known->v[i], empty, sizeof(empty)) != 0)
			memset(known->v[i], 0, sizeof(empty));
	}
}

void egressfirewall_sightings_forget_refused(struct egressfirewall_sightings *sightings)
{
	struct egressfirewall_known_table *known = &sightings->known;
	uint32_t at = atomic_load_explicit(&known->n_heard, memory_order_relaxed);
	uint32_t end = atomic_load_explicit(&known->n_refused, memory_order_acquire);
	for (; at != end; at++)
		forget_mark(sightings, sightings->refused[at % REFUSED]);
	atomic_store_explicit(&known->n_heard, end, memory_order_release);
	if (atomic_exchange_explicit(&sightings->has_too_many, false, memory_order_acq_rel))
		forget_all(known);
}

/* ---- control thread ---- */

void egressfirewall_sightings_refuse(struct egressfirewall_sightings *sightings, uint64_t mark)
{
	struct egressfirewall_known_table *known = &sightings->known;
	uint32_t at = atomic_load_explicit(&known->n_refused, memory_order_relaxed);
	if (at - atomic_load_explicit(&known->n_heard, memory_order_acquire) == REFUSED) {
		atomic_store_explicit(&sightings->has_too_many, true, memory_order_release);
		return;
	}
	sightings->refused[at % REFUSED] = mark;
	atomic_store_explicit(&known->n_refused, at + 1, memory_order_release);
}

void egressfirewall_sightings_forget(struct egressfirewall_sightings *sightings,
				     const struct egressfirewall_evicted_pair *pair)
{
	uint8_t name[DNS_NAME_MAX + 8] = { 0 }; /* a seed reads further than the name */
	size_t len = dns_name_len(pair->name);
	memcpy(name, pair->name, len);
	uint64_t seed = egressfirewall_sightings_seed(sightings, name, len, pair->rules);
	egressfirewall_sightings_refuse(
		sightings, egressfirewall_sightings_mark(sightings, seed, pair->ip, pair->ip_n));
}

static void ring_read(const struct egressfirewall_sightings *sightings, uint64_t pos, void *data,
		      size_t len)
{
	size_t at = pos % EGRESSFIREWALL_RING_BYTES;
	size_t first = MIN(len, EGRESSFIREWALL_RING_BYTES - at);
	memcpy(data, sightings->ring + at, first);
	memcpy((uint8_t *)data + first, sightings->ring, len - first);
}

bool egressfirewall_sightings_take(struct egressfirewall_sightings *sightings,
				   struct egressfirewall_sighting *ret)
{
	struct head head;
	uint64_t pos = atomic_load_explicit(&sightings->taken, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&sightings->written, memory_order_acquire);
	if (pos == end)
		return false;
	assert(end - pos >= sizeof(head));
	ring_read(sightings, pos, &head, sizeof(head));
	pos += sizeof(head);
	ret->mark = head.mark;
	ret->client = head.client;
	ret->expires_ns = head.expires_ns;
	ret->ttl_s = head.ttl_s;
	ret->ip_n = head.ip_n;
	memcpy(ret->ip, head.ip, sizeof(ret->ip));
	ring_read(sightings, pos, ret->name, head.name_len);
	pos += head.name_len;
	ret->has_target = head.target_len != 0;
	ring_read(sightings, pos, ret->target, head.target_len);
	pos += head.target_len;
	assert(pos <= end);
	atomic_store_explicit(&sightings->taken, pos, memory_order_release);
	return true;
}

void egressfirewall_sightings_end_turn(struct egressfirewall_sightings *sightings)
{
	atomic_fetch_add_explicit(&sightings->turn, 1, memory_order_relaxed);
}

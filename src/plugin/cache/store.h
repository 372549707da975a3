/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a cache: replies by question, shared by all workers.
 *
 * Readers take no lock: they run inside the worker's RCU read section, and what they get stays
 * valid until that section ends. They write nothing shared but an entry's own marks (visited,
 * hits). Writers take a shard's lock if it is free and give up if it is not: a reply that is not
 * stored is asked for again, which is better than to wait.
 *
 * Glossary
 *   kind     what an entry holds: success and denial are two caches with limits of their own; weak
 *            is a success that does not answer the question, kept apart only where asked for
 *   bucket   14 places for entries and a tag of one byte for each, so that a look-up touches one
 *            place and then the entry
 *   shard    a part of the buckets, with its writers' lock, memory and order of eviction */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "dns/resp.h"

struct store;

enum store_kind { STORE_SUCCESS, STORE_DENIAL, STORE_WEAK };
enum { STORE_KINDS = STORE_WEAK + 1 };
/* The two caches as they are limited and counted. */
enum store_half { STORE_HALF_SUCCESS, STORE_HALF_DENIAL };
enum { STORE_HALVES = STORE_HALF_DENIAL + 1 };

enum { STORE_DO = 1, STORE_CD = 2 };

/* In an entry's flags: other blocks had a part in it. A bit that every reply has set anyway, so
 * that nobody needs to clear it. */
enum { STORE_CHASED = DNS_FLAG_QR };

struct store_key {
	uint64_t hash;
	const uint8_t *name; /* lower-case; 8 bytes past its end may be read */
	uint8_t name_len;
	uint8_t bits; /* STORE_DO, STORE_CD */
	uint16_t qtype, qclass;
};

struct store_entry {
	uint64_t hash;
	uint64_t stored_ns;
	uint32_t ttl_s;
	uint32_t full_size; /* with all names written out */
	uint16_t qtype, qclass;
	uint16_t flags; /* AA, RA and AD as stored; QR: see STORE_CHASED */
	uint16_t tally; /* counts each time it is given: as query.tally */
	uint16_t count[DNS_SECTIONS];
	uint16_t n_ttl;
	uint16_t wire_len;
	uint8_t name_len;
	uint8_t bits;
	uint8_t kind;
	_Atomic uint8_t visited;
	_Atomic uint8_t refreshing;
	uint8_t rcode;		   /* others than those of the header are not kept */
	_Atomic uint32_t retry_ms; /* no refresh before this time, counted from stored_ns */
	_Atomic uint32_t note;	   /* dns_resp's */
	_Atomic uint64_t last_ns;  /* for prefetch: the last hit, and hits without a long gap */
	_Atomic uint32_t hits;
	uint32_t serial; /* distinguishes an entry from its successor */
	/* The shard's own: order of eviction, then a list of what is to be freed. */
	struct store_entry *newer, *older;
	/* Header, lower-case question and records; then, aligned to 2, where their TTLs stand. What
	 * is too long for the first cell goes on in others. */
	struct store_more *more;
	uint8_t data[];
};

_Static_assert(sizeof(struct store_entry) == 96, "a line and a half of the cell's three");

enum {
	STORE_CELL = 192, /* three cache lines: most replies need no second one */
	STORE_FIRST = STORE_CELL - sizeof(struct store_entry),
};

struct store_more {
	struct store_more *next;
	uint8_t data[STORE_CELL - sizeof(void *)];
};
enum { STORE_MORE = sizeof(((struct store_more *)0)->data) };

static inline size_t store_data_len(size_t wire_len, size_t n_ttl)
{
	return ((wire_len + 1) & ~(size_t)1) + n_ttl * 2;
}

/* What copying out may write: the message, and at least what a first cell holds. Never more than a
 * message can have, so that whatever was stored can be given. */
static inline size_t store_copy_room(const struct store_entry *entry)
{
	return entry->wire_len > STORE_FIRST ? entry->wire_len : STORE_FIRST;
}

/* Writes the TTL at the places in the message `out` that bytes [at, end) of the list name. */
static inline void store_set_ttls(const uint8_t *at, const uint8_t *end, uint32_t ttl_s,
				  uint8_t *out)
{
	for (; at < end; at += 2) {
		uint16_t off;
		memcpy(&off, at, 2);
		dns_put32(out + off, ttl_s);
	}
}

void store_copy_more(const struct store_entry *entry, uint32_t ttl_s, uint8_t *out);

/* Copies the message and sets its TTLs. */
static inline void store_copy(const struct store_entry *entry, uint32_t ttl_s, uint8_t *out)
{
	memcpy(out, entry->data, STORE_FIRST); /* a fixed number of bytes is copied faster */
	if (entry->more != NULL) {
		store_copy_more(entry, ttl_s, out);
		return;
	}
	const uint8_t *list = entry->data + store_data_len(entry->wire_len, 0);
	store_set_ttls(list, list + (size_t)entry->n_ttl * 2, ttl_s, out);
}

/* Seconds it is still good for; 0 and below: for how long it is not. */
static inline int64_t store_ttl(const struct store_entry *entry, uint64_t now_ns)
{
	return (int64_t)entry->ttl_s - (int64_t)((now_ns - entry->stored_ns) / 1000000000U);
}

struct store_conf {
	uint32_t capacity[STORE_HALVES]; /* entries; at least 1024 */
	size_t bytes;			 /* memory for entries */
	uint32_t stale_s; /* an entry may still be used for so long after it has expired */
};

/* Never NULL. */
struct store *store_new(const struct store_conf *conf);
/* When no worker uses it any more. Control threads only. */
void store_free(struct store *store);

uint64_t store_hash(const struct store *store, const struct store_key *key);
/* Loads the bucket into the CPU's cache. */
void store_cpu_prefetch_bucket(const struct store *store, uint64_t hash);
/* Loads the entry that the bucket seems to have; the bucket should be loaded by now. */
void store_cpu_prefetch_entry(const struct store *store, uint64_t hash);
/* The entries under the key, by kind; NULL where there is none. True when there is one. */
bool store_get(const struct store *store, const struct store_key *key,
	       struct store_entry *ret[STORE_KINDS]);

/* Something to be stored. `msg` is a whole message without OPT whose question is in lower case, at
 * the start of a buffer of STORE_BUFFER bytes: what is behind it is written to. */
enum {
	STORE_MESSAGE_MAX = 65535,
	STORE_RECORDS_MAX = STORE_MESSAGE_MAX / 11,
	STORE_BUFFER = STORE_MESSAGE_MAX + 1 + 2 * STORE_RECORDS_MAX,
};
struct store_value {
	enum store_kind kind;
	uint64_t now_ns;
	uint32_t ttl_s;
	uint32_t full_size;
	uint16_t flags, rcode;
	uint16_t tally;
	uint8_t *msg;
	size_t msg_len;
	/* Carried over from the entry that it replaces. */
	uint64_t last_ns;
	uint32_t hits;
	/* As store_epoch returned when the writer's configuration came into force. */
	uint32_t epoch;
};
/* What became of it. */
enum store_result { STORE_KEPT, STORE_KEPT_EVICTED, STORE_BUSY, STORE_REFUSED };
enum store_result store_put(struct store *store, const struct store_key *key,
			    const struct store_value *value);
/* Takes an entry out; false when the shard was busy. */
bool store_drop(struct store *store, const struct store_key *key, enum store_kind kind);

/* Another configuration comes into force: removes all entries that other blocks had a part in, and
 * those for whose (lower-case) name `is_gone` (NULL: none) returns true; and, from then on, refuses
 * what writers of an older configuration want to store. Control threads only. */
void store_flush(struct store *store, bool (*is_gone)(const void *ctx, const uint8_t *name),
		 const void *ctx);
uint32_t store_epoch(const struct store *store);

/* The number of entries now. Any thread. */
size_t store_count(const struct store *store, enum store_half half);

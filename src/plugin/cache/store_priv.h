/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The structs of the store, shared by store.c and store_shard.c: buckets, shards and their
 * memory. */
#pragma once

#include <pthread.h>

#include "base/rcu/rcu.h"
#include "plugin/cache/store.h"

enum {
	BUCKET_PLACES = 14,
	STORE_RUN = 32, /* cells that a shard takes from the region at once */
};

/* Two cache lines. Readers use the tags as a hint and compare the key. */
struct bucket {
	_Atomic uint64_t tags[2]; /* a byte per place, 0: free; the last two bytes are unused */
	_Atomic(struct store_entry *) at[BUCKET_PLACES];
};

struct sieve {
	struct store_entry *newest, *oldest;
	struct store_entry *hand; /* NULL: starts at the oldest */
};

struct shard {
	pthread_mutex_t lock; /* guards all below, and writing to the shard's buckets */
	struct bucket *bucket;
	uint32_t n_buckets;
	uint32_t serial;
	uint32_t capacity[STORE_HALVES];
	_Atomic uint32_t n_entries[STORE_HALVES]; /* also read without the lock */
	struct sieve sieve[STORE_HALVES];
	struct store *store;
	/* Memory, in cells. */
	size_t budget;
	size_t live;		/* of entries that can be found */
	_Atomic size_t n_taken; /* from the region; also read without the lock */
	struct store_more *free;
	size_t n_free;
	struct store_entry *limbo; /* removed, but readers may still use them */
	size_t limbo_n, limbo_cells;
	struct store_entry *grace; /* those whose readers are being waited for */
	bool waiting;
	bool closing; /* nothing is handed over any more */
	struct rcu_item rcu;
} CACHE_ALIGNED;

struct store {
	struct shard *shard;
	uint32_t n_shards; /* power of two */
	uint32_t stale_s;
	uint64_t seed[2];
	void *table;
	size_t table_bytes;
	uint8_t *cells;
	size_t n_cells;
	_Atomic size_t next_cell; /* those before it are the shards' */
	_Atomic uint32_t epoch;
	_Atomic bool has_chased; /* there was an entry of that kind since the last flush */
};

static inline enum store_half store_half_of(unsigned kind)
{
	return kind == STORE_DENIAL ? STORE_HALF_DENIAL : STORE_HALF_SUCCESS;
}

/* Cells of an entry with so many bytes and TTLs. */
static inline size_t store_cells(size_t wire_len, size_t n_ttl)
{
	size_t n = store_data_len(wire_len, n_ttl);
	if (n <= STORE_FIRST)
		return 1;
	return 1 + (n - STORE_FIRST + STORE_MORE - 1) / STORE_MORE;
}

struct bucket *store_bucket_of(const struct shard *sh, uint64_t hash);

/* Inside of the store: shards and their memory. */
#pragma once

#include <pthread.h>

#include "base/rcu.h"
#include "plugin/cache/store.h"

enum {
	BUCKET_PLACES = 14,
	ROOMS = 41, /* sizes of blocks: 128 bytes, then four for each doubling up to 128 KB */
};

/* Two cache lines. Readers take the tags for a hint and compare the key. */
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
	_Atomic uint32_t n[STORE_HALVES]; /* also read without the lock */
	struct sieve sieve[STORE_HALVES];
	size_t budget;
	size_t live;	      /* bytes of entries that can be found */
	_Atomic size_t taken; /* bytes of all blocks; also read without the lock */
	struct store_entry *free[ROOMS];
	struct store_entry *limbo; /* taken out, readers may still have them */
	size_t limbo_n, limbo_bytes;
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
	_Atomic uint32_t epoch;
};

static inline enum store_half store_half_of(unsigned kind)
{
	return kind == STORE_DENIAL ? STORE_HALF_DENIAL : STORE_HALF_SUCCESS;
}

/* store_shard.c; with the shard's lock held */
unsigned store_room(size_t n);
size_t store_room_bytes(unsigned room);
struct store_entry *store_take(struct shard *sh, unsigned room); /* NULL: no memory left */
void store_link(struct shard *sh, struct store_entry *e);
/* Out of its bucket, the order and the counts; freed when no reader can have it. */
void store_retire(struct shard *sh, struct bucket *b, struct store_entry *e);
/* One entry of the half makes room; false when it has none. */
bool store_evict(struct shard *sh, enum store_half half, uint64_t now_ns, uint32_t stale_s);
void store_hand_over(struct shard *sh);
void store_shard_done(struct shard *sh);
struct bucket *store_bucket_of(const struct shard *sh, uint64_t hash);

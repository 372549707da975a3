/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shard's memory and its order of eviction.
 *
 * Memory is one region cut into cells of equal size, so that any entry can have any other's place:
 * a full cache calls no allocator and does not fall to pieces. Shards take cells in runs from the
 * region's start, so that what is touched lies close together (in huge pages where it is much). An
 * entry that was taken out is handed to RCU together with others: a reader may still have it.
 *
 * Eviction is SIEVE (Zhang et al., NSDI 2024): new entries join at one end, a hand goes from the
 * old end towards them, passes entries that were visited since it last came by, and takes the first
 * that was not. Entries stay where they are, so a hit costs no more than setting a mark. */
#include "plugin/cache/store_shard.h"

#include <assert.h>
#include <string.h>

enum {
	LIMBO_MAX = 32,	 /* entries that wait before they are handed over */
	SWEEP_MAX = 128, /* steps of the hand for one entry: an insertion must not take long */
};

/* ---- memory ---- */

static bool refill_cells(struct shard *sh)
{
	struct store *store = sh->store;
	if (sh->n_taken + STORE_RUN > sh->budget)
		return false;
	size_t at = atomic_fetch_add_explicit(&store->next_cell, STORE_RUN, memory_order_relaxed);
	if (at + STORE_RUN > store->n_cells)
		return false;
	for (size_t i = STORE_RUN; i-- > 0;) {
		struct store_more *more =
			(struct store_more *)(void *)(store->cells + (at + i) * STORE_CELL);
		more->next = sh->free;
		sh->free = more;
	}
	sh->n_free += STORE_RUN;
	atomic_store_explicit(&sh->n_taken, sh->n_taken + STORE_RUN, memory_order_relaxed);
	return true;
}

static struct store_more *take_cell(struct shard *sh)
{
	struct store_more *more = sh->free;
	assert(more != NULL && sh->n_free > 0);
	sh->free = more->next;
	sh->n_free--;
	return more;
}

struct store_entry *store_take(struct shard *shard, size_t cells)
{
	while (shard->n_free < cells) {
		if (!refill_cells(shard))
			return NULL;
	}
	struct store_more *list = NULL;
	for (size_t i = 1; i < cells; i++) {
		struct store_more *more = take_cell(shard);
		more->next = list;
		list = more;
	}
	struct store_entry *entry = (struct store_entry *)(void *)take_cell(shard);
	entry->more = list;
	return entry;
}

static void free_cell(struct shard *shard, struct store_more *more)
{
	more->next = shard->free;
	shard->free = more;
	shard->n_free++;
}

static void free_entry_cells(struct shard *shard, struct store_entry *entry)
{
	while (entry != NULL) {
		struct store_entry *next = entry->older;
		for (struct store_more *more = entry->more; more != NULL;) {
			struct store_more *after = more->next;
			free_cell(shard, more);
			more = after;
		}
		free_cell(shard, (struct store_more *)(void *)entry);
		entry = next;
	}
}

static void after_grace(struct rcu_item *item)
{
	struct shard *shard = CONTAINER_OF(item, struct shard, rcu);
	pthread_mutex_lock(&shard->lock);
	assert(shard->waiting);
	free_entry_cells(shard, shard->grace);
	shard->grace = NULL;
	shard->waiting = false;
	if (shard->limbo_n >= LIMBO_MAX)
		store_hand_over(shard);
	pthread_mutex_unlock(&shard->lock);
}

void store_hand_over(struct shard *sh)
{
	if (sh->waiting || sh->closing || sh->limbo == NULL)
		return;
	assert(sh->grace == NULL);
	sh->grace = sh->limbo;
	sh->limbo = NULL;
	sh->limbo_n = sh->limbo_cells = 0;
	sh->waiting = true;
	rcu_defer(&sh->rcu, after_grace);
}

/* ---- order ---- */

void store_link(struct shard *shard, struct store_entry *entry)
{
	enum store_half half = store_half_of(entry->kind);
	struct sieve *sieve = &shard->sieve[half];
	entry->newer = NULL;
	entry->older = sieve->newest;
	if (sieve->newest != NULL)
		sieve->newest->newer = entry;
	else
		sieve->oldest = entry;
	sieve->newest = entry;
	shard->live += store_cells(entry->wire_len, entry->n_ttl);
	atomic_store_explicit(&shard->n_entries[half], shard->n_entries[half] + 1,
			      memory_order_relaxed);
}

static void unlink_entry(struct shard *shard, struct store_entry *entry)
{
	enum store_half half = store_half_of(entry->kind);
	struct sieve *sieve = &shard->sieve[half];
	if (sieve->hand == entry)
		sieve->hand = entry->newer;
	if (entry->newer != NULL)
		entry->newer->older = entry->older;
	else
		sieve->newest = entry->older;
	if (entry->older != NULL)
		entry->older->newer = entry->newer;
	else
		sieve->oldest = entry->newer;
	size_t cells = store_cells(entry->wire_len, entry->n_ttl);
	assert(shard->n_entries[half] > 0 && shard->live >= cells);
	shard->live -= cells;
	atomic_store_explicit(&shard->n_entries[half], shard->n_entries[half] - 1,
			      memory_order_relaxed);
}

static void clear_place(struct bucket *bucket, unsigned index)
{
	uint64_t tags = atomic_load_explicit(&bucket->tags[index / 8], memory_order_relaxed);
	tags &= ~(UINT64_C(0xff) << (index % 8 * 8));
	atomic_store_explicit(&bucket->tags[index / 8], tags, memory_order_relaxed);
	atomic_store_explicit(&bucket->at[index], NULL, memory_order_relaxed);
}

void store_retire(struct shard *shard, struct bucket *bucket, struct store_entry *entry)
{
	unsigned place = 0;
	while (place < BUCKET_PLACES &&
	       atomic_load_explicit(&bucket->at[place], memory_order_relaxed) != entry)
		place++;
	assert(place < BUCKET_PLACES);
	clear_place(bucket, place);
	unlink_entry(shard, entry);
	entry->older = shard->limbo;
	shard->limbo = entry;
	shard->limbo_n++;
	shard->limbo_cells += store_cells(entry->wire_len, entry->n_ttl);
	if (shard->limbo_n >= LIMBO_MAX || shard->limbo_cells > shard->budget / 32)
		store_hand_over(shard);
}

static bool is_spared(struct store_entry *entry, uint64_t now_ns, uint32_t stale_s)
{
	if (store_ttl(entry, now_ns) + (int64_t)stale_s <= 0)
		return false; /* of no use any more, however popular it was */
	if (!atomic_load_explicit(&entry->visited, memory_order_relaxed))
		return false;
	atomic_store_explicit(&entry->visited, 0, memory_order_relaxed);
	return true;
}

bool store_evict(struct shard *shard, enum store_half half, uint64_t now_ns)
{
	struct sieve *sieve = &shard->sieve[half];
	struct store_entry *entry = sieve->hand != NULL ? sieve->hand : sieve->oldest;
	if (entry == NULL)
		return false;
	for (int i = 0; i < SWEEP_MAX && is_spared(entry, now_ns, shard->store->stale_s); i++)
		entry = entry->newer != NULL ? entry->newer : sieve->oldest;
	sieve->hand = entry->newer;
	store_retire(shard, store_bucket_of(shard, entry->hash), entry);
	return true;
}

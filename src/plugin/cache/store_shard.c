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
	struct store *s = sh->store;
	if (sh->n_taken + STORE_RUN > sh->budget)
		return false;
	size_t at = atomic_fetch_add_explicit(&s->next_cell, STORE_RUN, memory_order_relaxed);
	if (at + STORE_RUN > s->n_cells)
		return false;
	for (size_t i = STORE_RUN; i-- > 0;) {
		struct store_more *m =
			(struct store_more *)(void *)(s->cells + (at + i) * STORE_CELL);
		m->next = sh->free;
		sh->free = m;
	}
	sh->n_free += STORE_RUN;
	atomic_store_explicit(&sh->n_taken, sh->n_taken + STORE_RUN, memory_order_relaxed);
	return true;
}

static struct store_more *take_cell(struct shard *sh)
{
	struct store_more *m = sh->free;
	assert(m != NULL && sh->n_free > 0);
	sh->free = m->next;
	sh->n_free--;
	return m;
}

struct store_entry *store_take(struct shard *sh, size_t cells)
{
	while (sh->n_free < cells) {
		if (!refill_cells(sh))
			return NULL;
	}
	struct store_more *list = NULL;
	for (size_t i = 1; i < cells; i++) {
		struct store_more *m = take_cell(sh);
		m->next = list;
		list = m;
	}
	struct store_entry *e = (struct store_entry *)(void *)take_cell(sh);
	e->more = list;
	return e;
}

static void free_cell(struct shard *sh, struct store_more *more)
{
	more->next = sh->free;
	sh->free = more;
	sh->n_free++;
}

static void free_entry_cells(struct shard *sh, struct store_entry *entry)
{
	while (entry != NULL) {
		struct store_entry *next = entry->older;
		for (struct store_more *m = entry->more; m != NULL;) {
			struct store_more *after = m->next;
			free_cell(sh, m);
			m = after;
		}
		free_cell(sh, (struct store_more *)(void *)entry);
		entry = next;
	}
}

static void after_grace(struct rcu_item *item)
{
	struct shard *sh = CONTAINER_OF(item, struct shard, rcu);
	pthread_mutex_lock(&sh->lock);
	assert(sh->waiting);
	free_entry_cells(sh, sh->grace);
	sh->grace = NULL;
	sh->waiting = false;
	if (sh->limbo_n >= LIMBO_MAX)
		store_hand_over(sh);
	pthread_mutex_unlock(&sh->lock);
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

void store_link(struct shard *sh, struct store_entry *entry)
{
	enum store_half half = store_half_of(entry->kind);
	struct sieve *v = &sh->sieve[half];
	entry->newer = NULL;
	entry->older = v->newest;
	if (v->newest != NULL)
		v->newest->newer = entry;
	else
		v->oldest = entry;
	v->newest = entry;
	sh->live += store_cells(entry->wire_len, entry->n_ttl);
	atomic_store_explicit(&sh->n_entries[half], sh->n_entries[half] + 1, memory_order_relaxed);
}

static void unlink_entry(struct shard *sh, struct store_entry *entry)
{
	enum store_half half = store_half_of(entry->kind);
	struct sieve *v = &sh->sieve[half];
	if (v->hand == entry)
		v->hand = entry->newer;
	if (entry->newer != NULL)
		entry->newer->older = entry->older;
	else
		v->newest = entry->older;
	if (entry->older != NULL)
		entry->older->newer = entry->newer;
	else
		v->oldest = entry->newer;
	size_t cells = store_cells(entry->wire_len, entry->n_ttl);
	assert(sh->n_entries[half] > 0 && sh->live >= cells);
	sh->live -= cells;
	atomic_store_explicit(&sh->n_entries[half], sh->n_entries[half] - 1, memory_order_relaxed);
}

static void clear_place(struct bucket *bucket, unsigned index)
{
	uint64_t tags = atomic_load_explicit(&bucket->tags[index / 8], memory_order_relaxed);
	tags &= ~(UINT64_C(0xff) << (index % 8 * 8));
	atomic_store_explicit(&bucket->tags[index / 8], tags, memory_order_relaxed);
	atomic_store_explicit(&bucket->at[index], NULL, memory_order_relaxed);
}

void store_retire(struct shard *sh, struct bucket *bucket, struct store_entry *entry)
{
	unsigned place = 0;
	while (place < BUCKET_PLACES &&
	       atomic_load_explicit(&bucket->at[place], memory_order_relaxed) != entry)
		place++;
	assert(place < BUCKET_PLACES);
	clear_place(bucket, place);
	unlink_entry(sh, entry);
	entry->older = sh->limbo;
	sh->limbo = entry;
	sh->limbo_n++;
	sh->limbo_cells += store_cells(entry->wire_len, entry->n_ttl);
	if (sh->limbo_n >= LIMBO_MAX || sh->limbo_cells > sh->budget / 32)
		store_hand_over(sh);
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

bool store_evict(struct shard *sh, enum store_half half, uint64_t now_ns)
{
	struct sieve *v = &sh->sieve[half];
	struct store_entry *e = v->hand != NULL ? v->hand : v->oldest;
	if (e == NULL)
		return false;
	for (int i = 0; i < SWEEP_MAX && is_spared(e, now_ns, sh->store->stale_s); i++)
		e = e->newer != NULL ? e->newer : v->oldest;
	v->hand = e->newer;
	store_retire(sh, store_bucket_of(sh, e->hash), e);
	return true;
}

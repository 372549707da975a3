/* A shard's memory and its order of eviction.
 *
 * Blocks come in sizes and go back to a list of their size, so that a full cache calls no
 * allocator; when another size is wanted and the budget is spent, blocks that lie idle are given up
 * for it. An entry that was taken out is handed to RCU together with others: a reader may still
 * have it.
 *
 * Eviction is SIEVE (Zhang et al., NSDI 2024): new entries join at one end, a hand goes from the
 * old end towards them, passes entries that were visited since it last came by, and takes the first
 * that was not. Entries stay where they are, so a hit costs no more than setting a mark. */
#include <stdlib.h>

#include "plugin/cache/store_priv.h"

enum {
	ROOM_MIN = 128,
	ROOM_MIN_BITS = 7,
	LIMBO_MAX = 32,	 /* entries that wait before they are handed over */
	SWEEP_MAX = 128, /* steps of the hand for one entry: an insertion must not take long */
};

unsigned store_room(size_t n)
{
	if (n <= ROOM_MIN)
		return 0;
	unsigned bits = 63U - (unsigned)__builtin_clzll(n - 1);
	size_t step = (size_t)1 << (bits - 2);
	return (bits - ROOM_MIN_BITS) * 4 + (unsigned)((n - 4 * step + step - 1) / step);
}

size_t store_room_bytes(unsigned room)
{
	if (room == 0)
		return ROOM_MIN;
	size_t step = (size_t)ROOM_MIN / 4 << (room - 1) / 4;
	return 4 * step + ((room - 1) % 4 + 1) * step;
}

static void add_taken(struct shard *sh, size_t n)
{
	atomic_store_explicit(&sh->taken,
			      atomic_load_explicit(&sh->taken, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Gives idle blocks of other sizes up until `want` bytes are within the budget. */
static bool trim(struct shard *sh, size_t want)
{
	for (unsigned room = ROOMS; room-- > 0;) {
		while (sh->free[room] != NULL) {
			if (sh->taken + want <= sh->budget)
				return true;
			struct store_entry *e = sh->free[room];
			sh->free[room] = e->older;
			add_taken(sh, (size_t)0 - store_room_bytes(room));
			free(e);
		}
	}
	return sh->taken + want <= sh->budget;
}

struct store_entry *store_take(struct shard *sh, unsigned room)
{
	struct store_entry *e = sh->free[room];
	if (e != NULL) {
		sh->free[room] = e->older;
		return e;
	}
	size_t n = store_room_bytes(room);
	if (!trim(sh, n))
		return NULL;
	e = malloc(n);
	if (e != NULL)
		add_taken(sh, n);
	return e;
}

static void give_back(struct shard *sh, struct store_entry *list)
{
	while (list != NULL) {
		struct store_entry *next = list->older;
		list->older = sh->free[list->room];
		sh->free[list->room] = list;
		list = next;
	}
}

static void after_grace(struct rcu_item *item)
{
	struct shard *sh = CONTAINER_OF(item, struct shard, rcu);
	pthread_mutex_lock(&sh->lock);
	give_back(sh, sh->grace);
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
	sh->grace = sh->limbo;
	sh->limbo = NULL;
	sh->limbo_n = sh->limbo_bytes = 0;
	sh->waiting = true;
	rcu_defer(&sh->rcu, after_grace);
}

void store_link(struct shard *sh, struct store_entry *e)
{
	enum store_half half = store_half_of(e->kind);
	struct sieve *v = &sh->sieve[half];
	e->newer = NULL;
	e->older = v->newest;
	if (v->newest != NULL)
		v->newest->newer = e;
	else
		v->oldest = e;
	v->newest = e;
	sh->live += store_room_bytes(e->room);
	atomic_store_explicit(&sh->n[half], sh->n[half] + 1, memory_order_relaxed);
}

static void unlink_entry(struct shard *sh, struct store_entry *e)
{
	enum store_half half = store_half_of(e->kind);
	struct sieve *v = &sh->sieve[half];
	if (v->hand == e)
		v->hand = e->newer;
	if (e->newer != NULL)
		e->newer->older = e->older;
	else
		v->newest = e->older;
	if (e->older != NULL)
		e->older->newer = e->newer;
	else
		v->oldest = e->newer;
	sh->live -= store_room_bytes(e->room);
	atomic_store_explicit(&sh->n[half], sh->n[half] - 1, memory_order_relaxed);
}

static void clear_place(struct bucket *b, unsigned i)
{
	uint64_t tags = atomic_load_explicit(&b->tags[i / 8], memory_order_relaxed);
	tags &= ~(UINT64_C(0xff) << (i % 8 * 8));
	atomic_store_explicit(&b->tags[i / 8], tags, memory_order_relaxed);
	atomic_store_explicit(&b->at[i], NULL, memory_order_relaxed);
}

void store_retire(struct shard *sh, struct bucket *b, struct store_entry *e)
{
	for (unsigned i = 0; i < BUCKET_PLACES; i++) {
		if (atomic_load_explicit(&b->at[i], memory_order_relaxed) == e)
			clear_place(b, i);
	}
	unlink_entry(sh, e);
	e->older = sh->limbo;
	sh->limbo = e;
	sh->limbo_n++;
	sh->limbo_bytes += store_room_bytes(e->room);
	if (sh->limbo_n >= LIMBO_MAX || sh->limbo_bytes > sh->budget / 32)
		store_hand_over(sh);
}

static bool spared(struct store_entry *e, uint64_t now_ns, uint32_t stale_s)
{
	if (store_ttl(e, now_ns) + (int64_t)stale_s <= 0)
		return false; /* of no use any more, however popular it was */
	if (!atomic_load_explicit(&e->visited, memory_order_relaxed))
		return false;
	atomic_store_explicit(&e->visited, 0, memory_order_relaxed);
	return true;
}

bool store_evict(struct shard *sh, enum store_half half, uint64_t now_ns, uint32_t stale_s)
{
	struct sieve *v = &sh->sieve[half];
	struct store_entry *e = v->hand != NULL ? v->hand : v->oldest;
	if (e == NULL)
		return false;
	for (int i = 0; i < SWEEP_MAX && spared(e, now_ns, stale_s); i++)
		e = e->newer != NULL ? e->newer : v->oldest;
	v->hand = e->newer;
	store_retire(sh, store_bucket_of(sh, e->hash), e);
	return true;
}

static void free_list(struct store_entry *e)
{
	while (e != NULL) {
		struct store_entry *next = e->older;
		free(e);
		e = next;
	}
}

void store_shard_done(struct shard *sh)
{
	for (int i = 0; i < STORE_HALVES; i++)
		free_list(sh->sieve[i].newest);
	for (unsigned i = 0; i < ROOMS; i++)
		free_list(sh->free[i]);
	free_list(sh->limbo);
	free_list(sh->grace);
	pthread_mutex_destroy(&sh->lock);
}

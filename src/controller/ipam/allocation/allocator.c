/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Free addresses of pools as sets of ranges, reservations of claims, and the claims that wait. */
#include "controller/ipam/allocation/allocator.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/ipam/allocation/pool_spec.h"

/* What a claim has in one pool, never in two: a reserved address, or its place among those that wait. */
struct turn {
	struct pool *pool;
	char *claim;
	int64_t created_s;
	bool reserved; /* `number` is; else it waits */
	net_ip_number number;
};

enum { WAKE_MAX = 32 }; /* at once; each address that is then taken wakes the next ones */

struct pool {
	char *key;
	sa_family_t family;
	/* free = usable - addresses of objects - reserved ones */
	struct net_ip_ranges usable, free;
	struct map reserved;	    /* number -> struct turn */
	VEC(struct turn *) waiting; /* oldest first */
};

struct ipam_allocator {
	pthread_mutex_t lock; /* guards all below */
	struct map pools;     /* key -> struct pool */
	struct map turns;     /* claim -> struct turn, which this map owns */
	struct ipam_used used;
};

/* ---- numbers ---- */

static struct slice number_key(const net_ip_number *number)
{
	return (struct slice){ (const char *)number, sizeof(*number) };
}

static struct net_ip_range single(net_ip_number number)
{
	return (struct net_ip_range){ number, number };
}

/* ---- turns ---- */

static struct turn *find_turn(const struct ipam_allocator *allocator, const char *claim)
{
	return map_get(&allocator->turns, slice_of(claim));
}

static struct turn *add_turn(struct ipam_allocator *allocator, struct pool *pool, const char *claim,
			     int64_t created_s)
{
	struct turn *turn = xcalloc(1, sizeof(*turn));
	assert(find_turn(allocator, claim) == NULL);
	*turn = (struct turn){ .pool = pool, .claim = xstrdup(claim), .created_s = created_s };
	map_set(&allocator->turns, slice_of(turn->claim), turn);
	return turn;
}

/* It must be linked to its pool no more. */
static void free_turn(struct ipam_allocator *allocator, struct turn *turn)
{
	map_del(&allocator->turns, slice_of(turn->claim));
	free(turn->claim);
	free(turn);
}

/* ---- waiting claims ---- */

static int compare_ages(const struct turn *left, const struct turn *right)
{
	if (left->created_s != right->created_s)
		return left->created_s < right->created_s ? -1 : 1;
	return strcmp(left->claim, right->claim);
}

static int compare_places(const void *left, const void *right)
{
	return compare_ages(*(struct turn *const *)left, *(struct turn *const *)right);
}

/* The place among those that wait, or the one where it belongs. */
static size_t find_place(const struct pool *pool, const struct turn *turn)
{
	size_t low = 0, high = pool->waiting.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_ages(pool->waiting.v[middle], turn);
		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert_waiting(struct pool *pool, size_t at, struct turn *turn)
{
	vec_push(&pool->waiting, turn);
	memmove(&pool->waiting.v[at + 1], &pool->waiting.v[at],
		(pool->waiting.n - 1 - at) * sizeof(pool->waiting.v[0]));
	pool->waiting.v[at] = turn;
}

static void remove_waiting(struct pool *pool, size_t at)
{
	pool->waiting.n--;
	memmove(&pool->waiting.v[at], &pool->waiting.v[at + 1],
		(pool->waiting.n - at) * sizeof(pool->waiting.v[0]));
}

/* The oldest, as many as there are free addresses. */
static void wake_waiting(const struct ipam_allocator *allocator, void *ctx, const struct pool *pool)
{
	int64_t most = MIN(net_ip_ranges_count(&pool->free), (int64_t)WAKE_MAX);
	for (size_t i = 0; i < pool->waiting.n && (int64_t)i < most; i++)
		allocator->used.wake(ctx, pool->waiting.v[i]->claim);
}

/* ---- reservations ---- */

static void reserve(struct turn *turn, net_ip_number number)
{
	struct pool *pool = turn->pool;
	assert(net_ip_ranges_has(&pool->free, number));
	assert(!map_has(&pool->reserved, number_key(&number)));
	turn->reserved = true;
	turn->number = number;
	net_ip_ranges_remove(&pool->free, single(number));
	map_set(&pool->reserved, number_key(&number), turn);
}

/* ---- pools ---- */

static struct pool *pool_new(const char *key)
{
	struct pool *pool = xcalloc(1, sizeof(*pool));
	pool->key = xstrdup(key);
	map_init(&pool->reserved);
	return pool;
}

/* With all its turns. */
static void pool_free(struct ipam_allocator *allocator, struct pool *pool)
{
	size_t pos = 0;
	const struct map_entry *entry;
	if (pool == NULL)
		return;
	while ((entry = map_next(&pool->reserved, &pos)) != NULL)
		free_turn(allocator, entry->value);
	map_done(&pool->reserved);
	for (size_t i = 0; i < pool->waiting.n; i++)
		free_turn(allocator, pool->waiting.v[i]);
	vec_done(&pool->waiting);
	net_ip_ranges_done(&pool->usable);
	net_ip_ranges_done(&pool->free);
	free(pool->key);
	free(pool);
}

/* Whether the address is free now, from what the objects and the reservations say. */
static void settle_number(const struct ipam_allocator *allocator, void *ctx, struct pool *pool,
			  net_ip_number number)
{
	bool is_free = net_ip_ranges_has(&pool->usable, number) &&
		       !map_has(&pool->reserved, number_key(&number)) &&
		       !allocator->used.has(ctx, pool->key, number);
	if (is_free)
		net_ip_ranges_add(&pool->free, single(number));
	else
		net_ip_ranges_remove(&pool->free, single(number));
}

static bool add_range(void *ctx, struct net_ip_range range)
{
	net_ip_ranges_add(ctx, range);
	return true;
}

static void remove_number(void *ctx, net_ip_number number)
{
	net_ip_ranges_remove(ctx, single(number));
}

static void rebuild_free(const struct ipam_allocator *allocator, void *ctx, struct pool *pool)
{
	size_t pos = 0;
	const struct map_entry *entry;
	net_ip_ranges_done(&pool->free);
	net_ip_ranges_each(&pool->usable, add_range, &pool->free);
	allocator->used.each(ctx, pool->key, remove_number, &pool->free);
	while ((entry = map_next(&pool->reserved, &pos)) != NULL)
		remove_number(&pool->free, ((const struct turn *)entry->value)->number);
}

/* Takes the claim's turn from it, and serves the others of the pool. */
static void drop_turn(struct ipam_allocator *allocator, void *ctx, struct turn *turn)
{
	struct pool *pool = turn->pool;
	if (turn->reserved) {
		map_del(&pool->reserved, number_key(&turn->number));
		settle_number(allocator, ctx, pool, turn->number);
	} else {
		size_t at = find_place(pool, turn);
		assert(pool->waiting.v[at] == turn);
		remove_waiting(pool, at);
	}
	free_turn(allocator, turn);
	wake_waiting(allocator, ctx, pool);
}

/* ---- pools with common addresses ---- */

/* *ret has the lowest addresses that both have. */
static bool have_common(const struct pool *pool, const struct pool *other, struct net_ip_range *ret)
{
	return other != pool && other->family == pool->family &&
	       net_ip_ranges_common(&pool->usable, &other->usable, ret);
}

/* Reports each pool that has addresses of this one, as it is before or after a change. */
static void report_overlaps(const struct ipam_allocator *allocator, void *ctx,
			    const struct pool *pool)
{
	size_t pos = 0;
	const struct map_entry *entry;
	struct net_ip_range common;
	while ((entry = map_next(&allocator->pools, &pos)) != NULL) {
		if (have_common(pool, entry->value, &common))
			allocator->used.overlap(ctx, entry->key);
	}
}

void ipam_allocator_each_overlap(struct ipam_allocator *allocator, const char *pool,
				 ipam_overlap_fn fn, void *arg)
{
	size_t pos = 0;
	const struct map_entry *entry;
	struct net_ip_range common;
	pthread_mutex_lock(&allocator->lock);
	const struct pool *own = map_get(&allocator->pools, slice_of(pool));
	while (own != NULL && (entry = map_next(&allocator->pools, &pos)) != NULL) {
		if (have_common(own, entry->value, &common))
			fn(arg, entry->key, net_ip_from_number(own->family, common.first));
	}
	pthread_mutex_unlock(&allocator->lock);
}

struct ipam_allocator *ipam_allocator_new(const struct ipam_used *used)
{
	struct ipam_allocator *allocator = xcalloc(1, sizeof(*allocator));
	pthread_mutex_init(&allocator->lock, NULL);
	map_init(&allocator->pools);
	map_init(&allocator->turns);
	allocator->used = *used;
	return allocator;
}

void ipam_allocator_free(struct ipam_allocator *allocator)
{
	size_t pos = 0;
	const struct map_entry *entry;
	if (allocator == NULL)
		return;
	while ((entry = map_next(&allocator->pools, &pos)) != NULL)
		pool_free(allocator, entry->value);
	assert(allocator->turns.n == 0);
	map_done(&allocator->pools);
	map_done(&allocator->turns);
	pthread_mutex_destroy(&allocator->lock);
	free(allocator);
}

void ipam_allocator_set_pool(struct ipam_allocator *allocator, void *ctx, const char *pool,
			     const struct ipam_pool_spec *spec)
{
	pthread_mutex_lock(&allocator->lock);
	struct pool *own = map_get(&allocator->pools, slice_of(pool));
	if (own == NULL) {
		own = pool_new(pool);
		map_set(&allocator->pools, slice_of(pool), own);
	}
	report_overlaps(allocator, ctx, own);
	net_ip_ranges_done(&own->usable);
	net_ip_ranges_each(&spec->usable, add_range, &own->usable);
	own->family = spec->family;
	report_overlaps(allocator, ctx, own);
	rebuild_free(allocator, ctx, own);
	wake_waiting(allocator, ctx, own);
	pthread_mutex_unlock(&allocator->lock);
}

struct entering {
	struct ipam_allocator *allocator;
	void *ctx;
	struct pool *pool;
	int64_t n; /* claims that need an address */
};

static void count_open(void *arg, const char *claim, int64_t created_s)
{
	struct entering *entering = arg;
	struct turn *turn = find_turn(entering->allocator, claim);
	(void)created_s;
	if (turn != NULL && turn->pool != entering->pool) {
		drop_turn(entering->allocator, entering->ctx, turn);
		turn = NULL;
	}
	entering->n += turn == NULL || !turn->reserved;
}

/* At the end, wherever it belongs. */
static void enter_open(void *arg, const char *claim, int64_t created_s)
{
	struct entering *entering = arg;
	if (find_turn(entering->allocator, claim) == NULL)
		vec_push(&entering->pool->waiting,
			 add_turn(entering->allocator, entering->pool, claim, created_s));
}

void ipam_allocator_enter_claims(struct ipam_allocator *allocator, void *ctx, const char *pool)
{
	pthread_mutex_lock(&allocator->lock);
	struct entering entering = { allocator, ctx, map_get(&allocator->pools, slice_of(pool)),
				     0 };
	struct pool *own = entering.pool;
	if (own != NULL)
		allocator->used.each_open(ctx, pool, count_open, &entering);
	if (own != NULL && entering.n > net_ip_ranges_count(&own->free)) {
		allocator->used.each_open(ctx, pool, enter_open, &entering);
		if (own->waiting.n > 0)
			qsort(own->waiting.v, own->waiting.n, sizeof(own->waiting.v[0]),
			      compare_places);
		wake_waiting(allocator, ctx, own);
	}
	pthread_mutex_unlock(&allocator->lock);
}

void ipam_allocator_drop_pool(struct ipam_allocator *allocator, void *ctx, const char *pool)
{
	pthread_mutex_lock(&allocator->lock);
	struct pool *own = map_del(&allocator->pools, slice_of(pool));
	if (own != NULL)
		report_overlaps(allocator, ctx, own);
	pool_free(allocator, own);
	pthread_mutex_unlock(&allocator->lock);
}

void ipam_allocator_note(struct ipam_allocator *allocator, void *ctx, const char *pool,
			 net_ip_number number)
{
	pthread_mutex_lock(&allocator->lock);
	struct pool *own = map_get(&allocator->pools, slice_of(pool));
	if (own != NULL) {
		settle_number(allocator, ctx, own, number);
		wake_waiting(allocator, ctx, own);
	}
	pthread_mutex_unlock(&allocator->lock);
}

/* ---- claims ---- */

/* A claim may take an address if there is one for it and for each older claim that waits. */
static enum ipam_take take_in_turn(struct pool *pool, struct turn *turn, bool waits,
				   net_ip_number *ret)
{
	size_t at = find_place(pool, turn);
	if ((int64_t)at >= net_ip_ranges_count(&pool->free) ||
	    !net_ip_ranges_lowest(&pool->free, ret)) {
		if (!waits)
			insert_waiting(pool, at, turn);
		return IPAM_EXHAUSTED;
	}
	if (waits)
		remove_waiting(pool, at);
	reserve(turn, *ret);
	return IPAM_TAKEN;
}

static enum ipam_take take_address(struct ipam_allocator *allocator, struct pool *pool,
				   const char *claim, int64_t created_s, net_ip_number *ret)
{
	struct turn *turn = find_turn(allocator, claim);
	bool waits = turn != NULL;
	if (turn != NULL && turn->reserved) {
		*ret = turn->number;
		return IPAM_TAKEN;
	}
	if (turn == NULL)
		turn = add_turn(allocator, pool, claim, created_s);
	return take_in_turn(pool, turn, waits, ret);
}

/* A claim that was deleted and made anew has its turn in its own pool, by its own age. */
static bool is_of_predecessor(const struct turn *turn, const struct pool *pool, int64_t created_s)
{
	return turn->pool != pool || (!turn->reserved && turn->created_s != created_s);
}

enum ipam_take ipam_allocator_take(struct ipam_allocator *allocator, void *ctx, const char *pool,
				   const char *claim, int64_t created_s, net_ip_number *ret)
{
	enum ipam_take result = IPAM_NO_POOL;
	net_ip_number number = 0;
	pthread_mutex_lock(&allocator->lock);
	struct pool *own = map_get(&allocator->pools, slice_of(pool));
	struct turn *turn = find_turn(allocator, claim);
	if (turn != NULL && is_of_predecessor(turn, own, created_s))
		drop_turn(allocator, ctx, turn);
	if (own != NULL)
		result = take_address(allocator, own, claim, created_s, &number);
	pthread_mutex_unlock(&allocator->lock);
	if (result == IPAM_TAKEN)
		*ret = number;
	return result;
}

void ipam_allocator_leave_others(struct ipam_allocator *allocator, void *ctx, const char *pool,
				 const char *claim)
{
	pthread_mutex_lock(&allocator->lock);
	struct turn *turn = find_turn(allocator, claim);
	if (turn != NULL && strcmp(turn->pool->key, pool) != 0)
		drop_turn(allocator, ctx, turn);
	pthread_mutex_unlock(&allocator->lock);
}

void ipam_allocator_forget(struct ipam_allocator *allocator, void *ctx, const char *claim)
{
	pthread_mutex_lock(&allocator->lock);
	struct turn *turn = find_turn(allocator, claim);
	if (turn != NULL)
		drop_turn(allocator, ctx, turn);
	pthread_mutex_unlock(&allocator->lock);
}

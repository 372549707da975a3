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
#include "controller/ipam/allocation/network.h"
#include "controller/ipam/allocation/pool_spec.h"

/* What a claim has in one pool, never in two: a reserved address, or its place among those that wait. */
struct turn {
	struct pool *pool;
	char *claim;
	int64_t created_s;
	bool reserved; /* `block` is; else it waits */
	struct ipam_block block;
};

enum { WAKE_MAX = 32 }; /* at once; each address that is then taken wakes the next ones */

struct pool {
	char *key;
	struct ipam_network *network;
	sa_family_t family;
	uint8_t bits; /* of its blocks */
	bool is_invalid;
	/* Whole blocks. free = usable - blocks with an address that is in use in the network */
	struct net_ip_ranges usable, free;
	VEC(struct pool *)
	neighbours; /* those of the network that have usable addresses of this one */
	VEC(struct turn *) waiting; /* oldest first */
};

struct ipam_allocator {
	pthread_mutex_t lock; /* guards all below */
	struct map pools;     /* key -> struct pool */
	struct map networks;  /* name -> struct ipam_network */
	struct ipam_network *unnamed;
	bool has_objects; /* networks know what is in use; from the first pool on */
	struct map turns; /* claim -> struct turn, which this map owns */
	struct ipam_used used;
};

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

static int64_t count_free(const struct pool *pool)
{
	return net_ip_ranges_count_blocks(&pool->free, pool->bits);
}

/* The oldest, as many as there are free addresses. */
static void wake_waiting(const struct ipam_allocator *allocator, void *ctx, const struct pool *pool)
{
	int64_t most = MIN(count_free(pool), (int64_t)WAKE_MAX);
	for (size_t i = 0; i < pool->waiting.n && (int64_t)i < most; i++)
		allocator->used.wake(ctx, pool->waiting.v[i]->claim);
}

/* ---- pools ---- */

static struct pool *pool_new(const char *key)
{
	struct pool *pool = xcalloc(1, sizeof(*pool));
	pool->key = xstrdup(key);
	return pool;
}

/* Its turns must be gone. */
static void pool_free(struct pool *pool)
{
	assert(pool->waiting.n == 0);
	vec_done(&pool->waiting);
	vec_done(&pool->neighbours);
	net_ip_ranges_done(&pool->usable);
	net_ip_ranges_done(&pool->free);
	free(pool->key);
	free(pool);
}

static bool add_range(void *ctx, struct net_ip_range range)
{
	net_ip_ranges_add(ctx, range);
	return true;
}

/* Takes the blocks that the range touches out of those that are free. */
static void remove_blocks(void *ctx, struct net_ip_range range)
{
	struct pool *pool = ctx;
	net_ip_ranges_remove(&pool->free, ipam_block_widen(range, pool->bits));
}

static bool remove_used(void *ctx, struct net_ip_range usable)
{
	struct pool *pool = ctx;
	ipam_network_each_in_use(pool->network, pool->family, usable, remove_blocks, pool);
	return true;
}

static void add_free(void *ctx, struct net_ip_range range)
{
	struct pool *pool = ctx;
	net_ip_ranges_add(&pool->free, range);
}

static void rebuild_free(struct pool *pool)
{
	net_ip_ranges_done(&pool->free);
	net_ip_ranges_each(&pool->usable, add_range, &pool->free);
	net_ip_ranges_each(&pool->usable, remove_used, pool);
}

/* ---- addresses in use ---- */

/* That of a pool that is not known, too. */
static struct ipam_network *network_of(const struct ipam_allocator *allocator, const char *pool_key)
{
	const struct pool *pool = map_get(&allocator->pools, slice_of(pool_key));
	return pool != NULL ? pool->network : allocator->unnamed;
}

struct user_search {
	const struct ipam_allocator *allocator;
	const struct ipam_network *network;
	bool found;
};

static bool find_user(void *arg, const char *pool)
{
	struct user_search *search = arg;
	search->found = network_of(search->allocator, pool) == search->network;
	return !search->found;
}

/* Whether the address is in use now, from what the objects and the reservations say. */
static bool settle_use(const struct ipam_allocator *allocator, void *ctx,
		       struct ipam_network *network, struct ipam_block block)
{
	struct user_search search = { allocator, network, false };
	search.found = ipam_network_is_reserved(network, block);
	if (!search.found)
		allocator->used.each_with(ctx, block, find_user, &search);
	ipam_network_set(network, block, search.found);
	return search.found;
}

/* Other blocks, of other sizes, may keep what this one has left. */
static void settle_free(struct pool *pool, struct ipam_block block, bool in_use)
{
	struct net_ip_range range = ipam_block_widen(ipam_block_range(block), pool->bits);
	if (in_use) {
		net_ip_ranges_remove(&pool->free, range);
		return;
	}
	net_ip_ranges_each_within(&pool->usable, range, add_free, pool);
	ipam_network_each_in_use(pool->network, pool->family, range, remove_blocks, pool);
}

static void settle_other(const struct ipam_allocator *allocator, void *ctx, struct pool *pool,
			 struct ipam_block block, bool in_use)
{
	settle_free(pool, block, in_use);
	if (!in_use)
		wake_waiting(allocator, ctx, pool);
}

/* Is it one of those that the pool can allocate? */
static bool has_block(const struct pool *pool, struct ipam_block block)
{
	return pool->family == block.family && pool->bits == block.bits &&
	       net_ip_ranges_has(&pool->usable, block.first);
}

/* In all pools of the network, and wakes claims of those other than `near`. If that one has the address, only
 * its neighbours have it, too. May be NULL. */
static void settle_block(const struct ipam_allocator *allocator, void *ctx,
			 struct ipam_network *network, struct pool *near, struct ipam_block block)
{
	bool in_use = settle_use(allocator, ctx, network, block);
	size_t pos = 0;
	const struct map_entry *entry;
	if (near != NULL && has_block(near, block)) {
		settle_free(near, block, in_use);
		for (size_t i = 0; i < near->neighbours.n; i++)
			settle_other(allocator, ctx, near->neighbours.v[i], block, in_use);
		return;
	}
	while ((entry = map_next(&allocator->pools, &pos)) != NULL) {
		struct pool *pool = entry->value;
		if (pool == near && pool->network == network && pool->family == block.family)
			settle_free(pool, block, in_use);
		else if (pool->network == network && pool->family == block.family)
			settle_other(allocator, ctx, pool, block, in_use);
	}
}

static void add_object(void *arg, const char *pool, struct ipam_block block)
{
	const struct ipam_allocator *allocator = arg;
	ipam_network_set(network_of(allocator, pool), block, true);
}

/* ---- reservations ---- */

static void reserve(struct turn *turn, net_ip_number number)
{
	struct pool *pool = turn->pool;
	struct ipam_block block = { pool->family, pool->bits, number };
	assert(net_ip_ranges_has(&pool->free, number));
	assert((number & ipam_block_mask(pool->bits)) == 0);
	assert(!ipam_network_is_reserved(pool->network, block));
	turn->reserved = true;
	turn->block = block;
	ipam_network_reserve(pool->network, block);
	ipam_network_set(pool->network, block, true);
	settle_free(pool, block, true);
	for (size_t i = 0; i < pool->neighbours.n; i++)
		settle_free(pool->neighbours.v[i], block, true);
}

/* Takes the claim's turn from it, and serves the others of the pool. */
static void drop_turn(struct ipam_allocator *allocator, void *ctx, struct turn *turn)
{
	struct pool *pool = turn->pool;
	if (turn->reserved) {
		ipam_network_unreserve(pool->network, turn->block);
		settle_block(allocator, ctx, pool->network, pool, turn->block);
	} else {
		size_t at = find_place(pool, turn);
		assert(pool->waiting.v[at] == turn);
		remove_waiting(pool, at);
	}
	free_turn(allocator, turn);
	wake_waiting(allocator, ctx, pool);
}

/* Is it one in another pool, or in a previous pool of this name? Blocks of a pool change their size and family
 * only where it is deleted and created again. */
static bool is_elsewhere(const struct turn *turn, const struct pool *pool)
{
	return turn->pool != pool || (turn->reserved && (turn->block.bits != pool->bits ||
							 turn->block.family != pool->family));
}

typedef VEC(struct turn *) turn_list;

static void list_reserved(const struct ipam_allocator *allocator, const struct pool *pool,
			  turn_list *out)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(&allocator->turns, &pos)) != NULL) {
		struct turn *turn = entry->value;
		if (turn->pool == pool && turn->reserved)
			vec_push(out, turn);
	}
}

static void drop_turns(struct ipam_allocator *allocator, void *ctx, struct pool *pool)
{
	turn_list reserved = { 0 };
	for (size_t i = 0; i < pool->waiting.n; i++)
		free_turn(allocator, pool->waiting.v[i]);
	pool->waiting.n = 0;
	list_reserved(allocator, pool, &reserved);
	for (size_t i = 0; i < reserved.n; i++)
		drop_turn(allocator, ctx, reserved.v[i]);
	vec_done(&reserved);
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
	for (size_t i = 0; i < pool->neighbours.n; i++)
		allocator->used.overlap(ctx, pool->neighbours.v[i]->key);
}

static void leave_neighbours(struct pool *pool)
{
	for (size_t i = 0; i < pool->neighbours.n; i++) {
		struct pool *other = pool->neighbours.v[i];
		size_t at = 0;
		while (other->neighbours.v[at] != pool)
			at++;
		other->neighbours.n--;
		memmove(&other->neighbours.v[at], &other->neighbours.v[at + 1],
			(other->neighbours.n - at) * sizeof(other->neighbours.v[0]));
	}
	pool->neighbours.n = 0;
}

static void find_neighbours(const struct ipam_allocator *allocator, struct pool *pool)
{
	size_t pos = 0;
	const struct map_entry *entry;
	struct net_ip_range common;
	while ((entry = map_next(&allocator->pools, &pos)) != NULL) {
		struct pool *other = entry->value;
		if (other->network == pool->network && have_common(pool, other, &common)) {
			vec_push(&pool->neighbours, other);
			vec_push(&other->neighbours, pool);
		}
	}
}

void ipam_allocator_each_overlap(struct ipam_allocator *allocator, const char *pool,
				 ipam_overlap_fn fn, void *arg)
{
	struct net_ip_range common;
	pthread_mutex_lock(&allocator->lock);
	const struct pool *own = map_get(&allocator->pools, slice_of(pool));
	for (size_t i = 0; own != NULL && i < own->neighbours.n; i++) {
		const struct pool *other = own->neighbours.v[i];
		if (have_common(own, other, &common))
			fn(arg, other->key, net_ip_from_number(own->family, common.first));
	}
	pthread_mutex_unlock(&allocator->lock);
}

/* ---- networks ---- */

typedef VEC(struct ipam_block) block_list;

static void list_block(void *arg, const char *pool, struct ipam_block block)
{
	block_list *list = arg;
	(void)pool;
	vec_push(list, block);
}

static void move_reservations(const struct ipam_allocator *allocator, const struct pool *pool,
			      struct ipam_network *to, block_list *moved)
{
	turn_list reserved = { 0 };
	list_reserved(allocator, pool, &reserved);
	for (size_t i = 0; i < reserved.n; i++) {
		const struct turn *turn = reserved.v[i];
		ipam_network_unreserve(pool->network, turn->block);
		ipam_network_reserve(to, turn->block);
		vec_push(moved, turn->block);
	}
	vec_done(&reserved);
}

static bool lie_in(const block_list *blocks, const struct pool *pool)
{
	for (size_t i = 0; i < blocks->n; i++) {
		if (!has_block(pool, blocks->v[i]))
			return false;
	}
	return true;
}

/* After the move of these addresses from or to the network. */
static void rebuild_network(const struct ipam_allocator *allocator, void *ctx,
			    const struct ipam_network *network, const struct pool *moved,
			    bool has_strays)
{
	size_t pos = 0;
	const struct map_entry *entry;
	struct net_ip_range common;
	while ((entry = map_next(&allocator->pools, &pos)) != NULL) {
		struct pool *pool = entry->value;
		if (pool != moved && pool->network == network &&
		    (has_strays || have_common(moved, pool, &common))) {
			rebuild_free(pool);
			wake_waiting(allocator, ctx, pool);
		}
	}
}

static void leave_network(struct ipam_allocator *allocator, struct ipam_network *network)
{
	if (--network->n_pools > 0 || network == allocator->unnamed)
		return;
	map_del(&allocator->networks, slice_of(network->name));
	ipam_network_free(network);
}

/* With its objects and reservations. Its neighbours must have been left. */
static void move_pool(struct ipam_allocator *allocator, void *ctx, struct pool *pool,
		      const char *name)
{
	struct ipam_network *from = pool->network;
	struct ipam_network *to = map_get(&allocator->networks, slice_of(name));
	block_list moved = { 0 };
	if (to == from)
		return;
	if (to == NULL) {
		to = ipam_network_new(name);
		map_set(&allocator->networks, slice_of(to->name), to);
	}
	allocator->used.each(ctx, pool->key, list_block, &moved);
	move_reservations(allocator, pool, to, &moved);
	pool->network = to;
	to->n_pools++;
	for (size_t i = 0; i < moved.n; i++) {
		settle_use(allocator, ctx, from, moved.v[i]);
		settle_use(allocator, ctx, to, moved.v[i]);
	}
	if (moved.n > 0) {
		bool has_strays = !lie_in(&moved, pool);
		rebuild_network(allocator, ctx, from, pool, has_strays);
		rebuild_network(allocator, ctx, to, pool, has_strays);
	}
	leave_network(allocator, from);
	vec_done(&moved);
}

bool ipam_allocator_share_network(struct ipam_allocator *allocator, const char *left,
				  const char *right)
{
	pthread_mutex_lock(&allocator->lock);
	bool share = network_of(allocator, left) == network_of(allocator, right);
	pthread_mutex_unlock(&allocator->lock);
	return share;
}

void ipam_allocator_each_touching(struct ipam_allocator *allocator, const char *pool,
				  struct ipam_block block, ipam_blocks_fn fn, void *arg)
{
	pthread_mutex_lock(&allocator->lock);
	ipam_network_each_touching(network_of(allocator, pool), block, fn, arg);
	pthread_mutex_unlock(&allocator->lock);
}

/* ---- the allocator ---- */

struct ipam_allocator *ipam_allocator_new(const struct ipam_used *used)
{
	struct ipam_allocator *allocator = xcalloc(1, sizeof(*allocator));
	pthread_mutex_init(&allocator->lock, NULL);
	map_init(&allocator->pools);
	map_init(&allocator->networks);
	map_init(&allocator->turns);
	allocator->unnamed = ipam_network_new("");
	map_set(&allocator->networks, slice_of(""), allocator->unnamed);
	allocator->used = *used;
	return allocator;
}

void ipam_allocator_free(struct ipam_allocator *allocator)
{
	size_t pos = 0;
	const struct map_entry *entry;
	if (allocator == NULL)
		return;
	while ((entry = map_next(&allocator->turns, &pos)) != NULL) {
		struct turn *turn = entry->value;
		turn->pool->waiting.n = 0;
		free(turn->claim);
		free(turn);
	}
	for (pos = 0; (entry = map_next(&allocator->pools, &pos)) != NULL;)
		pool_free(entry->value);
	for (pos = 0; (entry = map_next(&allocator->networks, &pos)) != NULL;)
		ipam_network_free(entry->value);
	map_done(&allocator->turns);
	map_done(&allocator->pools);
	map_done(&allocator->networks);
	pthread_mutex_destroy(&allocator->lock);
	free(allocator);
}

static struct pool *find_or_add_pool(struct ipam_allocator *allocator, const char *key)
{
	struct pool *pool = map_get(&allocator->pools, slice_of(key));
	if (pool == NULL) {
		pool = pool_new(key);
		pool->network = allocator->unnamed;
		pool->network->n_pools++;
		map_set(&allocator->pools, slice_of(key), pool);
	}
	return pool;
}

void ipam_allocator_set_pool(struct ipam_allocator *allocator, void *ctx, const char *pool,
			     const char *network, const struct ipam_pool_spec *spec)
{
	pthread_mutex_lock(&allocator->lock);
	if (!allocator->has_objects)
		allocator->used.each(ctx, NULL, add_object, allocator);
	allocator->has_objects = true;
	struct pool *own = find_or_add_pool(allocator, pool);
	own->is_invalid = spec == NULL;
	report_overlaps(allocator, ctx, own);
	leave_neighbours(own);
	net_ip_ranges_done(&own->usable);
	if (spec != NULL) {
		net_ip_ranges_each(&spec->usable, add_range, &own->usable);
		own->family = spec->family;
		own->bits = spec->bits;
	}
	move_pool(allocator, ctx, own, network);
	find_neighbours(allocator, own);
	report_overlaps(allocator, ctx, own);
	rebuild_free(own);
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
	if (turn != NULL && is_elsewhere(turn, entering->pool)) {
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
	if (own != NULL && entering.n > count_free(own)) {
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
	struct pool *own = map_get(&allocator->pools, slice_of(pool));
	if (own != NULL) {
		drop_turns(allocator, ctx, own);
		report_overlaps(allocator, ctx, own);
		leave_neighbours(own);
		move_pool(allocator, ctx, own, "");
		leave_network(allocator, own->network);
		map_del(&allocator->pools, slice_of(pool));
		pool_free(own);
	}
	pthread_mutex_unlock(&allocator->lock);
}

static void note_touched(void *ctx, struct net_ip_range range)
{
	bool *touched = ctx;
	(void)range;
	*touched = true;
}

/* Reports an address that an unknown pool had or has to the pools of its network that list it. */
static void report_stray(const struct ipam_allocator *allocator, void *ctx, struct ipam_block block)
{
	size_t pos = 0;
	const struct map_entry *entry;
	while ((entry = map_next(&allocator->pools, &pos)) != NULL) {
		const struct pool *pool = entry->value;
		bool touched = false;
		if (pool->network == allocator->unnamed && pool->family == block.family)
			net_ip_ranges_each_within(&pool->usable, ipam_block_range(block),
						  note_touched, &touched);
		if (touched)
			allocator->used.overlap(ctx, pool->key);
	}
}

void ipam_allocator_note(struct ipam_allocator *allocator, void *ctx, const char *pool,
			 struct ipam_block block)
{
	pthread_mutex_lock(&allocator->lock);
	if (allocator->has_objects) {
		struct pool *own = map_get(&allocator->pools, slice_of(pool));
		settle_block(allocator, ctx, network_of(allocator, pool), own, block);
		if (own != NULL)
			wake_waiting(allocator, ctx, own);
		else
			report_stray(allocator, ctx, block);
	}
	pthread_mutex_unlock(&allocator->lock);
}

/* ---- claims ---- */

/* A claim may take an address if there is one for it and for each older claim that waits. */
static enum ipam_take take_in_turn(struct pool *pool, struct turn *turn, bool waits,
				   net_ip_number *ret)
{
	size_t at = find_place(pool, turn);
	if ((int64_t)at >= count_free(pool) || !net_ip_ranges_lowest(&pool->free, ret)) {
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
		*ret = turn->block.first;
		return IPAM_TAKEN;
	}
	if (turn == NULL)
		turn = add_turn(allocator, pool, claim, created_s);
	return take_in_turn(pool, turn, waits, ret);
}

/* A claim that was deleted and made anew has its turn in its own pool, by its own age. */
static bool is_of_predecessor(const struct turn *turn, const struct pool *pool, int64_t created_s)
{
	return is_elsewhere(turn, pool) || (!turn->reserved && turn->created_s != created_s);
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
	if (own != NULL && !own->is_invalid)
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

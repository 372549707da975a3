/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Query slots, and blocks of 4 KB and 64 KB, of one worker: used again without the allocator once
 * the slab has grown to what the load needs. */
#include "server/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/block.h"
#include "server/query.h"
#include "server/waiting.h"
#include "server/worker.h"

enum {
	SLOTS_PER_SLAB = 32,
	REQUEST_SLACK = 8,
	SMALL_KEPT = 1024,   /* blocks that stay allocated when they are free */
	SMALL_PER_QUERY = 4, /* what needs more is an answer that is being made */
};

static void add_slab(struct worker *worker)
{
	char *slab = aligned_alloc(64, (size_t)SLOTS_PER_SLAB * SLOT_BYTES);
	if (slab == NULL)
		abort();
	vec_push(&worker->slabs, slab);
	for (int i = SLOTS_PER_SLAB; i-- > 0;) {
		struct query *q = (struct query *)(void *)(slab + (size_t)i * SLOT_BYTES);
		q->next = worker->free;
		worker->free = q;
	}
	worker->n_slots += SLOTS_PER_SLAB;
}

/* Beyond what may wait: a batch that is being received, one that is being served, sub-queries of
 * both. What is answered at once finds a slot however many others wait. */
enum { SLOTS_RUNNING = 8 * WORKER_BATCH };

bool slab_allows_sub(const struct worker *worker, bool detached)
{
	uint32_t running = detached ? 0 : SLOTS_RUNNING - 2 * WORKER_BATCH;
	return worker->n_used < worker->waiting.limit + running;
}

/* ---- blocks ---- */

static struct mem_block *block_take(struct block_pool *pool, uint32_t max, size_t bytes)
{
	struct mem_block *block = pool->free;
	if (block == NULL) {
		if (pool->n_allocated >= max)
			return NULL;
		pool->n_allocated++;
		block = xmalloc(sizeof(*block) + bytes);
	} else {
		pool->free = block->next;
	}
	pool->used++;
	assert(pool->used <= pool->n_allocated);
	return block;
}

static void block_release(struct block_pool *pool, struct mem_block *block, uint32_t kept)
{
	assert(pool->used > 0);
	pool->used--;
	if (pool->n_allocated > kept) {
		pool->n_allocated--;
		free(block);
		return;
	}
	block->next = pool->free;
	pool->free = block;
}

struct mem_block *slab_take_large(struct worker *worker)
{
	return block_take(&worker->large, SLAB_LARGE_MAX, SLAB_LARGE_BYTES);
}

void slab_release_large(struct worker *worker, struct mem_block *block)
{
	block_release(&worker->large, block, SLAB_LARGE_KEPT);
}

static uint8_t *query_small(struct query *q)
{
	struct worker *w = q->worker;
	struct mem_block *block =
		block_take(&w->small, w->waiting.limit + SLOTS_RUNNING, SLAB_SMALL_BYTES);
	if (block == NULL)
		return NULL;
	block->next = q->small;
	q->small = block;
	q->n_small++;
	return block->data;
}

static uint8_t *query_large(struct query *q)
{
	struct mem_block *block =
		q->n_large < SLAB_LARGE_PER_QUERY ? slab_take_large(q->worker) : NULL;
	if (block == NULL)
		return NULL;
	block->next = q->large;
	q->large = block;
	q->n_large++;
	return block->data;
}

static void release_blocks(struct query *q, const struct mem_block *small,
			   const struct mem_block *large)
{
	struct worker *w = q->worker;
	while (q->small != small) {
		struct mem_block *block = q->small;
		assert(block != NULL && q->n_small > 0);
		q->small = block->next;
		q->n_small--;
		block_release(&w->small, block, SMALL_KEPT);
	}
	while (q->large != large) {
		struct mem_block *block = q->large;
		assert(block != NULL && q->n_large > 0);
		q->large = block->next;
		q->n_large--;
		slab_release_large(w, block);
	}
}

/* When the slot's own arena is used up the query goes on in a block: first in small ones, which are
 * what a query can wait with. */
static bool arena_more(struct arena *arena, size_t count)
{
	struct query *q = CONTAINER_OF(arena, struct query, arena);
	uint8_t *data = NULL;
	size_t bytes = SLAB_SMALL_BYTES;
	if (count <= SLAB_SMALL_BYTES && q->n_small < SMALL_PER_QUERY)
		data = query_small(q);
	if (data == NULL && count <= SLAB_LARGE_BYTES) {
		data = query_large(q);
		bytes = SLAB_LARGE_BYTES;
	}
	if (data == NULL) {
		q->hit_limit = true;
		return false;
	}
	arena->cur = (char *)data;
	arena->end = (char *)data + bytes;
	return true;
}

/* ---- slots ---- */

/* The arena begins behind the first n bytes of the buffer. */
static void arena_behind(struct query *q, size_t count)
{
	arena_init_fixed(&q->arena, q->buf + count, SLOT_BYTES - sizeof(*q) - count);
	q->arena.more = arena_more;
}

struct query *slot_take(struct worker *worker)
{
	if (worker->free == NULL) {
		if (worker->n_used >= worker->waiting.limit + SLOTS_RUNNING)
			return NULL;
		add_slab(worker);
	}
	struct query *q = worker->free;
	worker->free = q->next;
	worker->n_used++;
	q->worker = worker;
	q->small = q->large = NULL;
	q->n_small = q->n_large = 0;
	q->holder = NULL;
	q->units = q->waiting_large = 0;
	q->sub = NULL;
	q->sub_next = NULL;
	q->running = NULL;
	q->parent = NULL;
	q->conn = NULL;
	q->udp = NULL;
	q->gen = NULL;
	q->block = NULL;
	q->zone = NULL;
	q->meta = NULL;
	q->state = NULL;
	q->err = NULL;
	q->echo = NULL;
	q->tsig = NULL;
	q->tally = 0;
	q->resp.count[DNS_ANSWER] = 0; /* who fails need not make a response */
	q->resp.note = NULL;
	q->resp.noted = 0;
	q->stream_next = NULL;
	q->rcode = 0;
	q->outcome = V_NEXT;
	q->is_sub = q->in_walk = q->unkept = q->hit_limit = q->admitted = q->chased = q->written =
		q->up = q->waiting = q->resumed = q->armed = q->detached = q->started = false;
	q->depth = 0;
	q->wire_len = 0;
	q->at = q->top = q->entered = 0;
	q->deadline_ns = 0;
	q->timer.heap_at = 0;
	arena_behind(q, SLOT_REQUEST_MAX + REQUEST_SLACK);
	return q;
}

void slot_fit(struct query *q, size_t count)
{
	if (count < SLOT_REQUEST_MAX)
		arena_behind(q, count + REQUEST_SLACK);
}

uint8_t *slot_request_room(struct query *q, size_t count)
{
	assert(q->n_small == 0 && q->n_large == 0);
	return count <= SLAB_SMALL_BYTES ? query_small(q) : query_large(q);
}

void slot_release(struct worker *worker, struct query *q)
{
	if (q->holder != NULL)
		waiting_end(q);
	if (q->small != NULL || q->large != NULL)
		release_blocks(q, NULL, NULL);
	if (q->timer.heap_at != 0)
		loop_timer_stop(worker->loop, &q->timer);
	q->next = worker->free;
	worker->free = q;
	assert(worker->n_used > 0);
	worker->n_used--;
}

struct slot_mark slot_mark(const struct query *q)
{
	return (struct slot_mark){ q->arena.cur, q->arena.end, q->small, q->large };
}

void slot_rewind(struct query *q, struct slot_mark mark)
{
	release_blocks(q, mark.small, mark.large);
	q->arena.cur = mark.cur;
	q->arena.end = mark.end;
}

static void pool_done(struct block_pool *pool)
{
	while (pool->free != NULL) {
		struct mem_block *block = pool->free;
		pool->free = block->next;
		free(block);
	}
}

void slab_done(struct worker *worker)
{
	for (size_t i = 0; i < worker->slabs.n; i++)
		free(worker->slabs.v[i]);
	vec_done(&worker->slabs);
	pool_done(&worker->small);
	pool_done(&worker->large);
	waiting_done(&worker->waiting);
}

/* Query slots, and blocks of 4 KB and 64 KB, of one worker: taken and given back without the
 * allocator once the slab has grown to what the load needs. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/server_priv.h"

enum {
	SLOTS_PER_SLAB = 32,
	REQUEST_SLACK = 8,
	SMALL_KEPT = 1024,   /* blocks that stay allocated when they are free */
	SMALL_PER_QUERY = 4, /* what needs more is an answer that is being made */
};

static void grow(struct worker *w)
{
	char *slab = aligned_alloc(64, (size_t)SLOTS_PER_SLAB * SLOT_BYTES);
	if (slab == NULL)
		abort();
	vec_push(&w->slabs, slab);
	for (int i = SLOTS_PER_SLAB; i-- > 0;) {
		struct query *q = (struct query *)(void *)(slab + (size_t)i * SLOT_BYTES);
		q->next = w->free;
		w->free = q;
	}
	w->n_slots += SLOTS_PER_SLAB;
}

/* Beyond what may wait: a batch that is being received, one that is being served, sub-queries of
 * both. What is answered at once finds a slot however many others wait. */
enum { SLOTS_RUNNING = 8 * BATCH };

bool slots_allow_sub(const struct worker *w, bool detached)
{
	uint32_t running = detached ? 0 : SLOTS_RUNNING - 2 * BATCH;
	return w->n_used < w->waiting.limit + running;
}

/* ---- blocks ---- */

static struct mem_block *block_take(struct block_pool *p, uint32_t max, size_t bytes)
{
	struct mem_block *b = p->free;
	if (b == NULL) {
		if (p->n >= max)
			return NULL;
		p->n++;
		b = xmalloc(sizeof(*b) + bytes);
	} else {
		p->free = b->next;
	}
	p->used++;
	return b;
}

static void block_release(struct block_pool *p, struct mem_block *b, uint32_t kept)
{
	assert(p->used > 0);
	p->used--;
	if (p->n > kept) {
		p->n--;
		free(b);
		return;
	}
	b->next = p->free;
	p->free = b;
}

struct mem_block *big_take(struct worker *w)
{
	return block_take(&w->large, BIG_MAX, BIG_BYTES);
}

void big_release(struct worker *w, struct mem_block *b)
{
	block_release(&w->large, b, BIG_KEPT);
}

static uint8_t *query_small(struct query *q)
{
	struct worker *w = q->worker;
	struct mem_block *b = block_take(&w->small, w->waiting.limit + SLOTS_RUNNING, SMALL_BYTES);
	if (b == NULL)
		return NULL;
	b->next = q->small;
	q->small = b;
	q->n_small++;
	return b->data;
}

static uint8_t *query_large(struct query *q)
{
	struct mem_block *b = q->n_large < BIG_PER_QUERY ? big_take(q->worker) : NULL;
	if (b == NULL)
		return NULL;
	b->next = q->large;
	q->large = b;
	q->n_large++;
	return b->data;
}

static void release_blocks(struct query *q, const struct mem_block *small,
			   const struct mem_block *large)
{
	struct worker *w = q->worker;
	while (q->small != small) {
		struct mem_block *b = q->small;
		q->small = b->next;
		q->n_small--;
		block_release(&w->small, b, SMALL_KEPT);
	}
	while (q->large != large) {
		struct mem_block *b = q->large;
		q->large = b->next;
		q->n_large--;
		big_release(w, b);
	}
}

/* When the slot's own arena is used up the query goes on in a block: first in small ones, which are
 * what a query can wait with. */
static bool arena_more(struct arena *a, size_t n)
{
	struct query *q = CONTAINER_OF(a, struct query, arena);
	uint8_t *data = NULL;
	size_t bytes = SMALL_BYTES;
	if (n <= SMALL_BYTES && q->n_small < SMALL_PER_QUERY)
		data = query_small(q);
	if (data == NULL && n <= BIG_BYTES) {
		data = query_large(q);
		bytes = BIG_BYTES;
	}
	if (data == NULL) {
		q->hit_limit = true;
		return false;
	}
	a->cur = (char *)data;
	a->end = (char *)data + bytes;
	return true;
}

/* ---- slots ---- */

/* The arena begins behind the first n bytes of the buffer. */
static void arena_behind(struct query *q, size_t n)
{
	arena_init_fixed(&q->arena, q->buf + n, SLOT_BYTES - sizeof(*q) - n);
	q->arena.more = arena_more;
}

struct query *slot_take(struct worker *w)
{
	if (w->free == NULL) {
		if (w->n_used >= w->waiting.limit + SLOTS_RUNNING)
			return NULL;
		grow(w);
	}
	struct query *q = w->free;
	w->free = q->next;
	w->n_used++;
	q->worker = w;
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
	q->tally = 0;
	q->stream_next = NULL;
	q->rcode = 0;
	q->outcome = V_NEXT;
	q->is_sub = q->unkept = q->hit_limit = q->admitted = q->chased = q->written = q->up =
		q->waiting = q->resumed = q->detached = q->started = false;
	q->depth = 0;
	q->wire_len = 0;
	q->at = q->top = q->entered = 0;
	q->deadline_ns = 0;
	q->timer.heap_at = 0;
	arena_behind(q, REQUEST_MAX + REQUEST_SLACK);
	return q;
}

void slot_fit(struct query *q, size_t n)
{
	if (n < REQUEST_MAX)
		arena_behind(q, n + REQUEST_SLACK);
}

uint8_t *slot_request_room(struct query *q, size_t n)
{
	return n <= SMALL_BYTES ? query_small(q) : query_large(q);
}

void slot_release(struct worker *w, struct query *q)
{
	if (q->holder != NULL)
		waiting_end(q);
	if (q->small != NULL || q->large != NULL)
		release_blocks(q, NULL, NULL);
	if (q->timer.heap_at != 0)
		loop_timer_stop(w->loop, &q->timer);
	q->next = w->free;
	w->free = q;
	w->n_used--;
}

struct slot_mark slot_mark(const struct query *q)
{
	return (struct slot_mark){ q->arena.cur, q->arena.end, q->small, q->large };
}

void slot_rewind(struct query *q, struct slot_mark m)
{
	release_blocks(q, m.small, m.large);
	q->arena.cur = m.cur;
	q->arena.end = m.end;
}

static void pool_done(struct block_pool *p)
{
	while (p->free != NULL) {
		struct mem_block *b = p->free;
		p->free = b->next;
		free(b);
	}
}

void slab_done(struct worker *w)
{
	for (size_t i = 0; i < w->slabs.n; i++)
		free(w->slabs.v[i]);
	vec_done(&w->slabs);
	pool_done(&w->small);
	pool_done(&w->large);
	waiting_done(&w->waiting);
}

/* Query slots and 64 KB blocks of one worker: taken and given back without the allocator once the
 * slab has grown to what the load needs. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/server_priv.h"

enum { SLOTS_PER_SLAB = 32, BIG_MAX = 64, REQUEST_SLACK = 8 };

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

/* Encrypted transports have a quarter of what may wait, on top. */
static uint32_t cap(const struct worker *w)
{
	const struct server *s = w->srv;
	uint32_t n = w->is_stream ? s->opts.max_waiting / 4 / s->n_stream
				  : s->opts.max_waiting / s->n_workers;
	return MAX(n, (uint32_t)BATCH) + 2 * BATCH;
}

bool slots_exhausted(const struct worker *w)
{
	/* One batch is always out for receiving, another is kept for refusing. */
	return w->n_used + BATCH > cap(w);
}

/* When the slot's own arena is used up the query goes on in a block of the pool. */
static bool arena_more(struct arena *a, size_t n)
{
	struct query *q = CONTAINER_OF(a, struct query, arena);
	if (n > BIG_BYTES)
		return false;
	struct big_block *b = big_take(q->worker);
	if (b == NULL)
		return false;
	b->next = q->big;
	q->big = b;
	a->cur = (char *)b->data;
	a->end = (char *)b->data + BIG_BYTES;
	return true;
}

/* The arena begins behind the first n bytes of the buffer. */
static void arena_behind(struct query *q, size_t n)
{
	arena_init_fixed(&q->arena, q->buf + n, SLOT_BYTES - sizeof(*q) - n);
	q->arena.more = arena_more;
}

struct query *slot_take(struct worker *w)
{
	if (w->free == NULL) {
		if (w->n_used >= cap(w))
			return NULL;
		grow(w);
	}
	struct query *q = w->free;
	w->free = q->next;
	w->n_used++;
	q->worker = w;
	q->big = NULL;
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
	q->is_sub = q->unkept = q->chased = q->written = q->up = q->waiting = q->resumed =
		q->detached = q->started = false;
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

void slot_release(struct worker *w, struct query *q)
{
	while (q->big != NULL) {
		struct big_block *b = q->big;
		q->big = b->next;
		big_release(w, b);
	}
	if (q->timer.heap_at != 0)
		loop_timer_stop(w->loop, &q->timer);
	q->next = w->free;
	w->free = q;
	w->n_used--;
}

struct slot_mark slot_mark(const struct query *q)
{
	return (struct slot_mark){ q->arena.cur, q->arena.end, q->big };
}

void slot_rewind(struct query *q, struct slot_mark m)
{
	while (q->big != m.big) {
		struct big_block *b = q->big;
		q->big = b->next;
		big_release(q->worker, b);
	}
	q->arena.cur = m.cur;
	q->arena.end = m.end;
}

struct big_block *big_take(struct worker *w)
{
	struct big_block *b = w->free_big;
	if (b != NULL) {
		w->free_big = b->next;
		return b;
	}
	if (w->n_big >= BIG_MAX)
		return NULL;
	w->n_big++;
	return xmalloc(sizeof(*b) + BIG_BYTES);
}

void big_release(struct worker *w, struct big_block *b)
{
	b->next = w->free_big;
	w->free_big = b;
}

void slab_done(struct worker *w)
{
	for (size_t i = 0; i < w->slabs.n; i++)
		free(w->slabs.v[i]);
	vec_done(&w->slabs);
	while (w->free_big != NULL) {
		struct big_block *b = w->free_big;
		w->free_big = b->next;
		free(b);
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of queries on one worker: slots of 4 KB, each with a query, its request and an arena,
 * and blocks of 4 KB ("small") and 64 KB ("large") for what does not fit there. All of it belongs
 * to the worker's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/query.h"

struct worker;

/* Memory of a query beyond its slot. */
struct mem_block {
	struct mem_block *next;
	uint8_t data[];
};

/* Blocks of one size, of one worker. */
struct block_pool {
	struct mem_block *free;
	uint32_t n_allocated, used; /* allocated; of these in use */
};

enum {
	SLOT_BYTES = 4096,
	SLOT_REQUEST_MAX = 1232, /* UDP; longer ones get FORMERR */
	SLAB_SMALL_BYTES = SLOT_BYTES - sizeof(struct mem_block),
	SLAB_LARGE_BYTES = 65536 + 1024,
	SLAB_LARGE_UNITS = SLAB_LARGE_BYTES / SLOT_BYTES,
	SLAB_LARGE_MAX = 256, /* of a worker */
	SLAB_LARGE_KEPT = 64, /* of these stay allocated when they are free */
	SLAB_LARGE_PER_QUERY = 64,
	SLAB_LARGE_WAITING_MAX = 16, /* held by waiting queries: the rest is for those that run */
};

/* A free slot with its query reset; NULL: at the hard cap. */
struct query *slot_take(struct worker *worker);
/* The request in q->buf has `count` bytes: the rest of its room goes to the arena. Only before
 * anything was allocated from the arena. */
void slot_fit(struct query *q, size_t count);
/* Room for a request that is longer than a slot holds; only before anything was allocated from the
 * arena. NULL: no memory left. */
uint8_t *slot_request_room(struct query *q, size_t count);
void slot_release(struct worker *worker, struct query *q);

/* A position in the query's arena; slot_rewind frees what was allocated after it. */
struct slot_mark {
	char *cur, *end;
	struct mem_block *small, *large;
};
struct slot_mark slot_mark(const struct query *q);
void slot_rewind(struct query *q, struct slot_mark mark);

struct mem_block *slab_take_large(struct worker *worker); /* NULL: pool used up */
void slab_release_large(struct worker *worker, struct mem_block *block);
/* May another sub-query start? Those that nobody waits for leave room to those of clients. */
bool slab_allows_sub(const struct worker *worker, bool detached);
void slab_done(struct worker *worker);

/* The memory that the query holds, in units of a slot. */
static inline uint32_t slot_units(const struct query *q)
{
	return 1U + q->n_small + q->n_large * (uint32_t)SLAB_LARGE_UNITS;
}

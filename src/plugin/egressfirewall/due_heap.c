/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A binary heap whose items know their places. */
#include "plugin/egressfirewall/due_heap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"

static void put_at(struct egressfirewall_heap *heap, size_t at,
		   struct egressfirewall_heap_item *item)
{
	heap->v[at] = item;
	item->place[heap->kind] = (uint32_t)at + 1;
}

static void move_up(struct egressfirewall_heap *heap, size_t at)
{
	struct egressfirewall_heap_item *item = heap->v[at];
	while (at > 0 && heap->v[(at - 1) / 2]->due_s > item->due_s) {
		put_at(heap, at, heap->v[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put_at(heap, at, item);
}

static void move_down(struct egressfirewall_heap *heap, size_t at)
{
	struct egressfirewall_heap_item *item = heap->v[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= heap->n)
			break;
		if (child + 1 < heap->n && heap->v[child + 1]->due_s < heap->v[child]->due_s)
			child++;
		if (heap->v[child]->due_s >= item->due_s)
			break;
		put_at(heap, at, heap->v[child]);
		at = child;
	}
	put_at(heap, at, item);
}

void egressfirewall_heap_done(struct egressfirewall_heap *heap)
{
	free(heap->v);
	heap->v = NULL;
	heap->n = heap->cap = 0;
}

void egressfirewall_heap_add(struct egressfirewall_heap *heap,
			     struct egressfirewall_heap_item *item)
{
	assert(item->place[heap->kind] == 0);
	vec_push(heap, item);
	move_up(heap, heap->n - 1);
}

void egressfirewall_heap_remove(struct egressfirewall_heap *heap,
				struct egressfirewall_heap_item *item)
{
	size_t at = item->place[heap->kind];
	assert(at != 0 && at <= heap->n && heap->v[at - 1] == item);
	item->place[heap->kind] = 0;
	struct egressfirewall_heap_item *last = heap->v[--heap->n];
	if (last == item)
		return;
	put_at(heap, at - 1, last);
	egressfirewall_heap_update(heap, last);
}

void egressfirewall_heap_update(struct egressfirewall_heap *heap,
				struct egressfirewall_heap_item *item)
{
	size_t at = item->place[heap->kind];
	assert(at != 0 && at <= heap->n && heap->v[at - 1] == item);
	move_up(heap, at - 1);
	move_down(heap, item->place[heap->kind] - 1U);
}

struct egressfirewall_heap_item *egressfirewall_heap_first(const struct egressfirewall_heap *heap)
{
	return heap->n != 0 ? heap->v[0] : NULL;
}

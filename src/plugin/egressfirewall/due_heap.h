/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Learnt addresses in the order in which something is due for them: a binary heap of pointers. An item
 * knows its place in each heap that it is in, at most one of each kind. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum egressfirewall_heap_kind {
	EGRESSFIREWALL_HEAP_ALL,
	EGRESSFIREWALL_HEAP_OBJECT, /* addresses of an object */
	EGRESSFIREWALL_HEAP_CLIENT, /* of an object and a client */
	EGRESSFIREWALL_HEAP_SIZE, /* shares of clients, ordered by another number (client_shares.h) */
};
enum { EGRESSFIREWALL_HEAPS = EGRESSFIREWALL_HEAP_SIZE + 1 };

/* Embedded in what is ordered. */
struct egressfirewall_heap_item {
	uint64_t due_s;
	uint32_t place[EGRESSFIREWALL_HEAPS]; /* plus one; 0: not in it */
};

struct egressfirewall_heap {
	enum egressfirewall_heap_kind kind;
	struct egressfirewall_heap_item **v;
	size_t n, cap;
};

void egressfirewall_heap_done(struct egressfirewall_heap *heap);
void egressfirewall_heap_add(struct egressfirewall_heap *heap,
			     struct egressfirewall_heap_item *item);
void egressfirewall_heap_remove(struct egressfirewall_heap *heap,
				struct egressfirewall_heap_item *item);
/* After its time was changed. */
void egressfirewall_heap_update(struct egressfirewall_heap *heap,
				struct egressfirewall_heap_item *item);
/* The one that is due first; NULL: it is empty. */
struct egressfirewall_heap_item *egressfirewall_heap_first(const struct egressfirewall_heap *heap);

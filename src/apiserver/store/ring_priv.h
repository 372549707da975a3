/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct store_ring: the latest events in memory, by number and by key, and the watches to wake when
 * a new one is added. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/event_priv.h"
#include "apiserver/store/watch.h"

/* Limits of the ring; older events are read from the table. */
enum {
	STORE_RING_EVENTS = 16384,
	STORE_RING_BYTES = 8 << 20,
	STORE_RING_BUCKETS = 4096,
};

struct store_ring {
	pthread_mutex_t lock;	    /* guards all below */
	pthread_cond_t published;   /* `revision` has changed */
	pthread_cond_t wake_done;   /* `waking` has changed */
	struct store_event **slots; /* event number i is in slots[i % STORE_RING_EVENTS] */
	uint64_t first, end;	    /* numbers of the oldest event and after the newest */
	uint64_t evicted;	    /* the ring has all changes after this revision */
	size_t bytes;
	struct store_event **newest; /* hash table by key: each key's newest event in the ring */
	struct apiserver_watch *watches; /* all */
	struct apiserver_watch *to_wake; /* whose `wake` is due */
	struct apiserver_watch *waking;	 /* whose `wake` is running */
	pthread_t waker;		 /* the thread that calls `wake` */
	_Atomic uint64_t revision;	 /* newest published; written under lock */
};

void store_ring_init(struct store_ring *ring, uint64_t revision);
/* All watches must be freed before. A ring that was never initialised (all zero) is allowed. */
void store_ring_done(struct store_ring *ring);
/* Adds events in the order of their revisions; owns the list from then on. */
void store_ring_publish(struct store_ring *ring, struct store_event *list);
/* The newest event of the key, if the ring still has it: a new reference. NULL: read the table; the
 * key has not changed after *ret_evicted (may be NULL). Any thread. */
struct store_event *store_ring_find(struct store_ring *ring, const char *key,
				    uint64_t *ret_evicted);
/* Calls `wake` of the watches that publishing has made due. The writer's thread. */
void store_ring_wake(struct store_ring *ring);
/* Waits until a durable revision is published, which is a matter of microseconds. */
void store_ring_await(struct store_ring *ring, uint64_t revision);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring of the latest events. Publishing an event marks the watches that wait for its key; their
 * `wake` functions are then called one after the other, without the lock. */
#include "apiserver/store/ring_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/store/event_priv.h"
#include "apiserver/store/watch_priv.h"
#include "base/mem.h"

void store_ring_init(struct store_ring *ring, uint64_t revision)
{
	*ring = (struct store_ring){ .evicted = revision };
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->published, NULL);
	pthread_cond_init(&ring->wake_done, NULL);
	ring->slots = xcalloc(STORE_RING_EVENTS, sizeof(struct store_event *));
	atomic_init(&ring->revision, revision);
}

static void evict_oldest(struct store_ring *ring)
{
	assert(ring->first < ring->end);
	struct store_event *event = ring->slots[ring->first++ % STORE_RING_EVENTS];
	assert(ring->bytes >= event->bytes);
	assert(ring->evicted < event->change.revision);
	ring->bytes -= event->bytes;
	ring->evicted = event->change.revision;
	store_event_unref(event);
}

void store_ring_done(struct store_ring *ring)
{
	if (ring->slots == NULL)
		return;
	assert(ring->watches == NULL && ring->to_wake == NULL);
	while (ring->first < ring->end)
		evict_oldest(ring);
	assert(ring->bytes == 0);
	free(ring->slots);
	pthread_cond_destroy(&ring->wake_done);
	pthread_cond_destroy(&ring->published);
	pthread_mutex_destroy(&ring->lock);
}

/* Queues the wake-up of idle watches whose prefix matches the key. */
static void mark_due(struct store_ring *ring, const char *key)
{
	for (struct apiserver_watch *watch = ring->watches; watch != NULL; watch = watch->next) {
		if (!watch->idle || strncmp(key, watch->prefix, watch->prefix_n) != 0)
			continue;
		watch->idle = false;
		if (watch->wake == NULL || watch->due)
			continue;
		watch->due = true;
		watch->wake_next = ring->to_wake;
		ring->to_wake = watch;
	}
}

void store_ring_publish(struct store_ring *ring, struct store_event *list)
{
	if (list == NULL)
		return;
	pthread_mutex_lock(&ring->lock);
	uint64_t revision = atomic_load(&ring->revision);
	while (list != NULL) {
		struct store_event *event = list;
		list = event->next;
		event->next = NULL;
		if (ring->end - ring->first == STORE_RING_EVENTS)
			evict_oldest(ring);
		ring->slots[ring->end++ % STORE_RING_EVENTS] = event;
		ring->bytes += event->bytes;
		assert(revision < event->change.revision);
		revision = event->change.revision;
		mark_due(ring, event->change.key);
	}
	while (ring->bytes > STORE_RING_BYTES)
		evict_oldest(ring);
	atomic_store(&ring->revision, revision);
	pthread_cond_broadcast(&ring->published);
	pthread_mutex_unlock(&ring->lock);
}

void store_ring_wake(struct store_ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->waker = pthread_self();
	while (ring->to_wake != NULL) {
		struct apiserver_watch *watch = ring->to_wake;
		ring->to_wake = watch->wake_next;
		assert(watch->due && ring->waking == NULL);
		watch->due = false;
		ring->waking = watch;
		pthread_mutex_unlock(&ring->lock);
		watch->wake(watch->ctx);
		pthread_mutex_lock(&ring->lock);
		ring->waking = NULL;
		pthread_cond_broadcast(&ring->wake_done);
	}
	pthread_mutex_unlock(&ring->lock);
}

void store_ring_await(struct store_ring *ring, uint64_t revision)
{
	if (atomic_load(&ring->revision) >= revision)
		return;
	pthread_mutex_lock(&ring->lock);
	while (atomic_load(&ring->revision) < revision)
		pthread_cond_wait(&ring->published, &ring->lock);
	pthread_mutex_unlock(&ring->lock);
}

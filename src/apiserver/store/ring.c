/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring of the latest events, and a hash table of the newest one of each key, by which a read of an
 * object that was written lately needs no query. Publishing an event marks the watches that wait for
 * its key; their `wake` functions are then called one after the other, without the lock. */
#include "apiserver/store/ring_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/store/event_priv.h"
#include "apiserver/store/watch_priv.h"
#include "base/hash.h"
#include "base/mem.h"

void store_ring_init(struct store_ring *ring, uint64_t revision)
{
	*ring = (struct store_ring){ .evicted = revision };
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->published, NULL);
	pthread_cond_init(&ring->wake_done, NULL);
	ring->slots = xcalloc(STORE_RING_EVENTS, sizeof(struct store_event *));
	ring->newest = xcalloc(STORE_RING_BUCKETS, sizeof(struct store_event *));
	atomic_init(&ring->revision, revision);
}

/* ---- the newest event of each key; under lock ---- */

static struct store_event **find_bucket(struct store_ring *ring, const char *key)
{
	return &ring->newest[hash_bytes(hash_process_key(), key, strlen(key)) % STORE_RING_BUCKETS];
}

/* Where the key's event is linked; the end of its bucket's list, if the table has none. */
static struct store_event **find_link(struct store_ring *ring, const char *key)
{
	struct store_event **at = find_bucket(ring, key);
	while (*at != NULL && strcmp((*at)->change.key, key) != 0)
		at = &(*at)->same_bucket;
	return at;
}

static void unlink_newest(struct store_event **at)
{
	struct store_event *event = *at;
	assert(event != NULL);
	*at = event->same_bucket;
	event->same_bucket = NULL;
	event->newest = false;
}

static void set_newest(struct store_ring *ring, struct store_event *event)
{
	struct store_event **at = find_link(ring, event->change.key);
	if (*at != NULL)
		unlink_newest(at);
	at = find_bucket(ring, event->change.key);
	event->same_bucket = *at;
	event->newest = true;
	*at = event;
}

struct store_event *store_ring_find(struct store_ring *ring, const char *key, uint64_t *ret_evicted)
{
	pthread_mutex_lock(&ring->lock);
	struct store_event *event = *find_link(ring, key);
	if (event != NULL)
		store_event_ref(event);
	if (ret_evicted != NULL)
		*ret_evicted = ring->evicted;
	pthread_mutex_unlock(&ring->lock);
	return event;
}

/* ---- events by number ---- */

static void evict_oldest(struct store_ring *ring)
{
	assert(ring->first < ring->end);
	struct store_event *event = ring->slots[ring->first++ % STORE_RING_EVENTS];
	assert(ring->bytes >= event->bytes);
	assert(ring->evicted < event->change.revision);
	ring->bytes -= event->bytes;
	ring->evicted = event->change.revision;
	if (event->newest)
		unlink_newest(find_link(ring, event->change.key));
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
	free(ring->newest);
	pthread_cond_destroy(&ring->wake_done);
	pthread_cond_destroy(&ring->published);
	pthread_mutex_destroy(&ring->lock);
}

/* A watch that waits behind all other events passes over one that it does not want. Else it would
 * fall behind the ring while nothing that it wants happens. */
static void pass_over(const struct store_ring *ring, struct apiserver_watch *watch,
		      const struct store_event *event)
{
	if (!watch->joined || watch->ring_number != ring->end - 1)
		return;
	watch->ring_number = ring->end;
	watch->seen = event->change.revision;
}

/* Queues the wake-up of idle watches that want the event, the newest in the ring. */
static void mark_due(struct store_ring *ring, const struct store_event *event)
{
	for (struct apiserver_watch *watch = ring->watches; watch != NULL; watch = watch->next) {
		if (!watch->idle)
			continue;
		if (!store_watch_wants(watch, &event->change)) {
			pass_over(ring, watch, event);
			continue;
		}
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
		set_newest(ring, event);
		mark_due(ring, event);
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

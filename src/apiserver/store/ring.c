/* Events and the ring of the latest ones. Watchers that have nothing to take are woken here, one
 * after the other, without the lock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apiserver/store/store_priv.h"
#include "base/mem.h"

/* ---- events ---- */

struct store_event *store_event_new(const struct store_event_parts *parts)
{
	char number[24] = "";
	size_t number_n = 0;
	if (!parts->whole)
		number_n = (size_t)snprintf(number, sizeof(number), "%" PRIu64, parts->revision);
	size_t key_n = strlen(parts->key) + 1;
	size_t value_n = parts->head.n + number_n + parts->tail.n;
	size_t bytes = sizeof(struct store_event) + key_n + value_n + parts->before.n;
	struct store_event *e = xmalloc(bytes);
	char *at = (char *)(e + 1);
	*e = (struct store_event){ .bytes = bytes };
	atomic_init(&e->refs, 1);
	e->e = (struct apiserver_event){ .revision = parts->revision,
					 .replaced = parts->replaced,
					 .removed = parts->removed };
	e->e.key = memcpy(at, parts->key, key_n);
	at += key_n;
	e->e.value = (struct slice){ at, value_n };
	at = mempcpy(at, parts->head.n > 0 ? parts->head.p : "", parts->head.n);
	at = mempcpy(at, number, number_n);
	at = mempcpy(at, parts->tail.n > 0 ? parts->tail.p : "", parts->tail.n);
	e->e.before = (struct slice){ at, parts->before.n };
	memcpy(at, parts->before.n > 0 ? parts->before.p : "", parts->before.n);
	return e;
}

struct store_event *store_event_ref(struct store_event *event)
{
	atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
	return event;
}

void store_event_unref(struct store_event *event)
{
	if (event != NULL && atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) == 1)
		free(event);
}

/* ---- the ring ---- */

void store_ring_init(struct store_ring *ring, uint64_t revision)
{
	*ring = (struct store_ring){ .evicted = revision };
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->published, NULL);
	pthread_cond_init(&ring->waked, NULL);
	ring->slot = xcalloc(APISERVER_RING_EVENTS, sizeof(struct store_event *));
	atomic_init(&ring->revision, revision);
}

static void evict(struct store_ring *ring)
{
	struct store_event *e = ring->slot[ring->first++ % APISERVER_RING_EVENTS];
	ring->bytes -= e->bytes;
	ring->evicted = e->e.revision;
	store_event_unref(e);
}

void store_ring_done(struct store_ring *ring)
{
	if (ring->slot == NULL)
		return;
	while (ring->first < ring->end)
		evict(ring);
	free(ring->slot);
	pthread_cond_destroy(&ring->waked);
	pthread_cond_destroy(&ring->published);
	pthread_mutex_destroy(&ring->lock);
}

/* Idle watchers of keys like this one become due. */
static void mark_due(struct store_ring *ring, const char *key)
{
	for (struct apiserver_watch *w = ring->watches; w != NULL; w = w->next) {
		if (!w->idle || strncmp(key, w->prefix, w->prefix_n) != 0)
			continue;
		w->idle = false;
		if (w->wake == NULL || w->due)
			continue;
		w->due = true;
		w->wake_next = ring->to_wake;
		ring->to_wake = w;
	}
}

void store_ring_publish(struct store_ring *ring, struct store_event *list)
{
	if (list == NULL)
		return;
	pthread_mutex_lock(&ring->lock);
	uint64_t revision = 0;
	while (list != NULL) {
		struct store_event *e = list;
		list = e->next;
		e->next = NULL;
		if (ring->end - ring->first == APISERVER_RING_EVENTS)
			evict(ring);
		ring->slot[ring->end++ % APISERVER_RING_EVENTS] = e;
		ring->bytes += e->bytes;
		revision = e->e.revision;
		mark_due(ring, e->e.key);
	}
	while (ring->bytes > APISERVER_RING_BYTES)
		evict(ring);
	atomic_store(&ring->revision, revision);
	pthread_cond_broadcast(&ring->published);
	pthread_mutex_unlock(&ring->lock);
}

void store_ring_wake(struct store_ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->waker = pthread_self();
	while (ring->to_wake != NULL) {
		struct apiserver_watch *w = ring->to_wake;
		ring->to_wake = w->wake_next;
		w->due = false;
		ring->waking = w;
		pthread_mutex_unlock(&ring->lock);
		w->wake(w->ctx);
		pthread_mutex_lock(&ring->lock);
		ring->waking = NULL;
		pthread_cond_broadcast(&ring->waked);
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

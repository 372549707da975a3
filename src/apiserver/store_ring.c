/* Events and the ring of the latest ones. Watchers that have nothing to take are woken here, one
 * after the other, without the lock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apiserver/store_priv.h"
#include "base/mem.h"

/* ---- events ---- */

struct store_event *store_event_new(const struct store_event_parts *p)
{
	char number[24] = "";
	size_t number_n = 0;
	if (!p->whole)
		number_n = (size_t)snprintf(number, sizeof(number), "%" PRIu64, p->revision);
	size_t key_n = strlen(p->key) + 1;
	size_t value_n = p->head.n + number_n + p->tail.n;
	size_t bytes = sizeof(struct store_event) + key_n + value_n + p->before.n;
	struct store_event *e = xmalloc(bytes);
	char *at = (char *)(e + 1);
	*e = (struct store_event){ .bytes = bytes };
	atomic_init(&e->refs, 1);
	e->e = (struct apiserver_event){ .revision = p->revision,
					 .replaced = p->replaced,
					 .removed = p->removed };
	e->e.key = memcpy(at, p->key, key_n);
	at += key_n;
	e->e.value = (struct slice){ at, value_n };
	at = mempcpy(at, p->head.n > 0 ? p->head.p : "", p->head.n);
	at = mempcpy(at, number, number_n);
	at = mempcpy(at, p->tail.n > 0 ? p->tail.p : "", p->tail.n);
	e->e.before = (struct slice){ at, p->before.n };
	memcpy(at, p->before.n > 0 ? p->before.p : "", p->before.n);
	return e;
}

struct store_event *store_event_ref(struct store_event *e)
{
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	return e;
}

void store_event_unref(struct store_event *e)
{
	if (e != NULL && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
		free(e);
}

/* ---- the ring ---- */

void store_ring_init(struct store_ring *r, uint64_t revision)
{
	*r = (struct store_ring){ .evicted = revision };
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->published, NULL);
	pthread_cond_init(&r->waked, NULL);
	r->slot = xcalloc(APISERVER_RING_EVENTS, sizeof(struct store_event *));
	atomic_init(&r->revision, revision);
}

static void evict(struct store_ring *r)
{
	struct store_event *e = r->slot[r->first++ % APISERVER_RING_EVENTS];
	r->bytes -= e->bytes;
	r->evicted = e->e.revision;
	store_event_unref(e);
}

void store_ring_done(struct store_ring *r)
{
	if (r->slot == NULL)
		return;
	while (r->first < r->end)
		evict(r);
	free(r->slot);
	pthread_cond_destroy(&r->waked);
	pthread_cond_destroy(&r->published);
	pthread_mutex_destroy(&r->lock);
}

/* Idle watchers of keys like this one become due. */
static void mark_due(struct store_ring *r, const char *key)
{
	for (struct apiserver_watch *w = r->watches; w != NULL; w = w->next) {
		if (!w->idle || strncmp(key, w->prefix, w->prefix_n) != 0)
			continue;
		w->idle = false;
		if (w->wake == NULL || w->due)
			continue;
		w->due = true;
		w->wake_next = r->to_wake;
		r->to_wake = w;
	}
}

void store_ring_publish(struct store_ring *r, struct store_event *list)
{
	if (list == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	uint64_t revision = 0;
	while (list != NULL) {
		struct store_event *e = list;
		list = e->next;
		e->next = NULL;
		if (r->end - r->first == APISERVER_RING_EVENTS)
			evict(r);
		r->slot[r->end++ % APISERVER_RING_EVENTS] = e;
		r->bytes += e->bytes;
		revision = e->e.revision;
		mark_due(r, e->e.key);
	}
	while (r->bytes > APISERVER_RING_BYTES)
		evict(r);
	atomic_store(&r->revision, revision);
	pthread_cond_broadcast(&r->published);
	pthread_mutex_unlock(&r->lock);
}

void store_ring_wake(struct store_ring *r)
{
	pthread_mutex_lock(&r->lock);
	r->waker = pthread_self();
	while (r->to_wake != NULL) {
		struct apiserver_watch *w = r->to_wake;
		r->to_wake = w->wake_next;
		w->due = false;
		r->waking = w;
		pthread_mutex_unlock(&r->lock);
		w->wake(w->ctx);
		pthread_mutex_lock(&r->lock);
		r->waking = NULL;
		pthread_cond_broadcast(&r->waked);
	}
	pthread_mutex_unlock(&r->lock);
}

void store_ring_await(struct store_ring *r, uint64_t revision)
{
	if (atomic_load(&r->revision) >= revision)
		return;
	pthread_mutex_lock(&r->lock);
	while (atomic_load(&r->revision) < revision)
		pthread_cond_wait(&r->published, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

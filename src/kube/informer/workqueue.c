/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work queue: one record for each key that is ready, in work, delayed or has failed; a list of
 * those that are ready and a heap of those that are delayed. */
#include "kube/informer/workqueue.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct item {
	char *key;
	struct item *next; /* ready */
	bool ready;	   /* in the list */
	bool active;	   /* somebody works on it */
	bool again;	   /* was added meanwhile */
	unsigned failures; /* in a row */
	uint64_t due_ns;
	size_t heap_at; /* position plus one; 0: not waiting */
};

struct workqueue {
	struct workqueue_conf conf;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t cond;
	struct map items;
	struct item *first, *last;
	VEC(struct item *) heap;
	bool closed;
	struct workqueue_stats stats;
	/* The bucket of retries: `tokens` at `filled_ns`, negative when some are promised already.
	 */
	double tokens;
	uint64_t filled_ns;
};

/* ---- the heap, by time ---- */

static void heap_put(struct workqueue *workqueue, size_t index, struct item *it)
{
	workqueue->heap.v[index] = it;
	it->heap_at = index + 1;
}

static void heap_up(struct workqueue *workqueue, size_t index)
{
	struct item *item = workqueue->heap.v[index];
	for (; index > 0 && workqueue->heap.v[(index - 1) / 2]->due_ns > item->due_ns;
	     index = (index - 1) / 2)
		heap_put(workqueue, index, workqueue->heap.v[(index - 1) / 2]);
	heap_put(workqueue, index, item);
}

static void heap_down(struct workqueue *workqueue, size_t index)
{
	struct item *item = workqueue->heap.v[index];
	for (;;) {
		size_t c = 2 * index + 1;
		if (c >= workqueue->heap.n)
			break;
		if (c + 1 < workqueue->heap.n &&
		    workqueue->heap.v[c + 1]->due_ns < workqueue->heap.v[c]->due_ns)
			c++;
		if (workqueue->heap.v[c]->due_ns >= item->due_ns)
			break;
		heap_put(workqueue, index, workqueue->heap.v[c]);
		index = c;
	}
	heap_put(workqueue, index, item);
}

static void heap_remove(struct workqueue *workqueue, struct item *it)
{
	assert(it->heap_at != 0 && workqueue->heap.v[it->heap_at - 1] == it);
	size_t i = it->heap_at - 1;
	struct item *last = workqueue->heap.v[--workqueue->heap.n];
	it->heap_at = 0;
	if (last == it)
		return;
	heap_put(workqueue, i, last);
	heap_up(workqueue, i);
	heap_down(workqueue, last->heap_at - 1);
}

/* ---- items ---- */

static struct item *item_get(struct workqueue *workqueue, const char *key)
{
	struct item *item = map_get(&workqueue->items, slice_of(key));
	if (item != NULL)
		return item;
	item = xcalloc(1, sizeof(*item));
	item->key = xstrdup(key);
	map_set(&workqueue->items, slice_of(key), item);
	return item;
}

/* A key nobody wants and that has not failed needs no record. */
static void item_forget_if_idle(struct workqueue *workqueue, struct item *it)
{
	if (it->ready || it->active || it->heap_at != 0 || it->failures != 0)
		return;
	assert(!it->again);
	map_del(&workqueue->items, slice_of(it->key));
	free(it->key);
	free(it);
}

static void make_ready(struct workqueue *workqueue, struct item *it)
{
	if (it->heap_at != 0)
		heap_remove(workqueue, it);
	if (it->active) {
		it->again = true;
		return;
	}
	if (it->ready)
		return;
	assert(it->heap_at == 0 && !it->again);
	it->ready = true;
	it->next = NULL;
	*(workqueue->last != NULL ? &workqueue->last->next : &workqueue->first) = it;
	workqueue->last = it;
	workqueue->stats.ready++;
	pthread_cond_signal(&workqueue->cond);
}

static void wait_until(struct workqueue *workqueue, struct item *item, uint64_t due_ns)
{
	if (item->ready || item->again)
		return; /* sooner anyway */
	if (item->heap_at != 0 && item->due_ns <= due_ns)
		return;
	if (item->heap_at != 0)
		heap_remove(workqueue, item);
	item->due_ns = due_ns;
	vec_push(&workqueue->heap, item);
	heap_up(workqueue, workqueue->heap.n - 1);
	/* Waiting workers must compute their time-out again when this is the first. */
	if (item->heap_at == 1)
		pthread_cond_broadcast(&workqueue->cond);
}

static void move_due(struct workqueue *workqueue, uint64_t now)
{
	while (workqueue->heap.n != 0 && workqueue->heap.v[0]->due_ns <= now)
		make_ready(workqueue, workqueue->heap.v[0]);
}

/* ---- when a failure comes back ---- */

static uint64_t own_delay(const struct workqueue *workqueue, unsigned failures)
{
	uint64_t d = workqueue->conf.retry_min_ns;
	while (failures-- > 1 && d < workqueue->conf.retry_max_ns)
		d *= 2;
	return MIN(d, workqueue->conf.retry_max_ns);
}

/* Takes a token, which may be one of the future. */
static uint64_t bucket_delay(struct workqueue *workqueue, uint64_t now)
{
	double per_ns = (double)workqueue->conf.retry_rate / (double)NS_PER_S;
	workqueue->tokens += (double)(now - workqueue->filled_ns) * per_ns;
	workqueue->tokens = MIN(workqueue->tokens, (double)workqueue->conf.retry_burst);
	workqueue->filled_ns = now;
	workqueue->tokens -= 1;
	assert(workqueue->tokens < workqueue->conf.retry_burst);
	return workqueue->tokens >= 0 ? 0 : (uint64_t)(-workqueue->tokens / per_ns);
}

static uint64_t retry_delay(struct workqueue *workqueue, const struct item *item, uint64_t now)
{
	uint64_t own = own_delay(workqueue, item->failures);
	uint64_t shared = bucket_delay(workqueue, now);
	return MAX(own, shared);
}

/* ---- public ---- */

struct workqueue *workqueue_new(const struct workqueue_conf *conf)
{
	struct workqueue *q = xcalloc(1, sizeof(*q));
	pthread_condattr_t ca;
	q->conf = conf != NULL ? *conf : (struct workqueue_conf){ 0 };
	if (q->conf.retry_min_ns == 0)
		q->conf.retry_min_ns = 5 * NS_PER_MS;
	if (q->conf.retry_max_ns == 0)
		q->conf.retry_max_ns = 1000 * NS_PER_S;
	if (q->conf.retry_rate == 0)
		q->conf.retry_rate = 10;
	if (q->conf.retry_burst == 0)
		q->conf.retry_burst = 100;
	q->tokens = q->conf.retry_burst;
	q->filled_ns = clock_mono_ns();
	map_init(&q->items);
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&q->cond, &ca);
	pthread_condattr_destroy(&ca);
	return q;
}

void workqueue_free(struct workqueue *workqueue)
{
	const struct map_entry *e;
	size_t pos = 0;
	if (workqueue == NULL)
		return;
	while ((e = map_next(&workqueue->items, &pos)) != NULL) {
		struct item *item = e->value;
		free(item->key);
		free(item);
	}
	map_done(&workqueue->items);
	vec_done(&workqueue->heap);
	pthread_cond_destroy(&workqueue->cond);
	pthread_mutex_destroy(&workqueue->lock);
	free(workqueue);
}

void workqueue_add(struct workqueue *workqueue, const char *key)
{
	pthread_mutex_lock(&workqueue->lock);
	if (!workqueue->closed) {
		workqueue->stats.adds++;
		make_ready(workqueue, item_get(workqueue, key));
	}
	pthread_mutex_unlock(&workqueue->lock);
}

void workqueue_add_after(struct workqueue *workqueue, const char *key, uint64_t delay_ns)
{
	if (delay_ns == 0) {
		workqueue_add(workqueue, key);
		return;
	}
	pthread_mutex_lock(&workqueue->lock);
	if (!workqueue->closed)
		wait_until(workqueue, item_get(workqueue, key), clock_mono_ns() + delay_ns);
	pthread_mutex_unlock(&workqueue->lock);
}

static void wait_for_work(struct workqueue *workqueue)
{
	if (workqueue->heap.n == 0) {
		pthread_cond_wait(&workqueue->cond, &workqueue->lock);
		return;
	}
	uint64_t due = workqueue->heap.v[0]->due_ns;
	struct timespec t = { .tv_sec = (time_t)(due / NS_PER_S),
			      .tv_nsec = (long)(due % NS_PER_S) };
	/* The caller checks again either way. */
	IGNORE(pthread_cond_timedwait(&workqueue->cond, &workqueue->lock, &t));
}

bool workqueue_get(struct workqueue *workqueue, struct strbuf *key)
{
	pthread_mutex_lock(&workqueue->lock);
	for (;;) {
		move_due(workqueue, clock_mono_ns());
		if (workqueue->closed || workqueue->first != NULL)
			break;
		wait_for_work(workqueue);
	}
	struct item *item = workqueue->closed ? NULL : workqueue->first;
	if (item != NULL) {
		assert(item->ready && !item->active && workqueue->stats.ready != 0);
		workqueue->first = item->next;
		if (workqueue->first == NULL)
			workqueue->last = NULL;
		item->ready = false;
		item->active = true;
		workqueue->stats.ready--;
		workqueue->stats.active++;
		strbuf_reset(key);
		strbuf_adds(key, item->key);
	}
	pthread_mutex_unlock(&workqueue->lock);
	return item != NULL;
}

void workqueue_done(struct workqueue *workqueue, const struct strbuf *key, enum work_result result)
{
	pthread_mutex_lock(&workqueue->lock);
	struct item *item = item_get(workqueue, key->s);
	uint64_t now = clock_mono_ns();
	bool again = item->again;
	workqueue->stats.active -= item->active;
	item->active = false;
	item->again = false;
	if (result == WORK_OK) {
		item->failures = 0;
	} else {
		item->failures++;
		workqueue->stats.retries++;
	}
	/* Something changed while it was in work: at once, whatever the result. */
	if (again)
		make_ready(workqueue, item);
	else if (result == WORK_RETRY && !workqueue->closed)
		wait_until(workqueue, item, now + retry_delay(workqueue, item, now));
	item_forget_if_idle(workqueue, item);
	pthread_mutex_unlock(&workqueue->lock);
}

void workqueue_close(struct workqueue *workqueue)
{
	pthread_mutex_lock(&workqueue->lock);
	workqueue->closed = true;
	pthread_cond_broadcast(&workqueue->cond);
	pthread_mutex_unlock(&workqueue->lock);
}

void workqueue_stats(struct workqueue *workqueue, struct workqueue_stats *ret)
{
	pthread_mutex_lock(&workqueue->lock);
	*ret = workqueue->stats;
	ret->delayed = workqueue->heap.n;
	pthread_mutex_unlock(&workqueue->lock);
}

unsigned workqueue_failures(struct workqueue *workqueue, const char *key)
{
	pthread_mutex_lock(&workqueue->lock);
	const struct item *item = map_get(&workqueue->items, slice_of(key));
	unsigned n = item != NULL ? item->failures : 0;
	pthread_mutex_unlock(&workqueue->lock);
	return n;
}

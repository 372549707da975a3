/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work queue: one record for each key that is ready, in work, delayed or has failed; two lists of
 * those that are ready, by priority, and a heap of those that are delayed. */
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

enum {
	FREE_RETRIES = 3, /* of a key, which do not count for the rate of all retries */
	ADDED_IN_A_ROW = 7,
};

/* Keys that were added go before those that are retried. */
enum priority { ADDED, RETRIED, N_PRIORITIES };

struct item {
	char *key;
	struct item *next, *prev; /* in the list of its priority */
	bool ready;		  /* in that list */
	bool active;		  /* a worker processes it */
	bool again;		  /* was added meanwhile */
	enum priority priority;	  /* while it is ready or active */
	unsigned failures;	  /* in a row */
	uint64_t due_ns;
	size_t heap_at; /* position plus one; 0: not waiting */
};

struct workqueue {
	struct workqueue_conf conf;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t cond;
	struct map items;
	struct {
		struct item *first, *last;
	} ready[N_PRIORITIES];
	unsigned added_in_a_row; /* since the last retry was handed out */
	unsigned active_retries;
	VEC(struct item *) heap;
	bool closed;
	struct workqueue_stats stats;
	/* The bucket of retries: `tokens` at `filled_ns`, negative when some are promised already.
	 */
	double tokens;
	uint64_t filled_ns;
};

/* ---- the heap, by time ---- */

static void heap_put(struct workqueue *workqueue, size_t index, struct item *item)
{
	workqueue->heap.v[index] = item;
	item->heap_at = index + 1;
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

static void heap_remove(struct workqueue *workqueue, struct item *item)
{
	assert(item->heap_at != 0 && workqueue->heap.v[item->heap_at - 1] == item);
	size_t i = item->heap_at - 1;
	struct item *last = workqueue->heap.v[--workqueue->heap.n];
	item->heap_at = 0;
	if (last == item)
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
static void item_forget_if_idle(struct workqueue *workqueue, struct item *item)
{
	if (item->ready || item->active || item->heap_at != 0 || item->failures != 0)
		return;
	assert(!item->again);
	map_del(&workqueue->items, slice_of(item->key));
	free(item->key);
	free(item);
}

static void list_append(struct workqueue *workqueue, struct item *item, enum priority priority)
{
	struct item **last = &workqueue->ready[priority].last;
	item->next = NULL;
	item->prev = *last;
	*(*last != NULL ? &(*last)->next : &workqueue->ready[priority].first) = item;
	*last = item;
	item->ready = true;
	item->priority = priority;
	workqueue->stats.ready++;
}

static void list_remove(struct workqueue *workqueue, struct item *item)
{
	assert(item->ready && workqueue->stats.ready != 0);
	*(item->prev != NULL ? &item->prev->next : &workqueue->ready[item->priority].first) =
		item->next;
	*(item->next != NULL ? &item->next->prev : &workqueue->ready[item->priority].last) =
		item->prev;
	item->ready = false;
	workqueue->stats.ready--;
}

static void make_ready(struct workqueue *workqueue, struct item *item, enum priority priority)
{
	if (item->heap_at != 0)
		heap_remove(workqueue, item);
	if (item->active) {
		item->again = true;
		return;
	}
	if (item->ready && item->priority <= priority)
		return;
	assert(item->heap_at == 0 && !item->again);
	if (item->ready) /* a retry that was changed: no retry any more */
		list_remove(workqueue, item);
	list_append(workqueue, item, priority);
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
	while (workqueue->heap.n != 0 && workqueue->heap.v[0]->due_ns <= now) {
		struct item *item = workqueue->heap.v[0];
		make_ready(workqueue, item, item->failures != 0 ? RETRIED : ADDED);
	}
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
	uint64_t shared = item->failures > FREE_RETRIES ? bucket_delay(workqueue, now) : 0;
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
		make_ready(workqueue, item_get(workqueue, key), ADDED);
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

static void wait_for_work(struct workqueue *workqueue, uint64_t until_ns)
{
	uint64_t due = until_ns;
	if (workqueue->heap.n != 0)
		due = MIN(due, workqueue->heap.v[0]->due_ns);
	if (due == UINT64_MAX) {
		pthread_cond_wait(&workqueue->cond, &workqueue->lock);
		return;
	}
	struct timespec t = { .tv_sec = (time_t)(due / NS_PER_S),
			      .tv_nsec = (long)(due % NS_PER_S) };
	/* The caller checks again either way. */
	IGNORE(pthread_cond_timedwait(&workqueue->cond, &workqueue->lock, &t));
}

/* The key to hand out, or NULL. */
static struct item *choose_item(const struct workqueue *workqueue)
{
	struct item *added = workqueue->ready[ADDED].first;
	struct item *retried = workqueue->ready[RETRIED].first;
	bool may_retry = workqueue->conf.workers <= 1 ||
			 workqueue->active_retries + 1 < workqueue->conf.workers;
	if (!may_retry)
		return added;
	if (added == NULL || (retried != NULL && workqueue->added_in_a_row >= ADDED_IN_A_ROW))
		return retried;
	return added;
}

static void hand_out(struct workqueue *workqueue, struct item *item)
{
	list_remove(workqueue, item);
	item->active = true;
	workqueue->stats.active++;
	if (item->priority == RETRIED) {
		workqueue->active_retries++;
		workqueue->added_in_a_row = 0;
	} else {
		workqueue->added_in_a_row++;
	}
}

enum work_got workqueue_get_within(struct workqueue *workqueue, struct strbuf *key,
				   uint64_t longest_ns)
{
	struct item *item = NULL;
	uint64_t now = clock_mono_ns();
	uint64_t until_ns = longest_ns < UINT64_MAX - now ? now + longest_ns : UINT64_MAX;
	pthread_mutex_lock(&workqueue->lock);
	for (; !workqueue->closed; wait_for_work(workqueue, until_ns)) {
		now = clock_mono_ns();
		move_due(workqueue, now);
		item = choose_item(workqueue);
		/* After each wait: a signal that came with the time-out was for us alone. */
		if (item != NULL || now >= until_ns)
			break;
	}
	if (item != NULL) {
		assert(!item->active);
		hand_out(workqueue, item);
		strbuf_reset(key);
		strbuf_adds(key, item->key);
	}
	bool closed = workqueue->closed;
	pthread_mutex_unlock(&workqueue->lock);
	if (item != NULL)
		return WORK_GOT;
	return closed ? WORK_CLOSED : WORK_NONE;
}

static void end_work(struct workqueue *workqueue, struct item *item)
{
	if (!item->active)
		return;
	assert(workqueue->stats.active != 0);
	workqueue->stats.active--;
	item->active = false;
	if (item->priority == RETRIED) {
		assert(workqueue->active_retries != 0);
		workqueue->active_retries--;
	}
}

void workqueue_done(struct workqueue *workqueue, const struct strbuf *key, enum work_result result)
{
	pthread_mutex_lock(&workqueue->lock);
	struct item *item = item_get(workqueue, key->s);
	uint64_t now = clock_mono_ns();
	bool again = item->again;
	end_work(workqueue, item);
	item->again = false;
	if (result == WORK_OK) {
		item->failures = 0;
	} else {
		item->failures++;
		workqueue->stats.retries++;
	}
	/* Something changed while it was in work: at once, whatever the result. */
	if (again)
		make_ready(workqueue, item, ADDED);
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

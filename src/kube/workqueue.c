/* The queue: one record per key that is known for any reason, a list of those that are ready, a
 * heap of those that wait for their time. */
#include "kube/workqueue.h"

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

static void heap_put(struct workqueue *q, size_t i, struct item *it)
{
	q->heap.v[i] = it;
	it->heap_at = i + 1;
}

static void heap_up(struct workqueue *q, size_t i)
{
	struct item *it = q->heap.v[i];
	for (; i > 0 && q->heap.v[(i - 1) / 2]->due_ns > it->due_ns; i = (i - 1) / 2)
		heap_put(q, i, q->heap.v[(i - 1) / 2]);
	heap_put(q, i, it);
}

static void heap_down(struct workqueue *q, size_t i)
{
	struct item *it = q->heap.v[i];
	for (;;) {
		size_t c = 2 * i + 1;
		if (c >= q->heap.n)
			break;
		if (c + 1 < q->heap.n && q->heap.v[c + 1]->due_ns < q->heap.v[c]->due_ns)
			c++;
		if (q->heap.v[c]->due_ns >= it->due_ns)
			break;
		heap_put(q, i, q->heap.v[c]);
		i = c;
	}
	heap_put(q, i, it);
}

static void heap_remove(struct workqueue *q, struct item *it)
{
	size_t i = it->heap_at - 1;
	struct item *last = q->heap.v[--q->heap.n];
	it->heap_at = 0;
	if (last == it)
		return;
	heap_put(q, i, last);
	heap_up(q, i);
	heap_down(q, last->heap_at - 1);
}

/* ---- items ---- */

static struct item *item_get(struct workqueue *q, const char *key)
{
	struct item *it = map_get(&q->items, slice_of(key));
	if (it != NULL)
		return it;
	it = xcalloc(1, sizeof(*it));
	it->key = xstrdup(key);
	map_set(&q->items, slice_of(key), it);
	return it;
}

/* A key nobody wants and that has not failed needs no record. */
static void item_settle(struct workqueue *q, struct item *it)
{
	if (it->ready || it->active || it->heap_at != 0 || it->failures != 0)
		return;
	map_del(&q->items, slice_of(it->key));
	free(it->key);
	free(it);
}

static void make_ready(struct workqueue *q, struct item *it)
{
	if (it->heap_at != 0)
		heap_remove(q, it);
	if (it->active) {
		it->again = true;
		return;
	}
	if (it->ready)
		return;
	it->ready = true;
	it->next = NULL;
	*(q->last != NULL ? &q->last->next : &q->first) = it;
	q->last = it;
	q->stats.ready++;
	pthread_cond_signal(&q->cond);
}

static void wait_until(struct workqueue *q, struct item *it, uint64_t due_ns)
{
	if (it->ready || it->again)
		return; /* sooner anyway */
	if (it->heap_at != 0 && it->due_ns <= due_ns)
		return;
	if (it->heap_at != 0)
		heap_remove(q, it);
	it->due_ns = due_ns;
	vec_push(&q->heap, it);
	heap_up(q, q->heap.n - 1);
	/* Whoever waits must look at the clock again when this is the first. */
	if (it->heap_at == 1)
		pthread_cond_broadcast(&q->cond);
}

static void move_due(struct workqueue *q, uint64_t now)
{
	while (q->heap.n != 0 && q->heap.v[0]->due_ns <= now)
		make_ready(q, q->heap.v[0]);
}

/* ---- when a failure comes back ---- */

static uint64_t own_delay(const struct workqueue *q, unsigned failures)
{
	uint64_t d = q->conf.retry_min_ns;
	while (failures-- > 1 && d < q->conf.retry_max_ns)
		d *= 2;
	return MIN(d, q->conf.retry_max_ns);
}

/* Takes a token, which may be one of the future. */
static uint64_t bucket_delay(struct workqueue *q, uint64_t now)
{
	double per_ns = (double)q->conf.retry_rate / (double)NS_PER_S;
	q->tokens += (double)(now - q->filled_ns) * per_ns;
	q->tokens = MIN(q->tokens, (double)q->conf.retry_burst);
	q->filled_ns = now;
	q->tokens -= 1;
	return q->tokens >= 0 ? 0 : (uint64_t)(-q->tokens / per_ns);
}

static uint64_t retry_delay(struct workqueue *q, const struct item *it, uint64_t now)
{
	uint64_t own = own_delay(q, it->failures);
	uint64_t shared = bucket_delay(q, now);
	return MAX(own, shared);
}

/* ---- public ---- */

struct workqueue *workqueue_new(const struct workqueue_conf *c)
{
	struct workqueue *q = xcalloc(1, sizeof(*q));
	pthread_condattr_t ca;
	q->conf = c != NULL ? *c : (struct workqueue_conf){ 0 };
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

void workqueue_free(struct workqueue *q)
{
	const struct map_entry *e;
	size_t pos = 0;
	if (q == NULL)
		return;
	while ((e = map_next(&q->items, &pos)) != NULL) {
		struct item *it = e->value;
		free(it->key);
		free(it);
	}
	map_done(&q->items);
	vec_done(&q->heap);
	pthread_cond_destroy(&q->cond);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

void workqueue_add(struct workqueue *q, const char *key)
{
	pthread_mutex_lock(&q->lock);
	if (!q->closed) {
		q->stats.adds++;
		make_ready(q, item_get(q, key));
	}
	pthread_mutex_unlock(&q->lock);
}

void workqueue_add_after(struct workqueue *q, const char *key, uint64_t delay_ns)
{
	if (delay_ns == 0) {
		workqueue_add(q, key);
		return;
	}
	pthread_mutex_lock(&q->lock);
	if (!q->closed)
		wait_until(q, item_get(q, key), clock_mono_ns() + delay_ns);
	pthread_mutex_unlock(&q->lock);
}

static void wait_for_work(struct workqueue *q)
{
	if (q->heap.n == 0) {
		pthread_cond_wait(&q->cond, &q->lock);
		return;
	}
	uint64_t due = q->heap.v[0]->due_ns;
	struct timespec t = { .tv_sec = (time_t)(due / NS_PER_S),
			      .tv_nsec = (long)(due % NS_PER_S) };
	IGNORE(pthread_cond_timedwait(&q->cond, &q->lock,
				      &t)); /* either way the caller looks again */
}

bool workqueue_get(struct workqueue *q, struct strbuf *key)
{
	pthread_mutex_lock(&q->lock);
	for (;;) {
		move_due(q, clock_mono_ns());
		if (q->closed || q->first != NULL)
			break;
		wait_for_work(q);
	}
	struct item *it = q->closed ? NULL : q->first;
	if (it != NULL) {
		q->first = it->next;
		if (q->first == NULL)
			q->last = NULL;
		it->ready = false;
		it->active = true;
		q->stats.ready--;
		q->stats.active++;
		strbuf_reset(key);
		strbuf_adds(key, it->key);
	}
	pthread_mutex_unlock(&q->lock);
	return it != NULL;
}

void workqueue_done(struct workqueue *q, const struct strbuf *key, enum work_result r)
{
	pthread_mutex_lock(&q->lock);
	struct item *it = item_get(q, key->s);
	uint64_t now = clock_mono_ns();
	bool again = it->again;
	q->stats.active -= it->active;
	it->active = false;
	it->again = false;
	if (r == WORK_OK) {
		it->failures = 0;
	} else {
		it->failures++;
		q->stats.retries++;
	}
	if (again)
		make_ready(q, it); /* something changed: now, whatever came of the last time */
	else if (r == WORK_RETRY && !q->closed)
		wait_until(q, it, now + retry_delay(q, it, now));
	item_settle(q, it);
	pthread_mutex_unlock(&q->lock);
}

void workqueue_close(struct workqueue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->cond);
	pthread_mutex_unlock(&q->lock);
}

void workqueue_stats(struct workqueue *q, struct workqueue_stats *ret)
{
	pthread_mutex_lock(&q->lock);
	*ret = q->stats;
	ret->delayed = q->heap.n;
	pthread_mutex_unlock(&q->lock);
}

unsigned workqueue_failures(struct workqueue *q, const char *key)
{
	pthread_mutex_lock(&q->lock);
	const struct item *it = map_get(&q->items, slice_of(key));
	unsigned n = it != NULL ? it->failures : 0;
	pthread_mutex_unlock(&q->lock);
	return n;
}

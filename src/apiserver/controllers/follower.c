/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop of a follower's thread: list all objects, take changes, act, wait. When the watch has
 * fallen behind what the store keeps, it starts over with a list. */
#include "apiserver/controllers/follower.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "apiserver/store/read.h"
#include "apiserver/store/watch.h"
#include "base/clock.h"
#include "base/mem.h"

enum { RETRY_MS = 100 };

struct apiserver_follower {
	struct apiserver_store *store;
	const struct apiserver_follower_ops *ops;
	void *ctx;
	struct apiserver_watch *watch; /* NULL: the list failed and must be tried again */
	pthread_t thread;
	pthread_mutex_t lock; /* guards woken, and changes of stop */
	pthread_cond_t changed;
	atomic_bool stop;
	bool woken;
};

static int see_row(void *ctx, const struct apiserver_row *row)
{
	struct apiserver_follower *follower = ctx;
	follower->ops->see(follower->ctx, row);
	return 0;
}

static void wake_thread(void *ctx)
{
	struct apiserver_follower *follower = ctx;
	pthread_mutex_lock(&follower->lock);
	follower->woken = true;
	pthread_cond_signal(&follower->changed);
	pthread_mutex_unlock(&follower->lock);
}

static void start_over(struct apiserver_follower *follower)
{
	uint64_t at;
	apiserver_watch_free(TAKE_PTR(follower->watch));
	follower->ops->reset(follower->ctx);
	/* Callers read an object before they treat it as gone, so that damaged rows may be
	 * skipped. */
	struct apiserver_range all = { .prefix = "", .skip_damaged = true };
	int e = apiserver_store_list(follower->store, &all, see_row, follower, &at, NULL);
	if (e == 0)
		IGNORE(apiserver_watch_new(follower->store, "", at, wake_thread, follower,
					   &follower->watch));
	if (follower->watch != NULL)
		apiserver_watch_only(follower->watch, follower->ops->concerns);
}

static void take_changes(struct apiserver_follower *follower)
{
	const struct apiserver_event *event;
	uint64_t at;
	int r = 1;
	if (follower->watch == NULL)
		start_over(follower);
	while (follower->watch != NULL &&
	       (r = apiserver_watch_next(follower->watch, &event, &at)) == 1)
		follower->ops->change(follower->ctx, event);
	if (r < 0) {
		assert(follower->watch != NULL);
		start_over(follower);
	}
}

/* Waits for a change, or for the time of the next work or retry. False: the follower ends. */
static bool wait_for_work(struct apiserver_follower *follower, bool again)
{
	uint64_t until = UINT64_MAX;
	int r = 0;
	if (follower->ops->next_ns != NULL)
		until = follower->ops->next_ns(follower->ctx);
	if (again || follower->watch == NULL)
		until = MIN(until, clock_mono_ns() + RETRY_MS * NS_PER_MS);
	struct timespec ts = { .tv_sec = (time_t)(until / NS_PER_S),
			       .tv_nsec = (long)(until % NS_PER_S) };
	pthread_mutex_lock(&follower->lock);
	while (!follower->stop && !follower->woken && r == 0)
		r = until == UINT64_MAX
			    ? pthread_cond_wait(&follower->changed, &follower->lock)
			    : pthread_cond_timedwait(&follower->changed, &follower->lock, &ts);
	follower->woken = false;
	bool on = !follower->stop;
	pthread_mutex_unlock(&follower->lock);
	return on;
}

static void *run_follower(void *ctx)
{
	struct apiserver_follower *follower = ctx;
	bool again;
	do {
		take_changes(follower);
		again = follower->ops->act(follower->ctx, follower);
	} while (wait_for_work(follower, again));
	return NULL;
}

struct apiserver_follower *apiserver_follower_new(struct apiserver_store *store,
						  const struct apiserver_follower_ops *ops,
						  void *ctx)
{
	struct apiserver_follower *follower = xcalloc(1, sizeof(*follower));
	pthread_condattr_t attr;
	follower->store = store;
	follower->ops = ops;
	follower->ctx = ctx;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&follower->lock, NULL);
	pthread_cond_init(&follower->changed, &attr);
	pthread_condattr_destroy(&attr);
	int r = pthread_create(&follower->thread, NULL, run_follower, follower);
	assert(r == 0);
	return follower;
}

bool apiserver_follower_is_ending(const struct apiserver_follower *follower)
{
	return atomic_load_explicit(&follower->stop, memory_order_relaxed);
}

bool apiserver_follower_process(const struct apiserver_follower *follower, struct map *due,
				bool (*process)(void *ctx, const char *key, void *value), void *ctx)
{
	struct map todo = *due;
	const struct map_entry *entry;
	size_t pos = 0;
	map_init(due);
	while (!apiserver_follower_is_ending(follower) && (entry = map_next(&todo, &pos)) != NULL) {
		if (!process(ctx, entry->key, entry->value))
			map_set(due, slice_of(entry->key), entry->value);
	}
	map_done(&todo);
	return due->n != 0;
}

void apiserver_follower_free(struct apiserver_follower *follower)
{
	if (follower == NULL)
		return;
	pthread_mutex_lock(&follower->lock);
	assert(!follower->stop);
	follower->stop = true;
	pthread_cond_signal(&follower->changed);
	pthread_mutex_unlock(&follower->lock);
	pthread_join(follower->thread, NULL);
	apiserver_watch_free(follower->watch);
	pthread_cond_destroy(&follower->changed);
	pthread_mutex_destroy(&follower->lock);
	free(follower);
}

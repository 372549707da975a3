/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timer thread of watches: a list of ticks, searched whenever the earliest is due. Each watch
 * has one tick, due once a minute or less, so a list is enough. */
#include "apiserver/request/ticker.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

struct apiserver_tick {
	struct apiserver_ticker *ticker;
	struct apiserver_tick *next, **link;
	void (*fn)(void *ctx);
	void *ctx;
	uint64_t at_ns; /* UINT64_MAX: not set */
};

struct apiserver_ticker {
	pthread_mutex_t lock; /* guards all below and the ticks */
	pthread_cond_t changed, called;
	pthread_t thread;
	struct apiserver_tick *ticks, *calling;
	bool stop;
};

static uint64_t earliest_due(const struct apiserver_ticker *ticker)
{
	uint64_t at = UINT64_MAX;
	for (const struct apiserver_tick *tick = ticker->ticks; tick != NULL; tick = tick->next)
		at = MIN(at, tick->at_ns);
	return at;
}

static void call_tick(struct apiserver_ticker *ticker, struct apiserver_tick *tick)
{
	assert(ticker->calling == NULL);
	tick->at_ns = UINT64_MAX;
	ticker->calling = tick;
	pthread_mutex_unlock(&ticker->lock);
	tick->fn(tick->ctx);
	pthread_mutex_lock(&ticker->lock);
	ticker->calling = NULL;
	pthread_cond_broadcast(&ticker->called);
}

/* A tick that is due, or NULL. */
static struct apiserver_tick *find_due(const struct apiserver_ticker *ticker, uint64_t now)
{
	for (struct apiserver_tick *tick = ticker->ticks; tick != NULL; tick = tick->next) {
		if (tick->at_ns <= now)
			return tick;
	}
	return NULL;
}

static void *run_ticker(void *ctx)
{
	struct apiserver_ticker *ticker = ctx;
	pthread_mutex_lock(&ticker->lock);
	while (!ticker->stop) {
		struct apiserver_tick *tick = find_due(ticker, clock_mono_ns());
		uint64_t at = earliest_due(ticker);
		if (tick != NULL) {
			call_tick(ticker, tick);
		} else if (at == UINT64_MAX) {
			pthread_cond_wait(&ticker->changed, &ticker->lock);
		} else {
			struct timespec ts = { .tv_sec = (time_t)(at / NS_PER_S),
					       .tv_nsec = (long)(at % NS_PER_S) };
			pthread_cond_timedwait(&ticker->changed, &ticker->lock, &ts);
		}
	}
	pthread_mutex_unlock(&ticker->lock);
	return NULL;
}

struct apiserver_ticker *apiserver_ticker_new(void)
{
	struct apiserver_ticker *ticker = xcalloc(1, sizeof(*ticker));
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&ticker->lock, NULL);
	pthread_cond_init(&ticker->changed, &attr);
	pthread_cond_init(&ticker->called, NULL);
	pthread_condattr_destroy(&attr);
	int r = pthread_create(&ticker->thread, NULL, run_ticker, ticker);
	assert(r == 0);
	return ticker;
}

void apiserver_ticker_free(struct apiserver_ticker *ticker)
{
	if (ticker == NULL)
		return;
	pthread_mutex_lock(&ticker->lock);
	assert(ticker->ticks == NULL);
	ticker->stop = true;
	pthread_cond_signal(&ticker->changed);
	pthread_mutex_unlock(&ticker->lock);
	pthread_join(ticker->thread, NULL);
	pthread_cond_destroy(&ticker->changed);
	pthread_cond_destroy(&ticker->called);
	pthread_mutex_destroy(&ticker->lock);
	free(ticker);
}

struct apiserver_tick *apiserver_tick_new(struct apiserver_ticker *ticker, void (*fn)(void *ctx),
					  void *ctx)
{
	struct apiserver_tick *tick = xcalloc(1, sizeof(*tick));
	*tick = (struct apiserver_tick){
		.ticker = ticker, .fn = fn, .ctx = ctx, .at_ns = UINT64_MAX
	};
	pthread_mutex_lock(&ticker->lock);
	tick->next = ticker->ticks;
	tick->link = &ticker->ticks;
	if (tick->next != NULL)
		tick->next->link = &tick->next;
	ticker->ticks = tick;
	pthread_mutex_unlock(&ticker->lock);
	return tick;
}

void apiserver_tick_set(struct apiserver_tick *tick, uint64_t at_ns)
{
	struct apiserver_ticker *ticker = tick->ticker;
	pthread_mutex_lock(&ticker->lock);
	/* For a later time the thread wakes once too early, which is rarer than this call. */
	if (at_ns < tick->at_ns)
		pthread_cond_signal(&ticker->changed);
	tick->at_ns = at_ns;
	pthread_mutex_unlock(&ticker->lock);
}

void apiserver_tick_free(struct apiserver_tick *tick)
{
	if (tick == NULL)
		return;
	struct apiserver_ticker *ticker = tick->ticker;
	pthread_mutex_lock(&ticker->lock);
	while (ticker->calling == tick)
		pthread_cond_wait(&ticker->called, &ticker->lock);
	assert(*tick->link == tick);
	*tick->link = tick->next;
	if (tick->next != NULL)
		tick->next->link = tick->link;
	pthread_mutex_unlock(&ticker->lock);
	free(tick);
}

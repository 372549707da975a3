/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread pool of HTTP handlers: a queue of jobs and the threads that run them. */
#include "http/pool_priv.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

struct http_pool {
	void (*run)(struct http_job *job);
	unsigned max_threads;
	pthread_attr_t attr;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t work, gone;
	struct http_job *first, **end;
	unsigned n_jobs; /* in the queue */
	unsigned n_threads, n_idle;
	bool ending;
};

static struct http_job *take_job(struct http_pool *pool)
{
	struct http_job *j = pool->first;
	if (j == NULL)
		return NULL;
	pool->first = j->next_;
	if (pool->first == NULL)
		pool->end = &pool->first;
	pool->n_jobs--;
	return j;
}

/* NULL: nothing came for long, or the pool ends. */
static struct http_job *wait_for_job(struct http_pool *pool)
{
	uint64_t until_ns = clock_mono_ns() + HTTP_POOL_IDLE_S * NS_PER_S;
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
				  .tv_nsec = (long)(until_ns % NS_PER_S) };
	int r = 0;
	pool->n_idle++;
	while (pool->first == NULL && !pool->ending && r == 0)
		r = pthread_cond_clockwait(&pool->work, &pool->lock, CLOCK_MONOTONIC, &until);
	pool->n_idle--;
	return take_job(pool);
}

static void *run_worker(void *ctx)
{
	struct http_pool *p = ctx;
	struct http_job *j;
	pthread_mutex_lock(&p->lock);
	while ((j = wait_for_job(p)) != NULL) {
		pthread_mutex_unlock(&p->lock);
		p->run(j);
		pthread_mutex_lock(&p->lock);
	}
	if (--p->n_threads == 0)
		pthread_cond_signal(&p->gone);
	pthread_mutex_unlock(&p->lock);
	mem_trim(); /* requests have become fewer: what they took goes back to the system */
	return NULL;
}

struct http_pool *http_pool_new(unsigned max_threads, void (*run)(struct http_job *job))
{
	struct http_pool *p = xcalloc(1, sizeof(*p));
	p->run = run;
	p->max_threads = max_threads;
	p->end = &p->first;
	pthread_attr_init(&p->attr);
	pthread_attr_setdetachstate(&p->attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&p->attr, HTTP_POOL_STACK_BYTES);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->gone, NULL);
	return p;
}

/* With the lock held. */
static bool add_thread(struct http_pool *pool)
{
	pthread_t thread;
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool made = pthread_create(&thread, &pool->attr, run_worker, pool) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pool->n_threads += made ? 1 : 0;
	return made;
}

bool http_pool_add(struct http_pool *pool, struct http_job *job)
{
	pthread_mutex_lock(&pool->lock);
	bool hands = pool->n_threads > 0;
	if (pool->n_jobs >= pool->n_idle && pool->n_threads < pool->max_threads)
		hands |= add_thread(pool);
	if (hands) {
		job->next_ = NULL;
		*pool->end = job;
		pool->end = &job->next_;
		pool->n_jobs++;
	}
	pthread_mutex_unlock(&pool->lock);
	/* Now, so that the thread that wakes finds the lock free. */
	if (hands)
		pthread_cond_signal(&pool->work);
	return hands;
}

void http_pool_free(struct http_pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->work);
	while (pool->n_threads > 0)
		pthread_cond_wait(&pool->gone, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->gone);
	pthread_attr_destroy(&pool->attr);
	free(pool);
}

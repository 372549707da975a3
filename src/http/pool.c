/* A queue and the threads that empty it. */
#include "http/pool_priv.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

struct http_pool {
	void (*run)(struct http_job *j);
	unsigned max_threads;
	pthread_attr_t attr;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t work, gone;
	struct http_job *first, **end;
	unsigned n_jobs; /* in the queue */
	unsigned n_threads, n_idle;
	bool ending;
};

static struct http_job *take_job(struct http_pool *p)
{
	struct http_job *j = p->first;
	if (j == NULL)
		return NULL;
	p->first = j->next_;
	if (p->first == NULL)
		p->end = &p->first;
	p->n_jobs--;
	return j;
}

/* NULL: nothing came for long, or the pool ends. */
static struct http_job *wait_for_job(struct http_pool *p)
{
	uint64_t until_ns = clock_mono_ns() + HTTP_POOL_IDLE_S * NS_PER_S;
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
				  .tv_nsec = (long)(until_ns % NS_PER_S) };
	int r = 0;
	p->n_idle++;
	while (p->first == NULL && !p->ending && r == 0)
		r = pthread_cond_clockwait(&p->work, &p->lock, CLOCK_MONOTONIC, &until);
	p->n_idle--;
	return take_job(p);
}

static void *work(void *ctx)
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
	return NULL;
}

struct http_pool *http_pool_new(unsigned max_threads, void (*run)(struct http_job *j))
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
static bool add_thread(struct http_pool *p)
{
	pthread_t thread;
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool made = pthread_create(&thread, &p->attr, work, p) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	p->n_threads += made ? 1 : 0;
	return made;
}

bool http_pool_add(struct http_pool *p, struct http_job *j)
{
	pthread_mutex_lock(&p->lock);
	bool hands = p->n_threads > 0;
	if (p->n_jobs >= p->n_idle && p->n_threads < p->max_threads)
		hands |= add_thread(p);
	if (hands) {
		j->next_ = NULL;
		*p->end = j;
		p->end = &j->next_;
		p->n_jobs++;
		pthread_cond_signal(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
	return hands;
}

void http_pool_free(struct http_pool *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_broadcast(&p->work);
	while (p->n_threads > 0)
		pthread_cond_wait(&p->gone, &p->lock);
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->gone);
	pthread_attr_destroy(&p->attr);
	free(p);
}

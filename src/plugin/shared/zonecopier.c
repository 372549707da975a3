/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread that copies zones for transfers, so that no worker waits, and its queue of jobs. */
#include "plugin/shared/zonecopier.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "plugin/shared/zonecopy.h"
#include "server/handler.h"

struct zonecopier {
	pthread_t thread;
	pthread_mutex_t lock; /* guards first, last, stop, and of each job is_queued and drop */
	pthread_cond_t wake;
	struct zonecopier_job *first, **last;
	bool stop;
};

/* NULL: stop. *ret_drop: it is only to be freed. A job that is dropped from now on comes again. */
static struct zonecopier_job *take_job(struct zonecopier *copier, bool *ret_drop)
{
	pthread_mutex_lock(&copier->lock);
	while (copier->first == NULL && !copier->stop)
		pthread_cond_wait(&copier->wake, &copier->lock);
	struct zonecopier_job *j = copier->first;
	if (j != NULL) {
		copier->first = j->next;
		j->is_queued = false;
		*ret_drop = j->drop;
	}
	if (copier->first == NULL)
		copier->last = &copier->first;
	pthread_mutex_unlock(&copier->lock);
	return j;
}

static void job_do(struct zonecopier_job *job)
{
	assert(job->copy == NULL && !atomic_load_explicit(&job->ready, memory_order_relaxed));
	if (job->incremental && job->source->changes != NULL)
		job->copy = job->source->changes(job->from, job->zone, job->serial);
	if (job->copy == NULL)
		job->copy = job->source->copy(job->from, job->zone);
	atomic_store_explicit(&job->ready, true, memory_order_release);
}

static void job_free(struct zonecopier_job *job)
{
	if (job->copy != NULL)
		job->copy->free(job->copy);
	free(job);
}

static void *run_copier(void *arg)
{
	struct zonecopier *c = arg;
	struct zonecopier_job *j;
	bool drop;
	rcu_thread_register();
	while ((j = take_job(c, &drop)) != NULL) {
		if (drop)
			job_free(j);
		else
			job_do(j);
	}
	rcu_thread_unregister();
	return NULL;
}

struct zonecopier *zonecopier_new(void)
{
	enum { STACK_BYTES = 256 * 1024 };
	struct zonecopier *c = xcalloc(1, sizeof(*c));
	pthread_attr_t attr;
	c->last = &c->first;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	int r = pthread_create(&c->thread, &attr, run_copier, c);
	pthread_attr_destroy(&attr);
	if (r != 0) {
		pthread_cond_destroy(&c->wake);
		pthread_mutex_destroy(&c->lock);
		free(c);
		return NULL;
	}
	pthread_setname_np(c->thread, "transfer");
	return c;
}

void zonecopier_free(struct zonecopier *copier)
{
	if (copier == NULL)
		return;
	pthread_mutex_lock(&copier->lock);
	copier->stop = true;
	pthread_cond_signal(&copier->wake);
	pthread_mutex_unlock(&copier->lock);
	pthread_join(copier->thread, NULL);
	assert(copier->first == NULL); /* the thread ends when it has done all jobs */
	pthread_cond_destroy(&copier->wake);
	pthread_mutex_destroy(&copier->lock);
	free(copier);
}

/* Under the lock. */
static void put_job(struct zonecopier *copier, struct zonecopier_job *job)
{
	assert(!job->is_queued);
	job->is_queued = true;
	job->next = NULL;
	*copier->last = job;
	copier->last = &job->next;
	pthread_cond_signal(&copier->wake);
}

struct zonecopier_job *zonecopier_add(struct zonecopier *copier,
				      const struct zonecopier_source *source,
				      struct plugin_inst *from, const uint8_t *zone,
				      const uint32_t *serial)
{
	struct zonecopier_job *j = xcalloc(1, sizeof(*j));
	j->source = source;
	j->from = from;
	j->incremental = serial != NULL;
	j->serial = serial != NULL ? *serial : 0;
	memcpy(j->zone, zone, dns_name_len(zone));
	pthread_mutex_lock(&copier->lock);
	put_job(copier, j);
	pthread_mutex_unlock(&copier->lock);
	return j;
}

void zonecopier_drop(struct zonecopier *copier, struct zonecopier_job *job)
{
	pthread_mutex_lock(&copier->lock);
	assert(!job->drop);
	job->drop = true;
	/* One that was not taken yet, as where its query may not wait, stays where it is. */
	if (!job->is_queued)
		put_job(copier, job);
	pthread_mutex_unlock(&copier->lock);
}

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
	pthread_mutex_t lock; /* guards first, last and stop */
	pthread_cond_t wake;
	struct zonecopier_job *first, **last;
	bool stop;
};

/* NULL: stop. */
static struct zonecopier_job *take_job(struct zonecopier *copier)
{
	pthread_mutex_lock(&copier->lock);
	while (copier->first == NULL && !copier->stop)
		pthread_cond_wait(&copier->wake, &copier->lock);
	struct zonecopier_job *j = copier->first;
	if (j != NULL)
		copier->first = j->next;
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
	rcu_thread_register();
	for (struct zonecopier_job *j = take_job(c); j != NULL; j = take_job(c)) {
		if (j->drop)
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

static void put_job(struct zonecopier *copier, struct zonecopier_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&copier->lock);
	*copier->last = job;
	copier->last = &job->next;
	pthread_cond_signal(&copier->wake);
	pthread_mutex_unlock(&copier->lock);
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
	put_job(copier, j);
	return j;
}

void zonecopier_drop(struct zonecopier *copier, struct zonecopier_job *job)
{
	assert(!job->drop);
	job->drop = true;
	put_job(copier, job);
}

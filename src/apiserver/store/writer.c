/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The writer's thread. Callers queue sets of writes; the thread puts all that wait into one batch,
 * commits it (transaction.c), and then wakes the callers and the watches. Other work that needs the
 * writer's connection, such as compaction, runs on this thread as a job of its own. */
#include "apiserver/store/writer_priv.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "apiserver/store/damage_priv.h"
#include "apiserver/store/db_priv.h"
#include "apiserver/store/ring_priv.h"
#include "apiserver/store/store.h"
#include "apiserver/store/store_priv.h"
#include "apiserver/store/transaction_priv.h"
#include "apiserver/store/writer.h"
#include "base/err.h"
#include "base/metrics/metrics.h"

/* Limits of one batch. */
enum { BATCH_WRITES = 512, BATCH_BYTES = 8 << 20 };

static const struct metrics_family commits_total = {
	.name = "fairlead_api_store_commits_total",
	.help = "Transactions of the embedded API's store: each waits once for the disk.",
	.kind = METRICS_COUNTER,
};
static const struct metrics_family writes_total = {
	.name = "fairlead_api_store_writes_total",
	.help = "Writes in these transactions.",
	.kind = METRICS_COUNTER,
};

/* Removes the next batch from the queue: sets of writes, or one job that runs alone. Under lock. */
static struct store_job *take_batch(struct store_writer *wr)
{
	assert(wr->queue != NULL);
	struct store_job *first = wr->queue, *last = first;
	size_t writes = first->count, bytes = store_transaction_job_bytes(first);
	while (first->run == NULL && last->next != NULL && last->next->run == NULL) {
		writes += last->next->count;
		bytes += store_transaction_job_bytes(last->next);
		if (writes > BATCH_WRITES || bytes > BATCH_BYTES)
			break;
		last = last->next;
	}
	wr->queue = last->next;
	if (wr->queue == NULL)
		wr->queue_end = &wr->queue;
	last->next = NULL;
	return first;
}

static void finish_jobs(struct store_job *batch)
{
	while (batch != NULL) {
		/* After the post the job is its owner's, who may return at once. */
		struct store_job *next = batch->next;
		assert(batch->events == NULL);
		sem_post(&batch->finished);
		batch = next;
	}
}

static void *writer_main(void *arg)
{
	struct apiserver_store *store = arg;
	struct store_writer *writer = &store->writer;
	pthread_mutex_lock(&writer->lock);
	for (;;) {
		while (writer->queue == NULL && !writer->closing)
			pthread_cond_wait(&writer->cond, &writer->lock);
		if (writer->queue == NULL)
			break;
		struct store_job *batch = take_batch(writer);
		pthread_mutex_unlock(&writer->lock);
		if (batch->run != NULL)
			batch->result = batch->run(store, batch->ctx);
		else
			store_transaction_commit(store, batch);
		finish_jobs(batch);
		store_ring_wake(&store->ring);
		pthread_mutex_lock(&writer->lock);
	}
	pthread_mutex_unlock(&writer->lock);
	/* On this thread SIGXFSZ is blocked: a file size limit is an error, not a signal. */
	store_db_close(&writer->db);
	return NULL;
}

int store_thread_start(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int store_writer_start(struct apiserver_store *store)
{
	struct store_writer *writer = &store->writer;
	writer->queue_end = &writer->queue;
	writer->commits = metrics_get(&commits_total, NULL);
	writer->writes = metrics_get(&writes_total, NULL);
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->cond, NULL);
	int r = store_thread_start(&writer->thread, writer_main, store);
	writer->started = r == 0;
	return r;
}

void store_writer_stop(struct apiserver_store *store)
{
	struct store_writer *writer = &store->writer;
	if (!writer->started) {
		store_db_close(&writer->db);
		return;
	}
	pthread_mutex_lock(&writer->lock);
	writer->closing = true;
	pthread_cond_signal(&writer->cond);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	assert(writer->queue == NULL);
	pthread_cond_destroy(&writer->cond);
	pthread_mutex_destroy(&writer->lock);
}

int store_writer_run(struct apiserver_store *store, struct store_job *job)
{
	struct store_writer *writer = &store->writer;
	assert(!pthread_equal(writer->thread, pthread_self()));
	assert((job->run != NULL) == (job->count == 0));
	job->events = NULL;
	job->events_end = &job->events;
	job->next = NULL;
	sem_init(&job->finished, 0, 0);
	pthread_mutex_lock(&writer->lock);
	assert(!writer->closing && *writer->queue_end == NULL);
	const bool first = writer->queue == NULL;
	*writer->queue_end = job;
	writer->queue_end = &job->next;
	pthread_mutex_unlock(&writer->lock);
	/* Later jobs find the thread awake or about to wake; it takes all that wait. The store, and so
	 * the writer, stays until this job is finished. */
	if (first)
		pthread_cond_signal(&writer->cond);
	while (sem_wait(&job->finished) < 0)
		assert(errno == EINTR);
	sem_destroy(&job->finished);
	return job->result;
}

int apiserver_store_write(struct apiserver_store *store, const struct apiserver_write *write,
			  size_t count, uint64_t *ret, size_t *ret_conflict)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(write[i].key) > APISERVER_KEY_MAX_BYTES ||
		    write[i].head.n + write[i].tail.n > APISERVER_VALUE_MAX_BYTES)
			return ERR_LIMIT;
	if (count == 0) {
		*ret = apiserver_store_revision(store);
		return 0;
	}
	struct store_job job = { .writes = write, .count = count };
	int r = store_writer_run(store, &job);
	if (r == ERR_CONFLICT && ret_conflict != NULL)
		*ret_conflict = job.refused;
	if (r == ERR_DAMAGED)
		store_damage_note(store,
				  write[job.refused].key); /* for apiserver_store_damaged_key */
	if (r == 0)
		*ret = job.revision;
	return store_damage_note_error(store, r);
}

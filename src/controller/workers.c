/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of the workers: each takes a key, reconciles it over a connection of its own, and puts it
 * back if that failed or is wanted again. At the end reconciles under way get some seconds, then their
 * connections are cancelled. */
#include "controller/workers_priv.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/metrics_priv.h"
#include "kube/client/client.h"
#include "kube/informer/workqueue.h"

enum {
	WORKERS = 2,
	STOP_GRACE_S = 5, /* for reconciles under way */
	CANCEL_S = 10,	  /* for those whose connection was cancelled */
};

struct worker {
	struct workers *all;
	pthread_t thread;
	struct controller_ctx ctx;
	_Atomic uint64_t busy_since_ns; /* 0: waits for a key */
};

struct workers {
	struct workers_conf conf;
	struct worker worker[CONTROLLER_WORKERS_MAX];
	unsigned n_started;
	pthread_mutex_t lock; /* guards `running` */
	pthread_cond_t cond;
	unsigned running; /* that have not ended */
};

unsigned workers_count(const struct controller *controller)
{
	unsigned want = controller->workers != 0 ? controller->workers : WORKERS;
	return MIN(want, (unsigned)CONTROLLER_WORKERS_MAX);
}

struct workers *workers_new(const struct workers_conf *conf)
{
	struct workers *workers = xcalloc(1, sizeof(*workers));
	pthread_condattr_t ca;
	workers->conf = *conf;
	pthread_mutex_init(&workers->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&workers->cond, &ca);
	pthread_condattr_destroy(&ca);
	return workers;
}

void workers_free(struct workers *workers)
{
	if (workers == NULL)
		return;
	assert(workers->n_started == 0 && workers->running == 0);
	pthread_cond_destroy(&workers->cond);
	pthread_mutex_destroy(&workers->lock);
	free(workers);
}

/* ---- a worker's thread ---- */

static void reconcile_one(struct worker *worker, const struct strbuf *key)
{
	const struct workers_conf *conf = &worker->all->conf;
	uint64_t start = clock_mono_ns();
	unsigned failures = workqueue_failures(conf->queue, key->s);
	worker->busy_since_ns = start;
	worker->ctx.again_ns = 0;
	worker->ctx.err[0] = '\0';
	/* What failed before leaves the first turns to the others. */
	kube_conn_set_patient(worker->ctx.conn, failures != 0);
	int r = conf->controller->reconcile(&worker->ctx, key->s);
	worker->busy_since_ns = 0;
	controller_metrics_reconciled(conf->metrics, r, worker->ctx.again_ns != 0,
				      clock_mono_ns() - start);
	if (r < 0 && r != -ECANCELED)
		log_warn(conf->area, "%s: %s; will be tried again (failure %u)", key->s,
			 worker->ctx.err[0] != '\0' ? worker->ctx.err : err_str(r), failures + 1);
	workqueue_done(conf->queue, key, r < 0 ? WORK_RETRY : WORK_OK);
	if (r >= 0 && worker->ctx.again_ns != 0)
		workqueue_add_after(conf->queue, key->s, worker->ctx.again_ns);
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	struct workers *all = worker->all;
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	while (workqueue_get(all->conf.queue, &key))
		reconcile_one(worker, &key);
	pthread_mutex_lock(&all->lock);
	assert(all->running != 0);
	all->running--;
	pthread_cond_broadcast(&all->cond);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* ---- start and end ---- */

static int start_worker(struct workers *workers, const struct controller_ctx *ctx,
			struct err_text err)
{
	struct worker *worker = &workers->worker[workers->n_started];
	worker->all = workers;
	worker->ctx = *ctx;
	worker->ctx.conn = kube_conn_new(workers->conf.client, err);
	if (worker->ctx.conn == NULL)
		return ERR_CONFIG;
	kube_conn_set_write_limit(worker->ctx.conn, workers->conf.writes);
	pthread_mutex_lock(&workers->lock);
	int r = pthread_create(&worker->thread, NULL, run_worker, worker);
	workers->running += r == 0;
	pthread_mutex_unlock(&workers->lock);
	if (r != 0) {
		err_text_set(err, "cannot start a thread: %s", err_str(-r));
		kube_conn_free(worker->ctx.conn);
		return -r;
	}
	workers->n_started++;
	return 0;
}

int workers_start(struct workers *workers, const struct controller_ctx *ctx, struct err_text err)
{
	unsigned want = workers_count(workers->conf.controller);
	int r = 0;
	assert(workers->n_started == 0);
	while (r == 0 && workers->n_started < want)
		r = start_worker(workers, ctx, err);
	return r;
}

/* True when all ended before that time of the monotonic clock. */
static bool wait_ended(struct workers *workers, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / NS_PER_S),
			       .tv_nsec = (long)(until_ns % NS_PER_S) };
	int r = 0;
	pthread_mutex_lock(&workers->lock);
	while (workers->running != 0 && r == 0)
		r = pthread_cond_timedwait(&workers->cond, &workers->lock, &ts);
	bool ended = workers->running == 0;
	pthread_mutex_unlock(&workers->lock);
	return ended;
}

/* A reconcile that does not end although its connection was cancelled: nothing of the process can be
 * freed, and whoever waits for its end would wait for ever. */
static void end_if_stuck(struct workers *workers)
{
	if (wait_ended(workers, clock_mono_ns() + CANCEL_S * NS_PER_S))
		return;
	log_error(workers->conf.area, "a reconcile does not end; the process ends without it");
	_exit(EXIT_FAILURE);
}

void workers_stop(struct workers *workers, bool at_once)
{
	workqueue_close(workers->conf.queue);
	if (at_once || !wait_ended(workers, clock_mono_ns() + STOP_GRACE_S * NS_PER_S)) {
		for (unsigned i = 0; i < workers->n_started; i++)
			kube_conn_cancel(workers->worker[i].ctx.conn);
	}
	end_if_stuck(workers);
	for (unsigned i = 0; i < workers->n_started; i++) {
		pthread_join(workers->worker[i].thread, NULL);
		kube_conn_free(workers->worker[i].ctx.conn);
	}
	assert(workers->running == 0);
	workers->n_started = 0;
}

bool workers_are_stuck(const struct workers *workers)
{
	uint64_t now = clock_mono_ns();
	for (size_t i = 0; i < CONTROLLER_WORKERS_MAX; i++) {
		uint64_t since = workers->worker[i].busy_since_ns;
		if (since != 0 && now >= since + WORKERS_STUCK_S * NS_PER_S)
			return true;
	}
	return false;
}

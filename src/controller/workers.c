/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of the workers: each takes a key, reconciles it over a connection of its own, and puts it
 * back if that failed or is wanted again. Threads are started as they are needed, and end when they
 * were idle for a while: at rest a controller has few, with few connections. At the end reconciles
 * under way get some seconds, then their connections are cancelled. */
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
#include "kube/leader/lease.h"

enum {
	WORKERS = 2,
	IDLE_WORKERS = 1, /* that never end */
	IDLE_S = 3,	  /* after which others end, and connections are closed */
	STOP_GRACE_S = 5, /* for reconciles under way */
	CANCEL_S = 10,	  /* for those whose connection was cancelled */
};

struct worker {
	struct workers *all;
	pthread_t thread;
	bool started; /* and not joined yet */
	bool ended;   /* it can be joined without waiting */
	struct controller_ctx ctx;
	_Atomic uint64_t busy_since_ns; /* 0: waits for a key */
};

struct workers {
	struct workers_conf conf;
	struct worker worker[CONTROLLER_WORKERS_MAX];
	struct controller_ctx ctx; /* what each starts with */
	/* Guards what follows, and `started` and `ended` of each. */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned running; /* that have not ended */
	unsigned waiting; /* of them, those without a key */
	bool stopping;	  /* no more are started */
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
	assert(workers->running == 0);
	pthread_cond_destroy(&workers->cond);
	pthread_mutex_destroy(&workers->lock);
	free(workers);
}

static struct log_limit start_log = { .interval_ns = 60 * NS_PER_S };

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

static void *run_worker(void *arg);

/* Under the lock: it may be cancelled from now on. */
static int open_connection(struct worker *worker, struct err_text err)
{
	worker->ctx.conn = kube_conn_new(worker->all->conf.client, err);
	if (worker->ctx.conn == NULL)
		return ERR_CONFIG;
	kube_conn_set_write_limit(worker->ctx.conn, worker->all->conf.writes);
	return 0;
}

/* Under the lock. */
static int start_worker(struct workers *workers, struct err_text err)
{
	struct worker *worker = workers->worker;
	while (worker->started && !worker->ended)
		worker++;
	assert(worker < workers->worker + CONTROLLER_WORKERS_MAX);
	if (worker->started)
		pthread_join(worker->thread, NULL);
	/* Not as a whole: busy_since_ns is read by other threads at any time. */
	worker->all = workers;
	worker->ctx = workers->ctx;
	worker->started = worker->ended = false;
	int r = open_connection(worker, err);
	if (r < 0)
		return r;
	r = pthread_create(&worker->thread, NULL, run_worker, worker);
	if (r != 0) {
		err_text_set(err, "cannot start a thread: %s", err_str(-r));
		kube_conn_free(worker->ctx.conn);
		worker->ctx.conn = NULL;
		return -r;
	}
	worker->started = true;
	workers->running++;
	workers->waiting++;
	return 0;
}

/* A worker has got a key. One should always wait for the next: those at work may take long. Negative:
 * it has no connection, or the end has begun, and nobody would cancel a connection made now. */
static int note_busy(struct worker *worker)
{
	struct workers *workers = worker->all;
	char why[256];
	pthread_mutex_lock(&workers->lock);
	assert(workers->waiting != 0);
	workers->waiting--;
	if (workers->waiting == 0 && !workers->stopping &&
	    workers->running < workers_count(workers->conf.controller) &&
	    start_worker(workers, ERR_TEXT(why)) < 0)
		log_limited(&start_log, LOG_WARNING, workers->conf.area,
			    "goes on with %u workers: %s", workers->running, why);
	int r = workers->stopping ? -ECANCELED : 0;
	if (r == 0 && worker->ctx.conn == NULL && (r = open_connection(worker, ERR_TEXT(why))) < 0)
		log_limited(&start_log, LOG_WARNING, workers->conf.area, "%s", why);
	pthread_mutex_unlock(&workers->lock);
	return r;
}

static void note_waiting(struct workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	workers->waiting++;
	pthread_mutex_unlock(&workers->lock);
}

/* A worker without a key closes its connection, and ends if it need not be kept. */
static bool end_worker(struct worker *worker, bool needless)
{
	struct workers *workers = worker->all;
	pthread_mutex_lock(&workers->lock);
	bool ends = !needless || workers->running > IDLE_WORKERS;
	kube_conn_free(TAKE_PTR(worker->ctx.conn));
	if (ends) {
		assert(workers->running != 0 && workers->waiting != 0);
		workers->running--;
		workers->waiting--;
		worker->ended = true;
		pthread_cond_broadcast(&workers->cond);
	}
	pthread_mutex_unlock(&workers->lock);
	return ends;
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	struct workers *all = worker->all;
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	enum work_got got;
	do {
		got = workqueue_get_within(all->conf.queue, &key, IDLE_S * NS_PER_S);
		if (got == WORK_GOT) {
			if (note_busy(worker) < 0)
				workqueue_done(all->conf.queue, &key, WORK_RETRY);
			else
				reconcile_one(worker, &key);
			note_waiting(all);
		}
	} while (got == WORK_GOT || !end_worker(worker, got == WORK_NONE));
	return NULL;
}

/* ---- start and end ---- */

int workers_start(struct workers *workers, const struct controller_ctx *ctx, struct err_text err)
{
	int r = 0;
	pthread_mutex_lock(&workers->lock);
	assert(workers->running == 0);
	workers->ctx = *ctx;
	while (r == 0 && workers->running < MIN(workers_count(workers->conf.controller),
						(unsigned)IDLE_WORKERS))
		r = start_worker(workers, err);
	pthread_mutex_unlock(&workers->lock);
	return r;
}

/* Under the lock. Waits for one of them to end, at most until then. */
static void wait_once(struct workers *workers, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / NS_PER_S),
			       .tv_nsec = (long)(until_ns % NS_PER_S) };
	pthread_cond_timedwait(&workers->cond, &workers->lock, &ts);
}

/* True when all ended within that time, and before another process may lead: that moment moves on
 * while the lease is renewed. */
static bool wait_ended(struct workers *workers, uint64_t seconds, struct lease *lease)
{
	uint64_t most_ns = clock_mono_ns() + seconds * NS_PER_S, until_ns;
	pthread_mutex_lock(&workers->lock);
	while (workers->running != 0 &&
	       clock_mono_ns() < (until_ns = MIN(most_ns, lease_end_by_ns(lease))))
		wait_once(workers, until_ns);
	bool ended = workers->running == 0;
	pthread_mutex_unlock(&workers->lock);
	return ended;
}

/* A reconcile that does not end although its connection was cancelled: nothing of the process can be
 * freed, whoever waits for its end would wait for ever, and it must not act when another process
 * leads. */
static void end_if_stuck(struct workers *workers, struct lease *lease)
{
	if (wait_ended(workers, CANCEL_S, lease))
		return;
	log_error(workers->conf.area, "a reconcile does not end%s; the process ends without it",
		  clock_mono_ns() >= lease_end_by_ns(lease) ? " while its lease expires" : "");
	_exit(EXIT_FAILURE);
}

static void cancel_connections(struct workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	for (size_t i = 0; i < CONTROLLER_WORKERS_MAX; i++) {
		if (workers->worker[i].ctx.conn != NULL)
			kube_conn_cancel(workers->worker[i].ctx.conn);
	}
	pthread_mutex_unlock(&workers->lock);
}

void workers_stop(struct workers *workers, bool at_once, struct lease *lease)
{
	pthread_mutex_lock(&workers->lock);
	workers->stopping = true;
	pthread_mutex_unlock(&workers->lock);
	workqueue_close(workers->conf.queue);
	if (at_once || !wait_ended(workers, STOP_GRACE_S, lease))
		cancel_connections(workers);
	end_if_stuck(workers, lease);
	for (size_t i = 0; i < CONTROLLER_WORKERS_MAX; i++) {
		if (workers->worker[i].started)
			pthread_join(workers->worker[i].thread, NULL);
		workers->worker[i].started = false;
	}
	assert(workers->running == 0);
}

/* How many of them have been in one reconcile for so long. */
static unsigned count_busy(const struct workers *workers, uint64_t longest_ns)
{
	uint64_t now = clock_mono_ns();
	unsigned busy = 0;
	for (size_t i = 0; i < CONTROLLER_WORKERS_MAX; i++) {
		uint64_t since = workers->worker[i].busy_since_ns;
		busy += since != 0 && now >= since + longest_ns;
	}
	return busy;
}

bool workers_are_stuck(const struct workers *workers)
{
	return count_busy(workers, WORKERS_STUCK_S * NS_PER_S) != 0;
}

bool workers_are_blocked(const struct workers *workers, uint64_t longest_ns)
{
	return count_busy(workers, longest_ns) == workers_count(workers->conf.controller);
}

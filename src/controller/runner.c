/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One controller's life, on a thread: waits until the copies of what it watches are filled, then to
 * lead; starts its engine and its workers; at the end stops workers, then engine, then the lease. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/engine.h"
#include "controller/informers_priv.h"
#include "controller/lookup_servers_priv.h"
#include "controller/metrics_priv.h"
#include "controller/rival_wait_priv.h"
#include "controller/runner_priv.h"
#include "controller/workers_priv.h"
#include "kube/client/client.h"
#include "kube/client/write_limit.h"
#include "kube/events/events.h"
#include "kube/informer/informer.h"
#include "kube/informer/workqueue.h"
#include "kube/leader/heartbeat.h"
#include "kube/leader/lease.h"

enum {
	SYNC_CHECK_MS = 200,
	WATCH_LOG_S = 10, /* between two log lines about a watch */
	LEASE_LOG_S = 60, /* ... about the lease */
	BLOCKED_BEATS =
		2, /* all workers in one reconcile for so many heartbeats: it does not work */
};

#define LEASE_PREFIX "fairlead-"

struct watching {
	struct runner *runner;
	const struct controller_watch *watch;
	const struct informers_part *part;
};

struct runner {
	struct runner_conf conf;
	const struct controller *controller;
	char area[64]; /* of log lines */
	char *ns;
	void *state;
	struct controller_metrics *metrics;
	struct workqueue *queue;
	struct kube_write_limit writes;
	struct watching watching[CONTROLLER_WATCHES_MAX];
	struct informers_part parts[CONTROLLER_WATCHES_MAX];
	struct kube_store *stores[CONTROLLER_WATCHES_MAX];
	struct controller_ctx hook_ctx; /* for `keys` and hooks */
	struct events *events;
	struct lease *lease;
	struct rival_wait rival;
	struct heartbeat *heartbeat; /* while it leads, if it has one; the thread's own */
	struct engine *engine;	     /* while it leads */
	struct workers *workers;
	pthread_t thread;
	bool started; /* and not joined yet */
	int result;   /* written by the thread, read after it was joined */
	_Atomic bool stopping, leading;
	_Atomic bool unfit; /* has led, or could not: it does not lead again */
	pthread_mutex_t
		lock; /* guards the pointers `lease` and `engine`, and writes of `stopping` */
	pthread_cond_t cond;
	struct log_limit watch_log_limit, lease_log_limit, unfit_log_limit;
};

/* ---- changes become keys ---- */

static void emit_key(void *arg, const char *key)
{
	struct runner *runner = arg;
	workqueue_add(runner->queue, key);
}

static void queue_keys(const struct watching *watching, const struct kube_obj *obj)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	if (watching->watch->keys != NULL) {
		watching->watch->keys(&watching->runner->hook_ctx, obj, emit_key, watching->runner);
		return;
	}
	strbuf_addf(&key, "%s%s%s", obj->ns, obj->ns[0] != '\0' ? "/" : "", obj->name);
	workqueue_add(watching->runner->queue, key.s);
}

static void on_added(void *ctx, struct kube_obj *obj)
{
	queue_keys(ctx, obj);
}

static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	queue_keys(ctx, old);
	queue_keys(ctx, obj);
}

static void on_deleted(void *ctx, struct kube_obj *last)
{
	queue_keys(ctx, last);
}

/* What to do about a missing kind. */
static const char *advice_of(const struct watching *watching)
{
	return kube_informer_absent(watching->part->informer)
		       ? " (the API has no such kind: install its CRD, deploy/crds)"
		       : "";
}

static void log_watch_error(void *ctx, const char *text)
{
	const struct watching *w = ctx;
	if (w->watch->optional && kube_informer_absent(w->part->informer)) {
		log_debug(w->runner->area, "%s", text);
		return;
	}
	log_limited(&w->runner->watch_log_limit, LOG_WARNING, w->runner->area, "watch of %s: %s%s",
		    w->watch->kind, text, advice_of(w));
}

static void add_watches(struct runner *runner)
{
	for (size_t i = 0; i < runner->controller->n_watch; i++) {
		struct watching *w = &runner->watching[i];
		*w = (struct watching){ runner, &runner->controller->watch[i], &runner->parts[i] };
		informers_add(runner->conf.informers, w->watch,
			      &(struct kube_handler){ .added = on_added,
						      .updated = on_updated,
						      .deleted = on_deleted,
						      .on_error = log_watch_error,
						      .ctx = w },
			      &runner->parts[i]);
	}
}

/* Is the copy complete, as far as it can be? */
static bool is_filled(const struct watching *watching)
{
	return kube_informer_synced(watching->part->informer) ||
	       (watching->watch->optional && kube_informer_absent(watching->part->informer));
}

bool runner_is_synced(struct runner *runner, struct strbuf *why)
{
	for (size_t i = 0; i < runner->controller->n_watch; i++) {
		if (is_filled(&runner->watching[i]))
			continue;
		strbuf_addf(why, "controller %s waits for the list of %s%s\n",
			    runner->controller->name, runner->watching[i].watch->kind,
			    advice_of(&runner->watching[i]));
		return false;
	}
	return true;
}

static bool wait_synced(struct runner *runner)
{
	for (size_t i = 0; i < runner->controller->n_watch; i++) {
		while (!runner->stopping && !is_filled(&runner->watching[i]) &&
		       !kube_informer_wait(runner->parts[i].informer, SYNC_CHECK_MS * NS_PER_MS)) {
		}
	}
	return !runner->stopping;
}

bool runner_is_alive(struct runner *runner, struct strbuf *why)
{
	if (runner->unfit && !runner->stopping) {
		strbuf_addf(why, "controller %s has ended; the log has the reason\n",
			    runner->controller->name);
		return false;
	}
	if (workers_are_stuck(runner->workers)) {
		strbuf_addf(why, "controller %s: a reconcile takes longer than %d s\n",
			    runner->controller->name, WORKERS_STUCK_S);
		return false;
	}
	pthread_mutex_lock(&runner->lock);
	bool alive = runner->engine == NULL || engine_is_alive(runner->engine);
	pthread_mutex_unlock(&runner->lock);
	if (!alive)
		strbuf_addf(why, "controller %s: its engine has not turned for more than %d s\n",
			    runner->controller->name, ENGINE_STUCK_S);
	return alive;
}

/* ---- its life ---- */

static int start_engine(struct runner *runner, struct err_text err)
{
	union net_addr servers[LOOKUP_SERVERS_MAX];
	struct engine_conf conf = { .emit = emit_key, .arg = runner, .dns_servers = servers };
	struct engine *engine = NULL;
	if (!runner->controller->has_engine)
		return 0;
	conf.n_dns_servers = lookup_servers_choose(runner->conf.options, servers);
	int r = engine_start(&conf, &engine, err);
	pthread_mutex_lock(&runner->lock);
	runner->engine = engine;
	pthread_mutex_unlock(&runner->lock);
	return r;
}

static int start_workers(struct runner *runner, struct err_text err)
{
	struct controller_ctx ctx = runner->hook_ctx;
	ctx.events = runner->events;
	ctx.lease = runner->lease;
	ctx.engine = runner->engine;
	return workers_start(runner->workers, &ctx, err);
}

static uint64_t heartbeat_ns(const struct runner *runner)
{
	const struct controller_options *options = runner->conf.options;
	return options != NULL && options->heartbeat_ns != 0 ? options->heartbeat_ns
							     : HEARTBEAT_INTERVAL_S * NS_PER_S;
}

/* Others must not believe that a controller works whose workers all hang. */
static bool is_working(void *ctx)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct runner *runner = ctx;
	return runner->leading && runner_is_alive(runner, &why) &&
	       !workers_are_blocked(runner->workers, BLOCKED_BEATS * heartbeat_ns(runner));
}

static void log_heartbeat_error(void *ctx, const char *text)
{
	struct runner *runner = ctx;
	log_limited(&runner->lease_log_limit, LOG_WARNING, runner->area, "%s", text);
}

static int start_heartbeat(struct runner *runner, struct err_text err)
{
	const struct controller_options *options = runner->conf.options;
	if (runner->controller->heartbeat_lease == NULL ||
	    (options != NULL && options->machine != NULL))
		return 0;
	return heartbeat_start(
		&(struct heartbeat_conf){ .client = runner->conf.lease_client,
					  .ns = runner->ns,
					  .name = runner->controller->heartbeat_lease,
					  .holder = runner->controller->heartbeat_holder,
					  .interval_ns = heartbeat_ns(runner),
					  .is_working = is_working,
					  .on_error = log_heartbeat_error,
					  .ctx = runner },
		&runner->heartbeat, err);
}

static void stop_engine(struct runner *runner)
{
	engine_freeze(runner->engine, lease_end_by_ns(runner->lease));
	pthread_mutex_lock(&runner->lock);
	struct engine *engine = TAKE_PTR(runner->engine);
	pthread_mutex_unlock(&runner->lock);
	engine_stop(engine);
}

/* From the loss of a lease to its expiry there is little time: what acts without a worker is
 * stopped first, and what does not end in time ends the process. */
static void end_work(struct runner *runner, bool at_once)
{
	engine_freeze(runner->engine, lease_end_by_ns(runner->lease));
	workers_stop(runner->workers, at_once, runner->lease);
	stop_engine(runner);
	heartbeat_stop(TAKE_PTR(runner->heartbeat));
}

/* At once: a process that has to end without those that hang logs nothing later. */
static int report_loss(struct runner *runner)
{
	uint64_t now = clock_mono_ns(), end = lease_end_by_ns(runner->lease);
	log_error(runner->area,
		  "the lease '%s%s'%s%s was lost; stopping: work under way has %llu ms to end",
		  LEASE_PREFIX, runner->controller->name, runner->rival.lease != NULL ? " or " : "",
		  runner->rival.lease != NULL ? runner->rival.lease : "",
		  (unsigned long long)(end > now ? (end - now) / NS_PER_MS : 0));
	return ERR_TIMEOUT;
}

/* Waits for the end: false when the lease was lost, true after runner_stop(). */
static bool wait_end(struct runner *runner)
{
	bool held = true;
	if (runner->lease != NULL)
		held = lease_wait(runner->lease, true);
	pthread_mutex_lock(&runner->lock);
	while (runner->lease == NULL && !runner->stopping)
		pthread_cond_wait(&runner->cond, &runner->lock);
	pthread_mutex_unlock(&runner->lock);
	return held || runner->stopping;
}

/* Runs workers until runner_stop(); negative when they could not start or the lease was lost. */
static int lead_until_stopped(struct runner *runner, struct err_text err)
{
	runner->leading = true;
	rival_wait_over(&runner->rival);
	log_info(runner->area, "leading as %s",
		 runner->lease != NULL ? lease_identity(runner->lease) : "the only process");
	int r = start_engine(runner, err);
	if (r == 0)
		r = start_workers(runner, err);
	if (r == 0)
		r = start_heartbeat(runner, err);
	if (r == 0 && !wait_end(runner))
		r = report_loss(runner);
	runner->leading = false;
	runner->unfit = r < 0; /* an orderly end keeps the lease until all work has ended */
	end_work(runner, r < 0);
	runner->unfit = true;
	return r;
}

/* A leader that does not act must not keep others from it. */
static bool is_fit_to_lead(void *ctx)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct runner *runner = ctx;
	if (runner->unfit)
		return false;
	bool alive = runner_is_alive(runner, &why);
	if (!alive)
		log_limited(&runner->unfit_log_limit, LOG_ERROR, runner->area,
			    "the lease is not renewed: %.*s", (int)slice_trim(strbuf_slice(&why)).n,
			    why.s);
	return alive;
}

/* A lease that cannot be acquired: logged, because the runner waits for it without end. */
static void log_lease_error(void *ctx, const char *text)
{
	struct runner *runner = ctx;
	log_limited(&runner->lease_log_limit, LOG_WARNING, runner->area, "%s", text);
}

static void note_rival(void *ctx, const char *holder)
{
	struct runner *runner = ctx;
	rival_wait_found(&runner->rival, holder);
}

/* Under the lock, so that runner_stop wakes either this one or nobody. */
static int start_lease(struct runner *runner, struct err_text err)
{
	CLEANUP(freep) char *name = xasprintf("%s%s", LEASE_PREFIX, runner->controller->name);
	struct lease_conf c = { .client = runner->conf.lease_client,
				.ns = runner->ns,
				.name = name,
				.identity = runner->conf.identity,
				.times = runner->conf.times,
				.is_healthy = is_fit_to_lead,
				.rival_ns = runner->conf.rival.ns,
				.rival_name = runner->conf.rival.name,
				.on_rival = note_rival,
				.on_error = log_lease_error,
				.ctx = runner };
	pthread_mutex_lock(&runner->lock);
	int r = runner->stopping ? 0 : lease_start(&c, &runner->lease, err);
	pthread_mutex_unlock(&runner->lock);
	return r;
}

static int run_runner(struct runner *runner, struct err_text err)
{
	if (!wait_synced(runner))
		return 0;
	int r = runner->conf.check != NULL
			? runner->conf.check(runner->conf.client, runner->controller, err)
			: 0;
	if (r < 0)
		return r;
	if (!runner->conf.elect)
		return lead_until_stopped(runner, err);
	r = start_lease(runner, err);
	if (r < 0 || runner->lease == NULL)
		return r;
	log_info(runner->area, "waiting to lead");
	r = lease_wait(runner->lease, false) ? lead_until_stopped(runner, err) : 0;
	pthread_mutex_lock(&runner->lock);
	struct lease *l = TAKE_PTR(runner->lease);
	pthread_mutex_unlock(&runner->lock);
	lease_stop(l);
	return r;
}

static void *run_thread(void *arg)
{
	struct runner *runner = arg;
	char err[512] = "";
	int r = run_runner(runner, ERR_TEXT(err));
	if (r < 0 && err[0] != '\0') /* a lost lease was logged at once */
		log_error(runner->area, "%s; stopping", err);
	runner->result = r;
	runner->conf.ended(runner->conf.ctx);
	return NULL;
}

void runner_free(struct runner *runner)
{
	if (runner == NULL)
		return;
	assert(!runner->started);
	events_stop(runner->events);
	workers_free(runner->workers);
	workqueue_close(runner->queue);
	workqueue_free(runner->queue);
	if (runner->controller->stop != NULL && runner->state != NULL)
		runner->controller->stop(runner->state);
	controller_metrics_free(runner->metrics);
	kube_write_limit_done(&runner->writes);
	pthread_cond_destroy(&runner->cond);
	pthread_mutex_destroy(&runner->lock);
	rival_wait_done(&runner->rival);
	free(runner->ns);
	free(runner);
}

static int prepare_runner(struct runner *runner, struct err_text err)
{
	CLEANUP(freep) char *reporter = xasprintf("fairlead.dev/%s", runner->controller->name);
	int r = 0;
	if (runner->controller->start != NULL)
		r = runner->controller->start(&runner->state, err);
	runner->hook_ctx = (struct controller_ctx){
		.name = runner->controller->name,
		.ns = runner->ns,
		.options = runner->conf.options,
		.taken = runner->conf.rival,
		.stores = runner->stores,
		.parts = runner->parts,
		.state = runner->state,
		.emit = emit_key,
		.emit_arg = runner,
	};
	if (r >= 0)
		r = events_start(&(struct events_conf){ .client = runner->conf.client,
							.writes = &runner->writes,
							.controller = reporter,
							.instance = runner->conf.identity },
				 &runner->events, err);
	if (r >= 0)
		add_watches(runner);
	return r;
}

static void init_lock(struct runner *runner)
{
	pthread_condattr_t ca;
	pthread_mutex_init(&runner->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&runner->cond, &ca);
	pthread_condattr_destroy(&ca);
}

static void set_write_limit(struct runner *runner, struct controller_writes writes)
{
	assert(writes.per_s != 0);
	kube_write_limit_init(&runner->writes);
	if (writes.per_s != CONTROLLER_WRITES_UNLIMITED)
		kube_write_limit_set(&runner->writes, writes.per_s,
				     writes.burst != 0 ? writes.burst : writes.per_s);
}

int runner_new(const struct runner_conf *conf, struct runner **ret, struct err_text err)
{
	struct runner *runner = xcalloc(1, sizeof(*runner));
	runner->conf = *conf;
	runner->controller = conf->controller;
	runner->ns = xstrdup(conf->ns);
	runner->watch_log_limit.interval_ns = WATCH_LOG_S * NS_PER_S;
	runner->lease_log_limit.interval_ns = LEASE_LOG_S * NS_PER_S;
	runner->unfit_log_limit.interval_ns = LEASE_LOG_S * NS_PER_S;
	snprintf(runner->area, sizeof(runner->area), "controller/%s", conf->controller->name);
	init_lock(runner);
	rival_wait_init(&runner->rival, &conf->rival, runner->ns, conf->controller->name,
			runner->area);
	runner->metrics = controller_metrics_new(conf->controller->name);
	runner->queue = workqueue_new(
		&(struct workqueue_conf){ .workers = workers_count(conf->controller) });
	set_write_limit(runner, conf->writes);
	runner->workers = workers_new(&(struct workers_conf){ .controller = conf->controller,
							      .area = runner->area,
							      .client = conf->client,
							      .writes = &runner->writes,
							      .queue = runner->queue,
							      .metrics = runner->metrics });
	int r = prepare_runner(runner, err);
	if (r < 0) {
		runner_free(runner);
		return r;
	}
	*ret = runner;
	return 0;
}

void runner_use_stores(struct runner *runner)
{
	for (size_t i = 0; i < runner->controller->n_watch; i++)
		runner->stores[i] = kube_informer_store(runner->parts[i].informer);
}

int runner_start(struct runner *runner, struct err_text err)
{
	int r = -pthread_create(&runner->thread, NULL, run_thread, runner);
	if (r < 0)
		err_text_set(err, "cannot start a thread: %s", err_str(r));
	runner->started = r >= 0;
	return r;
}

void runner_stop(struct runner *runner)
{
	pthread_mutex_lock(&runner->lock);
	runner->stopping = true;
	pthread_cond_broadcast(&runner->cond);
	if (runner->lease != NULL)
		lease_wake(runner->lease);
	pthread_mutex_unlock(&runner->lock);
}

int runner_join(struct runner *runner)
{
	if (!runner->started)
		return 0;
	pthread_join(runner->thread, NULL);
	runner->started = false;
	return runner->result;
}

struct controller_ctx *runner_hook_ctx(struct runner *runner)
{
	return &runner->hook_ctx;
}

void runner_note(struct runner *runner, struct strbuf *out)
{
	rival_wait_note(&runner->rival, out);
	if (runner->controller->note != NULL)
		runner->controller->note(runner->state, out);
}

void runner_collect(struct runner *runner)
{
	pthread_mutex_lock(&runner->lock);
	size_t work = runner->engine != NULL ? engine_count(runner->engine) : 0;
	pthread_mutex_unlock(&runner->lock);
	controller_metrics_set(runner->metrics, runner->queue, runner->leading, work);
}

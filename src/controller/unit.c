/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One controller's life: fills the copies of what it watches, waits to lead, runs workers that
 * reconcile keys, and stops them before the lease is released. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/metrics_priv.h"
#include "controller/unit_priv.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"
#include "kube/informer/informer.h"
#include "kube/informer/workqueue.h"
#include "kube/leader/lease.h"

enum {
	WORKERS = 2,
	SYNC_CHECK_MS = 200,
	STOP_GRACE_S = 5, /* for reconciles under way */
	STUCK_S = 600,	  /* a reconcile that takes so long never ends */
	TROUBLE_S = 10,	  /* between two log lines about a watch */
	LEASE_S = 60,	  /* ... about the lease */
};

#define LEASE_PREFIX "fairlead-"

struct worker {
	struct unit *unit;
	pthread_t thread;
	struct controller_ctx ctx;
	_Atomic uint64_t busy_since_ns; /* 0: waits for a key */
};

struct watching {
	struct unit *unit;
	const struct controller_watch *watch;
	struct kube_informer *informer;
};

struct unit {
	struct unit_conf conf;
	const struct controller *controller;
	char area[64]; /* of log lines */
	char *ns;
	void *state;
	struct controller_metrics *metrics;
	struct workqueue *queue;
	struct watching watching[CONTROLLER_WATCHES_MAX];
	struct kube_store *stores[CONTROLLER_WATCHES_MAX];
	struct controller_ctx view; /* for `keys` and hooks */
	struct events *events;
	struct lease *lease;
	struct worker workers[CONTROLLER_WORKERS_MAX];
	unsigned n_workers; /* started */
	pthread_t thread;
	int result; /* written by the thread, read after it was joined */
	_Atomic bool stopping, leading;
	pthread_mutex_t lock; /* guards the pointer `lease`, writes of `stopping`, and `running` */
	pthread_cond_t cond;
	unsigned running; /* workers that have not ended */
	struct log_limit trouble_limit, lease_limit;
};

/* ---- changes become keys ---- */

static void emit_key(void *arg, const char *key)
{
	struct unit *u = arg;
	workqueue_add(u->queue, key);
}

static void queue_keys(const struct watching *watch, const struct kube_obj *obj)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	if (watch->watch->keys != NULL) {
		watch->watch->keys(&watch->unit->view, kube_tree_of(obj), emit_key, watch->unit);
		return;
	}
	api_key(&key, kube_tree_of(obj));
	workqueue_add(watch->unit->queue, key.s);
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
static const char *advice_of(const struct watching *watch)
{
	return kube_informer_absent(watch->informer)
		       ? " (the API has no such kind: install its CRD, deploy/crds)"
		       : "";
}

static void on_trouble(void *ctx, const char *text)
{
	const struct watching *w = ctx;
	if (w->watch->optional && kube_informer_absent(w->informer)) {
		log_debug(w->unit->area, "%s", text);
		return;
	}
	log_limited(&w->unit->trouble_limit, LOG_WARNING, w->unit->area, "watch of %s: %s%s",
		    w->watch->kind, text, advice_of(w));
}

static size_t count_paths(const char *const *paths)
{
	size_t n = 0;
	while (paths != NULL && paths[n] != NULL)
		n++;
	return n;
}

static int start_watch(struct unit *unit, size_t index, struct err_text err)
{
	struct watching *w = &unit->watching[index];
	const struct controller_watch *cw = &unit->controller->watch[index];
	const struct api_kind *kind = api_kind_find(cw->group, cw->kind);
	if (kind == NULL) {
		err_text_set(err, "kind '%s' of group '%s' is not known", cw->kind, cw->group);
		return ERR_INTERNAL;
	}
	struct kube_informer_conf c = {
		.client = unit->conf.client,
		.kind = kind,
		.ns = cw->own_ns ? unit->ns : cw->ns,
		.labels = cw->labels,
		.fields = cw->fields,
		.codec = kube_tree_codec(kind, cw->paths, count_paths(cw->paths)),
		.memory = unit->conf.memory,
	};
	w->unit = unit;
	w->watch = cw;
	w->informer = kube_informer_new(&c);
	unit->stores[index] = kube_informer_store(w->informer);
	kube_informer_handle(w->informer, &(struct kube_handler){ .added = on_added,
								  .updated = on_updated,
								  .deleted = on_deleted,
								  .trouble = on_trouble,
								  .ctx = w });
	return 0;
}

/* Handlers of one kind may read another's store: all are created before any is started. */
static int start_watches(struct unit *unit, struct err_text err)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < unit->controller->n_watch; i++)
		r = start_watch(unit, i, err);
	for (size_t i = 0; r >= 0 && i < unit->controller->n_watch; i++)
		r = kube_informer_start(unit->watching[i].informer, err);
	return r;
}

/* Is the copy complete, as far as it can be? */
static bool is_filled(const struct watching *watch)
{
	return kube_informer_synced(watch->informer) ||
	       (watch->watch->optional && kube_informer_absent(watch->informer));
}

bool unit_is_synced(struct unit *unit, struct strbuf *why)
{
	for (size_t i = 0; i < unit->controller->n_watch; i++) {
		if (is_filled(&unit->watching[i]))
			continue;
		strbuf_addf(why, "controller %s waits for the list of %s%s\n",
			    unit->controller->name, unit->watching[i].watch->kind,
			    advice_of(&unit->watching[i]));
		return false;
	}
	return true;
}

static bool wait_synced(struct unit *unit)
{
	for (size_t i = 0; i < unit->controller->n_watch; i++) {
		while (!unit->stopping && !is_filled(&unit->watching[i]) &&
		       !kube_informer_wait(unit->watching[i].informer, SYNC_CHECK_MS * NS_PER_MS)) {
		}
	}
	return !unit->stopping;
}

/* ---- workers ---- */

static void reconcile_one(struct worker *worker, const struct strbuf *key)
{
	struct unit *u = worker->unit;
	uint64_t start = clock_mono_ns();
	worker->busy_since_ns = start;
	worker->ctx.again_ns = 0;
	worker->ctx.err[0] = '\0';
	int r = u->controller->reconcile(&worker->ctx, key->s);
	worker->busy_since_ns = 0;
	controller_metrics_reconciled(u->metrics, r, worker->ctx.again_ns != 0,
				      clock_mono_ns() - start);
	if (r < 0 && r != -ECANCELED)
		log_warn(u->area, "%s: %s; will be tried again (failure %u)", key->s,
			 worker->ctx.err[0] != '\0' ? worker->ctx.err : err_str(r),
			 workqueue_failures(u->queue, key->s) + 1);
	workqueue_done(u->queue, key, r < 0 ? WORK_RETRY : WORK_OK);
	if (r >= 0 && worker->ctx.again_ns != 0)
		workqueue_add_after(u->queue, key->s, worker->ctx.again_ns);
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	while (workqueue_get(w->unit->queue, &key))
		reconcile_one(w, &key);
	pthread_mutex_lock(&w->unit->lock);
	assert(w->unit->running != 0);
	w->unit->running--;
	pthread_cond_broadcast(&w->unit->cond);
	pthread_mutex_unlock(&w->unit->lock);
	return NULL;
}

static int start_workers(struct unit *unit, struct err_text err)
{
	unsigned want = unit->controller->workers != 0 ? unit->controller->workers : WORKERS;
	for (; unit->n_workers < MIN(want, (unsigned)CONTROLLER_WORKERS_MAX); unit->n_workers++) {
		struct worker *w = &unit->workers[unit->n_workers];
		w->unit = unit;
		w->ctx = unit->view;
		w->ctx.events = unit->events;
		w->ctx.lease = unit->lease;
		w->ctx.conn = kube_conn_new(unit->conf.client, err);
		if (w->ctx.conn == NULL)
			return ERR_CONFIG;
		pthread_mutex_lock(&unit->lock);
		int r = pthread_create(&w->thread, NULL, run_worker, w);
		unit->running += r == 0;
		pthread_mutex_unlock(&unit->lock);
		if (r != 0) {
			err_text_set(err, "cannot start a thread: %s", err_str(-r));
			kube_conn_free(w->ctx.conn);
			return -r;
		}
	}
	return 0;
}

static void cancel_workers(struct unit *unit)
{
	for (unsigned i = 0; i < unit->n_workers; i++)
		kube_conn_cancel(unit->workers[i].ctx.conn);
}

/* True when all ended before that time of the monotonic clock. */
static bool wait_workers(struct unit *unit, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / NS_PER_S),
			       .tv_nsec = (long)(until_ns % NS_PER_S) };
	int r = 0;
	pthread_mutex_lock(&unit->lock);
	while (unit->running != 0 && r == 0)
		r = pthread_cond_timedwait(&unit->cond, &unit->lock, &ts);
	bool ended = unit->running == 0;
	pthread_mutex_unlock(&unit->lock);
	return ended;
}

/* Reconciles under way may finish, unless the lease was lost. */
static void stop_workers(struct unit *unit, bool at_once)
{
	workqueue_close(unit->queue);
	if (at_once || !wait_workers(unit, clock_mono_ns() + STOP_GRACE_S * NS_PER_S))
		cancel_workers(unit);
	for (unsigned i = 0; i < unit->n_workers; i++) {
		pthread_join(unit->workers[i].thread, NULL);
		kube_conn_free(unit->workers[i].ctx.conn);
	}
	assert(unit->running == 0);
	unit->n_workers = 0;
}

bool unit_is_alive(struct unit *unit, struct strbuf *why)
{
	uint64_t now = clock_mono_ns();
	for (size_t i = 0; i < CONTROLLER_WORKERS_MAX; i++) {
		uint64_t since = unit->workers[i].busy_since_ns;
		if (since == 0 || now < since + STUCK_S * NS_PER_S)
			continue;
		strbuf_addf(why, "controller %s: a reconcile takes longer than %d s\n",
			    unit->controller->name, STUCK_S);
		return false;
	}
	return true;
}

/* ---- its life ---- */

/* Waits for the end: false when the lease was lost, true after unit_stop(). */
static bool wait_end(struct unit *unit)
{
	bool held = true;
	if (unit->lease != NULL)
		held = lease_wait(unit->lease, true);
	pthread_mutex_lock(&unit->lock);
	while (unit->lease == NULL && !unit->stopping)
		pthread_cond_wait(&unit->cond, &unit->lock);
	pthread_mutex_unlock(&unit->lock);
	return held || unit->stopping;
}

/* Runs workers until unit_stop(); negative when they could not start or the lease was lost. */
static int lead_until_stopped(struct unit *unit, struct err_text err)
{
	unit->leading = true;
	log_info(unit->area, "leading as %s",
		 unit->lease != NULL ? lease_identity(unit->lease) : "the only process");
	assert(unit->n_workers == 0);
	int r = start_workers(unit, err);
	if (r == 0 && !wait_end(unit)) {
		err_text_set(err, "the lease '%s%s' was lost", LEASE_PREFIX,
			     unit->controller->name);
		r = ERR_TIMEOUT;
	}
	unit->leading = false;
	stop_workers(unit, r < 0);
	return r;
}

/* A lease that cannot be got: logged, because the unit waits for it without end. */
static void on_lease_trouble(void *ctx, const char *text)
{
	struct unit *u = ctx;
	log_limited(&u->lease_limit, LOG_WARNING, u->area, "lease '%s%s' in namespace '%s': %s",
		    LEASE_PREFIX, u->controller->name, u->ns, text);
}

/* Under the lock, so that unit_stop wakes either this one or nobody. */
static int start_lease(struct unit *unit, struct err_text err)
{
	CLEANUP(freep) char *name = xasprintf("%s%s", LEASE_PREFIX, unit->controller->name);
	struct lease_conf c = { .client = unit->conf.lease_client,
				.ns = unit->ns,
				.name = name,
				.identity = unit->conf.identity,
				.times = unit->conf.times,
				.trouble = on_lease_trouble,
				.ctx = unit };
	pthread_mutex_lock(&unit->lock);
	int r = unit->stopping ? 0 : lease_start(&c, &unit->lease, err);
	pthread_mutex_unlock(&unit->lock);
	return r;
}

static int run_unit(struct unit *unit, struct err_text err)
{
	if (!wait_synced(unit))
		return 0;
	if (!unit->conf.elect)
		return lead_until_stopped(unit, err);
	int r = start_lease(unit, err);
	if (r < 0 || unit->lease == NULL)
		return r;
	log_info(unit->area, "waiting to lead");
	r = lease_wait(unit->lease, false) ? lead_until_stopped(unit, err) : 0;
	pthread_mutex_lock(&unit->lock);
	struct lease *l = TAKE_PTR(unit->lease);
	pthread_mutex_unlock(&unit->lock);
	lease_stop(l);
	return r;
}

static void *run_thread(void *arg)
{
	struct unit *u = arg;
	char err[512] = "";
	int r = run_unit(u, ERR_TEXT(err));
	if (r < 0)
		log_error(u->area, "%s; stopping", err[0] != '\0' ? err : err_str(r));
	u->result = r;
	u->conf.ended(u->conf.ctx);
	return NULL;
}

static void unit_free(struct unit *unit)
{
	for (size_t i = 0; i < unit->controller->n_watch; i++) {
		if (unit->watching[i].informer != NULL)
			kube_informer_stop(unit->watching[i].informer);
	}
	for (size_t i = 0; i < unit->controller->n_watch; i++)
		kube_informer_free(unit->watching[i].informer);
	events_stop(unit->events);
	workqueue_close(unit->queue);
	workqueue_free(unit->queue);
	if (unit->controller->stop != NULL && unit->state != NULL)
		unit->controller->stop(unit->state);
	controller_metrics_free(unit->metrics);
	pthread_cond_destroy(&unit->cond);
	pthread_mutex_destroy(&unit->lock);
	free(unit->ns);
	free(unit);
}

static int prepare_unit(struct unit *unit, struct err_text err)
{
	CLEANUP(freep) char *reporter = xasprintf("fairlead.dev/%s", unit->controller->name);
	int r = 0;
	if (unit->controller->start != NULL)
		r = unit->controller->start(&unit->state, err);
	unit->view = (struct controller_ctx){
		.ns = unit->ns,
		.options = unit->conf.options,
		.stores = unit->stores,
		.state = unit->state,
		.emit = emit_key,
		.emit_arg = unit,
	};
	if (r >= 0)
		r = events_start(unit->conf.client, reporter, unit->conf.identity, &unit->events,
				 err);
	if (r >= 0)
		r = start_watches(unit, err);
	return r;
}

static void init_lock(struct unit *unit)
{
	pthread_condattr_t ca;
	pthread_mutex_init(&unit->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&unit->cond, &ca);
	pthread_condattr_destroy(&ca);
}

int unit_start(const struct unit_conf *conf, struct unit **ret, struct err_text err)
{
	struct unit *u = xcalloc(1, sizeof(*u));
	u->conf = *conf;
	u->controller = conf->controller;
	u->ns = xstrdup(conf->ns);
	u->trouble_limit.interval_ns = TROUBLE_S * NS_PER_S;
	u->lease_limit.interval_ns = LEASE_S * NS_PER_S;
	snprintf(u->area, sizeof(u->area), "controller/%s", conf->controller->name);
	init_lock(u);
	u->metrics = controller_metrics_new(conf->controller->name);
	u->queue = workqueue_new(NULL);
	int r = prepare_unit(u, err);
	if (r >= 0) {
		r = -pthread_create(&u->thread, NULL, run_thread, u);
		if (r < 0)
			err_text_set(err, "cannot start a thread: %s", err_str(r));
	}
	if (r < 0) {
		unit_free(u);
		return r;
	}
	*ret = u;
	return 0;
}

void unit_stop(struct unit *unit)
{
	pthread_mutex_lock(&unit->lock);
	unit->stopping = true;
	pthread_cond_broadcast(&unit->cond);
	if (unit->lease != NULL)
		lease_wake(unit->lease);
	pthread_mutex_unlock(&unit->lock);
}

int unit_join(struct unit *unit)
{
	if (unit == NULL)
		return 0;
	pthread_join(unit->thread, NULL);
	int r = unit->result;
	unit_free(unit);
	return r;
}

struct controller_ctx *unit_view(struct unit *unit)
{
	return &unit->view;
}

void unit_note(const struct unit *unit, struct strbuf *out)
{
	if (unit->controller->note != NULL)
		unit->controller->note(unit->state, out);
}

void unit_collect(struct unit *unit)
{
	controller_metrics_set(unit->metrics, unit->queue, unit->leading);
}

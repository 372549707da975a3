/* One controller's life. */
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
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/metrics_priv.h"
#include "controller/unit_priv.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/lease.h"
#include "kube/tree.h"
#include "kube/workqueue.h"

enum {
	WORKERS = 2,
	SYNC_LOOK_MS = 200,
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
	struct controller_ctx view; /* what `keys` and hooks see */
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

/* ---- what changes, as keys ---- */

static void emit_key(void *arg, const char *key)
{
	struct unit *u = arg;
	workqueue_add(u->queue, key);
}

static void changed(const struct watching *w, const struct kube_obj *o)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	if (w->watch->keys != NULL) {
		w->watch->keys(&w->unit->view, kube_tree_of(o), emit_key, w->unit);
		return;
	}
	api_key(&key, kube_tree_of(o));
	workqueue_add(w->unit->queue, key.s);
}

static void on_added(void *ctx, struct kube_obj *o)
{
	changed(ctx, o);
}

static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	changed(ctx, old);
	changed(ctx, o);
}

static void on_deleted(void *ctx, struct kube_obj *last)
{
	changed(ctx, last);
}

/* What to do about a kind that is not there. */
static const char *advice_of(const struct watching *w)
{
	return kube_informer_absent(w->informer)
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

static int start_watch(struct unit *u, size_t i, char *err, size_t err_n)
{
	struct watching *w = &u->watching[i];
	const struct controller_watch *cw = &u->controller->watch[i];
	const struct api_kind *kind = api_kind_find(cw->group, cw->kind);
	if (kind == NULL) {
		snprintf(err, err_n, "kind '%s' of group '%s' is not known", cw->kind, cw->group);
		return ERR_INTERNAL;
	}
	struct kube_informer_conf c = {
		.client = u->conf.client,
		.kind = kind,
		.ns = cw->own_ns ? u->ns : cw->ns,
		.labels = cw->labels,
		.fields = cw->fields,
		.codec = kube_tree_codec(kind, cw->paths, count_paths(cw->paths)),
		.memory = u->conf.memory,
	};
	w->unit = u;
	w->watch = cw;
	w->informer = kube_informer_new(&c);
	u->stores[i] = kube_informer_store(w->informer);
	kube_informer_handle(w->informer, &(struct kube_handler){ .added = on_added,
								  .updated = on_updated,
								  .deleted = on_deleted,
								  .trouble = on_trouble,
								  .ctx = w });
	return 0;
}

/* Handlers of one kind may look at another's store: all are made before any is started. */
static int start_watches(struct unit *u, char *err, size_t err_n)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < u->controller->n_watch; i++)
		r = start_watch(u, i, err, err_n);
	for (size_t i = 0; r >= 0 && i < u->controller->n_watch; i++)
		r = kube_informer_start(u->watching[i].informer, err, err_n);
	return r;
}

/* Is there anything to wait for before work can begin? */
static bool is_filled(const struct watching *w)
{
	return kube_informer_synced(w->informer) ||
	       (w->watch->optional && kube_informer_absent(w->informer));
}

bool unit_is_synced(struct unit *u, struct strbuf *why)
{
	for (size_t i = 0; i < u->controller->n_watch; i++) {
		if (is_filled(&u->watching[i]))
			continue;
		strbuf_addf(why, "controller %s waits for the list of %s%s\n", u->controller->name,
			    u->watching[i].watch->kind, advice_of(&u->watching[i]));
		return false;
	}
	return true;
}

static bool wait_synced(struct unit *u)
{
	for (size_t i = 0; i < u->controller->n_watch; i++) {
		while (!u->stopping && !is_filled(&u->watching[i]) &&
		       !kube_informer_wait(u->watching[i].informer, SYNC_LOOK_MS * NS_PER_MS)) {
		}
	}
	return !u->stopping;
}

/* ---- workers ---- */

static void reconcile_one(struct worker *w, const struct strbuf *key)
{
	struct unit *u = w->unit;
	uint64_t start = clock_mono_ns();
	w->busy_since_ns = start;
	w->ctx.again_ns = 0;
	w->ctx.err[0] = '\0';
	int r = u->controller->reconcile(&w->ctx, key->s);
	w->busy_since_ns = 0;
	controller_metrics_reconciled(u->metrics, r, w->ctx.again_ns != 0, clock_mono_ns() - start);
	if (r < 0 && r != -ECANCELED)
		log_warn(u->area, "%s: %s; will be tried again (failure %u)", key->s,
			 w->ctx.err[0] != '\0' ? w->ctx.err : err_str(r),
			 workqueue_failures(u->queue, key->s) + 1);
	workqueue_done(u->queue, key, r < 0 ? WORK_RETRY : WORK_OK);
	if (r >= 0 && w->ctx.again_ns != 0)
		workqueue_add_after(u->queue, key->s, w->ctx.again_ns);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	while (workqueue_get(w->unit->queue, &key))
		reconcile_one(w, &key);
	pthread_mutex_lock(&w->unit->lock);
	w->unit->running--;
	pthread_cond_broadcast(&w->unit->cond);
	pthread_mutex_unlock(&w->unit->lock);
	return NULL;
}

static int start_workers(struct unit *u, char *err, size_t err_n)
{
	unsigned want = u->controller->workers != 0 ? u->controller->workers : WORKERS;
	for (; u->n_workers < MIN(want, (unsigned)CONTROLLER_WORKERS_MAX); u->n_workers++) {
		struct worker *w = &u->workers[u->n_workers];
		w->unit = u;
		w->ctx = u->view;
		w->ctx.events = u->events;
		w->ctx.lease = u->lease;
		w->ctx.conn = kube_conn_new(u->conf.client, err, err_n);
		if (w->ctx.conn == NULL)
			return ERR_CONFIG;
		pthread_mutex_lock(&u->lock);
		int r = pthread_create(&w->thread, NULL, work, w);
		u->running += r == 0;
		pthread_mutex_unlock(&u->lock);
		if (r != 0) {
			snprintf(err, err_n, "cannot start a thread: %s", err_str(-r));
			kube_conn_free(w->ctx.conn);
			return -r;
		}
	}
	return 0;
}

static void cancel_workers(struct unit *u)
{
	for (unsigned i = 0; i < u->n_workers; i++)
		kube_conn_cancel(u->workers[i].ctx.conn);
}

/* True when all have ended in time, by the clock that nobody sets. */
static bool workers_ended(struct unit *u, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / NS_PER_S),
			       .tv_nsec = (long)(until_ns % NS_PER_S) };
	int r = 0;
	pthread_mutex_lock(&u->lock);
	while (u->running != 0 && r == 0)
		r = pthread_cond_timedwait(&u->cond, &u->lock, &ts);
	bool ended = u->running == 0;
	pthread_mutex_unlock(&u->lock);
	return ended;
}

/* Reconciles under way may end by themselves, unless there is no right any more to what they do. */
static void stop_workers(struct unit *u, bool at_once)
{
	workqueue_close(u->queue);
	if (at_once || !workers_ended(u, clock_mono_ns() + STOP_GRACE_S * NS_PER_S))
		cancel_workers(u);
	for (unsigned i = 0; i < u->n_workers; i++) {
		pthread_join(u->workers[i].thread, NULL);
		kube_conn_free(u->workers[i].ctx.conn);
	}
	u->n_workers = 0;
}

bool unit_is_alive(struct unit *u, struct strbuf *why)
{
	uint64_t now = clock_mono_ns();
	for (size_t i = 0; i < CONTROLLER_WORKERS_MAX; i++) {
		uint64_t since = u->workers[i].busy_since_ns;
		if (since == 0 || now < since + STUCK_S * NS_PER_S)
			continue;
		strbuf_addf(why, "controller %s: a reconcile takes longer than %d s\n",
			    u->controller->name, STUCK_S);
		return false;
	}
	return true;
}

/* ---- its life ---- */

/* Waits until it is no longer ours to work: false when the lease was lost, true when told to stop.
 */
static bool wait_end(struct unit *u)
{
	bool held = true;
	if (u->lease != NULL)
		held = lease_wait(u->lease, true);
	pthread_mutex_lock(&u->lock);
	while (u->lease == NULL && !u->stopping)
		pthread_cond_wait(&u->cond, &u->lock);
	pthread_mutex_unlock(&u->lock);
	return held || u->stopping;
}

/* Works until there is a reason to stop; negative when it could not, or had to. */
static int lead(struct unit *u, char *err, size_t err_n)
{
	u->leading = true;
	log_info(u->area, "leading as %s", u->lease != NULL ? lease_identity(u->lease) : "told");
	int r = start_workers(u, err, err_n);
	if (r == 0 && !wait_end(u)) {
		snprintf(err, err_n, "the lease '%s%s' was lost", LEASE_PREFIX,
			 u->controller->name);
		r = ERR_TIMEOUT;
	}
	u->leading = false;
	stop_workers(u, r < 0);
	return r;
}

/* Refused, or not answered: who waits for ever must be told why. */
static void on_lease_trouble(void *ctx, const char *text)
{
	struct unit *u = ctx;
	log_limited(&u->lease_limit, LOG_WARNING, u->area, "lease '%s%s' in namespace '%s': %s",
		    LEASE_PREFIX, u->controller->name, u->ns, text);
}

/* Under the lock, so that unit_stop wakes either this one or nobody. */
static int start_lease(struct unit *u, char *err, size_t err_n)
{
	CLEANUP(freep) char *name = xasprintf("%s%s", LEASE_PREFIX, u->controller->name);
	struct lease_conf c = { .client = u->conf.lease_client,
				.ns = u->ns,
				.name = name,
				.identity = u->conf.identity,
				.times = u->conf.times,
				.trouble = on_lease_trouble,
				.ctx = u };
	pthread_mutex_lock(&u->lock);
	int r = u->stopping ? 0 : lease_start(&c, &u->lease, err, err_n);
	pthread_mutex_unlock(&u->lock);
	return r;
}

static int run_unit(struct unit *u, char *err, size_t err_n)
{
	if (!wait_synced(u))
		return 0;
	if (!u->conf.elect)
		return lead(u, err, err_n);
	int r = start_lease(u, err, err_n);
	if (r < 0 || u->lease == NULL)
		return r;
	log_info(u->area, "waiting to lead");
	r = lease_wait(u->lease, false) ? lead(u, err, err_n) : 0;
	pthread_mutex_lock(&u->lock);
	struct lease *l = TAKE_PTR(u->lease);
	pthread_mutex_unlock(&u->lock);
	lease_stop(l);
	return r;
}

static void *run(void *arg)
{
	struct unit *u = arg;
	char err[512] = "";
	int r = run_unit(u, err, sizeof(err));
	if (r < 0)
		log_error(u->area, "%s; stopping", err[0] != '\0' ? err : err_str(r));
	u->result = r;
	u->conf.ended(u->conf.ctx);
	return NULL;
}

static void unit_free(struct unit *u)
{
	for (size_t i = 0; i < u->controller->n_watch; i++) {
		if (u->watching[i].informer != NULL)
			kube_informer_stop(u->watching[i].informer);
	}
	for (size_t i = 0; i < u->controller->n_watch; i++)
		kube_informer_free(u->watching[i].informer);
	events_stop(u->events);
	workqueue_close(u->queue);
	workqueue_free(u->queue);
	if (u->controller->stop != NULL && u->state != NULL)
		u->controller->stop(u->state);
	controller_metrics_free(u->metrics);
	pthread_cond_destroy(&u->cond);
	pthread_mutex_destroy(&u->lock);
	free(u->ns);
	free(u);
}

static int prepare(struct unit *u, char *err, size_t err_n)
{
	CLEANUP(freep) char *reporter = xasprintf("fairlead.dev/%s", u->controller->name);
	int r = 0;
	if (u->controller->start != NULL)
		r = u->controller->start(&u->state, err, err_n);
	u->view = (struct controller_ctx){
		.ns = u->ns,
		.options = u->conf.options,
		.stores = u->stores,
		.state = u->state,
		.emit = emit_key,
		.emit_arg = u,
	};
	if (r >= 0)
		r = events_start(u->conf.client, reporter, u->conf.identity, &u->events, err,
				 err_n);
	if (r >= 0)
		r = start_watches(u, err, err_n);
	return r;
}

static void init_lock(struct unit *u)
{
	pthread_condattr_t ca;
	pthread_mutex_init(&u->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&u->cond, &ca);
	pthread_condattr_destroy(&ca);
}

int unit_start(const struct unit_conf *c, struct unit **ret, char *err, size_t err_n)
{
	struct unit *u = xcalloc(1, sizeof(*u));
	u->conf = *c;
	u->controller = c->controller;
	u->ns = xstrdup(c->ns);
	u->trouble_limit.interval_ns = TROUBLE_S * NS_PER_S;
	u->lease_limit.interval_ns = LEASE_S * NS_PER_S;
	snprintf(u->area, sizeof(u->area), "controller/%s", c->controller->name);
	init_lock(u);
	u->metrics = controller_metrics_new(c->controller->name);
	u->queue = workqueue_new(NULL);
	int r = prepare(u, err, err_n);
	if (r >= 0) {
		r = -pthread_create(&u->thread, NULL, run, u);
		if (r < 0)
			snprintf(err, err_n, "cannot start a thread: %s", err_str(r));
	}
	if (r < 0) {
		unit_free(u);
		return r;
	}
	*ret = u;
	return 0;
}

void unit_stop(struct unit *u)
{
	pthread_mutex_lock(&u->lock);
	u->stopping = true;
	pthread_cond_broadcast(&u->cond);
	if (u->lease != NULL)
		lease_wake(u->lease);
	pthread_mutex_unlock(&u->lock);
}

int unit_join(struct unit *u)
{
	if (u == NULL)
		return 0;
	pthread_join(u->thread, NULL);
	int r = u->result;
	unit_free(u);
	return r;
}

struct controller_ctx *unit_view(struct unit *u)
{
	return &u->view;
}

void unit_note(const struct unit *u, struct strbuf *out)
{
	if (u->controller->note != NULL)
		u->controller->note(u->state, out);
}

void unit_collect(struct unit *u)
{
	controller_metrics_set(u->metrics, u->queue, u->leading);
}

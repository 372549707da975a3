/* Start, reload, stop. The control thread talks to workers by messages and waits for their
 * acknowledgements; nothing it does holds up a query. */
#include "server/server.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/logq.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/rcu.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "server/confhash.h"
#include "server/client.h"
#include "server/server_priv.h"

enum {
	DEFAULT_MAX_TCP = 10000,
	DEFAULT_MAX_TLS = 1000,
	DEFAULT_MAX_WAITING = 20000,
	FILES_KEPT = 32,
	STREAM_WORKERS_MAX = 64,
};

/* ---- messages to workers ---- */

struct order {
	struct loop_msg msg;
	struct worker *worker;
	struct generation *gen;
	void (*fn)(struct order *o);
};

static void ack(struct server *s, int err)
{
	pthread_mutex_lock(&s->lock);
	s->acks++;
	if (err < 0)
		s->ack_error = err;
	pthread_cond_broadcast(&s->cond);
	pthread_mutex_unlock(&s->lock);
}

static void run_order(struct loop_msg *m)
{
	struct order *o = CONTAINER_OF(m, struct order, msg);
	o->fn(o);
}

/* Gives every worker the same order and waits for all acknowledgements; the first error of any. */
static int order_all(struct server *s, void (*fn)(struct order *o), struct generation *g)
{
	struct order *o = xcalloc(s->n_active, sizeof(*o));
	s->acks = 0;
	s->ack_error = 0;
	for (unsigned i = 0; i < s->n_active; i++) {
		o[i] = (struct order){
			.msg.cb = run_order, .worker = &s->worker[i], .gen = g, .fn = fn
		};
		if (s->opts.no_threads)
			fn(&o[i]);
		else
			loop_post(s->worker[i].loop, &o[i].msg);
	}
	pthread_mutex_lock(&s->lock);
	while (s->acks < s->n_active)
		pthread_cond_wait(&s->cond, &s->lock);
	int r = s->ack_error;
	pthread_mutex_unlock(&s->lock);
	free(o);
	return r;
}

static void worker_uninit(struct worker *w, struct generation *g)
{
	struct generation_worker *gw = &g->w[w->index];
	while (gw->n_inited > 0) {
		struct plugin_inst *in = g->inst[--gw->n_inited];
		if (in->plugin->worker_done != NULL)
			in->plugin->worker_done(in, w);
	}
}

static void order_init(struct order *o)
{
	struct generation *g = o->gen;
	struct generation_worker *gw = &g->w[o->worker->index];
	int r = 0;
	for (; gw->n_inited < g->n_inst && r >= 0; gw->n_inited++) {
		struct plugin_inst *in = g->inst[gw->n_inited];
		if (in->plugin->worker_init != NULL)
			r = in->plugin->worker_init(in, o->worker);
		if (r < 0)
			break;
	}
	ack(o->worker->srv, r);
}

static void order_uninit(struct order *o)
{
	worker_uninit(o->worker, o->gen);
	ack(o->worker->srv, 0);
}

static void order_switch(struct order *o)
{
	worker_switch(o->worker, o->gen);
	ack(o->worker->srv, 0);
}

void worker_leave(struct worker *w, struct generation *g)
{
	struct server *s = w->srv;
	g->w[w->index].retiring = false;
	worker_uninit(w, g);
	reply_flush(w); /* the sockets may close from now on */
	pthread_mutex_lock(&s->lock);
	g->n_left++;
	pthread_cond_broadcast(&s->cond);
	pthread_mutex_unlock(&s->lock);
}

static void order_retire(struct order *o)
{
	struct generation_worker *gw = &o->gen->w[o->worker->index];
	if (gw->inflight == 0)
		worker_leave(o->worker, o->gen);
	else
		gw->retiring = true; /* its last query leaves it */
	ack(o->worker->srv, 0);
}

static void order_close(struct order *o)
{
	tcp_close_all(o->worker);
	ack(o->worker->srv, 0);
}

/* ---- machine ---- */

static unsigned cgroup_cpus(void)
{
	FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
	long long quota = 0, period = 0;
	if (f == NULL)
		return UINT32_MAX;
	char line[64] = "";
	if (fgets(line, sizeof(line), f) != NULL && ascii_isdigit(line[0])) {
		char *end;
		quota = strtoll(line, &end, 10);
		period = strtoll(end, NULL, 10);
	}
	fclose(f);
	if (quota <= 0 || period <= 0)
		return UINT32_MAX;
	return (unsigned)MAX((quota + period - 1) / period, 1LL);
}

unsigned server_default_workers(void)
{
	cpu_set_t set;
	unsigned n = 1;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = (unsigned)CPU_COUNT(&set);
	return MAX(MIN(n, cgroup_cpus()), 1U);
}

/* ---- life ---- */

/* Where the file limit is low, connections leave some descriptors to listeners and others: a worker
 * that has no connection of its own to close could not take a new one. */
static uint32_t default_max_tcp(unsigned long files)
{
	unsigned long kept = FILES_KEPT + files / 8;
	return (uint32_t)(files > kept ? MIN(files - kept, (unsigned long)DEFAULT_MAX_TCP) : 1);
}

static void pool_init(struct conn_pool *p, uint32_t max)
{
	p->max = max;
	pthread_mutex_init(&p->lock, NULL);
	p->clients = client_table_new();
}

static void pool_done(struct conn_pool *p)
{
	client_table_free(p->clients);
	pthread_mutex_destroy(&p->lock);
}

static struct server *server_new(const struct server_opts *o)
{
	struct server *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t ca;
	s->opts = *o;
	unsigned long files = net_raise_file_limit();
	if (s->opts.max_tcp == 0)
		s->opts.max_tcp = default_max_tcp(files);
	if (s->opts.max_tls == 0)
		s->opts.max_tls =
			(uint32_t)MIN(MAX(files / 4, 1UL), (unsigned long)DEFAULT_MAX_TLS);
	if (s->opts.max_waiting == 0)
		s->opts.max_waiting = DEFAULT_MAX_WAITING;
	if (s->opts.default_port == 0)
		s->opts.default_port = 53;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&s->cond, &ca);
	pthread_condattr_destroy(&ca);
	pool_init(&s->plain, s->opts.max_tcp);
	pool_init(&s->stream, s->opts.max_tls);
	return s;
}

static void server_free(struct server *s)
{
	for (unsigned i = 0; s->worker != NULL && i < s->n_all; i++) {
		if (s->worker[i].loop != NULL)
			worker_cleanup(&s->worker[i]);
	}
	listeners_close_unused(s);
	logq_free(s->logq);
	pool_done(&s->plain);
	pool_done(&s->stream);
	pthread_cond_destroy(&s->cond);
	pthread_mutex_destroy(&s->lock);
	free(s->worker);
	free(s);
}

static void commit(struct generation *g)
{
	log_set_debug(g->debug);
	for (size_t i = 0; i < g->n_inst; i++) {
		if (g->inst[i]->plugin->commit != NULL)
			g->inst[i]->plugin->commit(g->inst[i]);
	}
}

/* ---- retirement: a replaced generation stays until its last query is done ---- */

static bool all_left(struct server *s, const struct generation *g)
{
	pthread_mutex_lock(&s->lock);
	bool yes = g->n_left == g->n_members;
	pthread_mutex_unlock(&s->lock);
	return yes;
}

bool server_reap(struct server *s)
{
	struct generation **at = &s->retired;
	while (*at != NULL) {
		struct generation *g = *at;
		if (!all_left(s, g)) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		generation_free(g, false);
	}
	listeners_close_unused(s);
	return s->retired != NULL;
}

static void retire(struct server *s, struct generation *g)
{
	g->next = s->retired;
	g->n_members = s->n_active;
	s->retired = g;
	IGNORE(order_all(s, order_retire, g)); /* always acknowledged */
}

/* Waits until all retired generations are left, or the deadline (monotonic). */
static void await_retired(struct server *s, uint64_t deadline_ns)
{
	struct timespec at = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
			       .tv_nsec = (long)(deadline_ns % NS_PER_S) };
	int r = s->opts.no_threads ? ETIMEDOUT : 0; /* nobody could leave while we wait */
	for (struct generation *g = s->retired; g != NULL && r == 0; g = g->next) {
		pthread_mutex_lock(&s->lock);
		while (g->n_left < g->n_members && r == 0)
			r = pthread_cond_timedwait(&s->cond, &s->lock, &at);
		pthread_mutex_unlock(&s->lock);
	}
}

static bool needs_stream_workers(const struct generation *g)
{
	for (size_t i = 0; i < g->n_route; i++) {
		if (g->route[i]->transport != TRANSPORT_DNS)
			return true;
	}
	return false;
}

/* Starts workers up to `n`; those that run already do so on. */
static int start_workers(struct server *s, unsigned n, struct srcerr *err)
{
	for (unsigned i = 0; i < n; i++) {
		int r = s->worker[i].loop == NULL ? worker_start(&s->worker[i], s, i) : 0;
		if (r < 0) {
			srcerr_set(err, (struct srcpos){ 0 }, "cannot start workers: %s",
				   err_str(r));
			return r;
		}
	}
	s->n_active = MAX(s->n_active, n);
	return 0;
}

/* Makes `g` the one that serves. On failure it is freed and all is as before. */
static int go_live(struct server *s, struct generation *g, struct srcerr *err)
{
	int r = start_workers(s, needs_stream_workers(g) ? s->n_all : s->n_workers, err);
	if (r == 0)
		r = listeners_open(s, g, err);
	if (r == 0) {
		r = order_all(s, order_init, g);
		if (r < 0) {
			IGNORE(order_all(s, order_uninit, g)); /* always acknowledged */
			srcerr_set(err, (struct srcpos){ 0 }, "a worker cannot start: %s",
				   err_str(r));
		}
	}
	if (r < 0) {
		generation_free(g, true);
		listeners_close_unused(s);
		return r;
	}
	struct generation *old = s->gen;
	struct confhash hash = confhash_of(g->cf);
	commit(g);
	IGNORE(order_all(s, order_switch, g)); /* always acknowledged */
	confhash_set_running(&hash);
	s->gen = g;
	if (old != NULL)
		retire(s, old);
	server_reap(s);
	return 0;
}

static void stop_threads(struct server *s)
{
	for (unsigned i = 0; s->worker != NULL && i < s->n_all; i++) {
		if (!s->worker[i].running)
			continue;
		loop_stop(s->worker[i].loop);
		pthread_join(s->worker[i].thread, NULL);
	}
}

/* `multisocket` decides the number of workers, which must be known before its plugin is set up. */
static unsigned peek_sockets(const struct corefile *cf)
{
	for (size_t i = 0; i < cf->n_block; i++) {
		for (size_t k = 0; k < cf->block[i].n_dir; k++) {
			const struct corefile_dir *d = &cf->block[i].dir[k];
			uint64_t n = 0;
			if (strcmp(d->name.s, "multisocket") != 0)
				continue;
			if (d->n_arg == 1 && slice_u64(slice_of(d->arg[0].s), &n) == 0)
				return (unsigned)MIN(MAX(n, UINT64_C(1)), (uint64_t)WORKERS_MAX);
			return server_default_workers();
		}
	}
	return 0;
}

static unsigned stream_workers(unsigned workers)
{
	return MIN(workers, (unsigned)STREAM_WORKERS_MAX);
}

unsigned server_slots(unsigned workers)
{
	return workers + stream_workers(workers);
}

/* Parts of a worker have cache lines of their own, and calloc() aligns to 16 bytes. */
static struct worker *alloc_workers(size_t n)
{
	struct worker *workers = aligned_alloc(_Alignof(struct worker), n * sizeof(*workers));
	if (workers == NULL)
		abort(); /* no memory */
	memset(workers, 0, n * sizeof(*workers));
	return workers;
}

int server_start(const struct server_opts *o, struct corefile *cf, struct server **ret,
		 struct srcerr *err)
{
	struct server *s = server_new(o);
	unsigned sockets = peek_sockets(cf);
	s->n_workers = o->workers != 0 ? o->workers
		       : sockets != 0  ? sockets
				       : server_default_workers();
	s->n_stream = stream_workers(o->workers != 0 ? o->workers : server_default_workers());
	s->n_all = s->n_workers + s->n_stream;
	metrics_init(s->n_all);
	struct generation *g = NULL;
	int r = generation_build(s, cf, false, &g, err);
	if (r < 0) {
		server_free(s);
		return r;
	}
	s->worker = alloc_workers(s->n_all);
	s->logq = logq_new(s->n_all, s->opts.log_fd != 0 ? s->opts.log_fd : 1);
	r = go_live(s, g, err);
	if (r < 0) {
		server_stop(s, 0);
		return r;
	}
	*ret = s;
	return 0;
}

int server_reload(struct server *s, struct corefile *cf, struct srcerr *err)
{
	struct generation *g = NULL;
	if (cf->n_block == 0) {
		/* A file cut short while it is written must not turn the service off. */
		int r = srcerr_set(err, (struct srcpos){ .file = cf->file[0], .line = 1, .col = 1 },
				   "no server block, expected at least one at a reload");
		corefile_free(cf);
		return r;
	}
	int r = generation_build(s, cf, false, &g, err);
	if (r < 0)
		return r;
	if (g->sockets != 0 && g->sockets != s->n_workers && s->opts.workers == 0)
		log_warn("server", "multisocket %u takes effect at the next start, %u workers now",
			 g->sockets, s->n_workers);
	return go_live(s, g, err);
}

int server_check(const struct server_opts *o, struct corefile *cf, struct srcerr *err)
{
	struct server *s = server_new(o);
	s->n_workers = s->n_stream = 1;
	s->n_all = 2;
	metrics_init(s->n_all);
	int r = generation_build(s, cf, true, NULL, err);
	server_free(s);
	return r;
}

void server_stop(struct server *s, uint64_t grace_ns)
{
	uint64_t deadline = clock_mono_ns() + grace_ns;
	if (s->gen != NULL) {
		struct generation *g = s->gen;
		IGNORE(order_all(s, order_switch, NULL)); /* always acknowledged */
		s->gen = NULL;
		retire(s, g);
		await_retired(s, deadline);
		IGNORE(order_all(s, order_close, NULL)); /* always acknowledged */
		server_reap(s);
	}
	stop_threads(s);
	/* What queries still wait in is left to the end of the process: they cannot be resumed. It
	 * stays reachable, so that a search for leaks finds only others. */
	static struct generation *left;
	while (s->retired != NULL) {
		struct generation *g = s->retired;
		s->retired = g->next;
		g->next = left;
		left = g;
	}
	server_free(s);
}

static _Atomic bool stopping;

void server_begin_shutdown(struct server *s)
{
	(void)s;
	atomic_store(&stopping, true);
}

bool server_is_stopping(void)
{
	return atomic_load(&stopping);
}

int64_t server_lameduck_ns(const struct server *s)
{
	return s->gen->lameduck_ns;
}

void server_reload_interval(const struct server *s, int64_t *ret_interval_ns,
			    int64_t *ret_jitter_ns)
{
	*ret_interval_ns = s->gen->reload_ns;
	*ret_jitter_ns = s->gen->reload_jitter_ns;
}

void server_print_zones(const struct server *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->gen->n_shown; i++)
		strbuf_addf(out, "%s\n", s->gen->shown[i]);
}

const struct corefile *server_corefile(const struct server *s)
{
	return s->gen->cf;
}

void server_turn(struct server *s, unsigned worker, bool wait)
{
	loop_turn(s->worker[worker].loop, wait);
	if (s->retired != NULL)
		server_reap(s);
}

unsigned server_n_workers(const struct server *s)
{
	return s->n_workers;
}

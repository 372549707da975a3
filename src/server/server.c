/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start, reload, stop. The control thread talks to workers by messages and waits for their
 * acknowledgements; nothing it does holds up a query. */
#include "server/server.h"
#include "server/server_test.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/log_queue.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/rcu/rcu.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "server/config/hash.h"
#include "server/conn/client.h"
#include "server/conn/conn.h"
#include "server/conn/listener.h"
#include "server/conn/conn_limits.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "server/worker.h"

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
	void (*fn)(struct order *order);
};

static void send_ack(struct server *server, int err)
{
	pthread_mutex_lock(&server->lock);
	assert(server->acks < server->n_active);
	server->acks++;
	if (err < 0)
		server->ack_error = err;
	pthread_cond_broadcast(&server->cond);
	pthread_mutex_unlock(&server->lock);
}

static void run_order(struct loop_msg *msg)
{
	struct order *o = CONTAINER_OF(msg, struct order, msg);
	o->fn(o);
}

/* Sends every worker the same order and waits for all acknowledgements; returns an error of any. */
static int order_all(struct server *server, void (*fn)(struct order *order),
		     struct generation *generation)
{
	struct order *o = xcalloc(server->n_active, sizeof(*o));
	server->acks = 0;
	server->ack_error = 0;
	for (unsigned i = 0; i < server->n_active; i++) {
		o[i] = (struct order){ .msg.cb = run_order,
				       .worker = &server->worker[i],
				       .gen = generation,
				       .fn = fn };
		if (server->opts.no_threads)
			fn(&o[i]);
		else
			loop_post(server->worker[i].loop, &o[i].msg);
	}
	pthread_mutex_lock(&server->lock);
	while (server->acks < server->n_active)
		pthread_cond_wait(&server->cond, &server->lock);
	int r = server->ack_error;
	pthread_mutex_unlock(&server->lock);
	free(o);
	return r;
}

static void order_init(struct order *order)
{
	struct generation *generation = order->gen;
	struct generation_worker *gw = &generation->worker[order->worker->index];
	int r = 0;
	for (; gw->n_inited < generation->n_inst && r >= 0; gw->n_inited++) {
		struct plugin_inst *inst = generation->inst[gw->n_inited];
		if (inst->plugin->worker_init != NULL)
			r = inst->plugin->worker_init(inst, order->worker);
		if (r < 0)
			break;
	}
	send_ack(order->worker->srv, r);
}

static void order_uninit(struct order *order)
{
	worker_uninit(order->worker, order->gen);
	send_ack(order->worker->srv, 0);
}

static void order_switch(struct order *order)
{
	worker_switch(order->worker, order->gen);
	send_ack(order->worker->srv, 0);
}

static void order_retire(struct order *order)
{
	struct generation_worker *gw = &order->gen->worker[order->worker->index];
	if (gw->inflight == 0)
		worker_leave(order->worker, order->gen);
	else
		gw->retiring = true; /* its last query leaves it */
	send_ack(order->worker->srv, 0);
}

static void order_close(struct order *order)
{
	conn_close_all(order->worker);
	send_ack(order->worker->srv, 0);
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
 * that has no connection of its own to close could not accept a new one. */
static uint32_t default_max_tcp(unsigned long files)
{
	unsigned long kept = FILES_KEPT + files / 8;
	return (uint32_t)(files > kept ? MIN(files - kept, (unsigned long)DEFAULT_MAX_TCP) : 1);
}

static void pool_init(struct conn_pool *pool, uint32_t max)
{
	pool->max = max;
	pthread_mutex_init(&pool->lock, NULL);
	pool->clients = client_table_new();
}

static void pool_done(struct conn_pool *pool)
{
	client_table_free(pool->clients);
	pthread_mutex_destroy(&pool->lock);
}

static struct server *server_new(const struct server_opts *opts)
{
	struct server *server = xcalloc(1, sizeof(*server));
	pthread_condattr_t ca;
	server->opts = *opts;
	unsigned long files = net_raise_file_limit();
	if (server->opts.max_tcp == 0)
		server->opts.max_tcp = default_max_tcp(files);
	if (server->opts.max_tls == 0)
		server->opts.max_tls =
			(uint32_t)MIN(MAX(files / 4, 1UL), (unsigned long)DEFAULT_MAX_TLS);
	if (server->opts.max_waiting == 0)
		server->opts.max_waiting = DEFAULT_MAX_WAITING;
	if (server->opts.default_port == 0)
		server->opts.default_port = 53;
	pthread_mutex_init(&server->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&server->cond, &ca);
	pthread_condattr_destroy(&ca);
	pool_init(&server->plain, server->opts.max_tcp);
	pool_init(&server->stream, server->opts.max_tls);
	return server;
}

static void server_free(struct server *server)
{
	for (unsigned i = 0; server->worker != NULL && i < server->n_all; i++) {
		if (server->worker[i].loop != NULL)
			worker_cleanup(&server->worker[i]);
	}
	listeners_close_unused(server);
	log_queue_free(server->log_queue);
	pool_done(&server->plain);
	pool_done(&server->stream);
	pthread_cond_destroy(&server->cond);
	pthread_mutex_destroy(&server->lock);
	free(server->worker);
	free(server);
}

static void commit_instances(struct generation *generation)
{
	log_set_debug(generation->debug);
	for (size_t i = 0; i < generation->n_inst; i++) {
		if (generation->inst[i]->plugin->commit != NULL)
			generation->inst[i]->plugin->commit(generation->inst[i]);
	}
}

/* ---- retirement: a replaced generation stays until its last query is done ---- */

static bool all_left(struct server *server, const struct generation *generation)
{
	pthread_mutex_lock(&server->lock);
	assert(generation->n_left <= generation->n_members);
	bool yes = generation->n_left == generation->n_members;
	pthread_mutex_unlock(&server->lock);
	return yes;
}

bool server_reap(struct server *server)
{
	struct generation **generation = &server->retired;
	while (*generation != NULL) {
		struct generation *g = *generation;
		if (!all_left(server, g)) {
			generation = &g->next;
			continue;
		}
		*generation = g->next;
		generation_free(g, false);
	}
	listeners_close_unused(server);
	return server->retired != NULL;
}

static void retire_generation(struct server *server, struct generation *generation)
{
	assert(generation != server->gen);
	generation->next = server->retired;
	generation->n_members = server->n_active;
	server->retired = generation;
	IGNORE(order_all(server, order_retire, generation)); /* always acknowledged */
}

/* Waits until all retired generations are left, or the deadline (monotonic). */
static void await_retired(struct server *server, uint64_t deadline_ns)
{
	struct timespec at = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
			       .tv_nsec = (long)(deadline_ns % NS_PER_S) };
	int r = server->opts.no_threads ? ETIMEDOUT : 0; /* nobody could leave while we wait */
	for (struct generation *generation = server->retired; generation != NULL && r == 0;
	     generation = generation->next) {
		pthread_mutex_lock(&server->lock);
		while (generation->n_left < generation->n_members && r == 0)
			r = pthread_cond_timedwait(&server->cond, &server->lock, &at);
		pthread_mutex_unlock(&server->lock);
	}
}

static bool needs_stream_workers(const struct generation *generation)
{
	for (size_t i = 0; i < generation->n_route; i++) {
		if (generation->route[i]->transport != TRANSPORT_DNS)
			return true;
	}
	return false;
}

/* Starts workers up to `count`; those that run already do so on. */
static int start_workers(struct server *server, unsigned count, struct srcerr *err)
{
	for (unsigned i = 0; i < count; i++) {
		int r = server->worker[i].loop == NULL ? worker_start(&server->worker[i], server, i)
						       : 0;
		if (r < 0) {
			srcerr_set(err, (struct srcpos){ 0 }, "cannot start workers: %s",
				   err_str(r));
			return r;
		}
	}
	server->n_active = MAX(server->n_active, count);
	assert(server->n_active <= server->n_all);
	return 0;
}

/* Makes `generation` the one that serves. On failure it is freed and all is as before. */
static int go_live(struct server *server, struct generation *generation, struct srcerr *err)
{
	int r = start_workers(
		server, needs_stream_workers(generation) ? server->n_all : server->n_workers, err);
	if (r == 0)
		r = listeners_open(server, generation, err);
	if (r == 0) {
		r = order_all(server, order_init, generation);
		if (r < 0) {
			IGNORE(order_all(server, order_uninit,
					 generation)); /* always acknowledged */
			srcerr_set(err, (struct srcpos){ 0 }, "a worker cannot start: %s",
				   err_str(r));
		}
	}
	if (r < 0) {
		generation_free(generation, true);
		listeners_close_unused(server);
		return r;
	}
	struct generation *old = server->gen;
	struct config_hash hash = config_hash_of(generation->corefile);
	commit_instances(generation);
	IGNORE(order_all(server, order_switch, generation)); /* always acknowledged */
	config_hash_set_running(&hash);
	server->gen = generation;
	if (old != NULL)
		retire_generation(server, old);
	server_reap(server);
	return 0;
}

static void stop_threads(struct server *server)
{
	for (unsigned i = 0; server->worker != NULL && i < server->n_all; i++) {
		if (!server->worker[i].running)
			continue;
		loop_stop(server->worker[i].loop);
		pthread_join(server->worker[i].thread, NULL);
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
static struct worker *alloc_workers(size_t count)
{
	struct worker *workers = aligned_alloc(_Alignof(struct worker), count * sizeof(*workers));
	if (workers == NULL)
		abort(); /* no memory */
	memset(workers, 0, count * sizeof(*workers));
	return workers;
}

int server_start(const struct server_opts *opts, struct corefile *corefile, struct server **ret,
		 struct srcerr *err)
{
	struct server *server = server_new(opts);
	unsigned sockets = peek_sockets(corefile);
	server->n_workers = opts->workers != 0 ? opts->workers
			    : sockets != 0     ? sockets
					       : server_default_workers();
	server->n_stream =
		stream_workers(opts->workers != 0 ? opts->workers : server_default_workers());
	server->n_all = server->n_workers + server->n_stream;
	metrics_init(server->n_all);
	struct generation *generation = NULL;
	int r = generation_build(server, corefile, false, &generation, err);
	if (r < 0) {
		server_free(server);
		return r;
	}
	server->worker = alloc_workers(server->n_all);
	server->log_queue =
		log_queue_new(server->n_all, server->opts.log_fd != 0 ? server->opts.log_fd : 1);
	r = go_live(server, generation, err);
	if (r < 0) {
		server_stop(server, 0);
		return r;
	}
	*ret = server;
	return 0;
}

int server_reload(struct server *server, struct corefile *corefile, struct srcerr *err)
{
	struct generation *generation = NULL;
	if (corefile->n_block == 0) {
		/* A file cut short while it is written must not turn the service off. */
		int r = srcerr_set(
			err, (struct srcpos){ .file = corefile->file[0], .line = 1, .col = 1 },
			"no server block, expected at least one at a reload");
		corefile_free(corefile);
		return r;
	}
	int r = generation_build(server, corefile, false, &generation, err);
	if (r < 0)
		return r;
	if (generation->sockets != 0 && generation->sockets != server->n_workers &&
	    server->opts.workers == 0)
		log_warn("server", "multisocket %u takes effect at the next start, %u workers now",
			 generation->sockets, server->n_workers);
	return go_live(server, generation, err);
}

int server_check(const struct server_opts *opts, struct corefile *corefile, struct srcerr *err)
{
	struct server *server = server_new(opts);
	server->n_workers = server->n_stream = 1;
	server->n_all = 2;
	metrics_init(server->n_all);
	int r = generation_build(server, corefile, true, NULL, err);
	server_free(server);
	return r;
}

void server_stop(struct server *server, uint64_t grace_ns)
{
	uint64_t deadline = clock_mono_ns() + grace_ns;
	if (server->gen != NULL) {
		struct generation *generation = server->gen;
		IGNORE(order_all(server, order_switch, NULL)); /* always acknowledged */
		server->gen = NULL;
		retire_generation(server, generation);
		await_retired(server, deadline);
		IGNORE(order_all(server, order_close, NULL)); /* always acknowledged */
		server_reap(server);
	}
	stop_threads(server);
	/* What queries still wait in is left to the end of the process: they cannot be resumed. It
	 * stays reachable, so that a search for leaks finds only others. */
	static struct generation *left;
	while (server->retired != NULL) {
		struct generation *generation = server->retired;
		server->retired = generation->next;
		generation->next = left;
		left = generation;
	}
	server_free(server);
}

static _Atomic bool stopping;

void server_begin_shutdown(struct server *server)
{
	(void)server;
	atomic_store(&stopping, true);
}

bool server_is_stopping(void)
{
	return atomic_load(&stopping);
}

int64_t server_lameduck_ns(const struct server *server)
{
	return server->gen->lameduck_ns;
}

void server_reload_interval(const struct server *server, int64_t *ret_interval_ns,
			    int64_t *ret_jitter_ns)
{
	*ret_interval_ns = server->gen->reload_ns;
	*ret_jitter_ns = server->gen->reload_jitter_ns;
}

void server_print_zones(const struct server *server, struct strbuf *out)
{
	for (size_t i = 0; i < server->gen->n_shown; i++)
		strbuf_addf(out, "%s\n", server->gen->shown[i]);
}

void server_turn(struct server *server, unsigned worker, bool wait)
{
	loop_turn(server->worker[worker].loop, wait);
	if (server->retired != NULL)
		server_reap(server);
}

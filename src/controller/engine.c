/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine: a table of work by key, and a thread that runs it on an event loop. Other threads
 * leave work in two lists, to be started and to be cancelled, and wake the thread; start, cancel and
 * completion happen on that thread alone. */
#include "controller/engine.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/engine_priv.h"
#include "resolve/lookup.h"

/* The states of work, in their order; only the engine's thread changes them, under the lock. */
enum { SUBMITTED, RUNNING, DONE };

struct engine {
	struct loop *loop;
	pthread_t thread;
	struct engine_conf conf;
	union net_addr dns_servers[LOOKUP_SERVERS_MAX]; /* of `conf` */
	struct engine_part *parts;			/* the thread's */
	_Atomic uint64_t turn_since_ns; /* when this turn of the loop began; 0: it waits */

	pthread_mutex_t lock; /* guards the rest, and `state` and `dropped` of all work */
	struct map by_key;    /* all work that is wanted */
	struct engine_work *to_start, **to_start_end;
	struct engine_work *to_cancel; /* dropped while it ran; freed by the engine's thread */
	struct loop_msg wake;
	bool woken;  /* `wake` is on its way */
	bool frozen; /* no work starts any more */
	bool stopping;
	uint64_t end_by_ns;	  /* of engine_freeze() */
	bool ended;		  /* the thread is about to return */
	pthread_cond_t has_ended; /* by the monotonic clock */
};

void engine_work_free(struct engine_work *work)
{
	if (work == NULL)
		return;
	free(TAKE_PTR(work->key));
	work->ops->free(work);
}

/* ---- the engine's thread ---- */

/* The key comes again, unless the work is not wanted any more: to_cancel has it then. */
static void end_work(struct engine_work *work)
{
	struct engine *engine = work->engine;
	CLEANUP(freep) char *key = NULL;
	loop_timer_stop(engine->loop, &work->timer);
	pthread_mutex_lock(&engine->lock);
	assert(work->state == RUNNING);
	work->state = DONE;
	if (!work->dropped && !engine->frozen)
		key = xstrdup(work->key); /* another thread may take the work from now on */
	pthread_mutex_unlock(&engine->lock);
	if (key != NULL)
		engine->conf.emit(engine->conf.arg, key);
}

void engine_complete(struct engine_work *work)
{
	assert(pthread_equal(pthread_self(), work->engine->thread));
	end_work(work);
}

static void on_timeout(struct loop_timer *timer)
{
	struct engine_work *work = CONTAINER_OF(timer, struct engine_work, timer);
	work->ops->cancel(work);
	work->timed_out = true;
	end_work(work);
}

void engine_begin(struct engine_work *work)
{
	struct engine *engine = work->engine;
	uint64_t timeout = work->timeout_ns != 0 ? work->timeout_ns : ENGINE_TIMEOUT_S * NS_PER_S;
	assert(pthread_equal(pthread_self(), engine->thread));
	work->timer.cb = on_timeout;
	loop_timer_set(engine->loop, &work->timer, loop_now(engine->loop) + timeout);
}

static void start_work(struct engine_work *work)
{
	struct engine *engine = work->engine;
	pthread_mutex_lock(&engine->lock);
	bool dropped = work->dropped;
	assert(work->state == SUBMITTED);
	work->state = RUNNING;
	pthread_mutex_unlock(&engine->lock);
	if (dropped) {
		engine_work_free(work);
		return;
	}
	if (!work->waits_for_turn)
		engine_begin(work);
	work->ops->start(work);
}

static void cancel_work(struct engine_work *work)
{
	assert(work->dropped && work->state != SUBMITTED);
	if (work->state == RUNNING) {
		loop_timer_stop(work->engine->loop, &work->timer);
		work->ops->cancel(work);
	}
	engine_work_free(work);
}

static void on_wake(struct loop_msg *msg)
{
	struct engine *engine = CONTAINER_OF(msg, struct engine, wake);
	struct engine_work *next;
	pthread_mutex_lock(&engine->lock);
	struct engine_work *start = TAKE_PTR(engine->to_start);
	struct engine_work *cancel = TAKE_PTR(engine->to_cancel);
	bool stopping = engine->stopping;
	engine->to_start_end = &engine->to_start;
	engine->woken = false;
	pthread_mutex_unlock(&engine->lock);
	for (; cancel != NULL; cancel = next) {
		next = cancel->next;
		cancel_work(cancel);
	}
	for (; start != NULL; start = next) {
		next = start->next;
		start_work(start);
	}
	if (stopping)
		loop_stop(engine->loop);
}

static void begin_turn(void *ctx)
{
	struct engine *engine = ctx;
	engine->turn_since_ns = clock_mono_ns();
}

static void end_turn(void *ctx)
{
	struct engine *engine = ctx;
	engine->turn_since_ns = 0;
}

static void free_parts(struct engine *engine)
{
	while (engine->parts != NULL) {
		struct engine_part *part = engine->parts;
		engine->parts = part->next;
		part->kind->free(part);
	}
}

static void *run_engine(void *arg)
{
	struct engine *engine = arg;
	loop_run(engine->loop);
	free_parts(engine);
	pthread_mutex_lock(&engine->lock);
	engine->ended = true;
	pthread_cond_signal(&engine->has_ended);
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

/* ---- its life ---- */

static void engine_free(struct engine *engine)
{
	loop_free(engine->loop);
	map_done(&engine->by_key);
	pthread_cond_destroy(&engine->has_ended);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
}

static void init_ended(struct engine *engine)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&engine->has_ended, &attr);
	pthread_condattr_destroy(&attr);
}

int engine_start(const struct engine_conf *conf, struct engine **ret, struct err_text err)
{
	struct engine *engine = xcalloc(1, sizeof(*engine));
	engine->conf = *conf;
	engine->conf.n_dns_servers = MIN(conf->n_dns_servers, (size_t)LOOKUP_SERVERS_MAX);
	engine->conf.dns_servers = engine->dns_servers;
	for (size_t i = 0; i < engine->conf.n_dns_servers; i++)
		engine->dns_servers[i] = conf->dns_servers[i];
	engine->wake.cb = on_wake;
	engine->end_by_ns = UINT64_MAX;
	engine->to_start_end = &engine->to_start;
	map_init(&engine->by_key);
	pthread_mutex_init(&engine->lock, NULL);
	init_ended(engine);
	engine->loop = loop_new();
	if (engine->loop == NULL) {
		err_text_set(err, "cannot make an event loop: no file descriptors are left");
		engine_free(engine);
		return ERR_LIMIT;
	}
	loop_set_around(engine->loop, begin_turn, end_turn, engine);
	int r = -pthread_create(&engine->thread, NULL, run_engine, engine);
	if (r < 0) {
		err_text_set(err, "cannot start a thread: %s", err_str(r));
		engine_free(engine);
		return r;
	}
	*ret = engine;
	return 0;
}

/* Under the lock. */
static void wake_thread(struct engine *engine)
{
	if (!engine->woken)
		loop_post(engine->loop, &engine->wake);
	engine->woken = true;
}

/* Under the lock. The table's reference goes; returns work that nobody runs, for the caller to free. */
static struct engine_work *drop_work(struct engine *engine, struct engine_work *work)
{
	map_del(&engine->by_key, slice_of(work->key));
	if (work->state == DONE)
		return work;
	work->dropped = true; /* one that was not started is freed when its turn comes */
	if (work->state == RUNNING) {
		work->next = engine->to_cancel;
		engine->to_cancel = work;
		wake_thread(engine);
	}
	return NULL;
}

static void drop_all(struct engine *engine)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&engine->by_key, &pos)) != NULL)
		engine_work_free(drop_work(engine, entry->value));
}

/* Under the lock. */
static void freeze_work(struct engine *engine)
{
	engine->frozen = true;
	drop_all(engine);
	wake_thread(engine);
}

void engine_freeze(struct engine *engine, uint64_t end_by_ns)
{
	if (engine == NULL)
		return;
	pthread_mutex_lock(&engine->lock);
	engine->end_by_ns = end_by_ns;
	freeze_work(engine);
	pthread_mutex_unlock(&engine->lock);
}

/* Under the lock. What a thread that hangs holds cannot be freed, and it must not act when another
 * process leads. */
static void wait_ended(struct engine *engine)
{
	uint64_t end_ns = MIN(clock_mono_ns() + ENGINE_STOP_S * NS_PER_S, engine->end_by_ns);
	struct timespec until = { .tv_sec = (time_t)(end_ns / NS_PER_S),
				  .tv_nsec = (long)(end_ns % NS_PER_S) };
	int r = 0;
	while (!engine->ended && r == 0)
		r = pthread_cond_timedwait(&engine->has_ended, &engine->lock, &until);
	if (engine->ended)
		return;
	log_error("engine", "work of a controller does not end; the process ends without it");
	_exit(EXIT_FAILURE);
}

void engine_stop(struct engine *engine)
{
	if (engine == NULL)
		return;
	pthread_mutex_lock(&engine->lock);
	engine->stopping = true;
	freeze_work(engine);
	wait_ended(engine);
	pthread_mutex_unlock(&engine->lock);
	pthread_join(engine->thread, NULL);
	assert(engine->to_start == NULL && engine->to_cancel == NULL && engine->by_key.n == 0);
	engine_free(engine);
}

/* ---- any thread ---- */

enum engine_state engine_take(struct engine *engine, const char *key, uint64_t input,
			      struct engine_work **ret)
{
	struct engine_work *old = NULL;
	enum engine_state state = ENGINE_NOTHING;
	pthread_mutex_lock(&engine->lock);
	struct engine_work *work = map_get(&engine->by_key, slice_of(key));
	if (work != NULL && work->input != input) {
		old = drop_work(engine, work);
	} else if (work != NULL && work->state == DONE) {
		map_del(&engine->by_key, slice_of(key));
		*ret = work;
		state = ENGINE_COMPLETED;
	} else if (work != NULL) {
		state = ENGINE_UNDER_WAY;
	}
	pthread_mutex_unlock(&engine->lock);
	engine_work_free(old);
	return state;
}

void engine_submit(struct engine *engine, const char *key, uint64_t input, struct engine_work *work)
{
	work->engine = engine;
	work->key = xstrdup(key);
	work->input = input;
	work->state = SUBMITTED;
	work->next = NULL;
	pthread_mutex_lock(&engine->lock);
	assert(!engine->stopping && !map_has(&engine->by_key, slice_of(key)));
	bool frozen = engine->frozen;
	if (!frozen) {
		map_set(&engine->by_key, slice_of(key), work);
		*engine->to_start_end = work;
		engine->to_start_end = &work->next;
		wake_thread(engine);
	}
	pthread_mutex_unlock(&engine->lock);
	if (frozen)
		engine_work_free(work);
}

void engine_drop(struct engine *engine, const char *key)
{
	pthread_mutex_lock(&engine->lock);
	struct engine_work *work = map_get(&engine->by_key, slice_of(key));
	struct engine_work *done = work != NULL ? drop_work(engine, work) : NULL;
	pthread_mutex_unlock(&engine->lock);
	engine_work_free(done);
}

/* ---- the engine's thread, for work ---- */

struct loop *engine_loop(const struct engine *engine)
{
	assert(pthread_equal(pthread_self(), engine->thread));
	return engine->loop;
}

struct engine_part *engine_find_part(const struct engine *engine,
				     const struct engine_part_kind *kind)
{
	struct engine_part *part = engine->parts;
	assert(pthread_equal(pthread_self(), engine->thread));
	while (part != NULL && part->kind != kind)
		part = part->next;
	return part;
}

void engine_add_part(struct engine *engine, const struct engine_part_kind *kind,
		     struct engine_part *part)
{
	assert(engine_find_part(engine, kind) == NULL);
	part->kind = kind;
	part->next = engine->parts;
	engine->parts = part;
}

const union net_addr *engine_dns_servers(const struct engine *engine, size_t *ret_count)
{
	*ret_count = engine->conf.n_dns_servers;
	return engine->dns_servers;
}

/* ---- any thread ---- */

bool engine_is_alive(const struct engine *engine)
{
	uint64_t since = engine->turn_since_ns;
	return since == 0 || clock_mono_ns() < since + ENGINE_STUCK_S * NS_PER_S;
}

size_t engine_count(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	size_t n = engine->by_key.n;
	pthread_mutex_unlock(&engine->lock);
	return n;
}

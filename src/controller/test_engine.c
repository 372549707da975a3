/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine: results are handed out once, for the input they belong to; what is dropped, times out
 * or is under way at the end is cancelled; thousands are under way at once in little memory. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/engine.h"

static _Atomic int started, cancelled, freed;

/* Work that completes at once, after a time, or never. */
struct job {
	struct engine_work work;
	struct loop_timer timer;
	int64_t after_ns; /* negative: never */
	int value;
};

static struct job *job_of(struct engine_work *work)
{
	return CONTAINER_OF(work, struct job, work);
}

static void on_timer(struct loop_timer *timer)
{
	engine_complete(&CONTAINER_OF(timer, struct job, timer)->work);
}

static void start_job(struct engine_work *work)
{
	struct job *job = job_of(work);
	struct loop *loop = engine_loop(work->engine);
	started++;
	if (job->after_ns == 0) {
		engine_complete(work);
	} else if (job->after_ns > 0) {
		job->timer.cb = on_timer;
		loop_timer_set(loop, &job->timer, loop_now(loop) + (uint64_t)job->after_ns);
	}
}

static void cancel_job(struct engine_work *work)
{
	cancelled++;
	loop_timer_stop(engine_loop(work->engine), &job_of(work)->timer);
}

static void free_job(struct engine_work *work)
{
	freed++;
	free(job_of(work));
}

static const struct engine_work_ops job_ops = { start_job, cancel_job, free_job };

static struct engine_work *make_job(int64_t after_ns, int value)
{
	struct job *job = xcalloc(1, sizeof(*job));
	job->work.ops = &job_ops;
	job->after_ns = after_ns;
	job->value = value;
	return &job->work;
}

/* ---- a queue of keys ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static VEC(char *) keys;
static size_t n_taken;

static void emit(void *arg, const char *key)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	vec_push(&keys, xstrdup(key));
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

static const char *next_key(void)
{
	pthread_mutex_lock(&lock);
	while (n_taken == keys.n)
		pthread_cond_wait(&cond, &lock);
	const char *key = keys.v[n_taken++];
	pthread_mutex_unlock(&lock);
	return key;
}

static int setup(void **state)
{
	struct engine *engine;
	char err[200];
	started = cancelled = freed = 0;
	assert_int_equal(
		engine_start(&(struct engine_conf){ .emit = emit }, &engine, ERR_TEXT(err)), 0);
	*state = engine;
	return 0;
}

static int teardown(void **state)
{
	engine_stop(*state);
	for (size_t i = 0; i < keys.n; i++)
		free(keys.v[i]);
	vec_done(&keys);
	n_taken = 0;
	return 0;
}

static void expect_result(struct engine *engine, const char *key, uint64_t input, int value)
{
	struct engine_work *work = NULL;
	assert_int_equal(engine_take(engine, key, input, &work), ENGINE_COMPLETED);
	assert_int_equal(job_of(work)->value, value);
	engine_work_free(work);
}

static void result_is_handed_out_once(void **state)
{
	struct engine *engine = *state;
	struct engine_work *work;
	assert_int_equal(engine_take(engine, "a", 1, &work), ENGINE_NOTHING);
	engine_submit(engine, "a", 1, make_job(20 * (int64_t)NS_PER_MS, 7));
	assert_int_equal(engine_take(engine, "a", 1, &work), ENGINE_UNDER_WAY);
	assert_string_equal(next_key(), "a");
	assert_true(engine_is_alive(engine));
	expect_result(engine, "a", 1, 7);
	assert_int_equal(engine_take(engine, "a", 1, &work), ENGINE_NOTHING);
	assert_int_equal(engine_count(engine), 0);
	assert_int_equal(freed, 1);
}

/* The object changed meanwhile: what is under way, or has completed, is for its old state. */
static void other_input_drops_it(void **state)
{
	struct engine *engine = *state;
	struct engine_work *work;
	engine_submit(engine, "a", 1, make_job(0, 1));
	assert_string_equal(next_key(), "a");
	assert_int_equal(engine_take(engine, "a", 2, &work), ENGINE_NOTHING);
	assert_int_equal(freed, 1);
	engine_submit(engine, "a", 2, make_job(-1, 2));
	assert_int_equal(engine_take(engine, "a", 3, &work), ENGINE_NOTHING);
	engine_submit(engine, "a", 3, make_job(0, 3));
	assert_string_equal(next_key(), "a");
	expect_result(engine, "a", 3, 3);
	assert_int_equal(freed, 3);
}

static void time_out_is_reported(void **state)
{
	struct engine *engine = *state;
	struct engine_work *work = make_job(-1, 0);
	work->timeout_ns = 10 * NS_PER_MS;
	engine_submit(engine, "a", 1, work);
	assert_string_equal(next_key(), "a");
	assert_int_equal(engine_take(engine, "a", 1, &work), ENGINE_COMPLETED);
	assert_true(work->timed_out);
	assert_int_equal(cancelled, 1);
	engine_work_free(work);
}

/* Its turn comes later than its time would be over. */
static void time_counts_from_its_turn(void **state)
{
	struct engine *engine = *state;
	struct engine_work *work = make_job(60 * (int64_t)NS_PER_MS, 4);
	work->timeout_ns = 10 * NS_PER_MS;
	work->waits_for_turn = true;
	engine_submit(engine, "a", 1, work);
	assert_string_equal(next_key(), "a");
	expect_result(engine, "a", 1, 4);
	assert_int_equal(cancelled, 0);
}

static void end_cancels_all(void **state)
{
	struct engine *engine = *state;
	char err[200];
	for (int i = 0; i < 300; i++) {
		char key[16];
		snprintf(key, sizeof(key), "k%d", i);
		engine_submit(engine, key, 1, make_job(i % 3 == 0 ? 0 : -1, i));
	}
	engine_drop(engine, "k1");
	engine_drop(engine, "none");
	engine_stop(engine);
	assert_int_equal(freed, 300);
	assert_true(cancelled <= 200);
	assert_int_equal(
		engine_start(&(struct engine_conf){ .emit = emit }, &engine, ERR_TEXT(err)), 0);
	*state = engine;
}

/* The controller leads no more, but its workers have not ended yet. */
static void frozen_engine_does_nothing(void **state)
{
	struct engine *engine = *state;
	struct engine_work *work;
	engine_submit(engine, "done", 1, make_job(0, 1));
	assert_string_equal(next_key(), "done");
	engine_submit(engine, "running", 1, make_job(-1, 2));
	while (started < 2)
		sched_yield();
	engine_freeze(engine, UINT64_MAX);
	while (freed < 2)
		sched_yield();
	assert_int_equal(cancelled, 1);
	assert_int_equal(engine_take(engine, "done", 1, &work), ENGINE_NOTHING);
	engine_submit(engine, "late", 1, make_job(0, 3));
	assert_int_equal(freed, 3);
	assert_int_equal(started, 2);
	assert_int_equal(engine_count(engine), 0);
	engine_drop(engine, "late");
	assert_int_equal(keys.n, 1); /* no other key came */
}

/* 10 000 keys in flight. */
static void many_in_little_memory(void **state)
{
	enum { MANY = 10000, MOST_BYTES = 20 << 20 };
	struct engine *engine = *state;
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < MANY; i++) {
		char key[40];
		snprintf(key, sizeof(key), "namespace-%d/name-%d", i % 100, i);
		engine_submit(engine, key, 1, make_job(2 * (int64_t)NS_PER_S, i));
	}
	while (started < MANY)
		sched_yield();
	struct mallinfo2 after = mallinfo2();
	assert_int_equal(engine_count(engine), MANY);
	assert_true(after.uordblks - before.uordblks < MOST_BYTES);
	for (int i = 0; i < MANY; i++) {
		struct engine_work *work;
		const char *key = next_key();
		assert_int_equal(engine_take(engine, key, 1, &work), ENGINE_COMPLETED);
		engine_work_free(work);
	}
	assert_int_equal(freed, MANY);
}

/* Threads that submit, take, change their mind and drop, all at once. */
static void *disturb(void *arg)
{
	struct engine *engine = arg;
	static _Atomic unsigned seed;
	unsigned mine = ++seed, random = mine * 2654435761u;
	char own = (char)('a' + mine % 26);
	for (int i = 0; i < 3000; i++) {
		struct engine_work *work = NULL;
		char key[16];
		random = random * 1664525u + 1013904223u;
		snprintf(key, sizeof(key), "%c%u", own, (random >> 8) % 50);
		if ((random >> 20) % 5 == 0) {
			engine_drop(engine, key);
			continue;
		}
		uint64_t input = (random >> 16) % 2;
		switch (engine_take(engine, key, input, &work)) {
		case ENGINE_NOTHING:
			engine_submit(engine, key, input,
				      make_job((int64_t)(random >> 24) * 1000 - 1000, 0));
			break;
		case ENGINE_COMPLETED:
			engine_work_free(work);
			break;
		case ENGINE_UNDER_WAY:
			break;
		}
	}
	return NULL;
}

static void any_order(void **state)
{
	pthread_t threads[4];
	struct engine *engine = *state;
	char err[200];
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_create(&threads[i], NULL, disturb, engine);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	engine_stop(engine);
	assert_true(freed > 0);
	assert_int_equal(
		engine_start(&(struct engine_conf){ .emit = emit }, &engine, ERR_TEXT(err)), 0);
	*state = engine;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(result_is_handed_out_once), T(other_input_drops_it),
		T(time_out_is_reported),      T(time_counts_from_its_turn),
		T(end_cancels_all),	      T(frozen_engine_does_nothing),
		T(many_in_little_memory),     T(any_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Background tasks: run again and again, stopped from outside and from inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "net/task.h"
#include "net/task_test.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned count; /* under lock */

static void bump(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&lock);
	count++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void bump_value(void *ctx)
{
	unsigned *value = ctx;
	*value += 1;
	bump(NULL);
}

static void wait_for(unsigned n)
{
	pthread_mutex_lock(&lock);
	while (count < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static unsigned counted(void)
{
	pthread_mutex_lock(&lock);
	unsigned n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

static int zero(void **state)
{
	(void)state;
	count = 0;
	return 0;
}

static void waits_one_interval(void **state)
{
	(void)state;
	uint64_t begin = clock_mono_ns();
	struct task_owner owner = { 0 }, other = { 0 };
	task_every(&owner, 5 * NS_PER_MS, bump, NULL);
	wait_for(1);
	assert_true(clock_mono_ns() - begin >= 5 * NS_PER_MS);
	task_every(&other, NS_PER_MS, bump, NULL);
	wait_for(10);
	task_owner_stop(&other);
	task_owner_stop(&owner);
	task_owner_stop(&owner); /* has none any more */
}

static void stopped_is_stopped(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct task_owner owner = { 0 };
		task_every(&owner, 1, bump, NULL);
		if (i % 2 == 0)
			wait_for(counted() + 1);
		task_owner_stop(&owner);
		unsigned n = counted();
		task_every(&owner, 3600 * NS_PER_S, bump, NULL);
		task_owner_stop(&owner); /* perhaps before it was added */
		assert_int_equal(counted(), n);
	}
}

/* An interval of nothing does not keep others from their turn. */
static void busy_task_lets_others_run(void **state)
{
	(void)state;
	struct task_owner busy = { 0 }, other = { 0 };
	task_every(&busy, 0, bump, NULL);
	wait_for(100);
	task_every(&other, 0, bump, NULL);
	task_owner_stop(&other);
	task_owner_stop(&busy);
}

static _Atomic uint64_t ahead_ns; /* of the kernel's clock */

static uint64_t moved_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec + atomic_load(&ahead_ns);
}

/* Holds the thread from its first call until the test counts, too. */
static void hold(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&lock);
	if (count == 0) {
		count++;
		pthread_cond_broadcast(&changed);
	}
	while (count < 2)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* The time counts from the call, however late the thread gets to it. */
static void late_thread_does_not_delay(void **state)
{
	(void)state;
	struct task_owner owner = { 0 };
	task_every(&owner, 0, hold, NULL);
	wait_for(1);
	task_every(&owner, 5 * NS_PER_S, bump, NULL);
	atomic_fetch_add(&ahead_ns, 6 * NS_PER_S);
	bump(NULL); /* lets the thread go on */
	task_sync();
	assert_int_equal(counted(), 3);
	task_owner_stop(&owner);
}

static _Atomic(struct task_owner *) self;

static void stop_itself(void *ctx)
{
	struct task_owner *owner;
	while ((owner = atomic_load(&self)) == NULL)
		;
	task_every(owner, 0, bump, NULL); /* is not added yet when it is stopped */
	task_owner_stop(owner);
	bump(ctx);
}

static void may_stop_itself(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		struct task_owner owner = { 0 };
		atomic_store(&self, NULL);
		task_every(&owner, i % 2, stop_itself, NULL);
		atomic_store(&self, &owner);
		wait_for(i + 1);
	}
	task_sync();
	assert_int_equal(counted(), 100); /* nothing of it is left to fire */
}

/* Many tasks of one owner end together, whichever of them runs at that moment. */
static void owner_stops_all(void **state)
{
	enum { TASKS = 20 };
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct task_owner owner = { 0 };
		unsigned *used[TASKS];
		for (size_t k = 0; k < TASKS; k++) {
			used[k] = xcalloc(1, sizeof(*used[k]));
			task_every(&owner, 0, bump_value, used[k]);
		}
		wait_for(counted() + TASKS);
		task_owner_stop(&owner);
		for (size_t k = 0; k < TASKS; k++)
			free(used[k]); /* a sanitizer reports one that still runs */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(waits_one_interval, zero),
		cmocka_unit_test_setup(stopped_is_stopped, zero),
		cmocka_unit_test_setup(busy_task_lets_others_run, zero),
		cmocka_unit_test_setup(owner_stops_all, zero),
		cmocka_unit_test_setup(may_stop_itself, zero),
		cmocka_unit_test_setup(late_thread_does_not_delay, zero),
	};
	static const struct clock_source moved = { .mono_ns = moved_clock };
	clock_set_source(&moved);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of the copier that are dropped before, while and after its thread works on them. */
#include "plugin/shared/zonecopier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "plugin/shared/zonecopy.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_held, is_copying;
static int n_copied, n_freed;

static void free_copy(struct zone_copy *copy)
{
	n_freed++; /* on the copier's thread, which is joined before it is read */
	free(copy);
}

static struct zone_copy *copy_zone(struct plugin_inst *from, const uint8_t *zone)
{
	struct zone_copy *copy = xcalloc(1, sizeof(*copy));
	(void)from, (void)zone;
	copy->free = free_copy;
	pthread_mutex_lock(&lock);
	n_copied++;
	is_copying = true;
	pthread_cond_broadcast(&changed);
	while (is_held)
		pthread_cond_wait(&changed, &lock);
	is_copying = false;
	pthread_mutex_unlock(&lock);
	return copy;
}

static const struct zonecopier_source source = { .copy = copy_zone };
static const uint8_t zone[] = { 1, 'a', 0 };

static void set_held(bool held)
{
	pthread_mutex_lock(&lock);
	is_held = held;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_for_copy(void)
{
	pthread_mutex_lock(&lock);
	while (!is_copying)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* A query that may not wait drops its job at once, while others are before it in the queue. */
static void dropped_in_the_queue(void **state)
{
	enum { JOBS = 8 };
	struct zonecopier_job *job[JOBS];
	struct zonecopier *copier = zonecopier_new();
	(void)state;
	n_copied = n_freed = 0;
	set_held(true);
	for (int i = 0; i < JOBS; i++)
		job[i] = zonecopier_add(copier, &source, NULL, zone, NULL);
	wait_for_copy(); /* the first one; the others are in the queue */
	for (int i = 0; i < JOBS; i++)
		zonecopier_drop(copier, job[i]);
	set_held(false);
	zonecopier_free(copier);
	assert_int_equal(n_copied, 1);
	assert_int_equal(n_freed, 1);
}

static void dropped_at_any_time(void **state)
{
	enum { ROUNDS = 2000 };
	struct zonecopier *copier = zonecopier_new();
	(void)state;
	n_copied = n_freed = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct zonecopier_job *job = zonecopier_add(copier, &source, NULL, zone, NULL);
		while (i % 3 == 2 && !atomic_load_explicit(&job->ready, memory_order_acquire))
			sched_yield();
		if (i % 3 == 1)
			sched_yield();
		zonecopier_drop(copier, job);
	}
	zonecopier_free(copier);
	assert_int_equal(n_freed, n_copied);
	assert_true(n_copied >= ROUNDS / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_in_the_queue),
		cmocka_unit_test(dropped_at_any_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

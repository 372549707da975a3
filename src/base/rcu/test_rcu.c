/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rcu: readers never see what was freed. Under a thread sanitizer, with tools/tsan.supp, this is
 * also the test of the annotations. */
#include "base/rcu/rcu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

enum { READERS = 2, UPDATES = 3000, BOUND = 1 << 20 };

struct object {
	struct rcu_item item;
	uint64_t a, b; /* equal while it lives */
};

static _Atomic(struct object *) current;
static _Atomic bool stop;
static _Atomic unsigned freed;
static _Atomic unsigned torn;

static struct object *object_new(uint64_t v)
{
	struct object *o = xcalloc(1, sizeof(*o));
	o->a = o->b = v;
	return o;
}

static void object_free(struct object *o)
{
	o->a = 0;
	o->b = 1;
	atomic_fetch_add(&freed, 1);
	free(o);
}

static void free_item(struct rcu_item *item)
{
	object_free((struct object *)(void *)((char *)item - offsetof(struct object, item)));
}

static void *read_many(void *arg)
{
	uint64_t *last = arg;
	rcu_thread_register();
	for (int i = 0; i < BOUND && !atomic_load(&stop); i++) {
		rcu_enter();
		const struct object *o = rcu_get(&current);
		if (o->a != o->b || o->a < *last)
			atomic_fetch_add(&torn, 1);
		*last = o->a;
		rcu_leave();
	}
	rcu_thread_unregister();
	return NULL;
}

static void stress(void **state)
{
	(void)state;
	pthread_t t[READERS];
	uint64_t last[READERS] = { 0 };
	atomic_store(&freed, 0);
	rcu_publish(&current, object_new(0));
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, read_many, &last[i]), 0);
	for (uint64_t i = 1; i <= UPDATES; i++) {
		struct object *old = rcu_get(&current);
		rcu_publish(&current, object_new(i));
		if (i % 64 == 0) {
			rcu_wait();
			object_free(old);
		} else {
			rcu_defer(&old->item, free_item);
		}
	}
	atomic_store(&stop, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	rcu_barrier_all();
	assert_int_equal(atomic_load(&torn), 0);
	assert_int_equal(atomic_load(&freed), UPDATES);
	object_free(rcu_get(&current));
}

struct waiter {
	pthread_t thread;
	_Atomic bool inside, may_leave, has_left;
};

static void *hold(void *arg)
{
	struct waiter *w = arg;
	rcu_thread_register();
	rcu_enter();
	atomic_store(&w->inside, true);
	while (!atomic_load(&w->may_leave)) {
	}
	atomic_store(&w->has_left, true);
	rcu_leave();
	rcu_thread_unregister();
	return NULL;
}

static void *release_soon(void *arg)
{
	struct waiter *w = arg;
	atomic_store(&w->may_leave, true);
	return NULL;
}

/* The wait ends only after the reader that was inside has left. */
static void wait_waits(void **state)
{
	(void)state;
	struct waiter w = { .inside = false };
	pthread_t t;
	assert_int_equal(pthread_create(&w.thread, NULL, hold, &w), 0);
	while (!atomic_load(&w.inside)) {
	}
	assert_int_equal(pthread_create(&t, NULL, release_soon, &w), 0);
	rcu_wait();
	assert_true(atomic_load(&w.has_left));
	pthread_join(t, NULL);
	pthread_join(w.thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stress),
		cmocka_unit_test(wait_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

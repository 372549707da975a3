/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry: one value per key, counted, freed with the last reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/handler.h"
#include "server/resource.h"

const struct plugin *const plugin_list[] = { NULL };

static int made, freed;

static int make(void *arg, struct task_owner *tasks, void **ret)
{
	(void)tasks;
	made++;
	*ret = arg;
	return 0;
}

static int refuse(void *arg, struct task_owner *tasks, void **ret)
{
	(void)tasks;
	(void)arg;
	(void)ret;
	made++;
	return ERR_BUSY;
}

static void forget(void *value)
{
	(void)value;
	freed++;
}

static void shared_by_key(void **state)
{
	struct resource *a, *b, *c;
	char key[16] = "one", x, y;
	(void)state;
	made = freed = 0;
	assert_int_equal(resource_get(key, make, &x, forget, &a), 0);
	assert_int_equal(resource_get("one", make, &y, forget, &b), 0);
	assert_int_equal(resource_get("two", make, &y, forget, &c), 0);
	key[0] = 'X'; /* the registry has its own copy */
	assert_ptr_equal(a, b);
	assert_ptr_equal(b->value, &x);
	assert_ptr_equal(c->value, &y);
	assert_int_equal(made, 2);
	resource_put(a);
	assert_int_equal(freed, 0);
	resource_put(b);
	assert_int_equal(freed, 1);
	assert_int_equal(resource_get("one", make, &y, NULL, &a), 0); /* made anew */
	assert_ptr_equal(a->value, &y);
	resource_put(c);
	assert_int_equal(freed, 2);
	resource_put(a); /* nothing to free it with */
	resource_put(NULL);
	assert_int_equal(made, 3);
}

static _Atomic unsigned runs;

static void count_run(void *ctx)
{
	struct timespec moment = { .tv_nsec = 100000 };
	unsigned *value = ctx;
	atomic_fetch_add(&runs, 1);
	nanosleep(&moment, NULL); /* long enough to be met by the end of the resource */
	assert_int_equal(*value, 42);
}

static int make_busy(void *arg, struct task_owner *tasks, void **ret)
{
	(void)arg;
	unsigned *value = xcalloc(1, sizeof(*value));
	*value = 42;
	task_every(tasks, 0, count_run, value);
	*ret = value;
	return 0;
}

static void free_busy(void *value)
{
	*(unsigned *)value = 0;
	free(value);
}

static void tasks_end_before_the_value(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct resource *r = NULL;
		unsigned before = atomic_load(&runs);
		assert_int_equal(resource_get("busy", make_busy, NULL, free_busy, &r), 0);
		while (atomic_load(&runs) == before)
			sched_yield();
		resource_put(r);
	}
}

static void failure_leaves_nothing(void **state)
{
	struct resource *r = NULL;
	(void)state;
	made = freed = 0;
	assert_int_equal(resource_get("bad", refuse, NULL, forget, &r), ERR_BUSY);
	assert_null(r);
	assert_int_equal(resource_get("bad", make, NULL, forget, &r), 0); /* a NULL value is one */
	assert_int_equal(made, 2);
	resource_put(r);
	assert_int_equal(freed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_by_key),
		cmocka_unit_test(tasks_end_before_the_value),
		cmocka_unit_test(failure_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No key twice at once, no change missed, failures later and later, and threads in any order. */
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
#include "base/clock_test.h"
#include "kube/informer/workqueue.h"

static _Atomic uint64_t now_ns;

static uint64_t fake_now(void)
{
	return now_ns;
}

static const struct clock_source fake = { fake_now, fake_now };

static int setup(void **state)
{
	now_ns = 1000 * NS_PER_S;
	clock_set_source(&fake);
	*state = workqueue_new(NULL);
	return 0;
}

static int teardown(void **state)
{
	workqueue_close(*state);
	workqueue_free(*state);
	clock_set_source(NULL);
	return 0;
}

static void expect(struct workqueue *q, struct strbuf *key, const char *want)
{
	assert_true(workqueue_get(q, key));
	assert_string_equal(key->s, want);
}

static size_t ready(struct workqueue *q)
{
	struct workqueue_stats s;
	workqueue_stats(q, &s);
	return s.ready;
}

static void once_in_the_queue(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	workqueue_add(q, "a");
	workqueue_add(q, "b");
	workqueue_add(q, "a");
	assert_int_equal(ready(q), 2);
	expect(q, &key, "a");
	workqueue_done(q, &key, WORK_OK);
	expect(q, &key, "b");
	workqueue_done(q, &key, WORK_OK);
	assert_int_equal(ready(q), 0);
}

/* What is added while it is worked on comes again when that is done, once. */
static void changed_meanwhile(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	workqueue_add(q, "a");
	expect(q, &key, "a");
	workqueue_add(q, "a");
	workqueue_add(q, "a");
	assert_int_equal(ready(q), 0);
	workqueue_done(q, &key, WORK_RETRY);
	assert_int_equal(ready(q), 1);
	expect(q, &key, "a");
	workqueue_done(q, &key, WORK_OK);
	assert_int_equal(ready(q), 0);
	assert_int_equal(workqueue_failures(q, "a"), 0);
}

static void failures_back_off(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	uint64_t delay = 5 * NS_PER_MS;
	workqueue_add(q, "a");
	for (unsigned i = 1; i <= 30; i++) {
		struct workqueue_stats s;
		expect(q, &key, "a");
		workqueue_done(q, &key, WORK_RETRY);
		assert_int_equal(workqueue_failures(q, "a"), i);
		workqueue_stats(q, &s);
		assert_int_equal(s.delayed, 1);
		assert_int_equal(s.ready, 0);
		/* Another key goes through meanwhile, and the waiting one does not come early. */
		now_ns += delay - 1;
		workqueue_add(q, "b");
		expect(q, &key, "b");
		workqueue_done(q, &key, WORK_OK);
		assert_int_equal(ready(q), 0);
		now_ns += 1;
		delay = delay * 2 < 1000 * NS_PER_S ? delay * 2 : 1000 * NS_PER_S;
	}
	expect(q, &key, "a");
	workqueue_done(q, &key, WORK_OK);
	assert_int_equal(workqueue_failures(q, "a"), 0);
}

/* Adds k0 to k149, and lets each fail so often. */
static void fail_many(struct workqueue *q, unsigned times)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	char name[16];
	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		workqueue_add(q, name);
	}
	for (unsigned t = 0; t < times; t++) {
		for (int i = 0; i < 150; i++) {
			assert_true(workqueue_get(q, &key));
			workqueue_done(q, &key, WORK_RETRY);
		}
		now_ns += t + 1 < times ? 5 * NS_PER_MS << t : 0;
	}
}

/* Many keys that fail for the fourth time: a burst of 100 comes back by its own delay, the rest at
 * 10 a second. */
static void failures_of_all_are_limited(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	struct workqueue_stats s;
	fail_many(q, 4);
	now_ns += 40 * NS_PER_MS;
	for (int i = 0; i < 100; i++) {
		assert_true(workqueue_get(q, &key));
		workqueue_done(q, &key, WORK_OK);
	}
	workqueue_stats(q, &s);
	assert_int_equal(s.ready, 0);
	assert_int_equal(s.delayed, 50);
	now_ns += NS_PER_S;
	workqueue_add(q, "x"); /* so that get looks at the clock without waiting */
	for (int i = 0; i < 11; i++) {
		assert_true(workqueue_get(q, &key));
		workqueue_done(q, &key, WORK_OK);
	}
	workqueue_stats(q, &s);
	assert_int_equal(s.delayed, 40);
}

/* A key that fails once comes back by its own delay, however many others fail all the time. */
static void first_failures_wait_for_nobody(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	struct workqueue_stats s;
	fail_many(q, 4);
	workqueue_add(q, "x");
	expect(q, &key, "x");
	workqueue_done(q, &key, WORK_RETRY);
	now_ns += 5 * NS_PER_MS;
	expect(q, &key, "x");
	workqueue_done(q, &key, WORK_OK);
	workqueue_stats(q, &s);
	assert_int_equal(s.delayed, 150);
}

/* Added keys go before retried ones, which still get one turn in eight. */
static void added_before_retried(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	char name[16];
	fail_many(q, 1);
	now_ns += 5 * NS_PER_MS;
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "new%d", i);
		workqueue_add(q, name);
	}
	workqueue_add(q, "k149"); /* changed: it need not wait with the others */
	unsigned retries = 0, changed = 0;
	for (int i = 0; i < 20; i++) {
		assert_true(workqueue_get(q, &key));
		changed += strcmp(key.s, "k149") == 0;
		retries += key.s[0] == 'k';
		workqueue_done(q, &key, WORK_OK);
	}
	assert_int_equal(changed, 1);
	assert_int_equal(retries - changed, 3);
}

/* Retries that never end leave one worker to the others. */
static void one_worker_for_the_healthy(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT, first = STRBUF_INIT;
	struct workqueue *q = workqueue_new(&(struct workqueue_conf){ .workers = 3 });
	struct workqueue_stats s;
	(void)state;
	fail_many(q, 1);
	now_ns += 5 * NS_PER_MS;
	assert_true(workqueue_get(q, &key));
	assert_true(workqueue_get(q, &first));
	workqueue_add(q, "x");
	expect(q, &key, "x");
	workqueue_done(q, &key, WORK_OK);
	workqueue_stats(q, &s);
	assert_int_equal(s.active, 2);
	assert_int_equal(s.ready, 148);
	/* the end of one is the turn of the next */
	workqueue_done(q, &first, WORK_OK);
	assert_true(workqueue_get(q, &key));
	assert_int_equal(workqueue_failures(q, key.s), 1);
	workqueue_close(q);
	workqueue_free(q);
}

static void delayed(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	struct workqueue_stats s;
	workqueue_add_after(q, "a", 5 * NS_PER_S);
	workqueue_add_after(q, "b", 3 * NS_PER_S);
	workqueue_add_after(q, "a", 2 * NS_PER_S); /* the earlier wins */
	workqueue_add_after(q, "a", 9 * NS_PER_S);
	workqueue_add_after(q, "c", 4 * NS_PER_S);
	now_ns += 3 * NS_PER_S;
	expect(q, &key, "a");
	workqueue_done(q, &key, WORK_OK);
	expect(q, &key, "b");
	workqueue_done(q, &key, WORK_OK);
	workqueue_add(q, "c"); /* now: its later time is forgotten */
	expect(q, &key, "c");
	workqueue_done(q, &key, WORK_OK);
	workqueue_stats(q, &s);
	assert_int_equal(s.ready + s.delayed + s.active, 0);
	workqueue_add_after(q, "d", 0);
	expect(q, &key, "d");
}

static void closed(void **state)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct workqueue *q = *state;
	workqueue_add(q, "a");
	workqueue_add(q, "b");
	expect(q, &key, "a");
	workqueue_close(q);
	workqueue_add(q, "c");
	workqueue_done(q, &key, WORK_RETRY);
	assert_false(workqueue_get(q, &key));
}

/* ---- threads ---- */

enum { KEYS = 20, ADDS = 20000, THREADS = 4 };

static struct {
	struct workqueue *q;
	_Atomic int active[KEYS];
	_Atomic int wanted[KEYS]; /* changes made */
	_Atomic int seen[KEYS];	  /* changes the last look saw */
} t;

static void *look(void *arg)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	unsigned n = 0;
	(void)arg;
	while (workqueue_get(t.q, &key)) {
		int k = (int)strtol(key.s, NULL, 10);
		if (atomic_fetch_add(&t.active[k], 1) != 0)
			abort(); /* two at once */
		t.seen[k] = t.wanted[k];
		atomic_fetch_sub(&t.active[k], 1);
		workqueue_done(t.q, &key, ++n % 7 == 0 ? WORK_RETRY : WORK_OK);
	}
	return NULL;
}

static void no_change_is_missed(void **state)
{
	pthread_t thread[THREADS];
	char name[16];
	(void)state;
	clock_set_source(NULL);
	t.q = workqueue_new(
		&(struct workqueue_conf){ .retry_min_ns = 1000, .retry_rate = 1000000 });
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, look, NULL), 0);
	for (int i = 0; i < ADDS; i++) {
		snprintf(name, sizeof(name), "%d", i % KEYS);
		t.wanted[i % KEYS]++;
		workqueue_add(t.q, name);
	}
	struct workqueue_stats s;
	do
		workqueue_stats(t.q, &s);
	while (s.ready + s.active + s.delayed != 0);
	workqueue_close(t.q);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(t.seen[i], t.wanted[i]);
	workqueue_free(t.q);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(once_in_the_queue),
		T(changed_meanwhile),
		T(failures_back_off),
		T(first_failures_wait_for_nobody),
		T(added_before_retried),
		T(one_worker_for_the_healthy),
		T(failures_of_all_are_limited),
		T(delayed),
		T(closed),
		T(no_change_is_missed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

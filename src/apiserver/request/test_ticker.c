/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ticker: calls at the right time, and none after apiserver_tick_free. */
#include "apiserver/request/ticker.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned calls;

static void called(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&lock);
	calls++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_for(unsigned n)
{
	pthread_mutex_lock(&lock);
	while (calls < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void ticks(void **state)
{
	struct apiserver_ticker *t = apiserver_ticker_new();
	struct apiserver_tick *a = apiserver_tick_new(t, called, NULL);
	struct apiserver_tick *b = apiserver_tick_new(t, called, NULL);
	(void)state;
	uint64_t now = clock_mono_ns();
	apiserver_tick_set(b, UINT64_MAX);
	apiserver_tick_set(a, now);
	wait_for(1);
	apiserver_tick_set(a, now + 5 * NS_PER_MS);
	apiserver_tick_set(b, now + 2 * NS_PER_MS);
	wait_for(3);
	assert_true(clock_mono_ns() >= now + 5 * NS_PER_MS);
	apiserver_tick_set(a, now + 3600 * NS_PER_S);
	apiserver_tick_free(a);
	apiserver_tick_free(b);
	apiserver_ticker_free(t);
	assert_int_equal(calls, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(ticks) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A follower ends quickly even if much work is left. */
#include "apiserver/controllers/follower.h"
#include "apiserver/store/read.h"
#include "apiserver/store/test_store.h"

#include <stdatomic.h>
#include <time.h>

#include "apiserver/store/watch.h"
#include "base/clock.h"

struct work {
	atomic_bool started;
	bool told; /* that the end has come */
};

static void forget(void *ctx)
{
	(void)ctx;
}

static void see(void *ctx, const struct apiserver_row *row)
{
	(void)ctx, (void)row;
}

static void change(void *ctx, const struct apiserver_event *event)
{
	(void)ctx, (void)event;
}

/* As much as can be: only the end stops it. */
static bool work_on(void *ctx, const struct apiserver_follower *follower)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t end = clock_mono_ns() + 30 * NS_PER_S;
	struct work *work = ctx;
	atomic_store(&work->started, true);
	while (!work->told && clock_mono_ns() < end) {
		nanosleep(&pause, NULL);
		work->told = apiserver_follower_is_ending(follower);
	}
	return true;
}

static const struct apiserver_follower_ops ops = {
	.reset = forget,
	.see = see,
	.change = change,
	.act = work_on,
};

static void ends_during_work(void **state)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct fixture *f = *state;
	struct work work = { 0 };
	struct apiserver_follower *follower = apiserver_follower_new(f->s, &ops, &work);
	uint64_t end = clock_mono_ns() + 30 * NS_PER_S;
	while (!atomic_load(&work.started) && clock_mono_ns() < end)
		nanosleep(&pause, NULL);
	apiserver_follower_free(follower);
	assert_true(work.told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ends_during_work, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

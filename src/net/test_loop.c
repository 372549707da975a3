/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event loop: descriptors that go away in the middle of a turn, timers in order, messages from
 * other threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/loop.h"

static uint64_t fake_now;

static uint64_t fake_mono(void)
{
	return fake_now;
}

static const struct clock_source fake_clock = { fake_mono, fake_mono };

static int setup(void **state)
{
	clock_set_source(&fake_clock);
	fake_now = NS_PER_S;
	*state = loop_new();
	return *state == NULL;
}

static int teardown(void **state)
{
	loop_free(*state);
	clock_set_source(NULL);
	return 0;
}

/* ---- timers ---- */

struct tick {
	struct loop_timer timer;
	struct loop *loop;
	unsigned fired;
	uint64_t at;
	struct tick *stop; /* stopped by this one */
	bool again;
};

static uint64_t last_due;

static void on_tick(struct loop_timer *t)
{
	struct tick *k = CONTAINER_OF(t, struct tick, timer);
	assert_int_equal(t->heap_at, 0);
	assert_true(t->due_ns >= last_due);
	last_due = t->due_ns;
	k->fired++;
	if (k->stop != NULL)
		loop_timer_stop(k->loop, &k->stop->timer);
	if (k->again)
		loop_timer_set(k->loop, t, loop_now(k->loop));
}

static void test_timers_fire_in_order(void **state)
{
	enum { N = 500 };
	static struct tick k[N];
	struct loop *l = *state;
	struct rng r;
	rng_init(&r);
	memset(k, 0, sizeof(k));
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < N; i++) {
			unsigned what = (unsigned)(rng_u64(&r) % 4);
			k[i].timer.cb = on_tick;
			k[i].loop = l;
			if (what == 0) {
				loop_timer_stop(l, &k[i].timer);
				k[i].at = 0;
			} else {
				k[i].at = fake_now + 1 + rng_u64(&r) % 1000;
				loop_timer_set(l, &k[i].timer, k[i].at);
			}
			k[i].fired = 0;
		}
		for (unsigned step = 0; step < 10; step++) {
			fake_now += 100;
			last_due = 0;
			loop_turn(l, false);
			for (unsigned i = 0; i < N; i++)
				assert_int_equal(k[i].fired, k[i].at != 0 && k[i].at <= fake_now);
		}
	}
}

static void test_timer_stops_another(void **state)
{
	struct loop *l = *state;
	struct tick b = { .timer.cb = on_tick, .loop = l };
	struct tick a = { .timer.cb = on_tick, .loop = l, .stop = &b };
	last_due = 0;
	loop_timer_set(l, &a.timer, fake_now + 1);
	loop_timer_set(l, &b.timer, fake_now + 2);
	fake_now += 10;
	loop_turn(l, false);
	assert_int_equal(a.fired, 1);
	assert_int_equal(b.fired, 0);
	loop_timer_stop(l, &b.timer); /* twice is fine */
}

/* A timer that is due again at once has its turn and lets the others have theirs. */
static void rearm_in_the_past(struct loop_timer *timer)
{
	struct tick *tick = CONTAINER_OF(timer, struct tick, timer);
	tick->fired++;
	loop_timer_set(tick->loop, timer, 1);
}

/* One that is set to a time long ago, again and again, does not keep others from their turn. */
static void test_timer_in_the_past(void **state)
{
	struct loop *l = *state;
	struct tick past = { .timer.cb = rearm_in_the_past, .loop = l };
	struct tick other = { .timer.cb = on_tick, .loop = l };
	last_due = 0;
	loop_timer_set(l, &past.timer, 1);
	loop_timer_set(l, &other.timer, fake_now + 5);
	for (int i = 0; i < 10; i++) {
		fake_now += NS_PER_MS;
		loop_turn(l, false);
	}
	assert_int_equal(other.fired, 1);
	assert_true(past.fired >= 10);
	loop_timer_stop(l, &past.timer);
}

static void test_timer_that_is_always_due(void **state)
{
	struct loop *l = *state;
	struct tick a = { .timer.cb = on_tick, .loop = l, .again = true };
	struct tick b = { .timer.cb = on_tick, .loop = l };
	last_due = 0;
	loop_timer_set(l, &a.timer, fake_now);
	loop_timer_set(l, &b.timer, fake_now);
	loop_turn(l, true); /* and does not sleep */
	assert_int_equal(a.fired, 1);
	assert_int_equal(b.fired, 1);
	loop_turn(l, true);
	assert_int_equal(a.fired, 2);
	loop_timer_stop(l, &a.timer);
}

/* ---- descriptors ---- */

struct end {
	struct loop_fd io;
	struct loop *loop;
	struct end *other;
	unsigned called;
};

static struct end *survivor;

static void on_end(struct loop_fd *f, uint32_t events)
{
	struct end *e = CONTAINER_OF(f, struct end, io);
	assert_true((events & EPOLLIN) != 0);
	e->called++;
	survivor = e;
	if (e->other == NULL)
		return;
	loop_fd_del(e->loop, &e->other->io); /* its event of this turn is dropped */
	close(e->other->io.fd);
	free(e->other);
	e->other = NULL;
}

static struct end *new_end(struct loop *l)
{
	struct end *e = xcalloc(1, sizeof(*e));
	e->io = (struct loop_fd){ .fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), .cb = on_end };
	e->loop = l;
	assert_int_equal(loop_fd_add(l, &e->io, EPOLLIN), 0);
	return e;
}

static void test_freed_in_the_same_turn(void **state)
{
	struct loop *l = *state;
	struct end *a = new_end(l), *b = new_end(l);
	a->other = b;
	b->other = a;
	loop_turn(l, false); /* whoever is first frees the other */
	assert_true(survivor == a || survivor == b);
	assert_int_equal(survivor->called, 1);
	loop_turn(l, false);
	assert_int_equal(survivor->called, 2);
	loop_fd_del(l, &survivor->io);
	close(survivor->io.fd);
	free(survivor);
}

static void test_level_triggered(void **state)
{
	struct loop *l = *state;
	struct end *e = new_end(l);
	for (unsigned i = 1; i <= 3; i++) {
		loop_turn(l, true);
		assert_int_equal(e->called, i);
	}
	assert_int_equal(loop_fd_mod(l, &e->io, 0), 0);
	loop_turn(l, false);
	assert_int_equal(e->called, 3);
	loop_fd_del(l, &e->io);
	assert_true(loop_fd_mod(l, &e->io, EPOLLIN) < 0);
	close(e->io.fd);
	free(e);
}

/* ---- messages ---- */

enum { SENDERS = 4, MESSAGES = 5000 };

struct note {
	struct loop_msg msg;
	unsigned sender, n;
};

static unsigned next_of[SENDERS], n_notes;
static struct loop *notes_loop;

static void on_note(struct loop_msg *m)
{
	struct note *t = CONTAINER_OF(m, struct note, msg);
	assert_int_equal(t->n, next_of[t->sender]); /* in order per sender */
	next_of[t->sender]++;
	free(t);
	if (++n_notes == SENDERS * MESSAGES)
		loop_stop(notes_loop);
}

static void *sender(void *arg)
{
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct note *t = xcalloc(1, sizeof(*t));
		t->msg.cb = on_note;
		t->sender = *(unsigned *)arg;
		t->n = i;
		loop_post(notes_loop, &t->msg);
	}
	return NULL;
}

static void test_messages_from_threads(void **state)
{
	pthread_t thread[SENDERS];
	unsigned number[SENDERS];
	(void)state;
	notes_loop = loop_new();
	for (unsigned i = 0; i < SENDERS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&thread[i], NULL, sender, &number[i]), 0);
	}
	loop_run(notes_loop); /* ends when all have come */
	for (unsigned i = 0; i < SENDERS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(n_notes, SENDERS * MESSAGES);
	loop_free(notes_loop);
}

static unsigned n_before, n_after;

static void before(void *ctx)
{
	(void)ctx;
	assert_int_equal(n_before, n_after);
	n_before++;
}

static void after(void *ctx)
{
	struct loop *l = *(struct loop **)ctx;
	if (++n_after < 3)
		loop_again(l); /* so that the next turn does not sleep */
}

static void test_after_and_again(void **state)
{
	n_before = n_after = 0;
	loop_set_around(*state, before, after, state);
	for (int i = 0; i < 3; i++)
		loop_turn(*state, i > 0);
	assert_int_equal(n_after, 3);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_timers_fire_in_order),	T(test_timer_stops_another),
		T(test_timer_in_the_past),	T(test_timer_that_is_always_due),
		T(test_freed_in_the_same_turn), T(test_level_triggered),
		T(test_after_and_again),	cmocka_unit_test(test_messages_from_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

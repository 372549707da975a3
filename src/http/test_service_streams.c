/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams of http/service: wake-ups from other threads, clients that vanish, stops at any moment. */
#include "http/test_service_rig.h"

enum { STREAMS = 100, LINES = 200, WAKERS = 4 };

static void *raise_thread(void *ctx)
{
	struct board *b = ctx;
	for (unsigned i = 1; i <= LINES; i++)
		raise_all(b, i, 0);
	return NULL;
}

static void check_lines(struct client *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char line[32];
		snprintf(line, sizeof(line), "line %u\n", i);
		/* In order, none missing: nothing but chunk borders lies between. */
		size_t before = c->read;
		assert_true(until(c, line));
		if (i > 0)
			assert_true(c->read - before <= strlen(line) + 16);
	}
}

/* Each wake is seen by all streams although many come at once from many threads. */
static void storm(struct rig *r)
{
	static struct client c[STREAMS];
	pthread_t wakers[WAKERS];
	struct http_service_conf conf = rig_conf(r);
	rig_start(r, &conf);
	for (int i = 0; i < STREAMS; i++) {
		dial(r, &c[i]);
		put(&c[i], "GET /tick HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	wait_tickers(&r->board, STREAMS);
	for (int i = 0; i < WAKERS; i++)
		assert_int_equal(pthread_create(&wakers[i], NULL, raise_thread, &r->board), 0);
	for (int i = 0; i < STREAMS; i++)
		check_lines(&c[i], LINES);
	for (int i = 0; i < WAKERS; i++)
		pthread_join(wakers[i], NULL);
	/* One more, now that all rest; and the end. */
	raise_all(&r->board, LINES + 1, 0);
	for (int i = 0; i < STREAMS; i++)
		assert_true(until(&c[i], "line 200\n"));
	raise_all(&r->board, LINES + 1, LINES + 1);
	for (int i = 0; i < STREAMS; i++) {
		assert_true(until(&c[i], "\r\n0\r\n\r\n"));
		hang_up(&c[i]);
	}
	wait_tickers(&r->board, 0);
	rig_stop(r);
}

static void every_wake_is_seen(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	storm(&r);
	rig_tls(&r);
	storm(&r);
	rig_tls_done(&r);
}

static void vanish(struct rig *r)
{
	struct client c[3];
	struct http_service_conf conf = rig_conf(r);
	rig_start(r, &conf);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		dial(r, &c[i]);
		put(&c[i], "GET /tick?n=0&hello HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_true(until(&c[i], "hello\n"));
	}
	wait_tickers(&r->board, 3);
	/* Nobody wakes them: gone without a word, then with a reset. */
	hang_up(&c[0]);
	wait_tickers(&r->board, 2);
	struct linger now = { .l_onoff = 1 };
	setsockopt(c[1].fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	hang_up(&c[1]);
	wait_tickers(&r->board, 1);
	raise_all(&r->board, 1, 0);
	assert_true(until(&c[2], "line 0\n"));
	hang_up(&c[2]);
	wait_tickers(&r->board, 0);
	rig_stop(r);
}

static void clients_that_vanish(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	vanish(&r);
	rig_tls(&r);
	vanish(&r);
	rig_tls_done(&r);
}

struct waker {
	struct board *board;
	_Atomic bool over;
};

static void *wake_thread(void *ctx)
{
	struct waker *w = ctx;
	for (unsigned i = 1; !w->over; i++)
		raise_all(w->board, i, 0);
	return NULL;
}

/* Stops in the middle of everything: streams end with their last chunk, a handler that waits is
 * waited for, and its reply comes. */
static void stop_in_the_storm(struct rig *r)
{
	enum { N = 20 };
	struct client c[N], waiting, idle;
	pthread_t wakers[2];
	struct http_service_conf conf = rig_conf(r);
	rig_start(r, &conf);
	struct waker w = { .board = &r->board };
	dial(r, &idle);
	dial(r, &waiting);
	put(&waiting, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < N; i++) {
		dial(r, &c[i]);
		put(&c[i], "GET /tick HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	wait_tickers(&r->board, N);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&wakers[i], NULL, wake_thread, &w), 0);
	for (int i = 0; i < N; i += 2)
		assert_true(until(&c[i], "line 0\n"));
	pthread_mutex_lock(&r->board.lock);
	r->board.open = true;
	pthread_cond_broadcast(&r->board.change);
	pthread_mutex_unlock(&r->board.lock);
	http_service_stop(TAKE_PTR(r->service));
	assert_int_equal(r->board.n_tickers, 0);
	w.over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(wakers[i], NULL);
	assert_true(until(&waiting, "through"));
	assert_false(until(&idle, "HTTP"));
	for (int i = 0; i < N; i++) {
		assert_true(until(&c[i], "\r\n0\r\n\r\n"));
		hang_up(&c[i]);
	}
	hang_up(&waiting);
	hang_up(&idle);
	board_done(&r->board);
}

static void stops_are_clean(void **state)
{
	struct rig r = { .tls = NULL };
	(void)state;
	for (int i = 0; i < 5; i++)
		stop_in_the_storm(&r);
	rig_tls(&r);
	for (int i = 0; i < 3; i++)
		stop_in_the_storm(&r);
	rig_tls_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_wake_is_seen),
		cmocka_unit_test(clients_that_vanish),
		cmocka_unit_test(stops_are_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

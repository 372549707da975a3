/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams: bytes as they come, silence, cancelling, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>
#include <pthread.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "kube/test_rig.h"

static int collect(void *ctx, struct slice bytes)
{
	strbuf_add_slice(ctx, bytes);
	return 0;
}

static int count(void *ctx, struct slice bytes)
{
	*(size_t *)ctx += bytes.n;
	return 0;
}

static int stop_at_once(void *ctx, struct slice bytes)
{
	(void)ctx;
	(void)bytes;
	return ERR_GONE;
}

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static void whole_answers(void **state)
{
	struct rig g;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f,
		     &(struct fakeapi_reply){ .raw = CHUNKED "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" });
	struct kube_stream s = { .path = "/w?watch=true", .data = collect, .ctx = &b };
	assert_int_equal(kube_stream(g.conn, &s, &g.st), 0);
	assert_string_equal(b.s, "abcde");
	/* Watches are never compressed. */
	assert_null(strstr(fakeapi_request(g.f, 0), "Accept-Encoding"));
	s.gzip = true;
	assert_int_equal(kube_stream(g.conn, &s, &g.st), 0);
	assert_non_null(strstr(fakeapi_request(g.f, 1), "Accept-Encoding: gzip"));
	assert_string_equal(b.s, "abcde{}");
	assert_int_equal(fakeapi_connections(g.f), 1);
	rig_down(&g);
}

/* No limit on a list, whatever its length. */
static void long_answers(void **state)
{
	struct rig g;
	size_t n = 0;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "0123456789abcdef",
						   .repeat = KUBE_ANSWER_MAX_BYTES / 16 + 1 });
	assert_int_equal(kube_stream(g.conn,
				     &(struct kube_stream){ .path = "/", .data = count, .ctx = &n },
				     &g.st),
			 0);
	assert_int_equal(n, KUBE_ANSWER_MAX_BYTES + 16);
	rig_down(&g);
}

static void refused(void **state)
{
	struct rig g;
	size_t n = 0;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){
				  .status = 410,
				  .body = "{\"kind\":\"Status\",\"reason\":\"Expired\"}" });
	struct kube_stream s = { .path = "/", .data = count, .ctx = &n };
	assert_int_equal(kube_stream(g.conn, &s, &g.st), ERR_GONE);
	assert_string_equal(g.st.reason, "Expired");
	assert_int_equal(n, 0);
	/* Told to wait before it began: that is waited for. */
	fakeapi_push(g.f,
		     &(struct fakeapi_reply){ .status = 429, .headers = "Retry-After: 0\r\n" });
	assert_int_equal(kube_stream(g.conn, &s, &g.st), 0);
	assert_int_equal(n, 2);
	rig_down(&g);
}

static void ended_by_its_reader(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	struct kube_stream s = { .path = "/", .data = stop_at_once };
	assert_int_equal(kube_stream(g.conn, &s, &g.st), ERR_GONE);
	assert_int_equal(g.st.code, 0);
	rig_down(&g);
}

/* A broken stream is the reader's business: it has seen a part. */
static void broken_in_the_midst(void **state)
{
	struct rig g;
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .raw = CHUNKED "5\r\nabcde\r\n5\r\nxx",
						   .close = true });
	struct kube_stream s = { .path = "/", .data = collect, .ctx = &b };
	assert_int_equal(kube_stream(g.conn, &s, &g.st), ERR_CLOSED);
	assert_string_equal(b.s, "abcdexx");
	assert_int_equal(fakeapi_requests(g.f), 1);
	rig_down(&g);
}

/* A peer that stops sending, before the answer and in it, ends the stream in time. */
static void silence(void **state)
{
	static const struct fakeapi_reply rows[] = {
		{ .hang_first = true },
		{ .raw = CHUNKED "3\r\nabc\r\n", .hang = true },
	};
	struct rig g;
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 0;
		fakeapi_push(g.f, &rows[i]);
		struct kube_stream s = {
			.path = "/", .data = count, .ctx = &n, .idle_ns = 30 * NS_PER_MS
		};
		uint64_t start = clock_mono_ns();
		assert_int_equal(kube_stream(g.conn, &s, &g.st), ERR_TIMEOUT);
		assert_true(clock_mono_ns() - start >= 30 * NS_PER_MS);
		assert_non_null(strstr(g.st.message, "no data received"));
		assert_int_equal(n, i * 3);
	}
	fakeapi_push(g.f, &rows[1]);
	size_t n = 0;
	struct kube_stream s = {
		.path = "/", .data = count, .ctx = &n, .timeout_ns = 30 * NS_PER_MS
	};
	assert_int_equal(kube_stream(g.conn, &s, &g.st), ERR_TIMEOUT);
	rig_down(&g);
}

struct watch {
	struct rig g;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool seen;
};

static int tell(void *ctx, struct slice bytes)
{
	struct watch *w = ctx;
	(void)bytes;
	pthread_mutex_lock(&w->lock);
	w->seen = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static void *run_watch(void *ctx)
{
	struct watch *w = ctx;
	struct kube_stream s = { .path = "/", .data = tell, .ctx = w };
	return (void *)(intptr_t)kube_stream(w->g.conn, &s, &w->g.st);
}

static void cancelled(void **state)
{
	struct watch w = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };
	pthread_t t;
	void *r;
	(void)state;
	rig_up(&w.g);
	fakeapi_push(w.g.f, &(struct fakeapi_reply){ .raw = CHUNKED "3\r\nabc\r\n", .hang = true });
	assert_int_equal(pthread_create(&t, NULL, run_watch, &w), 0);
	pthread_mutex_lock(&w.lock);
	while (!w.seen)
		pthread_cond_wait(&w.cond, &w.lock);
	pthread_mutex_unlock(&w.lock);
	uint64_t start = clock_mono_ns();
	kube_conn_cancel(w.g.conn);
	pthread_join(t, &r);
	assert_int_equal((intptr_t)r, -ECANCELED);
	assert_true(clock_mono_ns() - start < NS_PER_S / 2); /* not at libcurl's next look */
	rig_down(&w.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_answers),
		cmocka_unit_test(long_answers),
		cmocka_unit_test(refused),
		cmocka_unit_test(ended_by_its_reader),
		cmocka_unit_test(broken_in_the_midst),
		cmocka_unit_test(silence),
		cmocka_unit_test(cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

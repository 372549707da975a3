/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reflector's decisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "kube/informer/reflector_plan.h"

#define S KUBE_STEP_STREAM
#define L KUBE_STEP_LIST
#define W KUBE_STEP_WATCH

static const struct {
	const char *name;
	enum kube_step step;
	const char *rv;
	bool fresh, whole;
	struct kube_outcome o;
	enum kube_step next;
	bool wait, next_fresh, next_whole, no_stream, resume;
} rows[] = {
	/* streaming lists */
	{ "clean end after the list",
	  S,
	  "",
	  false,
	  false,
	  { .listed = true, .took_ns = 300 * NS_PER_S },
	  .next = W },
	{ "gate off",
	  S,
	  "",
	  false,
	  false,
	  { .code = ERR_CONFIG, .http = 422 },
	  .next = L,
	  .no_stream = true },
	{ "old etcd",
	  S,
	  "",
	  false,
	  false,
	  { .code = ERR_INTERNAL, .has_error_event = true },
	  .next = L,
	  .no_stream = true },
	{ "old etcd, unset",
	  S,
	  "",
	  false,
	  false,
	  { .code = ERR_INTERNAL, .has_error_event = true, .too_large = true },
	  .next = L,
	  .no_stream = true },
	{ "ended before its bookmark",
	  S,
	  "",
	  false,
	  false,
	  { .code = 0, .took_ns = NS_PER_S },
	  .next = L,
	  .no_stream = true },
	{ "silence", S, "", false, false, { .code = ERR_TIMEOUT }, .next = L, .no_stream = true },
	{ "refused connection",
	  S,
	  "",
	  false,
	  false,
	  { .code = ERR_CLOSED },
	  .next = L,
	  .wait = true },
	{ "cut inside",
	  S,
	  "5",
	  false,
	  false,
	  { .code = ERR_CLOSED, .http = 200, .events = 0 },
	  .next = L,
	  .wait = true },
	{ "too busy",
	  S,
	  "",
	  false,
	  false,
	  { .code = ERR_BUSY, .http = 429 },
	  .next = S,
	  .wait = true },
	{ "not allowed",
	  S,
	  "",
	  false,
	  false,
	  { .code = ERR_DENIED, .http = 403 },
	  .next = S,
	  .wait = true },
	{ "no such kind",
	  S,
	  "",
	  false,
	  false,
	  { .code = ERR_NOTFOUND, .http = 404 },
	  .next = S,
	  .wait = true },
	{ "behind our version",
	  S,
	  "9",
	  false,
	  false,
	  { .code = ERR_TIMEOUT, .http = 504, .too_large = true },
	  .next = S,
	  .next_fresh = true },
	{ "our version is gone",
	  S,
	  "9",
	  false,
	  false,
	  { .code = ERR_GONE, .gone = true },
	  .next = S,
	  .next_fresh = true },
	{ "gone although fresh",
	  S,
	  "9",
	  true,
	  false,
	  { .code = ERR_GONE, .gone = true },
	  .next = L,
	  .next_fresh = true,
	  .no_stream = true },
	/* pages */
	{ "listed", L, "", true, true, { .listed = true }, .next = W },
	{ "page two is gone",
	  L,
	  "",
	  false,
	  false,
	  { .code = ERR_GONE, .gone = true, .pages = 1, .more = true },
	  .next = L,
	  .next_fresh = true,
	  .next_whole = true },
	{ "page two is gone after a pause",
	  L,
	  "",
	  false,
	  false,
	  { .code = ERR_GONE, .gone = true, .more = true },
	  .next = L,
	  .next_fresh = true,
	  .next_whole = true },
	{ "cut in page two",
	  L,
	  "",
	  false,
	  false,
	  { .code = ERR_CLOSED, .pages = 1, .more = true },
	  .next = L,
	  .resume = true },
	{ "cut in page two once more",
	  L,
	  "",
	  false,
	  false,
	  { .code = ERR_TLS, .more = true },
	  .next = L,
	  .wait = true,
	  .resume = true },
	{ "page two is too much now",
	  L,
	  "",
	  false,
	  false,
	  { .code = ERR_BUSY, .http = 429, .pages = 1, .more = true },
	  .next = L,
	  .wait = true,
	  .resume = true },
	{ "page two takes too long",
	  L,
	  "9",
	  false,
	  false,
	  { .code = ERR_TIMEOUT, .http = 504, .too_large = true, .pages = 1, .more = true },
	  .next = L,
	  .wait = true,
	  .resume = true },
	{ "page two is no JSON",
	  L,
	  "",
	  false,
	  false,
	  { .code = ERR_PARSE, .pages = 1, .more = true },
	  .next = S,
	  .wait = true },
	{ "token refused",
	  L,
	  "",
	  false,
	  false,
	  { .code = ERR_CONFIG, .http = 400, .pages = 1, .more = true },
	  .next = S,
	  .wait = true },
	{ "gone in one piece",
	  L,
	  "9",
	  true,
	  true,
	  { .code = ERR_GONE, .gone = true },
	  .next = S,
	  .wait = true,
	  .next_fresh = true },
	{ "start is gone",
	  L,
	  "9",
	  false,
	  false,
	  { .code = ERR_GONE, .gone = true },
	  .next = L,
	  .next_fresh = true },
	{ "start is ahead",
	  L,
	  "9",
	  false,
	  false,
	  { .code = ERR_TIMEOUT, .http = 504, .too_large = true },
	  .next = L,
	  .next_fresh = true },
	{ "no answer", L, "", false, false, { .code = ERR_CLOSED }, .next = S, .wait = true },
	{ "no list", L, "", false, false, { .code = ERR_PARSE }, .next = S, .wait = true },
	/* watches */
	{ "clean end", W, "9", false, false, { .took_ns = 300 * NS_PER_S }, .next = W },
	{ "clean end, short, with events", W, "9", false, false, { .events = 1 }, .next = W },
	{ "clean end, short, without",
	  W,
	  "9",
	  false,
	  false,
	  { .took_ns = NS_PER_MS },
	  .next = W,
	  .wait = true },
	{ "refused", W, "9", false, false, { .code = ERR_CLOSED }, .next = W, .wait = true },
	{ "cut, with events",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_CLOSED, .events = 3 },
	  .next = W },
	{ "silent for long",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_TIMEOUT, .took_ns = 150 * NS_PER_S },
	  .next = W },
	{ "429",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_BUSY, .http = 429, .took_ns = 2 * NS_PER_S },
	  .next = W,
	  .wait = true },
	{ "401",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_DENIED, .http = 401 },
	  .next = W,
	  .wait = true },
	{ "410 as an answer, at once",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_GONE, .http = 410, .gone = true },
	  .next = S,
	  .wait = true },
	{ "410 as an event, later",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_GONE, .gone = true, .has_error_event = true, .took_ns = 2 * NS_PER_S },
	  .next = S,
	  .wait = true },
	{ "another error",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_INTERNAL, .has_error_event = true, .took_ns = 2 * NS_PER_S },
	  .next = S,
	  .wait = true },
	{ "no JSON",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_PARSE, .events = 2 },
	  .next = S,
	  .wait = true },
	{ "frame too large",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_LIMIT, .events = 2 },
	  .next = S,
	  .wait = true },
	{ "kind removed",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_NOTFOUND, .http = 404 },
	  .next = S,
	  .wait = true },
	{ "version refused",
	  W,
	  "9",
	  false,
	  false,
	  { .code = ERR_CONFIG, .http = 400 },
	  .next = S,
	  .wait = true },
};

static void decisions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_server_memory m = { 0 };
		struct kube_reflector_plan p;
		kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, 1000 * NS_PER_S);
		assert_int_equal(p.step, S);
		p.step = rows[i].step;
		p.fresh = rows[i].fresh;
		p.whole = rows[i].whole;
		memcpy(p.rv, rows[i].rv, strlen(rows[i].rv) + 1);
		kube_reflector_plan_next(&p, &rows[i].o, 1000 * NS_PER_S);
		if (p.step != rows[i].next || (p.delay_ns != 0) != rows[i].wait ||
		    p.resume != rows[i].resume || p.fresh != rows[i].next_fresh ||
		    p.whole != rows[i].next_whole ||
		    (m.no_stream_until_ns != 0) != rows[i].no_stream)
			fail_msg("%s: step %d delay %llu fresh %d whole %d", rows[i].name,
				 (int)p.step, (unsigned long long)p.delay_ns, p.fresh, p.whole);
	}
}

/* 0.8 s doubling to 30 s, each up to twice; again from 0.8 s after two quiet minutes. */
static void backoff(void **state)
{
	struct kube_server_memory m = { 0 };
	struct kube_outcome failed = { .code = ERR_BUSY, .http = 503 };
	struct kube_reflector_plan p;
	uint64_t now = 0, low = 800 * NS_PER_MS;
	(void)state;
	kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, 0);
	for (int i = 0; i < 12; i++) {
		kube_reflector_plan_next(&p, &failed, now);
		assert_in_range(p.delay_ns, low, 2 * low);
		now += p.delay_ns;
		low = MIN(low * 2, 30 * NS_PER_S);
	}
	kube_reflector_plan_next(&p, &failed, now + 119 * NS_PER_S);
	assert_in_range(p.delay_ns, 30 * NS_PER_S, 60 * NS_PER_S);
	kube_reflector_plan_next(&p, &failed, now + 119 * NS_PER_S + p.delay_ns + 121 * NS_PER_S);
	assert_in_range(p.delay_ns, 800 * NS_PER_MS, 1600 * NS_PER_MS);
	failed.retry_after_s = 7;
	kube_reflector_plan_next(&p, &failed, now + 1000 * NS_PER_S);
	assert_int_equal(p.delay_ns, 7 * NS_PER_S);
	failed.retry_after_s = 1 << 20;
	kube_reflector_plan_next(&p, &failed, now + 2000 * NS_PER_S);
	assert_int_equal(p.delay_ns, 300 * NS_PER_S);
}

/* A page that cannot be had: the list is begun again in the end. One that comes counts anew. */
static void stuck_page(void **state)
{
	struct kube_server_memory m = { 0 };
	struct kube_outcome cut = { .code = ERR_CLOSED, .more = true };
	struct kube_reflector_plan p;
	(void)state;
	kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, 0);
	for (int round = 0; round < 2; round++) {
		p.step = KUBE_STEP_LIST;
		cut.pages = 1;
		for (int i = 0; i < 8; i++) {
			kube_reflector_plan_next(&p, &cut, 0);
			assert_true(p.resume && p.step == KUBE_STEP_LIST);
			assert_int_equal(p.delay_ns == 0, i == 0);
			cut.pages = 0;
		}
	}
	kube_reflector_plan_next(&p, &cut, 0);
	assert_true(!p.resume && p.step == KUBE_STEP_STREAM && p.delay_ns != 0);
}

/* A server that is away for minutes, comes back and has forgotten our version: from its first
 * answer to the list no more than 5 s pass, however long it was away and whatever it says at first,
 * and clients that lost it together do not come back together. */
static void restart(void **state)
{
	struct kube_server_memory m = { 0 };
	struct kube_outcome away = { .code = ERR_CLOSED };
	struct kube_outcome denied = { .code = ERR_DENIED, .http = 403 };
	struct kube_outcome gone = { .code = ERR_GONE, .http = 410, .gone = true };
	uint64_t first = UINT64_MAX, last = 0;
	(void)state;
	for (int client = 0; client < 500; client++) {
		struct kube_reflector_plan p;
		uint64_t now = 0, unseen = 0;
		kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, 0);
		p.step = W;
		for (int i = 0; now < 600 * NS_PER_S; i++) {
			kube_reflector_plan_next(&p, &away, now);
			assert_true(p.step == W && p.delay_ns != 0);
			unseen = p.delay_ns; /* it is back just after it was asked */
			now += p.delay_ns;
		}
		assert_true(unseen <= 4 * NS_PER_S);
		if (client % 2 == 0) {
			kube_reflector_plan_next(&p, &denied, now);
			assert_in_range(p.delay_ns, 800 * NS_PER_MS, 1600 * NS_PER_MS);
			now += p.delay_ns;
		}
		kube_reflector_plan_next(&p, &gone, now);
		assert_int_equal(p.step, S);
		assert_true(unseen + p.delay_ns <= 5 * NS_PER_S);
		first = MIN(first, unseen + p.delay_ns);
		last = MAX(last, unseen + p.delay_ns);
	}
	assert_true(last - first > 2 * NS_PER_S);
}

/* 410 again and again: soon the first time only, then later and later. */
static void storm_of_gone(void **state)
{
	struct kube_server_memory m = { 0 };
	struct kube_outcome listed = { .listed = true };
	struct kube_outcome gone = { .code = ERR_GONE, .gone = true, .events = 3 };
	struct kube_reflector_plan p;
	uint64_t now = 1000 * NS_PER_S, waited = 0;
	(void)state;
	kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, now);
	for (int i = 0; i < 10; i++) {
		p.step = KUBE_STEP_LIST;
		kube_reflector_plan_next(&p, &listed, now);
		assert_true(p.step == KUBE_STEP_WATCH && p.delay_ns == 0);
		kube_reflector_plan_next(&p, &gone, now);
		assert_true(i > 0 || p.delay_ns <= 800 * NS_PER_MS);
		assert_true(p.delay_ns >= waited);
		waited = MIN(p.delay_ns, 30 * NS_PER_S);
		now += p.delay_ns;
	}
	assert_int_equal(waited, 30 * NS_PER_S);
	p.step = KUBE_STEP_WATCH;
	kube_reflector_plan_next(&p, &gone, now + 121 * NS_PER_S);
	assert_true(p.delay_ns <= 800 * NS_PER_MS);
}

/* Remembered for all reflectors of the server, for an hour. */
static void streaming_memory(void **state)
{
	struct kube_server_memory m = { 0 };
	struct kube_reflector_plan p, other;
	(void)state;
	kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, 0);
	kube_reflector_plan_next(&p, &(struct kube_outcome){ .code = ERR_CONFIG, .http = 422 }, 0);
	kube_reflector_plan_init(&other, &(struct kube_times){ 0 }, &m, 3599 * NS_PER_S);
	assert_int_equal(other.step, KUBE_STEP_LIST);
	kube_reflector_plan_init(&other, &(struct kube_times){ 0 }, &m, 3601 * NS_PER_S);
	assert_int_equal(other.step, KUBE_STEP_STREAM);
}

/* Smaller ones get through where connections break, large ones are cheaper for the server. */
static void page_length(void **state)
{
	static const unsigned sizes[] = { 2500, 625, 500, 500 };
	struct kube_server_memory m = { .no_stream_until_ns = UINT64_MAX };
	struct kube_reflector_plan p;
	(void)state;
	kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, 0);
	assert_int_equal(p.page, 10000);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		kube_reflector_plan_page_broke(&p);
		assert_int_equal(p.page, sizes[i]);
	}
	kube_reflector_plan_next(&p, &(struct kube_outcome){ .code = ERR_CLOSED }, 0);
	assert_int_equal(p.page, 500);
	kube_reflector_plan_next(&p, &(struct kube_outcome){ .listed = true }, 0);
	assert_int_equal(p.page, 10000);
	kube_reflector_plan_init(&p, &(struct kube_times){ .page = 20 }, &m, 0);
	kube_reflector_plan_page_broke(&p);
	assert_int_equal(p.page, 20);
}

static void watch_length(void **state)
{
	struct kube_server_memory m = { 0 };
	struct kube_reflector_plan p;
	unsigned lo = 1000, hi = 0;
	(void)state;
	kube_reflector_plan_init(&p, &(struct kube_times){ 0 }, &m, 0);
	for (int i = 0; i < 5000; i++) {
		unsigned s = kube_reflector_plan_watch_s(&p);
		lo = MIN(lo, s);
		hi = MAX(hi, s);
	}
	assert_in_range(lo, 300, 310);
	assert_in_range(hi, 590, 600);
	kube_reflector_plan_init(&p, &(struct kube_times){ .watch_min_ns = 5, .watch_max_ns = 7 },
				 &m, 0);
	assert_int_equal(kube_reflector_plan_watch_s(&p), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),	 cmocka_unit_test(backoff),
		cmocka_unit_test(restart),	 cmocka_unit_test(stuck_page),
		cmocka_unit_test(storm_of_gone), cmocka_unit_test(streaming_memory),
		cmocka_unit_test(page_length),	 cmocka_unit_test(watch_length),
	};
	return cmocka_run_group_tests_name("kube/plan", tests, NULL, NULL);
}

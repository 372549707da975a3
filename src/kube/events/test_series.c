/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue of Events: which of many reach the server, and when. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "kube/events/series.h"

#define WALL_NS (UINT64_C(1790000000) * NS_PER_S)
#define S(n)	((uint64_t)(n)*NS_PER_S)

static int setup(void **state)
{
	*state = series_new();
	return 0;
}

static int teardown(void **state)
{
	series_free(*state);
	return 0;
}

static json_t *body(const char *object, const char *reason)
{
	return json_pack("{s:{s:s, s:s}, s:{s:s}, s:s, s:s}", "metadata", "name", object,
			 "namespace", "ns", "regarding", "name", object, "reason", reason, "type",
			 "Normal");
}

static int note(struct series *s, const char *object, const char *reason, uint64_t now)
{
	return series_add(s, body(object, reason), now, WALL_NS + now);
}

/* The next request, ended with r; returns the count that was sent, 0 for none. */
static enum series_act act(struct series *s, uint64_t now, int r, int *ret_count)
{
	struct series_item *it = NULL;
	json_t *b = NULL;
	uint64_t until;
	enum series_act a = series_next(s, now, &it, &b, &until);
	if (a != SERIES_WAIT) {
		*ret_count = (int)json_integer_value(api_get(b, "series.count"));
		assert_string_equal(series_item_namespace(it), "ns");
		series_result(s, it, a, r, now);
	}
	json_decref(b);
	return a;
}

static uint64_t wait_of(struct series *s, uint64_t now)
{
	struct series_item *it = NULL;
	json_t *b = NULL;
	uint64_t until = 1;
	assert_int_equal(series_next(s, now, &it, &b, &until), SERIES_WAIT);
	return until;
}

static void like_ones_become_a_series(void **state)
{
	struct series *s = *state;
	int n = -1;
	assert_true(wait_of(s, S(1)) == 0);
	assert_int_equal(note(s, "a", "R", S(1)), 0);
	assert_int_equal(act(s, S(1), 0, &n), SERIES_CREATE);
	assert_int_equal(n, 0);
	assert_true(wait_of(s, S(1)) == S(1 + SERIES_SILENCE_S));
	/* The second is sent at once, further ones are only counted. */
	assert_int_equal(note(s, "a", "R", S(2)), 0);
	assert_int_equal(act(s, S(2), 0, &n), SERIES_PATCH);
	assert_int_equal(n, 2);
	for (int i = 0; i < 100; i++)
		assert_int_equal(note(s, "a", "R", S(3)), 0);
	assert_true(wait_of(s, S(3)) == S(3 + SERIES_SILENCE_S));
	/* Silence ends it, with the last count. */
	assert_int_equal(act(s, S(3 + SERIES_SILENCE_S), 0, &n), SERIES_PATCH);
	assert_int_equal(n, 102);
	assert_true(wait_of(s, S(4 + SERIES_SILENCE_S)) == 0);
	/* What comes then is a new one. */
	assert_int_equal(note(s, "a", "R", S(1000)), 0);
	assert_int_equal(act(s, S(1000), 0, &n), SERIES_CREATE);
	assert_int_equal(n, 0);
}

static int repeat(struct series *s, const char *object, const char *reason, uint64_t now)
{
	json_t *regarding = json_pack("{s:{s:s}}", "metadata", "name", object);
	const struct series_like like = { .controller = "",
					  .instance = "",
					  .regarding = regarding,
					  .action = "",
					  .reason = reason };
	int r = series_repeat(s, &like, now, WALL_NS + now);
	json_decref(regarding);
	return r;
}

/* Without a body: only what is known already, and still going on. */
static void repeated_ones_need_no_body(void **state)
{
	struct series *s = *state;
	struct series_stats stats;
	int n = -1;
	assert_int_equal(repeat(s, "a", "R", S(1)), ERR_NOTFOUND);
	assert_int_equal(note(s, "a", "R", S(1)), 0);
	assert_int_equal(repeat(s, "a", "Q", S(1)), ERR_NOTFOUND);
	assert_int_equal(repeat(s, "b", "R", S(1)), ERR_NOTFOUND);
	assert_int_equal(repeat(s, "a", "R", S(1)), 0);
	assert_int_equal(act(s, S(1), 0, &n), SERIES_CREATE);
	assert_int_equal(n, 2);
	assert_int_equal(repeat(s, "a", "R", S(2 + SERIES_SILENCE_S)), ERR_NOTFOUND);
	for (int i = 0; i < SERIES_MAX + 1; i++) {
		char name[16];
		IGNORE(snprintf(name, sizeof(name), "o%d", i) < 0);
		IGNORE(note(s, name, "R", S(400)));
	}
	assert_int_equal(repeat(s, "o0", "R", S(400)), 0);
	series_stats(s, &stats);
	assert_int_equal(repeat(s, "new", "R", S(400)), ERR_LIMIT);
	uint64_t before = stats.dropped;
	series_stats(s, &stats);
	assert_int_equal(stats.dropped, before + 1);
}

static void long_series_is_told_now_and_then(void **state)
{
	struct series *s = *state;
	unsigned patches = 0;
	int n = 0;
	for (uint64_t t = 0; t < 2 * 3600; t += 60) {
		assert_int_equal(note(s, "a", "R", S(t)), 0);
		while (act(s, S(t), 0, &n) == SERIES_PATCH)
			patches++;
	}
	assert_in_range(patches, 4, 5); /* the second one, then each half hour */
}

static void other_reasons_are_other_series(void **state)
{
	struct series *s = *state;
	int n;
	assert_int_equal(note(s, "a", "R", S(1)), 0);
	assert_int_equal(note(s, "a", "Q", S(1)), 0);
	assert_int_equal(note(s, "b", "R", S(1)), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(act(s, S(1), 0, &n), SERIES_CREATE);
	assert_int_not_equal(wait_of(s, S(1)), 0);
}

static void noisy_object_is_cut_short(void **state)
{
	struct series *s = *state;
	struct series_stats st;
	char reason[16];
	int passed = 0;
	for (int i = 0; i < 100; i++) {
		snprintf(reason, sizeof(reason), "R%d", i);
		passed += note(s, "a", reason, S(1)) == 0;
	}
	assert_int_equal(passed, SERIES_BURST);
	series_stats(s, &st);
	assert_int_equal(st.dropped, 100 - SERIES_BURST);
	/* Others may speak; one more each five minutes. */
	assert_int_equal(note(s, "b", "R", S(1)), 0);
	assert_int_equal(note(s, "a", "S", S(300)), ERR_LIMIT);
	assert_int_equal(note(s, "a", "S", S(301)), 0);
	assert_int_equal(note(s, "a", "T", S(301)), ERR_LIMIT);
}

static void table_has_a_limit(void **state)
{
	struct series *s = *state;
	struct series_stats st;
	char name[16];
	int n;
	for (int i = 0; i <= SERIES_MAX + 100; i++) {
		snprintf(name, sizeof(name), "o%d", i);
		assert_int_equal(note(s, name, "R", S(1)), i < SERIES_MAX ? 0 : ERR_LIMIT);
	}
	series_stats(s, &st);
	assert_int_equal(st.items, SERIES_MAX);
	assert_int_equal(st.unsent, SERIES_MAX);
	/* One that was sent makes room. */
	assert_int_equal(act(s, S(1), 0, &n), SERIES_CREATE);
	assert_int_equal(note(s, "new", "R", S(1)), 0);
	assert_int_equal(note(s, "newer", "R", S(1)), ERR_LIMIT);
}

static void failures_come_back_and_end(void **state)
{
	struct series *s = *state;
	struct series_stats st;
	uint64_t now = S(1);
	int n;
	assert_int_equal(note(s, "a", "R", now), 0);
	for (int i = 1; i < SERIES_TRIES; i++) {
		assert_int_equal(act(s, now, ERR_CLOSED, &n), SERIES_CREATE);
		uint64_t next = wait_of(s, now);
		assert_in_range(next - now, S(10), S(13));
		now = next;
	}
	assert_int_equal(act(s, now, ERR_CLOSED, &n), SERIES_CREATE);
	assert_true(wait_of(s, now) == 0);
	series_stats(s, &st);
	assert_int_equal(st.failed, 1);
}

static void refusal_is_not_repeated(void **state)
{
	struct series *s = *state;
	int n;
	assert_int_equal(note(s, "a", "R", S(1)), 0);
	assert_int_equal(act(s, S(1), ERR_DENIED, &n), SERIES_CREATE);
	assert_true(wait_of(s, S(1)) == 0);
}

static void what_happens_meanwhile_is_counted(void **state)
{
	struct series *s = *state;
	int n;
	assert_int_equal(note(s, "a", "R", S(1)), 0);
	assert_int_equal(act(s, S(1), ERR_TIMEOUT, &n), SERIES_CREATE);
	assert_int_equal(note(s, "a", "R", S(2)), 0);
	/* The first request had come through. */
	assert_int_equal(act(s, S(20), ERR_DUPLICATE, &n), SERIES_CREATE);
	assert_int_equal(n, 2);
	assert_int_equal(note(s, "a", "R", S(21)), 0);
	/* The server has forgotten it. */
	assert_int_equal(note(s, "a", "R", S(21)), 0);
	assert_int_equal(act(s, S(21 + SERIES_SILENCE_S), ERR_NOTFOUND, &n), SERIES_PATCH);
	assert_int_equal(act(s, S(21 + SERIES_SILENCE_S), 0, &n), SERIES_CREATE);
	assert_int_equal(n, 4);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(like_ones_become_a_series),	      T(repeated_ones_need_no_body),
		T(long_series_is_told_now_and_then),  T(other_reasons_are_other_series),
		T(noisy_object_is_cut_short),	      T(table_has_a_limit),
		T(failures_come_back_and_end),	      T(refusal_is_not_repeated),
		T(what_happens_meanwhile_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

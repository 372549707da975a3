/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of an upstream: policies, and hedging a query that waits too long. */
#include "plugin/forward/test_rig.h"

static void round_robin_begins_with_the_second(void **state)
{
	struct env *e = *state;
	static const int want[] = { 1, 2, 0, 1 };
	serve(e, ". {\n forward . @0 @1 @2 {\n policy round_robin\n}\n}\n");
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		ask(e, "a.example.org");
		assert_int_equal(asked(e, A_ORG), want[i]);
	}
}

static void hedge_asks_a_second(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 @2 {\n policy sequential\n hedge 20ms\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 0.019);
	assert_int_equal(asked(e, A_ORG), -1);
	seconds(e, 0.002);
	assert_int_equal(asked(e, A_ORG), 1);
	seconds(e, 0.1); /* two at most */
	assert_int_equal(asked(e, A_ORG), -1);
	answer(e, 0); /* the first may still win */
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	answer(e, 1); /* nobody waits for it */
	assert_string_equal(reply(e), "(none)");
	assert_int_equal(fake_inflight(e->f), 0);
}

/* Late three times in a row: asked last, until a health check is answered. */
static void late_ones_are_asked_last(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 {\n policy sequential\n hedge 20ms\n}\n}\n");
	for (int i = 0; i < 3; i++) {
		ask(e, "a.example.org");
		assert_int_equal(asked(e, A_ORG), 0);
		seconds(e, 0.021);
		assert_int_equal(asked(e, A_ORG), 1);
		answer(e, 1);
		assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	}
	for (int i = 0; i < 3; i++) {
		ask(e, "a.example.org");
		assert_int_equal(asked(e, A_ORG), 1);
		answer(e, 1);
		assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	}
	assert_int_equal(e->probes[0], 1);
	assert_string_equal(fakeup_next(e->up[0]) == NULL ? "none" : "more", "none");
	fakeup_pick(e->up[0], e->probe_at[0]);
	fakeup_answer(e->up[0], "");
	settle(e);
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
}

static void hedge_with_one_upstream_asks_again(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 {\n hedge 20ms\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 0.021);
	assert_int_equal(asked(e, A_ORG), 0);
	fakeup_answer(e->up[0], "a.example.org. 60 IN A 192.0.2.1");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
}

static void hedge_fails_when_both_do(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 {\n policy sequential\n hedge 20ms\n"
		 " max_connect_attempts 2\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 0.021);
	assert_int_equal(asked(e, A_ORG), 1);
	seconds(e, 1.99);
	assert_string_equal(reply(e), "(none)");
	seconds(e, 0.1);
	assert_int_equal(strncmp(reply(e), "SERVFAIL", 8), 0);
	assert_int_equal(fake_inflight(e->f), 0);
}

/* An error and a reply in the same turn: the reply counts. */
static void hedge_takes_the_reply_beside_an_error(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 {\n policy sequential\n hedge 20ms\n"
		 " max_connect_attempts 1\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 0.021);
	assert_int_equal(asked(e, A_ORG), 1);
	answer(e, 1);
	fake_advance(e->f, 2 * NS_PER_S); /* the time-out of the first comes with it */
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
}

/* The fastest gets nearly all; the others are tried now and then. */
static void fastest_is_preferred(void **state)
{
	struct env *e = *state;
	static const double rtt[UPS] = { 0.04, 0.005, 0.08 };
	unsigned count[UPS] = { 0 };
	serve(e, ". {\n forward . @0 @1 @2 {\n policy fastest\n}\n}\n");
	for (int i = 0; i < 400; i++) {
		ask(e, "a.example.org");
		int up = asked(e, A_ORG);
		assert_true(up >= 0);
		count[up] += i >= 40;
		seconds(e, rtt[up]);
		fakeup_answer(e->up[up], "");
		assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	}
	assert_true(count[1] > 300);
	assert_true(count[0] + count[2] > 0);
}

/* It does not stay with one that has died. */
static void fastest_leaves_the_dead(void **state)
{
	struct env *e = *state;
	unsigned dead = 0;
	serve(e, ". {\n forward . @0 @1 {\n policy fastest\n max_fails 0\n}\n}\n");
	for (int i = 0; i < 60; i++) {
		ask(e, "a.example.org");
		int up = asked(e, A_ORG);
		seconds(e, up == 0 ? 0.001 : 0.02);
		answer(e, up);
		reply(e);
	}
	for (int i = 0; i < 40; i++) {
		ask(e, "a.example.org");
		int up = asked(e, A_ORG);
		if (up == 0) {
			dead++;
			seconds(e, 2.01);
			up = asked(e, A_ORG);
			assert_int_equal(up, 1);
		}
		answer(e, up);
		assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	}
	assert_true(dead < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(round_robin_begins_with_the_second),
		T(hedge_asks_a_second),
		T(late_ones_are_asked_last),
		T(hedge_with_one_upstream_asks_again),
		T(hedge_fails_when_both_do),
		T(hedge_takes_the_reply_beside_an_error),
		T(fastest_is_preferred),
		T(fastest_leaves_the_dead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

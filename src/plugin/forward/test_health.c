/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forward and upstreams that are down: health checks, and queries when none is left. */
#include "plugin/forward/test_rig.h"

/* Down after three checks in a row (max_fails 2), then passed over; up with the first reply. */
static void down_and_up_again(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1 {\n policy sequential\n}\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 2.01); /* an error: the first check starts */
	assert_int_equal(asked(e, A_ORG), 1);
	fakeup_answer(e->up[1], "");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	for (int i = 0; i < 4; i++) { /* 1 s each, 0.5 s between them */
		seconds(e, 1.01);
		seconds(e, 0.51);
	}
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 1);
	assert_true(e->probes[0] >= 4);
	fakeup_answer(e->up[1], "");
	assert_int_equal(strncmp(reply(e), "NOERROR", 7), 0);
	fakeup_pick(e->up[0], e->probe_at[0]); /* the check that waits */
	fakeup_answer(e->up[0], "");
	settle(e);
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	char line[120];
	snprintf(line, sizeof(line),
		 "coredns_proxy_healthcheck_failures_total{proxy_name=\"forward\","
		 "to=\"127.0.0.1:%u\"}",
		 fakeup_port(e->up[0]));
	assert_true(fake_metric(e->f, line) >= 3);
}

/* A check starts when half of the time-out has passed without any reply, not only with the first
 * error. */
static void silence_starts_a_check(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0\n}\n");
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	seconds(e, 0.9);
	ask(e, "a.example.org");
	assert_int_equal(asked(e, A_ORG), 0);
	settle(e);
	assert_int_equal(asked(e, A_ORG), -1);
	assert_int_equal(e->probes[0], 0);
	seconds(e, 0.2);
	ask(e, "a.example.org");
	settle(e);
	assert_int_equal(asked(e, A_ORG), 0);
	settle(e);
	assert_int_equal(asked(e, A_ORG), -1);
	assert_int_equal(e->probes[0], 1);
}

static void make_all_down(struct env *e)
{
	ask(e, "a.example.org");
	for (int i = 0; i < 20; i++)
		seconds(e, 0.51);
	assert_int_equal(strncmp(reply(e), "SERVFAIL", 8), 0);
	while (asked(e, A_ORG) >= 0) {
	}
}

/* All are down: one by chance is tried once, which counts. */
static void all_down_tries_one(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n forward . @0 @1\n}\n");
	make_all_down(e);
	double before = fake_metric(e->f, "coredns_forward_healthcheck_broken_total");
	ask(e, "a.example.org");
	int up = asked(e, A_ORG);
	assert_true(up >= 0);
	assert_true(fake_metric(e->f, "coredns_forward_healthcheck_broken_total") == before + 1);
	seconds(e, 2.1);
	assert_int_equal(asked(e, A_ORG), -1); /* that was all */
	assert_int_equal(strncmp(reply(e), "SERVFAIL", 8), 0);
}

static void all_down_fails_fast(void **state)
{
	struct env *e = *state;
	serve(e, ". {\n errors\n forward . @0 @1 {\n failfast_all_unhealthy_upstreams\n}\n}\n");
	make_all_down(e);
	fake_log(e->f);
	ask(e, "a.example.org");
	assert_int_equal(strncmp(reply(e), "SERVFAIL", 8), 0);
	assert_int_equal(asked(e, A_ORG), -1);
	assert_non_null(strstr(fake_log(e->f), "a.example.org. A: no healthy proxies\n"));
}

/* Twenty queries at once to dead upstreams: two attempts for each upstream at most, and one check
 * at a time. */
static void no_storm(void **state)
{
	struct env *e = *state;
	unsigned sent = 0;
	serve(e, ". {\n forward . @0 @1\n}\n");
	for (int i = 0; i < 20; i++)
		ask(e, "a.example.org");
	for (int i = 0; i < 20; i++) {
		seconds(e, 0.5);
		while (asked(e, A_ORG) >= 0)
			sent++;
	}
	int failed = 0;
	while (strncmp(reply(e), "SERVFAIL", 8) == 0)
		failed++;
	assert_int_equal(failed, 20);
	assert_true(sent <= 20 * 4);
	assert_true(e->probes[0] <= 8 && e->probes[1] <= 8); /* in 10 s */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(down_and_up_again),  T(silence_starts_a_check),
		T(all_down_tries_one), T(all_down_fails_fast),
		T(no_storm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reload: interval and jitter, and their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/server.h"
#include "testing/fake_server.h"

static void expect(const char *corefile, uint64_t interval_ms, uint64_t jitter_ms)
{
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	int64_t interval, jitter;
	server_reload_interval(fake_server(f), &interval, &jitter);
	assert_int_equal(interval, interval_ms * NS_PER_MS);
	assert_int_equal(jitter, jitter_ms * NS_PER_MS);
	fake_free(f);
}

static void sets_interval_and_jitter(void **state)
{
	(void)state;
	expect(". {\n whoami\n}\n", 0, 0);
	expect(". {\n reload\n}\n", 30000, 15000);
	expect(". {\n reload 1m\n}\n", 60000, 15000);
	expect(". {\n reload 10s 2s\n}\n", 10000, 2000);
	expect(". {\n reload 2s 0s\n}\n", 2000, 0);
}

static void caps_jitter_to_half_the_interval(void **state)
{
	(void)state;
	expect(". {\n reload 10s\n}\n", 10000, 5000);
	expect(". {\n reload 2s 10s\n}\n", 2000, 1000);
	expect(". {\n reload 3s 2s\n}\n", 3000, 1500);
}

static void first_line_of_a_block_and_last_block_count(void **state)
{
	(void)state;
	expect(". {\n reload 10s 1s\n reload 20s 2s\n}\n", 10000, 1000);
	expect("a {\n reload 10s 1s\n}\nb {\n reload 20s 2s\n}\nc {\n whoami\n}\n", 20000, 2000);
}

static void refuses(const char *line, const char *why)
{
	char text[128];
	snprintf(text, sizeof(text), ". {\n reload %s\n}\n", line);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void refuses_wrong_durations(void **state)
{
	(void)state;
	refuses("foo", "Corefile:2:9: <interval>: expected a duration such as 5s, got 'foo'");
	refuses("10", "Corefile:2:9: <interval>: expected a duration such as 5s, got '10'");
	refuses("0s", "Corefile:2:9: <interval>: expected a duration of at least 2s, got '0s'");
	refuses("1.9s", "Corefile:2:9: <interval>: expected a duration of at least 2s, got '1.9s'");
	refuses("10s x", "Corefile:2:13: <jitter>: expected a duration such as 5s, got 'x'");
	refuses("3s 0.5s",
		"Corefile:2:12: <jitter>: expected 0 or a duration of at least 1s, got '0.5s'");
	refuses("3s -1s", "Corefile:2:12: <jitter>: expected a duration of at least 0s, got '-1s'");
	refuses("3s 1s 1s", "Corefile:2:15: reload: unexpected argument '1s'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_interval_and_jitter),
		cmocka_unit_test(caps_jitter_to_half_the_interval),
		cmocka_unit_test(first_line_of_a_block_and_last_block_count),
		cmocka_unit_test(refuses_wrong_durations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

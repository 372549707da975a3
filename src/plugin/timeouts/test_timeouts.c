/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timeouts: values, their limits, and blocks that share a listener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "testing/fake_server.h"

static void reads_durations_and_seconds(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n timeouts {\n  read 1s\n  write 20\n  idle 24h\n"
				  "  maxtcpqueries 128\n }\n whoami\n}\n");
	assert_non_null(f);
	const struct block_timeouts *t = &fake_server(f)->gen->route[0]->timeouts;
	assert_int_equal(t->read_ns, NS_PER_S);
	assert_int_equal(t->write_ns, 20 * NS_PER_S);
	assert_int_equal(t->idle_ns, 86400 * NS_PER_S);
	assert_int_equal(t->max_tcp_queries, 128);
	fake_free(f);
}

static void several_lines_add_up(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n timeouts {\n  read 5\n  read 6\n }\n"
				  " timeouts {\n  idle 7\n }\n}\n");
	assert_non_null(f);
	const struct block_timeouts *t = &fake_server(f)->gen->route[0]->timeouts;
	assert_int_equal(t->read_ns, 6 * NS_PER_S);
	assert_int_equal(t->idle_ns, 7 * NS_PER_S);
	assert_int_equal(t->write_ns, 0);
	fake_free(f);
}

/* The last block of a listener counts, also when it takes a limit away. */
static void blocks_share_their_listener(void **state)
{
	(void)state;
	struct fake *f =
		fake_new("a:53 {\n timeouts {\n  read 5\n  write 8\n  maxtcpqueries 3\n }\n}\n"
			 "b:53 {\n timeouts {\n  read 6\n  maxtcpqueries -1\n }\n}\n"
			 "c:54 {\n whoami\n}\n");
	assert_non_null(f);
	const struct block_timeouts *t = &fake_server(f)->gen->route[0]->timeouts;
	assert_int_equal(t->read_ns, 6 * NS_PER_S);
	assert_int_equal(t->write_ns, 8 * NS_PER_S);
	assert_int_equal(t->max_tcp_queries, -1);
	assert_int_equal(fake_server(f)->gen->route[1]->timeouts.read_ns, 0);
	fake_free(f);
}

static void refuses(const char *line, const char *why)
{
	char text[256];
	snprintf(text, sizeof(text), ". {\n timeouts {\n  %s\n }\n}\n", line);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void refuses_wrong_values(void **state)
{
	(void)state;
	refuses("idle 0s", "Corefile:3:8: idle: expected a duration from 1s to 24h, got '0s'");
	refuses("idle 0", "Corefile:3:8: idle: expected a duration from 1s to 24h, got '0'");
	refuses("write 86401",
		"Corefile:3:9: write: expected a duration from 1s to 24h, got '86401'");
	refuses("write 24h1ns",
		"Corefile:3:9: write: expected a duration from 1s to 24h, got '24h1ns'");
	refuses("read 23g",
		"Corefile:3:8: read: expected a duration such as 5s, or seconds, got '23g'");
	refuses("read 1.5",
		"Corefile:3:8: read: expected a duration such as 5s, or seconds, got '1.5'");
	refuses("read", "Corefile:3:3: read: expected an argument");
	refuses("maxtcpqueries 0", "Corefile:3:17: maxtcpqueries: expected -1 (no limit) or a "
				   "positive number, got '0'");
	refuses("maxtcpqueries -2", "Corefile:3:17: maxtcpqueries: expected -1 (no limit) or a "
				    "positive number, got '-2'");
	refuses("giraffe 1s", "Corefile:3:3: unknown option 'giraffe', expected one of: read, "
			      "write, idle, maxtcpqueries");
	assert_null(fake_new(". {\n timeouts\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:2: timeouts: expected a block with at least "
					  "one of read, write, idle and maxtcpqueries");
	assert_null(fake_new(". {\n timeouts 5s\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:11: timeouts: unexpected argument '5s'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_durations_and_seconds),
		cmocka_unit_test(several_lines_add_up),
		cmocka_unit_test(blocks_share_their_listener),
		cmocka_unit_test(refuses_wrong_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

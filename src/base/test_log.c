/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log: both formats, levels, areas, debug switch, rate limit, and where lines go. */
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"

static uint64_t now_ns;
/* 2026-11-15T06:21:00.25Z */
static const uint64_t wall = 1794723660 * NS_PER_S + 250 * NS_PER_MS;

static uint64_t fake_mono(void)
{
	return now_ns;
}

static uint64_t fake_wall(void)
{
	return wall;
}

static int pipe_fd[2];

static int setup(void **state)
{
	static const struct clock_source source = { fake_mono, fake_wall };
	(void)state;
	clock_set_source(&source);
	now_ns = 0;
	if (pipe(pipe_fd) != 0)
		return -1;
	log_set_fd(pipe_fd[1]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	log_set_fd(1);
	log_set_format(LOG_TEXT);
	log_set_debug(false);
	clock_set_source(NULL);
	return 0;
}

/* All that was written; the closing mark keeps read() from waiting. */
static const char *written(void)
{
	static char buf[4096];
	assert_int_equal(write(pipe_fd[1], "$", 1), 1);
	ssize_t n = read(pipe_fd[0], buf, sizeof(buf) - 1);
	assert_true(n > 0 && buf[n - 1] == '$');
	buf[n - 1] = '\0';
	return buf;
}

static void text(void **state)
{
	(void)state;
	log_info(NULL, "plain %d", 1);
	log_warn("plugin/template", "careful");
	log_error("server", "broken");
	log_info(NULL, "ends with newline\n");
	assert_string_equal(written(), "[INFO] plain 1\n[WARNING] plugin/template: careful\n"
				       "[ERROR] server: broken\n[INFO] ends with newline\n");
}

static void json(void **state)
{
	(void)state;
	log_set_format(LOG_JSON);
	log_warn("plugin/errors", "say \"%s\"\n", "hi");
	log_info("server", "up");
	log_error(NULL, "x");
#define T "{\"time\":\"2026-11-15T06:21:00.25Z\",\"level\":"
	assert_string_equal(written(),
			    T "\"WARN\",\"msg\":\"say \\\"hi\\\"\\n\",\"plugin\":\"errors\"}\n" T
			      "\"INFO\",\"msg\":\"up\",\"area\":\"server\"}\n" T
			      "\"ERROR\",\"msg\":\"x\"}\n");
	struct strbuf b = STRBUF_INIT;
	log_format_line(&b, LOG_INFO, "plugin/log", SLICE("m"), SLICE(",\"id\":7"));
	assert_string_equal(b.s, T "\"INFO\",\"msg\":\"m\",\"plugin\":\"log\",\"id\":7}\n");
#undef T
	strbuf_done(&b);
}

static void debug_switch(void **state)
{
	(void)state;
	log_debug(NULL, "unseen");
	log_msg(LOG_DEBUG, NULL, "unseen too");
	log_set_debug(true);
	log_debug("plugin/x", "seen");
	assert_string_equal(written(), "[DEBUG] plugin/x: seen\n");
}

static void fatal_goes_to_stderr(void **state)
{
	(void)state;
	int saved = dup(2);
	int err[2];
	char buf[64] = "";
	assert_int_equal(pipe(err), 0);
	dup2(err[1], 2);
	log_msg(LOG_FATAL, NULL, "the end");
	dup2(saved, 2);
	assert_true(read(err[0], buf, sizeof(buf) - 1) > 0);
	assert_string_equal(buf, "[FATAL] the end\n");
	assert_string_equal(written(), "");
	log_msg(LOG_FATAL, "plugin/x", "the end"); /* as CoreDNS: with the plugins' other lines */
	assert_string_equal(written(), "[FATAL] plugin/x: the end\n");
	close(saved);
	close(err[0]);
	close(err[1]);
}

static void limit(void **state)
{
	(void)state;
	static struct log_limit l = { .interval_ns = 10 * NS_PER_S };
	log_limited(&l, LOG_WARNING, NULL, "no %d", 1);
	now_ns = 9 * NS_PER_S;
	log_limited(&l, LOG_WARNING, NULL, "no %d", 2);
	log_limited(&l, LOG_WARNING, NULL, "no %d", 3);
	now_ns = 10 * NS_PER_S;
	log_limited(&l, LOG_WARNING, NULL, "no %d", 4);
	now_ns = 20 * NS_PER_S;
	log_limited(&l, LOG_WARNING, NULL, "no %d", 5);
	assert_string_equal(written(), "[WARNING] no 1\n[WARNING] no 4 (2 more like this)\n"
				       "[WARNING] no 5\n");
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(text), CASE(json), CASE(debug_switch), CASE(fatal_goes_to_stderr), CASE(limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Children that run, end, crash in a loop, ignore SIGTERM, leave processes behind, or lose their
 * parent. The children are this program itself, called with the name of a role. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "cmd/up/supervise.h"

enum { WAIT_S = 20, CRASH_STATUS = 3, FILE_MAX = 1 << 20 };

static char self[512], dir[64], notes[128];

/* ---- roles of children ---- */

/* A line in the file that the test reads. */
static void note(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || dprintf(fd, "%s %d\n", word, (int)getpid()) < 0)
		_exit(1);
	close(fd);
}

static void wait_for_signals(void)
{
	for (;;)
		pause();
}

/* 0 when the state of the process is what supervise.h promises. */
static int check_state(void)
{
	sigset_t mask;
	struct sigaction pipe_action;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(SIGPIPE, NULL, &pipe_action);
	int bad = sigismember(&mask, SIGTERM) != 0 || pipe_action.sa_handler != SIG_DFL ||
		  getpgrp() != getpid() || fcntl(0, F_GETFL) < 0;
	for (int fd = 3; fd < 64; fd++)
		bad = bad || fcntl(fd, F_GETFD) >= 0;
	return bad;
}

static int run_parent(const char *path);

static int run_role(const char *role, const char *path)
{
	if (strcmp(role, "parent") == 0)
		return run_parent(path);
	if (strcmp(role, "stubborn") == 0)
		signal(SIGTERM, SIG_IGN);
	if (strcmp(role, "state") == 0)
		note(path, check_state() == 0 ? "clean" : "dirty");
	if (strcmp(role, "family") == 0 && fork() == 0) {
		signal(SIGTERM, SIG_IGN);
		note(path, "grandchild");
		wait_for_signals();
	}
	note(path, role);
	if (strcmp(role, "crash") == 0)
		return CRASH_STATUS;
	wait_for_signals();
	return 0;
}

/* ---- the test's side ---- */

static const struct supervise_times quick = { .delay_ns = NS_PER_MS,
					      .delay_max_ns = 8 * NS_PER_MS,
					      .settle_ns = 3600 * NS_PER_S,
					      .stop_ns = 100 * NS_PER_MS };

static struct supervise *start_role(const char *role, const struct supervise_times *times)
{
	const char *const argv[] = { self, role, notes, NULL };
	struct supervise_program program = { "it", argv };
	struct supervise *supervise = NULL;
	char err[200] = "";
	assert_int_equal(supervise_start(&program, 1, times, &supervise, ERR_TEXT(err)), 0);
	return supervise;
}

static unsigned count_lines(const char *word, int *ret_last_pid)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	unsigned n = 0;
	if (readfile_path(notes, FILE_MAX, 0, &text) < 0)
		return 0;
	for (char *line = text.s, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		if (strncmp(line, word, strlen(word)) != 0 || line[strlen(word)] != ' ')
			continue;
		n++;
		if (ret_last_pid != NULL)
			*ret_last_pid = (int)strtol(line + strlen(word), NULL, 10);
	}
	return n;
}

static void pause_a_moment(uint64_t first_ns)
{
	assert_true(clock_mono_ns() < first_ns + WAIT_S * NS_PER_S);
	poll(NULL, 0, 1);
}

/* The process that wrote the last of at least `count` lines. */
static int wait_lines(const char *word, unsigned count)
{
	uint64_t first_ns = clock_mono_ns();
	int pid = 0;
	while (count_lines(word, &pid) < count)
		pause_a_moment(first_ns);
	return pid;
}

struct report {
	bool well;
	char text[400];
};

static void keep_report(void *ctx, const char *name, bool well, const char *text)
{
	struct report *report = ctx;
	assert_string_equal(name, "it");
	report->well = well;
	snprintf(report->text, sizeof(report->text), "%s", text);
}

static void wait_report(struct supervise *supervise, bool well, const char *part)
{
	struct report report = { 0 };
	uint64_t first_ns = clock_mono_ns();
	for (;;) {
		supervise_report(supervise, keep_report, &report);
		if (report.well == well && strstr(report.text, part) != NULL)
			return;
		pause_a_moment(first_ns);
	}
}

static void wait_gone(int pid)
{
	uint64_t first_ns = clock_mono_ns();
	while (kill(pid, 0) == 0)
		pause_a_moment(first_ns);
	assert_int_equal(errno, ESRCH);
}

static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/supervise-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(notes, sizeof(notes), "%s/notes", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(notes);
	return rmdir(dir);
}

/* ---- tests ---- */

static void runs_and_ends(void **state)
{
	(void)state;
	struct supervise *supervise = start_role("state", NULL);
	int pid = wait_lines("state", 1);
	assert_int_equal(count_lines("clean", NULL), 1);
	wait_report(supervise, true, "runs as process");
	supervise_stop(supervise);
	assert_int_equal(kill(pid, 0), -1);
	assert_no_children();
}

static void crash_loop_is_reported(void **state)
{
	(void)state;
	struct supervise *supervise = start_role("crash", &quick);
	wait_lines("crash", 6);
	wait_report(supervise, false, "ended with exit status 3");
	wait_report(supervise, false, "times in a row");
	supervise_stop(supervise);
	assert_no_children();
}

/* The delay doubles. */
static void delays_grow(void **state)
{
	(void)state;
	const struct supervise_times slow = { .delay_ns = 200 * NS_PER_MS,
					      .delay_max_ns = 3600 * NS_PER_S };
	struct supervise *supervise = start_role("crash", &slow);
	uint64_t first_ns = clock_mono_ns();
	wait_lines("crash", 4);
	assert_true(clock_mono_ns() - first_ns >= (200 + 400 + 800) * NS_PER_MS);
	wait_report(supervise, false, " times in a row; starts again in ");
	supervise_stop(supervise);
	assert_no_children();
}

static void killed_child_starts_again(void **state)
{
	(void)state;
	struct supervise_times times = quick;
	struct supervise *supervise = start_role("sleep", &times);
	int pid = wait_lines("sleep", 1);
	kill(pid, SIGKILL);
	assert_int_not_equal(wait_lines("sleep", 2), pid);
	wait_report(supervise, false,
		    "was ended by signal 9 (Killed), 1 time in a row; runs again");
	supervise_stop(supervise);
	assert_no_children();
}

/* After it ran for a while it is well again, and the next end counts as the first. */
static void settled_child_is_well(void **state)
{
	(void)state;
	struct supervise_times times = quick;
	times.settle_ns = 1;
	struct supervise *supervise = start_role("sleep", &times);
	for (unsigned i = 1; i <= 3; i++) {
		kill(wait_lines("sleep", i), SIGKILL);
		wait_lines("sleep", i + 1);
		wait_report(supervise, true, "runs as process");
	}
	supervise_stop(supervise);
	assert_no_children();
}

static void missing_program_is_reported(void **state)
{
	(void)state;
	static const char *const argv[] = { "/nonexistent/program", NULL };
	struct supervise_program program = { "it", argv };
	struct supervise *supervise = NULL;
	char err[200] = "";
	assert_int_equal(supervise_start(&program, 1, &quick, &supervise, ERR_TEXT(err)), 0);
	wait_report(supervise, false,
		    "could not be started: '/nonexistent/program': No such file or directory, 3");
	supervise_stop(supervise);
	assert_no_children();
}

static void stubborn_child_is_killed(void **state)
{
	(void)state;
	struct supervise *supervise = start_role("stubborn", &quick);
	int pid = wait_lines("stubborn", 1);
	supervise_stop(supervise);
	assert_int_equal(kill(pid, 0), -1);
	assert_no_children();
}

static void rest_of_the_group_is_killed(void **state)
{
	(void)state;
	struct supervise *supervise = start_role("family", &quick);
	int grandchild = wait_lines("grandchild", 1);
	kill(wait_lines("family", 1), SIGKILL);
	wait_lines("family", 2); /* started again after the first group was killed */
	/* This process is its reaper: it was not waited for before. */
	assert_int_equal(waitpid(grandchild, NULL, 0), grandchild);
	int second = wait_lines("grandchild", 2);
	supervise_stop(supervise);
	assert_int_equal(waitpid(second, NULL, 0), second);
	assert_no_children();
}

static int run_parent(const char *path)
{
	snprintf(notes, sizeof(notes), "%s", path);
	start_role("stubborn", &quick);
	wait_for_signals();
	return 0;
}

static void child_dies_with_the_parent(void **state)
{
	(void)state;
	pid_t parent = fork();
	if (parent == 0) {
		execl(self, self, "parent", notes, (char *)NULL);
		_exit(1);
	}
	int pid = wait_lines("stubborn", 1);
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(waitpid(pid, NULL, 0), pid); /* which is ours now */
	wait_gone(pid);
	assert_no_children();
}

static void many_and_none(void **state)
{
	(void)state;
	enum { MANY = 20 };
	const char *const argv[] = { self, "sleep", notes, NULL };
	struct supervise_program programs[MANY];
	struct supervise *supervise = NULL;
	char err[200] = "";
	for (int i = 0; i < MANY; i++)
		programs[i] = (struct supervise_program){ "it", argv };
	assert_int_equal(supervise_start(programs, MANY, &quick, &supervise, ERR_TEXT(err)), 0);
	wait_lines("sleep", MANY);
	supervise_stop(supervise);
	assert_int_equal(supervise_start(NULL, 0, NULL, &supervise, ERR_TEXT(err)), 0);
	supervise_stop(supervise);
	supervise_stop(NULL);
	assert_no_children();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs_and_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(crash_loop_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(delays_grow, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_child_starts_again, setup, teardown),
		cmocka_unit_test_setup_teardown(settled_child_is_well, setup, teardown),
		cmocka_unit_test_setup_teardown(missing_program_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(stubborn_child_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(rest_of_the_group_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(child_dies_with_the_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(many_and_none, setup, teardown),
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return 1;
	self[n] = '\0';
	if (argc == 3)
		return run_role(argv[1], argv[2]);
	/* As the program has them: children must not inherit it. */
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* For children: the leak check of a sanitizer is a process of its own, which would be ours
	 * when a child is killed in the midst of it. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

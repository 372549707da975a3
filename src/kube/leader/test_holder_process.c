/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes that run and that have ended, with and without a parent that waited for them. */
#include "kube/leader/holder_process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static void this_one_runs(void **state)
{
	CLEANUP(freep) char *self = holder_process_self();
	(void)state;
	assert_non_null(self);
	assert_false(holder_process_has_ended(self));
}

/* The text of a child that waits to be killed. */
static char *start_child(pid_t *ret_pid)
{
	char text[256] = "";
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	*ret_pid = fork();
	assert_true(*ret_pid >= 0);
	if (*ret_pid == 0) {
		char *self = holder_process_self();
		if (self == NULL || write(ends[1], self, strlen(self)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ssize_t n = read(ends[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	close(ends[0]);
	close(ends[1]);
	return xstrdup(text);
}

static void killed_one_has_ended(void **state)
{
	pid_t pid;
	siginfo_t info;
	CLEANUP(freep) char *child = start_child(&pid);
	(void)state;
	assert_false(holder_process_has_ended(child));
	assert_int_equal(kill(pid, SIGKILL), 0);
	/* A zombie: nobody has waited for it. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(holder_process_has_ended(child));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(holder_process_has_ended(child));
}

/* The same number, started at another time: the process that is meant has ended. */
static void number_was_used_again(void **state)
{
	CLEANUP(freep) char *self = holder_process_self();
	(void)state;
	char *started = strrchr(self, ' ');
	*started = '\0';
	CLEANUP(freep) char *before = xasprintf("%s 1", self);
	assert_true(holder_process_has_ended(before));
}

/* Of another boot or PID namespace nothing is known, and what is no such text says nothing. */
static void others_are_not_known(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"00000000-0000-4000-8000-000000000000 pid:[4026531836] 999999 1",
		"nonsense",
	};
	CLEANUP(freep) char *self = holder_process_self();
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(holder_process_has_ended(texts[i]));
	char *bracket = strchr(self, '[');
	bracket[1] = bracket[1] == '1' ? '2' : '1';
	assert_false(holder_process_has_ended(self));
	/* The same of another time namespace, with a start time that is not its own. */
	CLEANUP(freep) char *elsewhere = holder_process_self();
	bracket = strrchr(elsewhere, '[');
	bracket[1] = bracket[1] == '1' ? '2' : '1';
	*strrchr(elsewhere, ' ') = '\0';
	CLEANUP(freep) char *before = xasprintf("%s 1", elsewhere);
	assert_false(holder_process_has_ended(before));
	/* Cut short. */
	CLEANUP(freep) char *whole = holder_process_self();
	for (char *cut = strrchr(whole, ' '); cut != NULL; cut = strrchr(whole, ' ')) {
		*cut = '\0';
		assert_false(holder_process_has_ended(whole));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_one_runs),
		cmocka_unit_test(killed_one_has_ended),
		cmocka_unit_test(number_was_used_again),
		cmocka_unit_test(others_are_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

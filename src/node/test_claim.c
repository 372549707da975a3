/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The claim of a network namespace: one holder, waiting for its end, and somebody else's process. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "node/claim.h"

enum { OTHER_USER = 65534 };

static char name[64];
static char err[256];

static int take(uint64_t wait_ns, int *ret)
{
	err[0] = '\0';
	return node_claim_take(name, wait_ns, ret, ERR_TEXT(err));
}

static void one_holder(void **state UNUSED)
{
	int first = -1, second = -1;
	char process[32];
	snprintf(process, sizeof(process), "process %d", (int)getpid());
	assert_int_equal(take(0, &first), 0);
	assert_true(first >= 0);
	assert_int_equal(take(0, &second), -EADDRINUSE);
	assert_non_null(strstr(err, "another agent enforces EgressFirewalls here"));
	assert_non_null(strstr(err, process));
	close(first);
	assert_int_equal(take(0, &second), 0);
	close(second);
}

static void *close_later(void *arg)
{
	usleep(100 * 1000);
	close(*(int *)arg);
	return NULL;
}

static void waits_for_the_end(void **state UNUSED)
{
	int first = -1, second = -1;
	pthread_t thread;
	assert_int_equal(take(0, &first), 0);
	assert_int_equal(pthread_create(&thread, NULL, close_later, &first), 0);
	assert_int_equal(take(60 * NS_PER_S, &second), 0);
	pthread_join(thread, NULL);
	close(second);
}

/* A user without rights cannot keep an agent from starting. */
static void holder_is_no_agent(void **state UNUSED)
{
	int fds[2], fd = 0;
	char byte;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe(fds), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool has_claim = setuid(OTHER_USER) == 0 && take(0, &fd) == 0;
		if (!has_claim || write(fds[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(take(0, &fd), 0);
	assert_int_equal(fd, -1);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	snprintf(name, sizeof(name), "fairlead-test-claim-%d", (int)getpid());
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_holder),
		cmocka_unit_test(waits_for_the_end),
		cmocka_unit_test(holder_is_no_agent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fork and exec of a child. posix_spawn has no way to ask for a signal at the parent's death, so this
 * is fork(): between it and exec only async-signal-safe calls are made, as other threads may have
 * held any lock. */
#include "cmd/up/spawn_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_FAILED = 127, FIRST_OTHER_FD = 3, SIGNALS = 65 };

/* Handlers are reset by exec, what is ignored is not. */
static void reset_signals(void)
{
	sigset_t none;
	for (int sig = 1; sig < SIGNALS; sig++)
		signal(sig, SIG_DFL); /* fails for SIGKILL and its like: fine */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child; returns only when it failed, with errno. */
static void exec_child(const char *const *argv, pid_t parent)
{
	union {
		const char *const *borrowed;
		char *const *argv;
	} words = { .borrowed = argv }; /* execv does not write */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return;
	if (getppid() != parent) /* it died before the kernel knew what to do then */
		_exit(EXEC_FAILED);
	setpgid(0, 0);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return;
	/* Files of this program are close-on-exec; those of libraries may not be. */
	close_range(FIRST_OTHER_FD, ~0u, CLOSE_RANGE_CLOEXEC);
	reset_signals();
	execv(argv[0], words.argv);
}

/* The errno of a child that could not be executed, from a pipe that exec closes; 0: it runs. */
static int read_exec_error(int fd)
{
	int error = 0;
	ssize_t got;
	do
		got = read(fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(error) ? error : 0;
}

static int wait_for(pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return status;
}

static int fork_child(const char *const *argv, pid_t *ret)
{
	int pipe_fds[2];
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		exec_child(argv, parent);
		int error = errno;
		ssize_t ignored = write(pipe_fds[1], &error, sizeof(error));
		(void)ignored;
		_exit(EXEC_FAILED);
	}
	int r = pid < 0 ? -errno : 0;
	close(pipe_fds[1]);
	if (r == 0) {
		r = -read_exec_error(pipe_fds[0]);
		if (r < 0)
			wait_for(pid);
	}
	close(pipe_fds[0]);
	*ret = pid;
	return r;
}

int spawn_child_start(const char *const *argv, struct spawn_child *ret)
{
	struct spawn_child child = { .pid_fd = -1 };
	assert(argv[0] != NULL);
	int r = fork_child(argv, &child.pid);
	if (r < 0)
		return r;
	child.pid_fd = pidfd_open(child.pid, 0);
	if (child.pid_fd < 0) {
		r = -errno;
		kill(child.pid, SIGKILL);
		wait_for(child.pid);
		return r;
	}
	*ret = child;
	return 0;
}

int spawn_child_reap(struct spawn_child *child)
{
	siginfo_t info;
	assert(child->pid > 0);
	/* Until it is reaped its number, and that of its group, belongs to nobody else. */
	while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
	}
	kill(-child->pid, SIGKILL);
	int status = wait_for(child->pid);
	close(child->pid_fd);
	*child = (struct spawn_child){ .pid_fd = -1 };
	return status;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting one child process that cannot outlive this one. */
#pragma once

#include <sys/types.h>

#include "base/compiler.h"

struct spawn_child {
	pid_t pid;  /* also its process group */
	int pid_fd; /* becomes readable when it has ended */
};

/* Executes argv[0] with a clean state (cmd/up/supervise.h says which). -errno when it could not be
 * executed; nothing is left then. The kernel kills the child when the calling *thread* ends. */
MUST_CHECK int spawn_child_start(const char *const *argv, struct spawn_child *ret);
/* Waits for the end of the child, kills the rest of its group and closes `pid_fd`. The status is as
 * of waitpid(). */
int spawn_child_reap(struct spawn_child *child);

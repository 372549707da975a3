/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Background work: one thread for the whole process on which files are read again,
 * probes are sent and timers fire. Nothing here runs on a worker. The thread is registered with
 * base/rcu/rcu.h. */
#pragma once

#include <stdint.h>

struct task;

typedef void (*task_fn)(void *ctx);

/* Calls fn(ctx) every interval_ns on the background thread, first after one interval. */
struct task *task_every(uint64_t interval_ns, task_fn fn, void *ctx);
/* Afterwards fn is not running (unless it is the caller) and will not be called; frees the task. NULL
 * is fine. */
void task_stop(struct task *task);

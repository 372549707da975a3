/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Background work: one thread for the whole process on which files are read again,
 * probes are sent and timers fire. Nothing here runs on a worker. The thread is registered with
 * base/rcu/rcu.h.
 *
 * Tasks belong to an owner and end together. A plugin has no task of its own to stop: the server does
 * that for an instance (struct plugin_inst) and for a resource (server/resource.h) before it calls the
 * function that frees what the tasks use. */
#pragma once

#include <stdint.h>

struct task;

typedef void (*task_fn)(void *ctx);

/* Zeroed: without tasks. One thread at a time may use it. */
struct task_owner {
	struct task *first;
};

/* Calls fn(ctx) every interval_ns on the background thread, first after one interval, until the owner's
 * tasks are stopped. */
void task_every(struct task_owner *owner, uint64_t interval_ns, task_fn fn, void *ctx);
/* Afterwards no task of the owner is running (but the caller, if it is one) or will be called again; the
 * owner is as if new. */
void task_owner_stop(struct task_owner *owner);

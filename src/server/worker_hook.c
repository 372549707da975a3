/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hooks of a worker that are armed in the present batch. */
#include "server/worker_hook.h"

#include <assert.h>

#include "server/worker.h"

void worker_hook_arm(struct worker *worker, struct worker_hook *hook)
{
	if (hook->armed)
		return;
	hook->armed = true;
	hook->next = worker->hooks;
	worker->hooks = hook;
}

void worker_hook_disarm(struct worker *worker, struct worker_hook *hook)
{
	struct worker_hook **at = &worker->hooks;
	if (!hook->armed)
		return;
	while (*at != hook) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = hook->next;
	hook->armed = false;
}

void worker_hook_run_all(struct worker *worker)
{
	while (worker->hooks != NULL) {
		struct worker_hook *hook = worker->hooks;
		assert(hook->armed);
		worker->hooks = hook->next;
		hook->armed = false;
		hook->fn(hook);
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Things that outlive a generation (HTTP listeners, tables, informers, caches): one process-wide
 * registry, reference-counted, keyed by text. Two generations that ask for the same key share one.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "net/task.h"

struct resource {
	char *key;
	void *value;
	void (*free)(void *value);
	unsigned refs;
	struct task_owner tasks;
};

/* Tasks of the value begin with task_every(tasks, ...); they are stopped before the value is freed. A
 * failure frees what it made, and begins no task. */
typedef int (*resource_make_fn)(void *arg, struct task_owner *tasks, void **ret_value);

/* The resource under `key`; made by make(arg) when there is none. Control threads only. Errors are
 * make's. The caller holds a reference until resource_put. */
MUST_CHECK int resource_get(const char *key, resource_make_fn make, void *arg,
			    void (*free_fn)(void *value), struct resource **ret);
/* NULL is fine. The last reference frees the value. */
void resource_put(struct resource *resource);

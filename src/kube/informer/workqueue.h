/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of objects to reconcile. A key that is in the queue is not added again; one that is in work is
 * queued again when that is done: so no key is in work twice at once, and no change is missed.
 *
 * Failed keys are retried with growing delays, and do not delay the others: a key that was added goes
 * before one that is retried, and one worker is kept free of retries, however long these take. One
 * key in eight is a retry even if keys are added all the time.
 *
 * A worker's loop:
 *
 *	while (workqueue_get(q, &key)) {
 *		int r = reconcile(key.s);
 *		workqueue_done(q, &key, r == 0 ? WORK_OK : WORK_RETRY);
 *	}
 *
 * All calls are safe from any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct workqueue;

/* Zero: the default. */
struct workqueue_conf {
	uint64_t retry_min_ns; /* after the first failure of a key, doubled by each; 5 ms */
	uint64_t retry_max_ns; /* 1000 s */
	/* Keys that failed more than three times in a row: retries of all of them together in a second;
	 * 10, and 100 after a pause. A key that fails once, by a conflict, does not wait for others. */
	unsigned retry_rate, retry_burst;
	unsigned workers; /* threads that call workqueue_get; 0: not known, none is kept free */
};

enum work_result {
	WORK_OK,    /* forget its failures */
	WORK_RETRY, /* again after its back-off */
};

/* `conf` is copied; NULL: all defaults. Never NULL. */
struct workqueue *workqueue_new(const struct workqueue_conf *conf);
/* After workqueue_close, when no thread is inside any more. */
void workqueue_free(struct workqueue *workqueue);

/* `key` is copied. Ignored after workqueue_close. */
void workqueue_add(struct workqueue *workqueue, const char *key);
/* Once the time has come; the earlier of several wins. */
void workqueue_add_after(struct workqueue *workqueue, const char *key, uint64_t delay_ns);

enum work_got {
	WORK_GOT,    /* `key` is to be reconciled */
	WORK_NONE,   /* there was none for that time */
	WORK_CLOSED, /* there will be none any more */
};

/* Waits for a key, oldest first in its priority, for at most that time. `key` keeps its memory. */
enum work_got workqueue_get_within(struct workqueue *workqueue, struct strbuf *key,
				   uint64_t longest_ns);
/* Waits as long as it takes; false when the queue is closed. */
static inline bool workqueue_get(struct workqueue *workqueue, struct strbuf *key)
{
	return workqueue_get_within(workqueue, key, UINT64_MAX) == WORK_GOT;
}
void workqueue_done(struct workqueue *workqueue, const struct strbuf *key, enum work_result result);

/* Wakes all who wait; nothing is handed out any more. */
void workqueue_close(struct workqueue *workqueue);

struct workqueue_stats {
	size_t ready, delayed, active;
	uint64_t adds, retries;
};
void workqueue_stats(struct workqueue *workqueue, struct workqueue_stats *ret);
/* How often in a row the key has failed. */
unsigned workqueue_failures(struct workqueue *workqueue, const char *key);

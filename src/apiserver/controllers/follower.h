/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that follows the store: it reads every object once, then every change, and then calls
 * its user to act. The collector and the endpoints controllers have one each.
 *
 * All callbacks run on the follower's thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/store/read.h"
#include "apiserver/store/watch.h"
#include "base/map.h"

struct apiserver_follower;

struct apiserver_follower_ops {
	/* Drop all state that comes from objects: all of them follow again. */
	void (*reset)(void *ctx);
	/* A present object; `row` is valid until the call returns. */
	void (*see)(void *ctx, const struct apiserver_row *row);
	/* Whether `change` has anything to do with the change. If not, the thread is not even woken for
	 * it. NULL: with all. Unlike the others it runs on any thread; see apiserver_watch_only. */
	bool (*concerns)(const struct apiserver_event *event);
	/* A change after the present state. */
	void (*change)(void *ctx, const struct apiserver_event *event);
	/* Do the work that is due, until it is done or the follower is ending. True: something
	 * failed, call again soon. */
	bool (*act)(void *ctx, const struct apiserver_follower *follower);
	/* Monotonic time at which to call `act` without a change; UINT64_MAX, or NULL as the
	 * callback: never. */
	uint64_t (*next_ns)(void *ctx);
};

/* `ops` lives as long as the follower. */
struct apiserver_follower *apiserver_follower_new(struct apiserver_store *store,
						  const struct apiserver_follower_ops *ops,
						  void *ctx);
/* Whether apiserver_follower_free waits: stop early, the rest is found again after a restart. */
bool apiserver_follower_is_ending(const struct apiserver_follower *follower);
/* For `act`: empties `due` and calls `process` with each key that was in it; one for which it
 * returns false becomes due again. Stops early when the follower is ending. True: some are due. */
bool apiserver_follower_process(const struct apiserver_follower *follower, struct map *due,
				bool (*process)(void *ctx, const char *key, void *value),
				void *ctx);
/* Waits for the thread to end. NULL is fine. */
void apiserver_follower_free(struct apiserver_follower *follower);

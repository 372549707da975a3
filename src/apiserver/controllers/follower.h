/* A thread that follows the store: it sees every object once, then every change, and works on what
 * it has noted from them. What the API does by itself (collector, endpoints) runs on one each.
 *
 * All callbacks run on the follower's thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apiserver/store/read.h"
#include "apiserver/store/watch.h"

struct apiserver_follower;

struct apiserver_follower_ops {
	/* Everything that was noted is to be forgotten: all objects come again. */
	void (*reset)(void *ctx);
	/* An object as it is; its `row` is valid until the call returns. */
	void (*see)(void *ctx, const struct apiserver_row *row);
	/* A change behind what was seen. */
	void (*change)(void *ctx, const struct apiserver_event *event);
	/* Works on what was noted, until that is done or the follower is ending. True: something
	 * failed and is to be tried again soon. */
	bool (*act)(void *ctx, const struct apiserver_follower *follower);
	/* Monotonic time at which `act` is to be called though nothing changes; UINT64_MAX for
	 * never. NULL: never. */
	uint64_t (*next_ns)(void *ctx);
};

/* `ops` lives as long as the follower. */
struct apiserver_follower *apiserver_follower_new(struct apiserver_store *store,
						  const struct apiserver_follower_ops *ops,
						  void *ctx);
/* Somebody waits for its end: what is left is found again after the next start. */
bool apiserver_follower_is_ending(const struct apiserver_follower *follower);
/* Waits for the thread to end. NULL is fine. */
void apiserver_follower_free(struct apiserver_follower *follower);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work that completes later: lookups, requests to third parties. A reconcile hands work to its
 * controller's engine and returns; the engine, one thread with an event loop, starts it, and when it
 * has completed, the key comes into the queue again and reconcile takes the result. Thousands can be
 * under way, and no worker waits.
 *
 *	switch (engine_take(ctx->engine, key, input, &work)) {
 *	case ENGINE_NOTHING:
 *		engine_submit(ctx->engine, key, input, &new_lookup(name)->work);
 *		return 0;
 *	case ENGINE_UNDER_WAY:
 *		return 0;
 *	case ENGINE_COMPLETED: ... use `work`, then engine_work_free(work)
 *	}
 *
 * `input` is a hash of what the work depends on: work for another input is dropped, so that a
 * result never belongs to an older state of the object. Nothing survives the process: after a
 * restart, or as a new leader, reconcile submits again. The engine runs only while its controller
 * leads, and has ended before the lease is released. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "net/addr.h"
#include "net/loop.h"

struct engine;
struct engine_part;
struct engine_work;

struct engine_work_ops {
	/* Begins the work, which calls engine_complete() now or later, once. Engine's thread. */
	void (*start)(struct engine_work *work);
	/* Ends it early, because it is not wanted any more or its time is over: engine_complete()
	 * must not be called after this. Only between start and engine_complete(). Engine's thread. */
	void (*cancel)(struct engine_work *work);
	/* Any thread; never between start and the end of the work. */
	void (*free)(struct engine_work *work);
};

/* To be embedded; the creator sets the first three. */
struct engine_work {
	const struct engine_work_ops *ops;
	uint64_t timeout_ns; /* from its start; 0: ENGINE_TIMEOUT_S */
	bool waits_for_turn; /* `start` may only queue it: its time counts from engine_begin() on */
	bool timed_out;	     /* its time was over: there is no result */

	/* The engine's own: */
	struct engine *engine;
	struct engine_work *next; /* to be started, or to be cancelled */
	struct loop_timer timer;
	char *key;
	uint64_t input;
	uint8_t state;
	bool dropped; /* nobody wants it any more */
};

enum {
	ENGINE_TIMEOUT_S = 60,
	ENGINE_STUCK_S = 30, /* a turn of the loop that takes so long never ends */
	ENGINE_STOP_S = 3,   /* for its end */
};

enum engine_state {
	ENGINE_NOTHING,	  /* nothing for this key and input: submit it */
	ENGINE_UNDER_WAY, /* the key will come again */
	ENGINE_COMPLETED, /* the result is the caller's */
};

struct engine_conf {
	void (*emit)(void *arg, const char *key); /* queues a key; called on the engine's thread */
	void *arg;
	const union net_addr *dns_servers; /* for lookups; copied; may be none */
	size_t n_dns_servers;
};

MUST_CHECK int engine_start(const struct engine_conf *conf, struct engine **ret,
			    struct err_text err);
/* The controller does not lead any more: cancels all work, starts none, and queues no key. Other
 * threads may still use it: what they submit is freed, and there is nothing to take. `end_by_ns`
 * (clock_mono_ns) is for engine_stop(); the last call counts. Any thread; NULL is fine. */
void engine_freeze(struct engine *engine, uint64_t end_by_ns);
/* Freezes it and ends the thread, then frees. When no other thread uses it. NULL is fine. A thread
 * that does not end within ENGINE_STOP_S, or by the time of engine_freeze(), ends the process: it
 * holds what cannot be freed, and must not act when another process leads. */
void engine_stop(struct engine *engine);

/* Looks for the work of a key. A result is handed out once, and belongs to the caller then. Work
 * for another input is dropped. Any thread. */
enum engine_state engine_take(struct engine *engine, const char *key, uint64_t input,
			      struct engine_work **ret);
/* Takes over `work`, which is new; the key has no other. It is freed if the engine is frozen. Any
 * thread. */
void engine_submit(struct engine *engine, const char *key, uint64_t input,
		   struct engine_work *work);
/* The object is gone: drops whatever there is for its key. Any thread. */
void engine_drop(struct engine *engine, const char *key);
void engine_work_free(struct engine_work *work); /* NULL is fine */

/* Engine's thread, for work that waits for its turn: its turn has come, and its time counts from now.
 * Waiting has no limit of its own, since those before it have one. May be called again, for work with
 * several parts: each gets the whole time. */
void engine_begin(struct engine_work *work);
/* Engine's thread: the work has completed, whatever came of it. It may be gone when this returns:
 * another thread can take it at once. */
void engine_complete(struct engine_work *work);
/* The loop on which work runs: for http/client, a resolver with resolve/signed, descriptors and
 * timers. Only on the engine's thread, from `start`, `cancel` or a callback of the loop; a callback
 * must return soon, since all work waits for it. What work has put on the loop it takes off again
 * before engine_complete() and in `cancel`. */
struct loop *engine_loop(const struct engine *engine);

/* What several pieces of work use on the loop, such as an HTTP client with its connections: it is
 * made by the first that needs it, and freed at the engine's end, after all work was cancelled.
 * To be embedded. All on the engine's thread. */
struct engine_part_kind {
	void (*free)(struct engine_part *part);
};
struct engine_part {
	const struct engine_part_kind *kind; /* the engine's own, as what follows */
	struct engine_part *next;
};
/* The part of this kind; NULL: none was added. */
struct engine_part *engine_find_part(const struct engine *engine,
				     const struct engine_part_kind *kind);
/* Takes it over; there is none of its kind. */
void engine_add_part(struct engine *engine, const struct engine_part_kind *kind,
		     struct engine_part *part);

/* Does the thread turn? False when one turn takes longer than ENGINE_STUCK_S. Any thread. */
bool engine_is_alive(const struct engine *engine);
/* Work that has not been taken or dropped. Any thread. */
size_t engine_count(struct engine *engine);

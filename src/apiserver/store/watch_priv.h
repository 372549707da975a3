/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct apiserver_watch: for watch.c, and for ring.c, which wakes watches. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/event_priv.h"
#include "apiserver/store/watch.h"

struct apiserver_watch {
	struct apiserver_store *store;
	char *prefix;
	size_t prefix_n;
	void (*wake)(void *ctx);
	void *ctx;
	/* Of the thread that takes events, one at a time. While the watch is idle and joined, the writer
	 * moves `seen` on, under the ring's lock. */
	uint64_t seen; /* all changes up to this revision are delivered or in `chunk` */
	struct store_event *current; /* handed out by the last call */
	struct store_event *chunk;   /* read from the table, not yet handed out */
	/* Guarded by the ring's lock. */
	bool (*wants)(const struct apiserver_event *event); /* NULL: all */
	bool joined; /* reads the ring, next the event `ring_number` */
	bool idle;   /* its last call found no event: wake it */
	bool due;    /* is in to_wake */
	uint64_t ring_number;
	struct apiserver_watch *next, **link; /* in the ring's `watches` */
	struct apiserver_watch *wake_next;    /* in the ring's `to_wake` */
};

/* Whether the watch delivers this event. Under the ring's lock, or where nobody changes `wants`. */
bool store_watch_wants(const struct apiserver_watch *watch, const struct apiserver_event *event);

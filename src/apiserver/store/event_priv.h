/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct store_event: one change, shared by the ring and by watches. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/watch.h"
#include "base/slice.h"

/* Immutable after its creation, apart from `refs` and `next`. One allocation holds all its text. */
struct store_event {
	struct apiserver_event change;
	atomic_uint refs;
	size_t bytes;
	struct store_event *next; /* in a job's unpublished list, or in a watch's chunk */
};

struct store_event_parts {
	const char *key;
	uint64_t revision, replaced;
	bool removed;
	struct slice head, tail; /* of the value; `revision` is written between them */
	bool whole;		 /* `head` is the complete value */
	struct slice before;
};

/* Copies the parts; the caller owns the one reference. */
struct store_event *store_event_new(const struct store_event_parts *parts);
struct store_event *store_event_ref(struct store_event *event);
/* NULL is allowed. */
void store_event_unref(struct store_event *event);
/* Drops the list's reference to each of its events. */
void store_event_unref_list(struct store_event *list);

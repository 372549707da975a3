/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct store_event: one change, shared by the ring and by watches. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apiserver/store/watch.h"
#include "base/slice.h"

/* Immutable after its creation, apart from `refs`, `next` and the ring's members. One allocation holds
 * all its text. */
struct store_event {
	struct apiserver_event change;
	atomic_uint refs;
	size_t bytes;
	uint64_t created;	  /* the object's first revision */
	struct store_event *next; /* in a job's unpublished list, or in a watch's chunk */
	/* The ring's, under its lock. */
	struct store_event *same_bucket;
	bool newest; /* of its key: it is in the ring's hash table */
};

struct store_event_parts {
	const char *key;
	uint64_t revision, replaced;
	uint64_t created; /* only for events of the writer, which the ring keeps */
	bool removed;
	struct slice head, tail; /* of the value; `revision` is written between them */
	bool whole;		 /* `head` is the complete value */
	struct slice optional;	 /* a part of `tail`, or empty */
	struct slice before;
};

/* Copies the parts; the caller owns the one reference. */
struct store_event *store_event_new(const struct store_event_parts *parts);
struct store_event *store_event_ref(struct store_event *event);
/* NULL is allowed. */
void store_event_unref(struct store_event *event);
/* Drops the list's reference to each of its events. */
void store_event_unref_list(struct store_event *list);

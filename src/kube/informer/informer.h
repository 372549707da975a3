/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A copy of all objects of a kind, kept up to date by a thread of its own (the reflector), which also
 * calls handlers for each change.
 *
 *	struct kube_informer *i = kube_informer_new(&conf);
 *	kube_informer_handle(i, &handler);
 *	r = kube_informer_start(i, err, sizeof(err));
 *	if (kube_informer_wait(i, 30 * NS_PER_S)) ... kube_informer_store(i)
 *	kube_informer_free(i);
 *
 * It never gives up: failed requests are repeated, later and later (kube/informer/reflector_plan.h).
 * While the server is away the copy stays as it was. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/decode/obj.h"
#include "kube/informer/reflector_plan.h"
#include "kube/informer/store.h"

struct kube_client;
struct kube_informer;

/* All are called on the reflector's thread, in order, after the store was changed. Objects are
 * borrowed: take a reference to keep one. Members may be NULL. A relist reports only differences,
 * with a deletion for each object that it misses. */
struct kube_handler {
	void (*added)(void *ctx, struct kube_obj *obj);
	void (*updated)(void *ctx, struct kube_obj *old, struct kube_obj *obj);
	void (*deleted)(void *ctx, struct kube_obj *last);
	void (*synced)(void *ctx); /* once: after the first full list */
	/* A step failed, or an object could not be read (once for each); what happens next is in
	 * `text`, for a log. */
	void (*on_error)(void *ctx, const char *text);
	void *ctx;
};

struct kube_informer_conf {
	struct kube_client *client; /* outlives the informer */
	const struct api_kind *kind;
	/* The same kind in older versions, which are tried in turn while the server answers 404;
	 * borrowed. */
	const struct api_kind *older;
	size_t n_older;
	const char *ns;		     /* NULL: all */
	const char *labels, *fields; /* selectors; NULL: none */
	struct kube_codec *codec;    /* taken over */
	const kube_index_fn *indexes;
	size_t n_indexes;
	struct kube_times times;
	struct kube_server_memory *memory; /* shared by informers of one server; NULL: its own */
};

struct kube_informer *kube_informer_new(const struct kube_informer_conf *conf);
/* Stops it, too. */
void kube_informer_free(struct kube_informer *informer);
/* Before the start; copied. */
void kube_informer_handle(struct kube_informer *informer, const struct kube_handler *handler);
MUST_CHECK int kube_informer_start(struct kube_informer *informer, struct err_text err);
/* Ends the thread and waits for it; from any thread but its own. */
void kube_informer_stop(struct kube_informer *informer);

struct kube_store *kube_informer_store(struct kube_informer *informer);
/* Has the first full list been stored and handed to all handlers? What they did is seen then. Any
 * thread, without waiting. */
bool kube_informer_synced(struct kube_informer *informer);
/* Waits for that; false after the time. */
bool kube_informer_wait(struct kube_informer *informer, uint64_t timeout_ns);
/* Was the last request answered by 404 (no such kind, in none of its versions) or 403? It is repeated,
 * as after any failure. */
bool kube_informer_absent(struct kube_informer *informer);

/* The kind in the version that the server was last asked for: the one that it serves, once synced. Any
 * thread. */
const struct api_kind *kube_informer_kind(const struct kube_informer *informer);

struct kube_informer_stats {
	uint64_t added, updated, deleted; /* calls of handlers */
	uint64_t events;		  /* frames of watches, bookmarks included */
	uint64_t repeated;		  /* of them, versions we had already */
	uint64_t bad;			  /* objects that could not be read, and were left out */
	uint64_t lists;			  /* full ones, in whatever way */
	uint64_t watches;		  /* opened */
	uint64_t errors;		  /* steps that failed */
	/* Monotonic; lists and bookmarks count: how stale the copy may be. */
	uint64_t last_event_ns;
};
/* From any thread. */
void kube_informer_stats(struct kube_informer *informer, struct kube_informer_stats *ret);
